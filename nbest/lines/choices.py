"""Totals of the hypotheses that many weight vectors choose, in one pass over the features."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from nbest.base.types import Floats, Ints
from nbest.compute.compilation import kernel
from nbest.compute.executors import HeldShard, current
from nbest.compute.parallel import over_ranges
from nbest.corpus.blocks import blocks


@dataclass
class RowLists(HeldShard):
    """A shard of lists with features by rows."""

    features: Floats  # [H, D]
    offsets: Ints  # [N+1]


def row_shards(features: Floats, offsets: Ints) -> list[RowLists]:
    """Lists with these features [H, D], prepared for any number of weight vectors."""
    parts = [offsets[first : last + 1] for first, last in blocks(len(offsets) - 1)]
    return [RowLists(features[part[0] : part[-1]], part - part[0]) for part in parts]


def totals_of(shards: list[RowLists], stats: Floats, weights: Floats) -> Floats:
    """[B, M] totals of the 1-best choices of each weight vector of `weights` [B, D]; ties to the lowest index.

    Shards say what is chosen, and its statistics are added up here: where lists are cut does not change a bit.
    """
    low, chosen = 0, []
    for shard, own in zip(shards, current().map(partial(_choices, weights), shards), strict=True):
        chosen.append(np.where(own >= 0, low + own.astype(np.int64), -1))
        low += len(shard.features)
    choice = np.concatenate(chosen, axis=1)
    return np.stack([stats[row[row >= 0]].sum(axis=0) for row in choice]) if len(weights) else np.zeros((0, 0))


def _choices(weights: Floats, shard: RowLists) -> Ints:
    """[B, N] hypotheses, by their numbers in the shard; -1 of an empty list."""
    offsets = shard.offsets
    choice = np.full((len(weights), len(offsets) - 1), -1, np.int64)
    over_ranges(lambda low, high: _choose(shard.features, offsets, weights, low, high, choice=choice), offsets)
    return choice.astype(np.int32) if len(shard.features) < 2**31 else choice


@kernel
def _choose(features, offsets, weights, low, high, choice):
    for i in range(low, high):
        for b in range(len(weights)):
            best = -np.inf
            for h in range(offsets[i], offsets[i + 1]):
                score = 0.0
                for d in range(weights.shape[1]):
                    score += weights[b, d] * features[h, d]
                if score > best:
                    best = score
                    choice[b, i] = h
