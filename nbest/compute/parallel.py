"""Threads of this process: items in order, and kernels over ranges of segments.

A kernel is compiled by Numba, releases the interpreter lock and writes only to its own rows, so the result
does not depend on the number of threads. Sums over segments are made by the caller, in segment order.
Threads that work on few items share the other threads among what they call.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import ContextVar, copy_context
from functools import cache, partial
from queue import SimpleQueue
from typing import Any, TypeVar

import numpy as np

from nbest.base.errors import ParameterError
from nbest.base.types import Ints

T = TypeVar("T")
R = TypeVar("R")

wanted: ContextVar[int | None] = ContextVar("wanted", default=None)
"""How many threads are used where a call does not say it; None for all cores."""

_GRAIN = 800_000.0  # multiply-adds from which on a thread is worth waking: some 100 us

told: ContextVar[Callable[[int], None]] = ContextVar("told", default=lambda more: None)
"""Who is told how many more hypotheses are measured, by metrics that take long."""

_share: ContextVar[int | None] = ContextVar("share", default=None)  # threads that one thread of a pool may use
_interrupts: ContextVar[tuple[list[BaseException], ...]] = ContextVar("interrupts", default=())  # of all `each` around


def thread_count(threads: int | None) -> int:
    """The number of threads to use; None means as many as `wanted` says, else all cores we may run on.

    On a thread of a pool at most those that are left over for it.
    """
    threads = wanted.get() if threads is None else threads
    if threads is None:
        threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if threads < 1:
        raise ParameterError(f"'threads' must be >= 1, got {threads}")
    return min(threads, _share.get() or threads)


def sharing(share: int, function: Callable[[], R]) -> R:
    """`function()`, which uses at most so many threads."""

    def shared() -> R:
        _share.set(share)
        return function()

    return copy_context().run(shared)


def worth(work: float, threads: int | None = None) -> int:
    """The number of threads for so much work, in multiply-adds: fewer where waking a thread costs more than it does."""
    return max(1, min(thread_count(threads), int(work / _GRAIN)))


def interrupted() -> bool:
    """Whether a thread beside this one was interrupted, so that nobody wants what this one does."""
    return any(_interrupts.get())


def each(function: Callable[[T], R], items: Iterable[T], threads: int | None = None) -> list[R]:
    """`[function(x) for x in items]`, in order, on several threads, of which the caller's is one.

    Called on one of them, it uses those that are left over: in turn where there are none. An exception is raised when
    all that was begun has ended; what takes long can ask whether it was `interrupted`.
    """
    items = list(items)
    free = thread_count(threads) if len(items) > 1 else 1
    workers = min(free, len(items))
    if workers <= 1:
        return [function(item) for item in items]

    results: dict[int, R] = {}
    errors: dict[int, BaseException] = {}
    interrupts: list[BaseException] = []
    todo = iter(range(len(items)))  # shared: each thread takes the next one

    def work() -> None:
        _share.set(free // workers)
        _interrupts.set((*_interrupts.get(), interrupts))
        for place in todo:
            try:
                results[place] = function(items[place])
            except BaseException as error:
                errors[place] = error
                if not isinstance(error, Exception):
                    interrupts.append(error)
                for _ in todo:  # nothing more is begun
                    pass

    ends = [_idle(os.getpid()).do(partial(copy_context().run, work)) for _ in range(workers - 1)]
    try:
        copy_context().run(work)
    finally:
        for _ in todo:  # where the caller is interrupted nothing more is begun
            pass
        for end in ends:
            end.acquire()
    if errors:
        raise interrupts[0] if interrupts else errors[min(errors)]
    return [results[place] for place in range(len(items))]


class _Worker(threading.Thread):
    """A thread that is kept, as making one costs more than a small pass."""

    def __init__(self, idle: list[_Worker]) -> None:
        super().__init__(daemon=True)
        self.idle, self.jobs = idle, SimpleQueue[tuple[Callable[[], Any], Any]]()
        self.start()

    def do(self, job: Callable[[], Any]) -> Any:
        """Begin a job; what can be acquired when it is done."""
        end = threading.Lock()
        end.acquire()
        self.jobs.put((job, end))
        return end

    def run(self) -> None:
        """Job after job."""
        while True:
            job, end = self.jobs.get()
            job()
            self.idle.append(self)
            end.release()
            del job, end  # what it was given is not held until the next


def _idle(process: int) -> _Worker:
    """A worker that has nothing to do: one of those that are kept, or a new one."""
    try:
        return _workers(process).pop()  # in one step: others may do it as well
    except IndexError:
        return _Worker(_workers(process))


@cache
def _workers(process: int) -> list[_Worker]:
    """The idle ones of a process: threads do not survive a fork."""
    return []


def ahead(function: Callable[[T], R], items: Iterable[T], threads: int | None = None) -> Iterator[R]:
    """`map(function, items)`, in order, on several threads that are a few items ahead of who takes the results; at most
    one item more than threads is held."""
    workers = thread_count(threads)
    if workers == 1:
        yield from map(function, items)
        return

    def work(item: T) -> R:
        _share.set(1)
        return function(item)

    begun: deque[Future[R]] = deque()
    with ThreadPoolExecutor(workers) as pool:
        try:
            for item in items:
                begun.append(pool.submit(copy_context().run, work, item))
                if len(begun) > workers:
                    yield begun.popleft().result()
            while begun:
                yield begun.popleft().result()
        finally:
            for job in begun:
                job.cancel()


def counter(progress: Callable[[int, int], Any] | None, total: int) -> Callable[[int], None]:
    """What several threads call with how many more are done; `progress` is told how many of all."""
    done, lock = 0, threading.Lock()

    def tell(more: int) -> None:
        nonlocal done
        with lock:
            done += more
            if progress is not None:
                progress(done, total)

    return tell


def over_ranges(
    function: Callable[[int, int], Any], offsets: Ints, threads: int | None = None, *, cost: float = _GRAIN
) -> None:
    """Call `function(low, high)` on ranges of segments that share the items evenly and cover all of them.

    `cost` is what an item costs, in multiply-adds: few cheap items are done by fewer threads.
    """
    workers = worth(cost * float(offsets[-1] - offsets[0]), threads)
    if workers == 1 and len(offsets) > 1:
        function(0, len(offsets) - 1)
        return
    goals = offsets[0] + (offsets[-1] - offsets[0]) * np.arange(workers + 1) // workers
    cuts = np.searchsorted(offsets, goals)
    cuts[0], cuts[-1] = 0, len(offsets) - 1
    ranges = [(int(a), int(b)) for a, b in zip(cuts[:-1], cuts[1:], strict=True) if a < b]
    each(lambda bounds: function(*bounds), ranges, workers)
