"""`--add auto`: the features that make choices of left-out lists better beyond noise, and what each gave."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from nbest.base.errors import CapabilityError
from nbest.base.types import Floats, Ints
from nbest.compute import parallel, segments
from nbest.compute.blas import ONE_BLAS_THREAD
from nbest.corpus import NBest
from nbest.corpus.contract import Corpus, need_lists
from nbest.corpus.grouping import in_folds, units
from nbest.features import apply_recipes, fit_recipes
from nbest.features.wanted import Names, Wanted, besides_auto, columns, wanted
from nbest.metrics.paired import by_group, permutation
from nbest.trainers.targets import fit_targets, soft_targets

Progress = Callable[[int, int], None] | None

CANDIDATES = ("length", "frequency", "rank", "agreement", "posterior", "standardised", "places")
"""Features that `auto` tries."""

LEVEL = 0.05
"""How probably any of useless features is kept, at most."""

_HYPOTHESES = 1 << 15  # that the choice is made on, at most
_SHORTEST, _LONGEST = 10, 64  # hypotheses that are kept of a list, at least and at most
_FEWEST = 20  # segments, or groups, that can tell anything
_FOLDS = 5
_REPEATS = 2  # other folds, so that less depends on which
_TEMPERATURES = (0.1, 0.5, 1.0)  # of soft targets, tried on the features that are there
_SHARE = 0.4  # of the entropy of lists without a preference: how sharp posteriors are compared
_SAMPLES = 2000  # of the permutation test
_OF_FEATURES = ("posterior", "standardised", "places")
_LOSSES = {"BLEU": "bleu", "CHRF": "chrf", "CHRFPlusPlus": "chrf", "CER": "cer", "Exact": "exact"}


@dataclass(frozen=True)
class Tried:
    """A feature that was tried: what it gave to the metric of left-out lists, and how probable that is by chance."""

    kind: str
    gain: float | None = None  # of 1-best choices; more than 0 is better, whatever the metric
    p: float | None = None  # one-sided, of the expected metric
    kept: bool = False
    why: str = ""  # it was not tried

    def content(self) -> dict[str, Any]:
        """For files, without what is not known."""
        known = {"gain": _short(self.gain), "p": _short(self.p), "kept": self.kept, "why": self.why}
        return {"feature": self.kind, **{key: value for key, value in known.items() if value not in (None, "")}}


def _short(value: float | None) -> float | None:
    return None if value is None else round(value, 6)


@dataclass(frozen=True)
class Added:
    """What `auto` adds."""

    recipes: tuple[Mapping[str, Any], ...] = ()
    tried: tuple[Tried, ...] = ()
    words: str = ""  # how it was chosen, or why nothing was tried


@dataclass(frozen=True)
class WithColumns:
    """Corpora with their added columns."""

    sets: tuple[Any, ...]
    recipes: tuple[Mapping[str, Any], ...]
    added: Added | None = None  # by `auto`
    replaced: tuple[str, ...] = ()  # columns that the first corpus had with other values


def add_columns(
    add: Wanted, sets: Sequence[Any], *, only: Names = None, drop: Names = None, progress: Progress = None
) -> WithColumns:
    """The corpora with the columns that are wanted, the recipes being fitted to the first; None stays None.

    What `auto` adds is chosen on the first, too, beside the features that are named and kept.
    """
    named, auto = besides_auto(add)
    recipes = fit_recipes(sets[0], wanted(named))
    before, *_ = sets
    sets = tuple(None if each is None else columns(each, recipes, only, drop) for each in sets)
    replaced = _replaced(before, sets[0]) if recipes else ()
    if not auto:
        return WithColumns(sets, recipes, replaced=replaced)
    added = choose_features(sets[0], progress=progress)
    sets = tuple(None if each is None else apply_recipes(each, added.recipes) for each in sets)
    return WithColumns(sets, (*recipes, *added.recipes), added, replaced)


def _replaced(before: Corpus, after: Corpus) -> tuple[str, ...]:
    """Columns of which the values are other ones now, by more than they may have been rounded."""
    both = [name for name in before.feature_names if name in after.feature_names]
    return tuple(n for n in both if not np.allclose(before.column(n), after.column(n), rtol=1e-3, atol=1e-3))


def choose_features(corpus: Corpus, *, seed: int = 1, progress: Progress = None) -> Added:
    """The features of `CANDIDATES` that make choices of left-out lists better beyond noise, one after the other.

    Quick models (`fit_targets`) are fitted without each of 5 folds, whole groups together, with and without the columns
    of a feature, and choose of the lists that were left out; twice, by different folds. The feature that gives most to
    the expected metric is kept if a paired permutation test says so (p <= 0.05 / number of features) and 1-best choices
    are better, too; then the others are tried beside it. Expected metrics are compared at equal entropy, as a feature
    may sharpen posteriors without changing what is best. All this on at most 32,768 hypotheses: evenly spread segments,
    and of each list evenly spread places, 64 at most. Sparse features are left aside. Lists without any get `rank`.
    """
    lists = need_lists(corpus, "--add auto tries features of whole texts, which edges of a forest do not have")
    if not lists.scored:
        why = "keeps what makes choices better by a metric, and these lists have none"
        raise CapabilityError(f"--add auto {why}; give a metric, or name the features to add")
    first = [] if lists.names else [{"kind": "rank"}]
    many, what = int(units(lists).max(initial=-1)) + 1, "segments" if lists.groups is None else "groups"
    if many < _FEWEST:
        return Added(fit_recipes(lists, first), words=f"nothing was tried: {many} {what} are too few, of {_FEWEST}")
    with ONE_BLAS_THREAD:
        small = _thinned(lists.without_sparse())
        if not small.feature_names:
            small = apply_recipes(small, [{"kind": "rank"}])
        offers = [_offer(small, kind) for kind in CANDIDATES]
        useful = [each for each in offers if isinstance(each, _Offer)]
        kept, tried = _forward(_LeftOut.of(small, seed), useful, progress)
    told = {each.kind: each for each in (*offers, *tried) if isinstance(each, Tried)}
    recipes = fit_recipes(lists, [*first, *(each.want for each in kept)])
    where = f"{len(small)} segments with {small.hypotheses} hypotheses"
    return Added(recipes, tuple(told[kind] for kind in CANDIDATES), f"tried in {_REPEATS} x {_FOLDS} folds of {where}")


def _thinned(lists: NBest) -> NBest:
    """Evenly spread segments, and evenly spread places of each list, so that there are few enough hypotheses."""
    most = _HYPOTHESES // _SHORTEST
    if len(lists) > most:
        lists = lists.select(np.linspace(0, len(lists) - 1, most).astype(np.int64))
    size = np.repeat(np.maximum(lists.lengths, 1), lists.lengths)
    place = np.arange(lists.hypotheses) - np.repeat(lists.offsets[:-1], lists.lengths)
    some = np.minimum(size, min(max(_SHORTEST, _HYPOTHESES // max(len(lists), 1)), _LONGEST))
    kept = (place == 0) | (place * some // size != (place - 1) * some // size)
    return lists if kept.all() else lists.keep(kept)


@dataclass(frozen=True)
class _Offer:
    """A feature to try: its recipe before it is fitted, and its columns [H, D]."""

    want: Mapping[str, Any]
    columns: Floats

    @property
    def kind(self) -> str:
        return str(self.want["kind"])


def _offer(lists: NBest, kind: str) -> _Offer | Tried:
    """The columns of a feature, or why it cannot be tried."""
    own = lists.feature_names
    want: dict[str, Any] = {"kind": kind}
    if kind in _OF_FEATURES:
        want["features"] = list(own)
    if kind == "agreement":
        want["metric"] = "exact" if lists.answers is not None else _LOSSES.get(type(lists.metric).__name__, "wer")
    try:
        wide = apply_recipes(lists, fit_recipes(lists, [want]))
    except CapabilityError as error:
        return Tried(kind, why=str(error))
    replaced = next((name for name in own if not np.array_equal(lists.column(name), wide.column(name))), None)
    if replaced is not None:
        return Tried(kind, why=f"the lists have another {replaced!r} already")
    columns = _measured(wide, [name for name in wide.feature_names if name not in own])
    if not columns.shape[1]:
        return Tried(kind, why="it adds nothing new that differs within lists")
    return _Offer(want, columns)


def _measured(lists: NBest, names: Sequence[str]) -> Floats:
    """[H, <= D] columns around the means of lists, in units of their spread; without those that never differ."""
    found = []
    for name in names:
        column = lists.column(name)
        column = column / (np.abs(column).max(initial=0.0) or 1.0)
        means = segments.sums(column, lists.offsets) / np.maximum(lists.lengths, 1)
        column = column - np.repeat(means, lists.lengths)
        spread = float(np.sqrt(np.mean(column**2))) if len(column) else 0.0
        if spread > 1e-13:
            found.append(column / spread)
    return np.stack(found, axis=1) if found else np.zeros((lists.hypotheses, 0))


@dataclass(frozen=True)
class _LeftOut:
    """Lists with what quick models of folds chose of them, by some columns."""

    lists: NBest
    folds: tuple[Ints, ...]  # [N] the fold of each segment, in each repetition
    counts: Floats  # [N] 1 where hypotheses differ in loss, else 0
    targets: Floats  # [H]
    columns: Floats  # [H, D]
    weights: Floats = field(default_factory=lambda: np.zeros(0))  # of the last model
    chosen: Floats = field(default_factory=lambda: np.zeros((0, 0)))  # [N, M] mean statistics of 1-best choices
    expected: Floats = field(default_factory=lambda: np.zeros((0, 0)))  # [N, M] under posteriors of equal entropy

    @classmethod
    def of(cls, lists: NBest, seed: int) -> _LeftOut:
        """With the features that the lists have, and the temperature of targets that suits them best."""
        losses, offsets = lists.losses(), lists.offsets
        differ = segments.maxima(losses, offsets) + segments.maxima(-losses, offsets) > 1e-12
        folds = tuple(in_folds(lists, _FOLDS, seed + number) for number in range(_REPEATS))
        plain = cls(lists, folds, differ.astype(np.float64), losses, _measured(lists, lists.feature_names))
        made = [replace(plain, targets=soft_targets(losses, offsets, t)).fitted() for t in _TEMPERATURES]
        return max(made, key=lambda each: each.goodness(each.expected))

    def with_columns(self, columns: Floats) -> _LeftOut:
        """The same with further columns."""
        return replace(self, columns=np.concatenate([self.columns, columns], axis=1)).fitted()

    def fitted(self) -> _LeftOut:
        """Models without each fold, and what they choose of it, on average over repetitions."""
        offsets, (stats, _) = self.lists.offsets, self.lists.need_stats()
        weights: Floats = np.zeros(self.columns.shape[1])
        weights[: len(self.weights)] = self.weights
        chosen, expected = np.zeros((2, len(self.lists), stats.shape[1]))
        for fold in self.folds:
            scores = np.zeros(len(self.columns))
            for number in range(_FOLDS):
                counts = self.counts * (fold != number)
                weights = fit_targets(self.columns, offsets, self.targets, counts, start=weights)
                out = np.repeat(fold == number, self.lists.lengths)
                scores[out] = self.columns[out] @ weights
            best = segments.argmax(scores, offsets)
            chosen += np.where((best >= 0)[:, None], stats[best], 0.0) / len(self.folds)
            expected += segments.sums(_sharpened(scores, offsets)[:, None] * stats, offsets) / len(self.folds)
        return replace(self, weights=weights, chosen=chosen, expected=expected)

    def goodness(self, stats: Floats) -> float:
        """The metric of statistics [N, M], larger is better."""
        _, metric = self.lists.need_stats()
        return (1.0 if metric.higher_is_better else -1.0) * float(metric.score(stats.sum(axis=0)))

    def better_than(self, other: _LeftOut) -> tuple[float, float, float]:
        """How much better than another the metric of choices and the expected one are, and the p of the latter."""
        _, metric = self.lists.need_stats()
        first, second = (by_group(each.expected, self.lists.groups) for each in (other, self))
        p = permutation(metric, first, second, samples=_SAMPLES).p / 2
        gains = [
            self.goodness(mine) - self.goodness(its)
            for mine, its in ((self.chosen, other.chosen), (self.expected, other.expected))
        ]
        return gains[0], gains[1], p if gains[1] > 0 else 1.0 - p


def _sharpened(scores: Floats, offsets: Ints) -> Floats:
    """[H] posteriors of scores times what gives them `_SHARE` of the entropy of lists without a preference."""
    spread = segments.deviation(scores, offsets)
    if spread == 0:
        return segments.softmax(scores, offsets)
    scores = scores / spread
    sizes = segments.lengths(offsets)
    wanted, low, high = _SHARE * float(np.log(np.maximum(sizes, 1)).sum()), -6.0, 10.0
    for _ in range(14):
        middle = (low + high) / 2
        posterior = segments.softmax(2.0**middle * scores, offsets)
        low, high = (middle, high) if _entropy(posterior) > wanted else (low, middle)
    return segments.softmax(2.0 ** ((low + high) / 2) * scores, offsets)


def _entropy(posterior: Floats) -> float:
    some = posterior[posterior > 0]
    return -float(some @ np.log(some))


def _forward(base: _LeftOut, offers: Sequence[_Offer], progress: Progress) -> tuple[list[_Offer], list[Tried]]:
    """The features that are kept, in the order in which they were found, and what was seen of all, when last tried."""
    level = LEVEL / max(len(offers), 1)
    left, kept, tried = list(offers), list[_Offer](), dict[str, Tried]()
    tell = parallel.counter(progress, len(offers))

    def trial(offer: _Offer) -> tuple[_LeftOut, float, float, float]:
        found = base.with_columns(offer.columns)
        if not kept:
            tell(1)
        return (found, *found.better_than(base))

    while left:
        found = parallel.each(trial, left)
        best = -1
        for number, (offer, (_, gain, expected, p)) in enumerate(zip(left, found, strict=True)):
            tried[offer.kind] = Tried(offer.kind, gain, p)
            if p <= level and gain > 0 and (best < 0 or expected > found[best][2]):
                best = number
        if best < 0:
            break
        base = found[best][0]
        kept.append(left.pop(best))
        tried[kept[-1].kind] = replace(tried[kept[-1].kind], kept=True)
    return kept, list(tried.values())
