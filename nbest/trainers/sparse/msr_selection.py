"""Which feature comes next in minimum sample risk: effect against the base model, less correlation with the chosen."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from nbest.base.types import Floats, Ints
from nbest.compute import segments
from nbest.compute.compilation import kernel

_DIGITS, _TIE = 12, 1e-12  # values nearer to each other are equal


@dataclass(frozen=True)
class Candidates:
    """Columns that lower the risk of the base model, the most effective first (ties: the first column).

    effect[j] is E of Yuan, Gao & Bu (2007), eq. 6: how much column j lowers the risk of the base model, relative to the
    best column. The segments whose own loss it lowers, x_mj = 1, are improved[offsets[j]:offsets[j + 1]]. Only as many
    columns are kept as a window can ever reach.
    """

    columns: Ints  # [J]
    effect: Floats  # [J] in (0, 1], falling
    offsets: Ints  # [J+1]
    improved: Ints  # segments

    @property
    def counts(self) -> Ints:
        """[J] sum_m x_mj."""
        return segments.lengths(self.offsets)

    def by_segment(self, count: int) -> tuple[Ints, Ints]:
        """Offsets [N+1] and candidates j with x_mj = 1, by segment m."""
        order = np.argsort(self.improved, kind="stable")
        offsets = segments.offsets_of(np.bincount(self.improved, minlength=count))
        return offsets, segments.owners(self.offsets)[order]


def ranking(gains: Floats, count: int) -> tuple[Ints, Floats]:
    """The `count` columns of largest gain, none without any, and their effect E (eq. 6); rounding decides no order."""
    effects = np.round(gains / (gains.max(initial=0.0) or 1.0), _DIGITS)
    order = np.argsort(-effects, kind="stable")[:count]
    order = order[effects[order] > 0]
    return order, effects[order]


def candidates(columns: Ints, effect: Floats, improved: list[Ints]) -> Candidates:
    """Ranked columns with the segments that each improves."""
    offsets = segments.offsets_of(np.array([len(part) for part in improved], np.int64))
    return Candidates(columns, effect, offsets, np.concatenate([*improved, np.zeros(0, np.int64)]))


@dataclass
class Selection:
    """Picks candidates one by one: argmax_j alpha E(f_j) - (1 - alpha) correlation_j over a window.

    The window are the `window` most effective candidates not picked yet. Ties go to the more effective.
    `correlations` [J] and `picked` [J] are kept up to date; a step costs O(window) and what `see` costs.
    """

    candidates: Candidates
    segments_: int  # N
    alpha: float
    window: int
    correlations: Floats = field(init=False)
    picked: Ints = field(init=False)

    def __post_init__(self) -> None:
        self.correlations = np.zeros(len(self.candidates.columns))
        self.picked = np.zeros(len(self.candidates.columns), np.int8)
        self._by_segment = self.candidates.by_segment(self.segments_)
        self._roots = np.sqrt(np.maximum(self.candidates.counts, 1).astype(np.float64))
        self._first = 0

    def pick(self) -> int | None:
        """The next candidate, a place in `candidates`; None when all are picked."""
        best, self._first = _best(
            self._first, self.candidates.effect, self.correlations, self.picked, alpha=self.alpha, window=self.window
        )
        if best < 0:
            return None
        self.picked[best] = 1
        return int(best)

    def see(self, pick: int, changed: Ints, better: Ints) -> None:
        """Take note of a pick and of the segments whose choice changed; `better` [N] is x_mF of the model now."""
        raise NotImplementedError


class MeanCorrelation(Selection):
    """MSR: the mean of C(i, j) over the picked i (eq. 7 and 8), as one running sum a candidate.

    C(i, j) = sum_m x_mi x_mj / sqrt(sum_m x_mi sum_m x_mj). A pick only touches candidates that share a segment with
    it.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        self.sums = np.zeros(len(self.correlations))
        self._picks = 0

    def see(self, pick: int, changed: Ints, better: Ints) -> None:
        """Add the correlations of the pick with all candidates to their sums."""
        own = self.candidates
        improved = own.improved[own.offsets[pick] : own.offsets[pick + 1]]
        shared = _shared(improved, *self._by_segment, len(self.sums))
        self.sums += shared / (self._roots * self._roots[pick])
        self._picks += 1
        self.correlations = self.sums / self._picks


class ModelCorrelation(Selection):
    """MSR-II: C(F, j) of the whole present model F, x_mF = 1 where its loss is below the base model's (eq. 10).

    The counts sum_m x_mF x_mj are whole numbers that follow the segments whose x_mF flips.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        self.better = np.zeros(self.segments_, np.int8)  # x_mF
        self.shared = np.zeros(len(self.correlations), np.int64)

    def see(self, pick: int, changed: Ints, better: Ints) -> None:
        """Move the counts of all candidates that improve a segment whose x_mF has flipped."""
        flipped = changed[better[changed] != self.better[changed]]
        gone = flipped[better[flipped] == 0]
        self.shared += _shared(flipped, *self._by_segment, len(self.shared))
        self.shared -= 2 * _shared(gone, *self._by_segment, len(self.shared))
        self.better[flipped] = better[flipped]
        size = int(self.better.sum())
        self.correlations = self.shared / (self._roots * np.sqrt(max(size, 1)))


@kernel
def _best(first, effect, correlations, picked, alpha, window):
    """The best of the next `window` candidates that are not picked (-1: none), and the first of them."""
    while first < len(picked) and picked[first]:
        first += 1
    best, top, seen = -1, -np.inf, 0
    for j in range(first, len(picked)):
        if picked[j]:
            continue
        value = alpha * effect[j] - (1.0 - alpha) * correlations[j]
        if value > top + _TIE:
            best, top = j, value
        seen += 1
        if seen == window:
            break
    return best, first


@kernel
def _shared(which, offsets, members, count):
    """[count] in how many of the segments `which` each candidate is a member."""
    out = np.zeros(count, np.int64)
    for m in which:
        for t in range(offsets[m], offsets[m + 1]):
            out[members[t]] += 1
    return out
