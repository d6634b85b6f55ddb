"""Exact line searches on the weight of one sparse column, and scores that follow the steps taken."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from nbest.base.types import Floats, Ints
from nbest.compute import parallel, segments
from nbest.compute.compilation import kernel
from nbest.lines.search import TOLERANCE
from nbest.lines.sparse_index import SparseIndex
from nbest.lines.sparse_pieces import choose, intervals
from nbest.lines.sparse_totals import SampleRisk

_LEAST = 1e-9  # a risk that falls by less, relative to its size or 1, has not fallen
_BATCH = 1 << 17  # numbers that one batch of columns may hold at a time, about


class SparseLines:
    """Lists with scores, the choice they make and its risk; columns of an index can be searched and moved along.

    `half`: the b of Yuan, Gao & Bu (2007), eq. 5: of all intervals that lower the risk the one with the least mean risk
    over [middle - b, middle + b] wins, of equals the one nearest to 0. An end interval, which has no middle, counts as
    2 b wide, so that its window just fits in and its middle is b beyond its cut; with b = 0 it is `beyond` past it.
    Differs from the paper: an interval ends where the statistics of a list change, not where only its choice does; an
    interval that does not lower the risk itself never wins, however smooth it is.
    """

    def __init__(
        self, index: SparseIndex, scores: Floats, risk: SampleRisk, *, half: float = 0.0, beyond: float = 0.1
    ) -> None:
        self.index = index
        self.risk_of = risk
        self.scores = np.array(scores, np.float64)  # [H]
        self.choice = segments.argmax(self.scores, index.lists)  # [N]
        self.totals = risk.stats[self.choice[self.choice >= 0]].sum(axis=0)  # [R]
        self.half = half
        self.beyond = half if half > 0 else beyond
        self._longest = int(segments.lengths(index.lists).max(initial=0))

    @property
    def risk(self) -> float:
        """The sample risk of the present choice."""
        return float(self.risk_of(self.totals[None])[0])

    @property
    def score(self) -> float:
        """The metric of the present choice."""
        return self.risk_of.score(self.totals)

    def search(self, column: int) -> tuple[float, float]:
        """The best step along a column and the risk it leads to; 0 and the present risk where none lowers it."""
        steps, reached = self._search(np.array([column]))
        return float(steps[0]), float(reached[0])

    def search_all(self, progress: Callable[[int, int], None] | None = None) -> tuple[Floats, Floats]:
        """[C] and [C]: what `search` finds for each column from here, in one pass over the index."""
        batches = self._batches()
        tell = parallel.counter(progress, len(batches))

        def one(which: Ints) -> tuple[Floats, Floats]:
            found = self._search(which)
            tell(1)
            return found

        parts = parallel.each(one, batches)
        steps, reached = zip(*parts, strict=True) if parts else ((np.zeros(0),), (np.zeros(0),))
        return np.concatenate(steps), np.concatenate(reached)

    def _batches(self) -> list[Ints]:
        """All columns in their order, in batches of about as many entries."""
        width = self.risk_of.stats.shape[1]
        load = self.index.offsets + np.arange(self.index.columns + 1)
        cuts = np.searchsorted(load, np.arange(0, load[-1] + 1, max(1, _BATCH // width)))
        cuts = np.unique(np.concatenate([cuts, [0, self.index.columns]]))
        return [np.arange(low, high) for low, high in zip(cuts[:-1], cuts[1:], strict=True)]

    def _search(self, which: Ints) -> tuple[Floats, Floats]:
        index, stats = self.index, self.risk_of.stats
        arrays = index.offsets, index.rows, index.values, index.owners, index.lists
        state = self.scores, self.choice, stats
        cuts, ends, totals = intervals(which, arrays, self._longest, state, self.totals, tolerance=TOLERANCE)
        steps, reached = np.empty(len(which)), np.empty(len(which))
        now = self.risk
        window = self.half, self.beyond, self._least(now)
        choose(cuts, ends, self.risk_of(totals), now, window, out=(steps, reached))
        return steps, reached

    def _least(self, risk: float) -> float:
        return _LEAST * max(1.0, abs(risk))

    def move(self, column: int, x: float, *, falling: bool = True) -> Ints | None:
        """Take a step; the segments whose choice changed.

        With `falling` a step that does not lower the risk is not taken, and None is returned: rounding may undo what
        the lines promised.
        """
        rows, values = self.index.entries(column)
        before = self.scores[rows]
        self.scores[rows] = before + x * values
        changed, chosen = _rechosen(rows, self.index.owners, self.index.lists, self.scores, self.choice)
        stats = self.risk_of.stats
        totals = self.totals + (stats[chosen] - stats[self.choice[changed]]).sum(axis=0)
        if falling:
            risk = self.risk
            if not self.risk_of(totals[None])[0] < risk - self._least(risk):
                self.scores[rows] = before
                return None
        self.choice[changed], self.totals = chosen, totals
        return changed

    def improved(self, columns: Ints, steps: Floats, losses: Floats) -> list[Ints]:
        """For each column the segments whose loss would fall if that step along it alone were taken (x_md = 1)."""
        index = self.index

        def one(job: tuple[int, float]) -> Ints:
            rows, values = index.entries(job[0])
            lists = index.owners, index.lists
            return _improved((rows, values), job[1], lists, (self.scores, self.choice), losses)

        return parallel.each(one, zip(columns.tolist(), steps.tolist(), strict=True))


@kernel
def _rechosen(rows, owners, lists, scores, choice):
    """Of the lists that own `rows`, the segments whose first best hypothesis is not their choice, and that hypothesis.

    `rows` rise.
    """
    changed = np.empty(len(rows), np.int64)
    chosen = np.empty(len(rows), np.int64)
    n = 0
    last = -1
    for h in rows:
        i = owners[h]
        if i == last:
            continue
        last = i
        best = lists[i]
        for other in range(lists[i] + 1, lists[i + 1]):
            if scores[other] > scores[best]:
                best = other
        if best != choice[i]:
            changed[n], chosen[n] = i, best
            n += 1
    return changed[:n].copy(), chosen[:n].copy()


@kernel
def _improved(entries, x, segments_of, state, losses):
    """The segments, rising, whose loss falls when score + x * value chooses."""
    rows, values = entries
    owners, lists = segments_of
    scores, choice = state
    out = np.empty(len(rows), np.int64)
    n = 0
    t = 0
    while t < len(rows):
        i = owners[rows[t]]
        best, top = -1, -np.inf
        for h in range(lists[i], lists[i + 1]):
            score = scores[h]
            if t < len(rows) and rows[t] == h:
                score += x * values[t]
                t += 1
            if score > top:
                best, top = h, score
        if losses[best] < losses[choice[i]]:
            out[n] = i
            n += 1
    return out[:n].copy()
