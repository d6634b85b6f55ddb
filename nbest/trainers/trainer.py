"""What every trainer has besides its own parameters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import wraps
from typing import Any

from nbest.base.parameters import Parameters, parameter, parameters_of
from nbest.compute.blas import ONE_BLAS_THREAD
from nbest.compute.executors import executor_of, using
from nbest.optimisers.result import Result


@dataclass
class Trainer(Parameters):
    """Base of trainers: a dataclass of parameters with `fit(corpus, heldout=None)`, which checks them first.

    All that `fit` does runs on `threads` threads, or by the executor that is current where they are not said: nothing
    inside of it has to be told.
    """

    threads: int | None = parameter(None, "threads (None: all cores); the result does not depend on it", public=False)
    progress: Callable[[int, int], None] | None = parameter(None, "told how much is done and of how much", public=False)
    result_: Result | None = field(default=None, init=False, repr=False, kw_only=True)

    def __init_subclass__(cls) -> None:
        if "fit" in vars(cls):
            setattr(cls, "fit", _on_own_threads(vars(cls)["fit"]))  # noqa: B010 - of a subclass, which has it


def _on_own_threads(fit: Callable[..., Any]) -> Callable[..., Any]:
    """`fit`, with the threads of its trainer for everything inside."""

    @wraps(fit)
    def fitted(self: Trainer, *corpora: Any, **named: Any) -> Any:
        parameters_of(type(self))["threads"].check(self.threads)
        with using(executor_of(self.threads)), ONE_BLAS_THREAD:  # folds and restarts run side by side
            return fit(self, *corpora, **named)

    return fitted
