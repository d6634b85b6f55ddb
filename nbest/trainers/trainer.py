"""What every trainer has besides its own parameters."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, ClassVar, Self

from nbest.base.errors import ParameterError
from nbest.base.parameters import Parameters, parameter, parameters_of
from nbest.compute.blas import ONE_BLAS_THREAD
from nbest.compute.executors import Executor, executor_of, using
from nbest.objectives.backends import computing_on
from nbest.optimisers.result import Result


@dataclass
class Trainer(Parameters):
    """Base of trainers: a dataclass of parameters with `fit(corpus, heldout=None)`, which checks them first.

    All that `fit` does is run by `executor`, or on `threads` threads of this process; where neither is said, by the
    executor that is current. Nothing inside of it has to be told. Objectives over lists are computed on `device`.
    """

    threads: int | None = parameter(None, "threads (None: all cores); the result does not depend on it", public=False)
    executor: Executor | None = parameter(
        None, "who runs the passes (None: threads of this process); the result does not depend on it", public=False
    )
    device: str | None = parameter(
        None, "accelerator for passes over lists: cuda, cuda:1 (None: the processor); needs nbest[gpu]", public=False
    )
    progress: Callable[[int, int], None] | None = parameter(None, "told how much is done and of how much", public=False)
    result_: Result | None = field(default=None, init=False, repr=False, kw_only=True)
    own_columns: ClassVar[tuple[str, ...]] = ()  # that it adds by itself, whatever is left out
    crossed_: Any = field(default=None, init=False, repr=False, kw_only=True)  # `Crossed`, where folds were fitted

    def __init_subclass__(cls) -> None:
        if "fit" in vars(cls):
            setattr(cls, "fit", _on_own_executor(vars(cls)["fit"]))  # noqa: B010 - of a subclass, which has it

    @property
    def random(self) -> bool:
        """Whether another seed may give another model, with these parameters."""
        return hasattr(self, "seed")

    def __sklearn_clone__(self) -> Self:
        """For scikit-learn's `clone`: copies of all parameters, but the same executor, as workers cannot be copied."""
        given = self.get_params()
        return type(self)(**deepcopy({**given, "executor": None}) | {"executor": given["executor"]})


def executor_for(trainer: Any) -> Executor:
    """Who runs what a trainer does, by its `executor` or its `threads`: the current one where it has neither."""
    threads, executor = getattr(trainer, "threads", None), getattr(trainer, "executor", None)
    if executor is None:
        return executor_of(threads)
    if threads is not None:
        raise ParameterError(
            f"{type(trainer).__name__} takes 'threads' or an 'executor', got both; leave out 'threads'"
        )
    return executor


def _on_own_executor(fit: Callable[..., Any]) -> Callable[..., Any]:
    """`fit`, with the executor of its trainer for everything inside."""

    @wraps(fit)
    def fitted(self: Trainer, *corpora: Any, **named: Any) -> Any:
        for name in ("threads", "executor", "device"):
            parameters_of(type(self))[name].check(getattr(self, name))
        with (
            using(executor_for(self)),
            computing_on(self.device),
            ONE_BLAS_THREAD,
        ):  # folds and restarts run side by side
            return fit(self, *corpora, **named)

    return fitted
