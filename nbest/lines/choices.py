"""Totals of the hypotheses that many weight vectors choose, in one pass over the features."""

from __future__ import annotations

import numpy as np

from nbest.base.types import Floats, Ints
from nbest.compute.compilation import kernel
from nbest.compute.parallel import over_ranges


def totals_of(features: Floats, offsets: Ints, stats: Floats, weights: Floats) -> Floats:
    """[B, M] totals of the 1-best choices of each weight vector of `weights` [B, D]; ties to the lowest index."""
    choice = np.full((len(weights), len(offsets) - 1), -1, np.int64)
    over_ranges(lambda low, high: _choose(features, offsets, weights, low, high, choice=choice), offsets)
    return np.stack([stats[row[row >= 0]].sum(axis=0) for row in choice]) if len(weights) else np.zeros((0, 0))


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
