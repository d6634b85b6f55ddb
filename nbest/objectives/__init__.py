"""Smooth objectives: sums over shards, and the two passes that join them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from nbest.base.types import Floats
from nbest.compute.parallel import each
from nbest.objectives.base import Objective
from nbest.objectives.cobleu import CoBLEU
from nbest.objectives.likelihood import Likelihood
from nbest.objectives.risk import Risk
from nbest.objectives.shard import Shard, scales

OBJECTIVES: dict[str, type] = {"cobleu": CoBLEU, "likelihood": Likelihood, "risk": Risk}
"""Objectives by name."""


def value_and_gradient(
    objective: Objective, weights: Floats, shards: Sequence[Any], threads: int | None = None
) -> tuple[float, Floats]:
    """Corpus value and gradient: moments of all shards, combined, then gradients of all shards.

    Shards are added in their order, so the result does not depend on the number of threads.
    """
    moments = each(lambda shard: objective.moments(weights, shard), shards, threads)
    value, credit = objective.combine(sum(moments[1:], start=moments[0]))
    parts = each(lambda shard: objective.gradient(weights, shard, credit), shards, threads)
    penalty, slope = objective.penalty(weights)
    return value + penalty, np.sum(parts, axis=0) + slope


__all__ = ["OBJECTIVES", "CoBLEU", "Likelihood", "Risk", "Shard", "scales", "value_and_gradient"]
