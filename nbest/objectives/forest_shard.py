"""A part of a corpus of forests as an objective sees it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from nbest.base.types import Floats
from nbest.corpus import Forests
from nbest.objectives.forest_moments import ForestBlocked


@dataclass
class ForestShard:
    """Forests with features divided by `scale` [D] and statistics [E, M] that add up over the edges of a derivation.

    It stands where `Shard` stands for lists, so `Risk` takes both.
    """

    forests: Forests
    scale: Floats  # [D], 0 marks a column to leave out
    stats: Floats  # [E, M]
    single: bool = False  # keep features and statistics in float32

    @cached_property
    def blocked(self) -> ForestBlocked:
        """Scaled features and statistics, laid out for the kernels."""
        return ForestBlocked.of(self.forests, self.stats, scale=self.scale, single=self.single)

    def dense_and_extra(self, weights: Floats) -> tuple[Floats, Floats]:
        """Forests have dense features only."""
        return weights, np.zeros(0)

    def with_extra(self, dense: Floats, share: Floats) -> Floats:
        """The gradient as it is."""
        return dense
