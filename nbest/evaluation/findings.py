"""What makes scores of lists suspicious: features that know the references, costs, letters in another case."""

from __future__ import annotations

from dataclasses import replace
from functools import singledispatch
from itertools import islice
from typing import Any

import numpy as np

from nbest.base.types import Floats, Ints
from nbest.compute import segments
from nbest.corpus import NBest
from nbest.corpus.contract import Corpus
from nbest.decisions import first
from nbest.evaluation.significance import permutation
from nbest.metrics import External

_ROWS = 20000  # hypotheses, or texts, that are looked at first
_PAIRS = 20  # hypotheses of different loss from which their order is no chance: 2^-20
_COST = 0.2  # share of what can be gained over a random choice that the smallest values of a cost gain
_LEVEL = 0.01  # p-value up to which a difference is no chance
_CASED = 0.05  # share of capitals by which texts are in one case, or differ


# labels ---------------------------------------------------------------------------------------------------------


def leaked_labels(corpus: NBest) -> list[str]:
    """The dense features that order the hypotheses of every list as the metric's loss does, ties and all."""
    stats, metric = corpus.need_stats()
    names = list(corpus.feature_names)
    few = max(1, int(np.searchsorted(corpus.offsets, _ROWS, side="right")) - 1)
    for part in (corpus.select(np.arange(min(few, len(corpus)))), corpus):
        if names:
            losses = metric.losses(stats[: part.hypotheses])
            names = [name for name in names if _is_copy(part.column(name), losses, part.offsets)]
    return names


def _is_copy(column: Floats, losses: Floats, offsets: Ints) -> bool:
    """Whether within lists a column is a rising, or a falling, function of the losses."""
    owners = segments.owners(offsets)
    order = np.lexsort((losses, owners))
    inside = np.diff(owners[order]) == 0
    steps = np.diff(losses[order])[inside]
    with np.errstate(over="ignore"):  # of the largest numbers: infinite, which is a step too
        change = np.diff(column[order])[inside]
    tolerance = 1e-6 * (np.abs(change).max(initial=0.0))
    if (steps > 0).sum() < _PAIRS or (np.abs(change[steps == 0]) > tolerance).any():
        return False
    moved = change[steps > 0]
    return bool((moved > tolerance).all() or (moved < -tolerance).all())


@singledispatch
def label_findings(corpus: Corpus) -> list[str]:
    """One sentence a feature that is the metric itself, which is looked for in lists only."""
    return []


@label_findings.register(NBest)
def _(corpus: NBest) -> list[str]:
    _, metric = corpus.need_stats()
    return [
        f"feature {name!r} orders all hypotheses exactly as {metric.name} does: it knows the references, and new lists "
        "will not have it; leave it out (--drop)"
        for name in leaked_labels(corpus)
    ]


def oracle_like(corpus: NBest, score: float | None, reverse: float | None, scores: dict[str, float]) -> bool:
    """Whether a feature alone, with these scores by its largest and smallest values, is as good as the oracle where
    many lists have something to gain."""
    stats, metric = corpus.need_stats()
    losses = metric.losses(stats)
    gain = segments.maxima(losses, corpus.offsets) > -segments.maxima(-losses, corpus.offsets)
    return int(gain.sum()) >= _PAIRS and any(
        each is not None and abs(each - scores["oracle"]) <= 1e-9 for each in (score, reverse)
    )


# costs ----------------------------------------------------------------------------------------------------------


def looks_like_cost(corpus: NBest, name: str, scores: dict[str, float]) -> bool:
    """Whether the smallest values of a feature choose clearly better than chance, and than its largest.

    Clearly: they gain at least a fifth of what the oracle gains over a random choice, the largest lose, and swapping
    the two choices at random within segments (a paired permutation test) hardly ever gives such a difference.
    A column of whole numbers counts something (words, pieces), and is no cost.
    """
    stats, metric = corpus.need_stats()
    sign = 1.0 if metric.higher_is_better else -1.0
    filled = corpus.lengths > 0
    column = corpus.column(name)
    if (column == np.round(column)).all():
        return False
    largest, smallest = (segments.argmax(way * column, corpus.offsets)[filled] for way in (1.0, -1.0))
    by_largest, by_smallest = (sign * float(metric.score(stats[rows].sum(axis=0))) for rows in (largest, smallest))
    chance, best = sign * scores["random"], sign * scores["oracle"]
    if not by_largest < chance or by_smallest < chance + _COST * (best - chance) or best <= chance:
        return False
    return permutation(metric, stats[largest], stats[smallest], samples=1000).p <= _LEVEL


# letters --------------------------------------------------------------------------------------------------------


def case_findings(corpus: NBest) -> list[str]:
    """Whether outputs and references differ in case all over, and what the score is without it."""
    metric: Any = corpus.metric
    chosen = first(None, corpus)
    filled = np.flatnonzero(chosen >= 0)
    if corpus.references is None or corpus.texts is None or not len(filled) or isinstance(metric, External):
        return []
    if getattr(metric, "lowercase", True):  # ignored already, or always counted
        return []
    texts = corpus.texts.take(chosen[filled])
    references = [corpus.references[i] for i in filled]
    own, theirs = _capitals(islice(texts, _ROWS)), _capitals(refs[0] for refs in references[:_ROWS])
    if own is None or theirs is None or abs(own - theirs) < _CASED:
        return []
    if not any(share < _CASED / 10 or share > 1 - _CASED for share in (own, theirs)):
        return []
    without: Any = replace(metric, lowercase=True)
    score = float(without.score(without.stats(texts, np.arange(len(filled) + 1), references).sum(axis=0)))
    return [
        f"outputs and references differ in case ({100 * own:.0f} and {100 * theirs:.0f} % of their letters are "
        f"capitals): {metric.name} {corpus.score(chosen):.2f}, and {score:.2f} with --lowercase"
    ]


def _capitals(texts: Any) -> float | None:
    """The share of capitals among letters that have two cases; None without such letters."""
    upper = lower = 0
    for text in texts:
        upper += sum(map(str.isupper, text))
        lower += sum(map(str.islower, text))
    return upper / (upper + lower) if upper + lower else None
