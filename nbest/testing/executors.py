"""The contract of an executor, as a check that any executor can be put through."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from nbest.compute.executors import Executor, HeldShard, Serial, current, using
from nbest.objectives import Quadratic, Risk, Shard, value_and_gradient
from nbest.testing.corpora import toy_lists

Make = Callable[[int], Executor]
"""Makes an executor with this many workers; one that cannot choose their number may ignore it."""


@dataclass
class Number(HeldShard):
    """A shard for these checks."""

    value: int


def check_executor(make: Make) -> None:
    """Raise an `AssertionError` that says which part of the contract of `nbest.compute.executors.Executor` is broken.

    Checked with one, two and five workers: results in the order of the shards, none for none, progress, exceptions,
    what one pass leaves for the next in the room of a shard (each in its own), the same bits as in turn for passes of
    an objective, the executor as the current one, and that it can be closed.
    """
    for workers in (1, 2, 5):
        executor = make(workers)
        try:
            for check in (_check_order, _check_errors, _check_room, _check_bits, _check_current):
                check(executor)
        finally:
            executor.close()
            executor.close()


def _double(shard: Number) -> int:
    return 2 * shard.value


def _fail(shard: Number) -> int:
    return 1 // shard.value


def _leave(amount: int, shard: Number) -> None:
    shard.room["left"] = shard.value + amount


def _found(shard: Number) -> int | None:
    return shard.room.pop("left", None)


def _check_order(executor: Executor) -> None:
    shards = [Number(value) for value in range(20)]
    found = executor.map(_double, shards)
    assert found == [2 * value for value in range(20)], f"results must be in the order of the shards, got {found}"
    assert executor.map(_double, []) == [], "no shards must give no results"
    assert executor.map(_double, shards[3:5]) == [6, 8], "some of the shards must give their results"
    amounts: list[int] = []
    executor.map(_double, shards, amounts.append)
    assert sum(amounts) == 20, f"'told' must be told of every shard, 20, got {amounts}"


def _check_errors(executor: Executor) -> None:
    try:
        found = executor.map(_fail, [Number(1), Number(0), Number(2)])
    except ZeroDivisionError:
        return
    raise AssertionError(f"an exception of the function must be raised by map, got {found}")


def _check_room(executor: Executor) -> None:
    shards = [Number(value) for value in range(7)]
    executor.map(partial(_leave, 100), shards)
    found = executor.map(_found, shards[::-1])
    left = [100 + value for value in range(7)][::-1]
    assert found == left, f"a pass must meet what the one before left with its shard, got {found}, expected {left}"
    found = executor.map(_found, shards)
    assert found == [None] * 7, f"what a pass takes away from a shard must be gone, got {found}"


def _check_bits(executor: Executor) -> None:
    lists = toy_lists(3, noise=0.3)
    width = len(lists.feature_names)
    risk = Risk(lists.need_stats()[1], temperature=0.1, penalty=Quadratic(2.0))
    weights = np.linspace(-1.0, 1.0, width)

    def run(who: Executor) -> tuple[float, np.ndarray]:
        parts = lists.shards(block=3)
        shards = [Shard(part, np.ones(width), np.zeros(part.hypotheses)) for part in parts]
        return value_and_gradient(risk, weights, shards, who)

    (value, slope), (expected, expected_slope) = run(executor), run(Serial())
    assert value == expected, f"a value must have the bits that it has in turn, got {value}, expected {expected}"
    assert np.array_equal(slope, expected_slope), "a gradient must have the bits that it has in turn"


def _check_current(executor: Executor) -> None:
    threads, workers = executor.threads, executor.workers
    assert threads is None or threads >= 1, f"'threads' of an executor must be None or >= 1, got {threads}"
    assert workers >= 1, f"'workers' of an executor must be >= 1, got {workers}"
    assert executor.apart in (True, False), f"'apart' of an executor must be True or False, got {executor.apart}"
    with using(executor):
        assert current() is executor
