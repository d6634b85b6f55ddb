"""What every trainer has besides its own parameters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from nbest.base.parameters import Parameters, parameter
from nbest.optimisers.result import Result


@dataclass
class Trainer(Parameters):
    """Base of trainers: a dataclass of parameters with `fit(corpus, heldout=None)`, which checks them first."""

    threads: int | None = parameter(None, "threads (None: all cores); the result does not depend on it", public=False)
    progress: Callable[[int, int], None] | None = parameter(None, "told how much is done and of how much", public=False)
    result_: Result | None = field(default=None, init=False, repr=False, kw_only=True)
