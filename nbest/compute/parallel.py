"""Kernels over ranges of segments, in a thread pool.

A kernel is compiled by Numba, releases the interpreter lock and writes only to its own rows, so the result
does not depend on the number of threads. Sums over segments are made by the caller, in segment order.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, TypeVar

import numpy as np

from nbest.base.errors import ParameterError
from nbest.base.types import Ints
from nbest.compute.compilation import kernel

T = TypeVar("T")
R = TypeVar("R")


@kernel
def most(low, high, offsets):
    """The largest number of items of one segment of a range."""
    size = 0
    for i in range(low, high):
        size = max(size, offsets[i + 1] - offsets[i])
    return size


def thread_count(threads: int | None) -> int:
    """The number of threads to use; None means all cores this process may run on."""
    if threads is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if threads < 1:
        raise ParameterError(f"'threads' must be >= 1, got {threads}")
    return threads


def each(function: Callable[[T], R], items: Iterable[T], threads: int | None = None) -> list[R]:
    """`[function(x) for x in items]`, in order, on several threads; in turn when already on one of them."""
    items = list(items)
    workers = min(thread_count(threads), len(items))
    if workers <= 1 or getattr(_here, "busy", False):
        return [function(item) for item in items]

    def work(item: T) -> R:
        _here.busy = True
        return function(item)

    return list(_pool(workers, os.getpid()).map(work, items))


_here = threading.local()


@cache
def _pool(workers: int, process: int) -> ThreadPoolExecutor:
    """A pool that is kept, one a process (threads do not survive a fork): making one costs more than a small pass."""
    return ThreadPoolExecutor(workers)


def over_ranges(function: Callable[[int, int], Any], offsets: Ints, threads: int | None = None) -> None:
    """Call `function(low, high)` on ranges of segments that share the items evenly and cover all of them."""
    workers = thread_count(threads)
    goals = offsets[0] + (offsets[-1] - offsets[0]) * np.arange(workers + 1) // workers
    cuts = np.searchsorted(offsets, goals)
    cuts[0], cuts[-1] = 0, len(offsets) - 1
    ranges = [(int(a), int(b)) for a, b in zip(cuts[:-1], cuts[1:], strict=True) if a < b]
    each(lambda bounds: function(*bounds), ranges, workers)
