"""The two passes of a smooth objective over the shards of a corpus."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from nbest.base.types import Floats
from nbest.compute.executors import Executor, current, new_key
from nbest.objectives.base import Objective


def value_and_gradient(
    objective: Objective, weights: Floats, shards: Sequence[Any], executor: Executor | None = None
) -> tuple[float, Floats]:
    """Corpus value and gradient: moments of all shards, combined, then gradients of all shards.

    Shards are added in their order, so the result does not depend on the executor.
    """
    executor, name = executor or current(), new_key()
    moments = executor.map(partial(_first, name, objective, weights), shards)
    value, credit = objective.combine(sum(moments[1:], start=moments[0]))
    parts = executor.map(partial(_second, name, objective, weights, credit), shards)
    penalty, slope = objective.penalty(weights)
    return value + penalty, np.sum(parts, axis=0) + slope


def total_moments(
    objective: Objective, weights: Floats, shards: Sequence[Any], executor: Executor | None = None
) -> Any:
    """The sum of the moments of all shards."""
    moments = (executor or current()).map(partial(objective.moments, weights), shards)
    return sum(moments[1:], start=moments[0])


def _first(name: str, objective: Objective, weights: Floats, shard: Any) -> Any:
    shard.room["pass"] = name
    return objective.moments(weights, shard)


def _second(name: str, objective: Objective, weights: Floats, credit: Any, shard: Any) -> Floats:
    if shard.room.get("pass") != name:  # a worker was lost, and with it what the first pass left there
        _first(name, objective, weights, shard)
    return objective.gradient(weights, shard, credit)
