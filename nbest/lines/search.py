"""Exact line search: the best place along a direction for any metric of additive statistics."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from nbest.base.mapped import chunks, room
from nbest.base.types import Floats, Ints
from nbest.compute import parallel
from nbest.compute.executors import HeldShard, Threads, current
from nbest.corpus.blocks import blocks
from nbest.corpus.metric import Metric
from nbest.corpus.rows import stacked
from nbest.lines import climbing, formulas
from nbest.lines.climbing import TOLERANCE, middle
from nbest.lines.envelope import FAR, changes, crossings, ends_of, sweep
from nbest.lines.positions import Pieces, Position, Steps, narrow, steps_of, wide

_WIDE = 50_000  # hypotheses for each thread of a search, at least: fewer are not worth the waiting for each other


@dataclass(frozen=True)
class LineStep:
    """A place along the line and the score there (higher is better)."""

    x: float
    value: float


Scores = Floats | Position
"""[H or E'] of all hypotheses or edges; where the shards are in other processes a position, which stands for them."""


@dataclass
class Columns(HeldShard):
    """A shard for line searches: features by columns, and where its scores are among those of the corpus."""

    columns: Floats  # [D, H] or, of forests, [D, E']
    low: int

    def own(self, scores: Scores) -> Floats:
        """[H or E'] those of its hypotheses or edges, among all scores; not to be written to."""
        if isinstance(scores, Position):
            return scores.scores(self)
        return scores[self.low : self.low + self.columns.shape[1]]

    def scores(self, weights: Floats) -> Floats:
        """[H or E'] score of every hypothesis or edge."""
        out = np.empty(self.columns.shape[1])
        climbing.fill_scores(self.columns, weights, out)
        return out

    def moved(self, scores: Floats, direction: Floats, x: float) -> Floats:
        """[H or E'] its scores after a step of x along a direction, without computing them anew."""
        out = self.own(scores).copy()
        self.add(out, x, steps_of(direction))
        return out

    def add(self, scores: Floats, x: float, steps: Steps) -> None:
        """Add a move to its scores."""
        for d, amount in steps:
            scores += (x * amount) * self.columns[d]

    def pieces(self, scores: Scores, direction: Floats, bounds: tuple[float, float]) -> Pieces:
        """What changes along a direction, segment by segment."""
        raise NotImplementedError


@dataclass
class ListColumns(Columns):
    """A shard of lists, with statistics in the narrowest type that holds them."""

    offsets: Ints  # [N+1]
    stats: np.ndarray  # [H, M]

    @cached_property
    def longest(self) -> int:
        """The largest number of hypotheses of a list."""
        return int(np.diff(self.offsets).max(initial=0))

    @cached_property
    def lists(self) -> tuple[Ints, int, Ints]:
        """What kernels want to know of the lists."""
        return self.offsets, self.longest, ends_of(self.columns, self.offsets)

    def pieces(self, scores: Scores, direction: Floats, bounds: tuple[float, float]) -> Pieces:
        """Of all x, whatever the bounds: most breakpoints are within."""
        place, sides, first = self._crossings(scores, direction, parallel.thread_count(None))
        return place, *changes(sides, first, self.stats)

    def search(self, scores: Scores, direction: Floats, bounds: tuple[float, float], goal: climbing.Goal) -> LineStep:
        """The best place within bounds, without an array of totals."""
        pieces = self._crossings(scores, direction, self.threads)
        return LineStep(*climbing.best_along(*pieces, self.stats, goal=goal, bounds=bounds, floor=-np.inf))

    @property
    def threads(self) -> int:
        """How many are worth being used in one search."""
        return max(1, min(parallel.thread_count(None), len(self.stats) // _WIDE))

    def _crossings(self, scores: Scores, direction: Floats, threads: int) -> tuple[Floats, Ints, Ints]:
        own, count = self.own(scores), len(self.offsets) - 1
        edges = np.linspace(0, count, threads + 1).astype(np.int64)
        ranges = list(zip(edges[:-1], edges[1:], strict=True))
        return _joined(
            parallel.each(lambda ends: crossings(self.columns, own, direction, self.lists, ends), ranges, threads)
        )


class Lines:
    """A corpus prepared for line searches. Scores of all its hypotheses (or edges) stay with the caller, who moves on
    along one line after the other; the columns are held by the shards. Where these are in other processes the caller
    has a `Position` instead, and small messages move: it to the shards, what changes along a line back."""

    def __init__(self, shards: list[Columns], metric: Metric, *, alone: bool = False) -> None:
        """Where searches add to what shards have measured they have to be `alone`, one after the other."""
        self.shards, self.metric, self.alone = shards, metric, alone
        self.sign = 1.0 if metric.higher_is_better else -1.0
        self.formula = formulas.formula_of(metric)

    @property
    def compiled(self) -> ListColumns | None:
        """The lists, where they are one shard of this process and their metric has a formula: searched in one go."""
        whole = self.shards[0] if len(self.shards) == 1 and isinstance(current(), Threads) else None
        return whole if isinstance(whole, ListColumns) and self.formula is not None else None

    @property
    def goal(self) -> climbing.Goal:
        """What compiled searches maximise."""
        assert self.formula is not None, "only of compiled lists"
        return self.formula, self.sign

    def scores(self, weights: Floats) -> Scores:
        """[H or E'] score of every hypothesis or edge."""
        return Position(weights.copy()) if current().apart else self._of_all(partial(_scores, weights))

    def moved(self, scores: Scores, direction: Floats, x: float) -> Scores:
        """[H or E'] scores after a step of x along a direction."""
        if isinstance(scores, Position):
            return scores.moved(direction, x)
        return self._of_all(partial(_moved, scores, direction, x))

    def _of_all(self, function: Callable[[Any], Floats]) -> Floats:
        """[H or E'] what a function makes of every shard; on disk where the columns are."""
        count = sum(shard.columns.shape[1] for shard in self.shards)
        return stacked(function, self.shards, count, self.shards[0].columns)

    def intervals(
        self, scores: Scores, direction: Floats, bounds: tuple[float, float] = (-np.inf, np.inf)
    ) -> tuple[Floats, Floats]:
        """Cuts [C], sorted, and the totals [C+1, M] before, between and after them.

        Shards say where the choices of their segments change. All these places are sorted here (equal ones stay in the
        order of segments), so that where the corpus is cut does not change a bit.
        """
        parts = current().map(partial(_pieces, scores, direction, bounds), self.shards)
        return sweep(*_joined([wide(part) for part in parts]), TOLERANCE)

    def search(self, scores: Scores, direction: Floats, bounds: tuple[float, float] = (-np.inf, np.inf)) -> LineStep:
        """The best interval within `bounds` on x, at its middle; of equally good ones the widest.

        Och (2003). Where the best interval has no end, a little past its only breakpoint.
        """
        lists = self.compiled
        if lists is not None:
            return lists.search(scores, direction, bounds, self.goal)
        cuts, totals = self.intervals(scores, direction, bounds)
        values = self.metric.score(totals) if self.formula is None else formulas.scores(self.formula, totals)
        return best_step(cuts, self.sign * values, bounds)


def list_lines(features: Floats, offsets: Ints, stats: Floats, metric: Metric) -> Lines:
    """Lines of lists with these features [H, D] and statistics [H, M]."""
    kind = _narrow(stats)
    shards: list[Columns] = []
    for first, last in blocks(len(offsets) - 1):
        low, high = offsets[[first, last]]
        columns = room((features.shape[1], high - low), np.float64, features)
        columns[:] = features[low:high].T
        narrow = room((high - low, stats.shape[1]), kind, stats)
        narrow[:] = stats[low:high]
        shards.append(ListColumns(columns, int(low), offsets[first : last + 1] - low, narrow))
    return Lines(shards, metric)


def _scores(weights: Floats, shard: Columns) -> Floats:
    return shard.scores(weights)


def _moved(scores: Floats, direction: Floats, x: float, shard: Columns) -> Floats:
    return shard.moved(scores, direction, x)


def _pieces(scores: Scores, direction: Floats, bounds: tuple[float, float], shard: Columns) -> tuple[Any, Any, Any]:
    found = shard.pieces(scores, direction, bounds)
    return narrow(found) if isinstance(scores, Position) else found


def _joined(parts: list[tuple[Any, Any, Any]]) -> tuple[Any, Any, Any]:
    if len(parts) == 1:
        return parts[0]
    place, what, begin = (np.concatenate(part) for part in zip(*parts, strict=True))
    return place, what, begin


def best_step(cuts: Floats, values: Floats, bounds: tuple[float, float]) -> LineStep:
    """The middle of the best interval within `bounds`, by values [E+1] before, between and after sorted cuts [E]."""
    edges = np.empty(len(cuts) + 2)
    edges[0], edges[1:-1], edges[-1] = -np.inf, cuts, np.inf
    lows, highs = edges[:-1], edges[1:]
    if bounds != (-np.inf, np.inf):
        lows, highs = np.maximum(lows, bounds[0]), np.minimum(highs, bounds[1])
        # a breakpoint on the very bound is no interval, only a tie
        least = TOLERANCE * np.maximum(1.0, np.minimum(np.abs(lows), np.abs(highs)))
        values = np.where(highs - lows > least, values, -np.inf)
    if len(cuts) and (cuts[0] <= -FAR or cuts[-1] >= FAR):  # nothing can be reached beyond
        values[[0, -1]] = np.where([cuts[0] <= -FAR, cuts[-1] >= FAR], -np.inf, values[[0, -1]])
    best = values.max()
    ties = np.flatnonzero(values == best)
    pick = ties[0] if len(ties) == 1 else ties[np.argmax(highs[ties] - lows[ties])]
    return LineStep(middle(float(lows[pick]), float(highs[pick])), float(best))


def _narrow(stats: Floats) -> type:
    """int16 where statistics are small whole numbers: a fifth of the memory traffic of a sweep."""
    small = all(np.abs(some).max(initial=0) < 2**15 and (some == np.rint(some)).all() for some in chunks(stats))
    return np.int16 if small else np.float64
