"""The best that could be chosen, knowing the references."""

from __future__ import annotations

import numpy as np

from nbest.base.errors import need_kind
from nbest.base.randomness import generator
from nbest.base.types import Ints
from nbest.corpus import NBest


def oracle(corpus: NBest) -> Ints:
    """[N] the hypothesis with the smallest loss of each segment alone, ties to the first; -1 where a list is empty."""
    need_kind("oracle", "corpus", corpus, NBest)
    return corpus.oracle()


def corpus_oracle(corpus: NBest, rounds: int = 1000) -> Ints:
    """[N] a choice that no change in a single segment makes better for the corpus metric.

    Greedy: starts from `oracle` and goes through the segments until nothing gains. Exact for metrics that are linear
    in their statistics, a lower bound of the best corpus score for others.
    """
    need_kind("corpus_oracle", "corpus", corpus, NBest)
    stats, metric = corpus.need_stats()
    sign = 1.0 if metric.higher_is_better else -1.0
    choice = oracle(corpus)
    totals = corpus.totals(choice)
    for _ in range(rounds):
        changed = False
        for i in np.flatnonzero(corpus.lengths > 1):
            low, high = corpus.offsets[i], corpus.offsets[i + 1]
            rest = totals - stats[choice[i]]
            values = sign * metric.score(rest + stats[low:high])
            best = int(low + values.argmax())
            if values[best - low] > values[choice[i] - low] + 1e-12:
                totals, choice[i], changed = rest + stats[best], best, True
        if not changed:
            break
    return choice


def random_score(corpus: NBest, seed: int = 1, draws: int = 20) -> float:
    """The metric of hypotheses drawn at random from each list, on average over `draws`."""
    need_kind("random_score", "corpus", corpus, NBest)
    rng = generator(seed)
    filled = corpus.lengths > 0
    drawn = []
    for _ in range(draws):
        choice = np.full(len(corpus), -1, np.int64)
        choice[filled] = corpus.offsets[:-1][filled] + rng.integers(corpus.lengths[filled])
        drawn.append(corpus.score(choice))
    return float(np.mean(drawn))
