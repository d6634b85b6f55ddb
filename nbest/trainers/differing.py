"""Whether there is anything to learn from: losses that differ, and a metric that weights can change."""

from __future__ import annotations

from typing import Any

import numpy as np

from nbest.base.types import Floats
from nbest.corpus import Forests, NBest
from nbest.forests.expectations import variances
from nbest.forests.kbest import kbest

STRINGS = 100  # how many strings of a forest are looked at, or calibrate its posterior
_FEW = 20  # forests whose strings are looked at together


def losses_differ(corpus: NBest) -> bool:
    """Whether in any list two hypotheses have different losses."""
    stats, metric = corpus.need_stats()
    losses = metric.losses(stats)
    first = np.repeat(corpus.offsets[:-1], corpus.lengths)
    return bool((losses != losses[first]).any())


def strings_differ(forests: Forests) -> bool:
    """Whether in any forest two strings have different losses; at most `STRINGS` of each are looked at."""
    if forests.stats is not None:  # no references need to be there
        return bool((variances(forests, np.zeros(forests.edges), forests.stats.sum(axis=1)) > 0).any())
    for low in range(0, len(forests), _FEW):
        some = forests.select(np.arange(low, min(low + _FEW, len(forests))))
        if losses_differ(kbest(some, np.zeros(some.edges), STRINGS, distinct=True).lists()):
            return True
    return False


def flat(problem: Any, weights: Floats, value: float) -> bool:
    """Whether these scaled weights, their negatives and none at all have this score: a hint that all weights have."""
    return all(problem.score(sign * weights) == value for sign in (0.0, -1.0, 1.0))


FLAT = "the metric is the same for all weights that were tried; those to start from are kept, 0 where none are given"
"""What a search says that ends with the status "flat"."""
