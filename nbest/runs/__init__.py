"""Steps on disk: each is complete before the next begins, so that long work can be stopped and resumed."""

from nbest.runs.folder import RunFolder
from nbest.runs.steps import Step

__all__ = ["RunFolder", "Step"]
