"""What makes scores of lists suspicious: features that know the references, costs, letters in another case, references
of other lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np

from nbest.compute import segments
from nbest.corpus import NBest, Texts
from nbest.corpus.contract import Corpus
from nbest.corpus.kept import Kept, blocks_of
from nbest.corpus.metric import Metric
from nbest.decisions import first
from nbest.evaluation.significance import permutation
from nbest.metrics import External
from nbest.metrics.normalise import NONE, normalised

_ROWS = 20000  # hypotheses, or texts, that are looked at first
_PAIRS = 20  # hypotheses of different loss from which their order is no chance: 2^-20
_COST = 0.2  # share of what can be gained over a random choice that the smallest values of a cost gain
_LEVEL = 0.01  # p-value up to which a difference is no chance
_SURE = 0.001  # and up to which it stops the work
_LINES = 300  # that are looked at before it
_CASED = 0.05  # share of capitals by which texts are in one case, or differ


# labels ---------------------------------------------------------------------------------------------------------


def leaked_labels(lists: NBest | Kept) -> list[str]:
    """The dense features that order the hypotheses of every list as the metric's loss does, ties and all."""
    corpus = next(iter(blocks_of(lists)))
    names = list(corpus.feature_names)
    few = max(1, int(np.searchsorted(corpus.offsets, _ROWS, side="right")) - 1)
    for parts, pairs in (([corpus.between(0, min(few, len(corpus)))], 0), (blocks_of(lists), _PAIRS)):
        if names:
            found = [_steps(part, names) for part in parts]
            names = [name for d, name in enumerate(names) if _is_copy([steps[d] for steps in found], pairs)]
    return names


class _LossSteps(NamedTuple):
    """How a column goes along with the losses of some lists: steps between hypotheses next to each other by loss."""

    rising: int  # steps in which the loss rises
    largest: float  # step of the column
    tied: float  # largest step of the column where the loss is the same
    low: float  # least and greatest step of the column where the loss rises
    high: float


def _steps(part: NBest, names: Sequence[str]) -> list[_LossSteps]:
    stats, metric = part.need_stats()
    losses, owners = metric.losses(stats), segments.owners(part.offsets)
    order = np.lexsort((losses, owners))
    inside = np.diff(owners[order]) == 0
    steps = np.diff(losses[order])[inside]
    found = []
    for name in names:
        with np.errstate(over="ignore"):  # of the largest numbers: infinite, which is a step too
            change = np.diff(part.column(name)[order])[inside]
        moved, tied = change[steps > 0], np.abs(change[steps == 0])
        size = np.abs(change).max(initial=0.0)
        low, high = moved.min(initial=np.inf), moved.max(initial=-np.inf)
        found.append(_LossSteps(len(moved), size, tied=tied.max(initial=0.0), low=low, high=high))
    return found


def _is_copy(found: Sequence[_LossSteps], pairs: int) -> bool:
    """Whether within lists a column is a rising, or a falling, function of the losses, in at least so many pairs."""
    tolerance = 1e-6 * max(each.largest for each in found)
    if sum(each.rising for each in found) < pairs or max(each.tied for each in found) > tolerance:
        return False
    return min(each.low for each in found) > tolerance or max(each.high for each in found) < -tolerance


@singledispatch
def label_findings(corpus: Corpus) -> list[str]:
    """One sentence a feature that is the metric itself, which is looked for in lists only."""
    return []


@label_findings.register(NBest)
def _(corpus: NBest) -> list[str]:
    return label_findings_of(leaked_labels(corpus), corpus.need_metric())


def label_findings_of(names: Sequence[str], metric: Metric) -> list[str]:
    """That of these features."""
    return [
        f"feature {name!r} orders all hypotheses exactly as {metric.name} does: it knows the references, and new lists "
        "will not have it; leave it out (--drop)"
        for name in names
    ]


def oracle_like(lists: NBest | Kept, score: float | None, reverse: float | None, scores: dict[str, float]) -> bool:
    """Whether a feature alone, with these scores by its largest and smallest values, is as good as the oracle where
    many lists have something to gain."""
    if not any(each is not None and abs(each - scores["oracle"]) <= 1e-9 for each in (score, reverse)):
        return False
    gaining = 0
    for block in blocks_of(lists):
        stats, metric = block.need_stats()
        losses = metric.losses(stats)
        worst, best = segments.maxima(losses, block.offsets), -segments.maxima(-losses, block.offsets)
        gaining += int((worst > best).sum())
    return gaining >= _PAIRS


# costs ----------------------------------------------------------------------------------------------------------


def looks_like_cost(
    lists: NBest | Kept, name: str, by_largest: float | None, by_smallest: float | None, scores: dict[str, float]
) -> bool:
    """Whether the smallest values of a feature choose clearly better than chance, and than its largest.

    Clearly: they gain at least a fifth of what the oracle gains over a random choice, the largest lose, and swapping
    the two choices at random within segments (a paired permutation test) hardly ever gives such a difference.
    A column of whole numbers counts something (words, pieces), and is no cost.
    """
    metric = lists.need_metric()
    sign = 1.0 if metric.higher_is_better else -1.0
    chance, best = sign * scores["random"], sign * scores["oracle"]
    enough = chance + _COST * (best - chance)
    assert by_largest is not None
    assert by_smallest is not None
    if not sign * by_largest < chance or sign * by_smallest < enough or best <= chance:
        return False
    whole, chosen = True, []
    for block in blocks_of(lists):
        column, stats = block.column(name), block.need_stats()[0]
        whole = whole and bool((column == np.round(column)).all())
        rows = [segments.argmax(way * column, block.offsets)[block.lengths > 0] for way in (1.0, -1.0)]
        chosen.append([stats[each] for each in rows])
    if whole:
        return False
    largest, smallest = (np.concatenate(parts) for parts in zip(*chosen, strict=True))
    return permutation(metric, largest, smallest, samples=1000).p <= _LEVEL


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
    assert corpus.compared is not None
    texts = corpus.compared.take(chosen[filled])
    references = [corpus.references[i] for i in filled]
    how, few = getattr(metric, "normalize", NONE), slice(None, _ROWS)
    own, theirs = map(_capitals, normalised(how, texts.take(few), Texts.of(refs[0] for refs in references[few])))
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


# references -----------------------------------------------------------------------------------------------------


def reference_findings(corpus: NBest, *, sure: bool = False) -> list[str]:
    """Whether the outputs fit the references of the line before or after better than their own; `sure`: the first
    few hundred do, beyond any chance."""
    corpus = corpus.between(0, min(_LINES, len(corpus))) if sure else corpus
    chosen = first(None, corpus)
    if corpus.references is None or corpus.compared is None or len(corpus) < 5 or (chosen < 0).any():
        return []
    stats, metric = corpus.need_stats()
    if isinstance(metric, External):  # its scores do not come from references
        return []
    sign = 1.0 if metric.higher_is_better else -1.0
    offsets, texts = np.arange(len(corpus) + 1), corpus.compared.take(chosen)
    own = corpus.score(chosen)
    for shift in (1, -1):
        moved = metric.stats(texts, offsets, corpus.references[-shift:] + corpus.references[:-shift])
        other = float(metric.score(moved.sum(axis=0)))
        better = sign * other > sign * own
        if better and not (sure and permutation(metric, stats[chosen], moved).p > _SURE):
            where = "before" if shift == 1 else "after"
            fit = f"{other:.2f}, own {own:.2f}"
            return [f"references do not line up: outputs fit the reference of the line {where} better ({fit})"]
    return []
