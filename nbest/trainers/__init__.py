"""Trainers: each learns a model from lists with statistics.

Adding one is one file and one line of `TRAINERS`; `nbest.testing.check_trainer` tests it.
"""

from nbest.trainers.likelihood import MaxLikelihood
from nbest.trainers.mert import MERT

TRAINERS: dict[str, type] = {
    "likelihood": MaxLikelihood,
    "mert": MERT,
}
"""Trainers by the name used on the command line."""

__all__ = ["MERT", "TRAINERS", "MaxLikelihood"]
