"""Executors: who runs the passes over the shards of a corpus. Threads of this process, unless told otherwise.

A pass is one call of `Executor.map`; what it is given and what it may rely on is said at `Executor`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, fields
from itertools import count
from typing import Any, Protocol, TypeVar, runtime_checkable
from uuid import uuid4

from nbest.base.registry import Registry
from nbest.compute import parallel
from nbest.compute.blas import ONE_BLAS_THREAD

R = TypeVar("R")
_numbers = count()
_process = uuid4().hex  # of its own for each process, on whatever machine


def _renew() -> None:
    global _process
    _process = uuid4().hex


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)


def new_key() -> str:
    """A name that nothing else has had, in this process or any other."""
    return f"{_process}-{next(_numbers)}"


@dataclass(kw_only=True)
class HeldShard:
    """A shard: a part of a corpus that stays where it is, with what one pass leaves there for the next.

    It pickles without what was left and without what was made of it (cached properties): both are made again.
    """

    key: str = field(default_factory=new_key, repr=False, compare=False)
    room: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def __getstate__(self) -> dict[str, Any]:
        return {item.name: getattr(self, item.name) for item in fields(self)} | {"room": {}}


@runtime_checkable
class Executor(Protocol):
    """Runs a function on every shard of a corpus, here or elsewhere.

    `map` gives the results in the order of the shards, whatever the order in which they were done. Sums are made by
    the caller in that order, and shards do not depend on the number of workers: any executor gives the same bits.

    Across processes the function, the shards and the results are pickled, so functions of passes are functions of a
    module or partials of them. A shard that has a `key` (`HeldShard`) is sent once and kept where it ran: the next
    function that is mapped over it meets the same object, and in its `room` what the last one left.
    The worker that holds a shard may be lost. The executor then sends the shard again, with nothing in its room, to
    another worker; functions that need what an earlier pass left look for it and do that pass again.
    `map` may be called by several threads at once, and by functions that it runs.
    """

    apart: bool
    """Whether its workers are processes of their own, here or on other machines."""
    threads: int | None
    """How many threads kernels of this process use beside the passes; None for all cores."""

    @property
    def workers(self) -> int:
        """How many shards are worked on at a time."""
        ...

    def map(
        self, function: Callable[[Any], R], shards: Sequence[Any], told: Callable[[int], Any] | None = None
    ) -> list[R]:
        """`[function(shard) for shard in shards]`; an exception of the function is raised here.

        `told` is called in this process with how many more shards are done, by any thread.
        """
        ...

    def close(self) -> None:
        """Give back what was kept: workers, and the shards that they hold."""
        ...


class Threads:
    """Threads of this process: shards side by side, and the kernels of one shard on threads that are left over."""

    apart = False

    def __init__(self, threads: int | None = None) -> None:
        self.threads = None if threads is None else parallel.thread_count(threads)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({'' if self.threads is None else self.threads})"

    @property
    def workers(self) -> int:
        """Its threads."""
        return parallel.thread_count(self.threads)

    def map(
        self, function: Callable[[Any], R], shards: Sequence[Any], told: Callable[[int], Any] | None = None
    ) -> list[R]:
        """In order."""

        def one(shard: Any) -> R:
            result = function(shard)
            if told is not None:
                told(1)
            return result

        with ONE_BLAS_THREAD:  # as workers elsewhere have: sums depend on it
            if current() is self:
                return parallel.each(one, shards, self.threads)
            with using(self):
                return parallel.each(one, shards, self.threads)

    def close(self) -> None:
        """Nothing is kept: shards are objects of the caller."""


class Serial(Threads):
    """One shard after the other, on the thread that calls."""

    def __init__(self) -> None:
        super().__init__(1)


EXECUTORS: Registry[Callable[..., Executor]] = Registry(
    "executor",
    {
        "ray": "ray_executor:Ray",
        "serial": Serial,
        "threads": Threads,
    },
    group="nbest.executors",
    room="nbest.compute",
)
"""Executors by name."""

_current: ContextVar[Executor] = ContextVar("current", default=Threads())  # noqa: B039 - it has no state


def current() -> Executor:
    """The executor of passes that are given none."""
    return _current.get()


class using:  # noqa: N801 - it is used as a function
    """Let an executor run all passes inside, and kernels use as many threads as it says.

    with using(Threads(2)): ...
    """

    def __init__(self, executor: Executor) -> None:
        self.executor = executor

    def __enter__(self) -> Executor:
        self.before = _current.set(self.executor), parallel.wanted.set(self.executor.threads)
        return self.executor

    def __exit__(self, *error: object) -> None:
        _current.reset(self.before[0])
        parallel.wanted.reset(self.before[1])


def executor_of(threads: int | None) -> Executor:
    """What `threads` of a trainer or of the command line means: that many of this process; None: what is current."""
    return current() if threads is None else Threads(threads)


def scattered(function: Callable[[Any], R], items: Sequence[Any], told: Callable[[int], Any] | None = None) -> list[R]:
    """`[function(item) for item in items]`, pieces of work that take long: side by side on the workers of an executor
    that has processes of its own, else one after the other, each with all threads.
    """
    executor = current()
    if executor.apart:
        return executor.map(function, items, told)
    results = []
    for item in items:
        results.append(function(item))
        if told is not None:
            told(1)
    return results


@dataclass(frozen=True)
class Told:
    """A function that is told of progress; in another process it tells nobody."""

    function: Callable[..., Any] | None = None

    def __call__(self, *amounts: int) -> None:
        if self.function is not None:
            self.function(*amounts)

    def __reduce__(self) -> tuple[type[Told], tuple[()]]:
        return Told, ()
