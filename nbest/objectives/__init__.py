"""Smooth objectives: sums over shards, the two passes that join them, and who computes them."""

from __future__ import annotations

from nbest.base.registry import Registry
from nbest.objectives.backends import BACKENDS
from nbest.objectives.cobleu import CoBLEU
from nbest.objectives.likelihood import Likelihood
from nbest.objectives.passes import total_moments, value_and_gradient
from nbest.objectives.penalties import NO_PENALTY, Quadratic, SparseOnly
from nbest.objectives.risk import Risk
from nbest.objectives.shard import Shard, scales

OBJECTIVES: Registry[type] = Registry("objective", {"cobleu": CoBLEU, "likelihood": Likelihood, "risk": Risk})
"""Objectives by name."""

__all__ = [
    "BACKENDS", "NO_PENALTY", "OBJECTIVES", "CoBLEU", "Likelihood", "Quadratic", "Risk", "Shard",
    "SparseOnly", "scales", "total_moments", "value_and_gradient",
]  # fmt: skip
