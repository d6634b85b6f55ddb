"""Whether there is anything to learn from: losses that differ, and a metric that weights can change."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np

from nbest.base.types import Floats
from nbest.corpus import Forests, NBest
from nbest.corpus.contract import Corpus, no_answer
from nbest.forests.expectations import variances
from nbest.forests.kbest import kbest

STRINGS = 100  # how many strings of a forest are looked at, or calibrate its posterior
_FEW = 20  # forests whose strings are looked at together


@singledispatch
def losses_differ(corpus: Corpus) -> bool:
    """Whether in any segment two choices have different losses; at most `STRINGS` of a forest are looked at."""
    raise no_answer("losses_differ", corpus)


@losses_differ.register(NBest)
def _(corpus: NBest) -> bool:
    return any(_differ(part) for part in corpus.shards())


def _differ(part: NBest) -> bool:
    losses = part.losses()
    return bool((losses != losses[np.repeat(part.offsets[:-1], part.lengths)]).any())


@losses_differ.register(Forests)
def _(corpus: Forests) -> bool:
    if corpus.stats is not None:  # no references need to be there
        return bool((variances(corpus, np.zeros(corpus.edges), corpus.stats.sum(axis=1)) > 0).any())
    for low in range(0, len(corpus), _FEW):
        some = corpus.select(np.arange(low, min(low + _FEW, len(corpus))))
        if losses_differ(kbest(some, np.zeros(some.edges), STRINGS, distinct=True).lists()):
            return True
    return False


def flat(problem: Any, weights: Floats, value: float) -> bool:
    """Whether these scaled weights, their negatives and none at all have this score: a hint that all weights have."""
    return all(problem.score(sign * weights) == value for sign in (0.0, -1.0, 1.0))


FLAT = "the metric is the same for all weights that were tried; those to start from are kept, 0 where none are given"
"""What a search says that ends with the status "flat"."""
