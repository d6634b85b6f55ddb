"""The best that could be chosen, knowing the references."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from nbest.base.errors import need_kind
from nbest.base.randomness import generator
from nbest.base.types import Floats, Ints
from nbest.corpus import NBest
from nbest.corpus.kept import Kept, blocks_of
from nbest.corpus.metric import Metric


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
    return _greedy([corpus], corpus.need_metric(), rounds)[0]


def corpus_oracle_score(lists: NBest | Kept) -> float:
    """The metric of that choice, of lists that may be in blocks."""
    metric, blocks = lists.need_metric(), blocks_of(lists)
    return float(metric.score(_totals(blocks, _greedy(blocks, metric, 1000))))


def _greedy(blocks: Iterable[NBest], metric: Metric, rounds: int) -> list[Ints]:
    """The choice in each block."""
    sign = 1.0 if metric.higher_is_better else -1.0
    choices = [oracle(block) for block in blocks]
    totals = _totals(blocks, choices)
    for _ in range(rounds):
        before = totals
        for block, choice in zip(blocks, choices, strict=True):
            totals = _improved(block, choice, totals, metric, sign)
        if totals is before:
            break
    return choices


def _totals(blocks: Iterable[NBest], choices: list[Ints]) -> Floats:
    """[M] statistics of the choices in blocks."""
    return np.sum([block.totals(choice) for block, choice in zip(blocks, choices, strict=True)], axis=0)


def _improved(block: NBest, choice: Ints, totals: Floats, metric: Metric, sign: float) -> Floats:
    """Change the choice where that gains; the new totals, the same object where nothing did."""
    stats, _ = block.need_stats()
    for i in np.flatnonzero(block.lengths > 1):
        low, high = block.offsets[i], block.offsets[i + 1]
        rest = totals - stats[choice[i]]
        values = sign * metric.score(rest + stats[low:high])
        best = int(low + values.argmax())
        if values[best - low] > values[choice[i] - low] + 1e-12:
            totals, choice[i] = rest + stats[best], best
    return totals


def random_score(lists: NBest | Kept, seed: int = 1, draws: int = 20) -> float:
    """The metric of hypotheses drawn at random from each list, on average over `draws`."""
    need_kind("random_score", "lists", lists, NBest, Kept)
    metric, rng = lists.need_metric(), generator(seed)
    lengths = np.concatenate([block.lengths for block in blocks_of(lists)])
    drawn = [rng.integers(lengths[lengths > 0]).astype(np.int32) for _ in range(draws)]
    totals, before = np.zeros((draws, 1)), 0
    for block in blocks_of(lists):
        stats, _ = block.need_stats()
        begin = block.offsets[:-1][block.lengths > 0]
        own = slice(before, before + len(begin))
        totals = totals + np.stack([stats[begin + places[own]].sum(axis=0) for places in drawn])
        before += len(begin)
    return float(np.mean([metric.score(each) for each in totals]))
