"""A part of a corpus of forests as an objective sees it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import singledispatch

import numpy as np

from nbest.base.types import Floats, Ints
from nbest.compute.executors import HeldShard
from nbest.compute.segments import offsets_of
from nbest.corpus import Forests, NBest
from nbest.corpus.contract import Corpus, no_answer
from nbest.corpus.metric import Metric
from nbest.corpus.rows import row_by_row
from nbest.objectives.shard import Shard, list_shards


@dataclass
class ForestShard(HeldShard):
    """Forests with features divided by `scale` [D] and statistics [E, M] that add up over the edges of a derivation.

    It stands where `Shard` stands for lists, so `Risk` takes both.
    """

    forests: Forests
    scale: Floats  # [D], 0 marks a column to leave out
    stats: Floats | Ints  # [E, M]
    single: bool = False  # keep features and statistics in float32

    def dense_and_extra(self, weights: Floats) -> tuple[Floats, Floats]:
        """Forests have dense features only."""
        return weights, np.zeros(0)

    def with_extra(self, dense: Floats, share: Floats) -> Floats:
        """The gradient as it is."""
        return dense


def forest_shards(forests: Forests, scale: Floats, stats: Floats, *, single: bool = False) -> list[ForestShard]:
    """The shards of forests, with this scale [D] and these statistics [E, M]."""
    parts = forests.shards()
    ends = offsets_of(np.array([part.edges for part in parts]))
    cuts = zip(parts, ends[:-1], ends[1:], strict=True)
    return [ForestShard(part, scale, stats[low:high], single) for part, low, high in cuts]


SINGLE = 1 << 20  # entries from which features are kept in float32


@singledispatch
def shards_of(
    corpus: Corpus, scale: Floats, stats: Floats, metric: Metric, block: int | None = None
) -> Sequence[Shard | ForestShard]:
    """The shards of a corpus, with this scale [D + D'] and statistics [rows, M] of the metric that add up over rows.

    Large corpora keep their features in float32. Shards of lists have `block` segments.
    """
    raise no_answer("shards_of", corpus)


@shards_of.register(NBest)
def _(corpus: NBest, scale: Floats, stats: Floats, metric: Metric, block: int | None = None) -> list[Shard]:
    losses = row_by_row(metric.losses, stats, corpus.offsets)
    return list_shards(corpus, scale, losses, single=corpus.features.size > SINGLE, block=block)


@shards_of.register(Forests)
def _(corpus: Forests, scale: Floats, stats: Floats, metric: Metric, block: int | None = None) -> list[ForestShard]:
    return forest_shards(corpus, scale, stats, single=corpus.features.size > SINGLE)
