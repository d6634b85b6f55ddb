"""Exact line search: the best place along a direction for any metric of additive statistics."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nbest.base.types import Floats, Ints
from nbest.compute import parallel
from nbest.corpus.metric import Metric
from nbest.lines.envelope import FAR, breakpoints, sweep

TOLERANCE = 1e-10  # breakpoints nearer than this, relative, are one
_BEYOND = 0.1, 1e-9  # how far past the outermost breakpoint to go when the best interval has no end; relative


@dataclass(frozen=True)
class Step:
    """A place along the line and the score there (higher is better)."""

    x: float
    value: float


class Columns:
    """Features by columns, and scores that follow a step without being computed anew."""

    columns: Floats  # [D, H] or, of forests, [D, E']

    def scores(self, weights: Floats) -> Floats:
        """[H or E'] score of every hypothesis or edge."""
        out = np.zeros(self.columns.shape[1])
        for weight, column in zip(weights, self.columns, strict=True):
            if weight:
                out += weight * column
        return out

    def moved(self, scores: Floats, direction: Floats, x: float) -> Floats:
        """[H or E'] scores after a step of x along a direction."""
        out = scores.copy()
        for d in np.flatnonzero(direction):
            out += (x * direction[d]) * self.columns[d]
        return out


class Lines(Columns):
    """Lists prepared for line searches: features by columns, statistics in the narrowest type that holds them."""

    def __init__(self, features: Floats, offsets: Ints, stats: Floats, metric: Metric) -> None:
        self.columns = np.ascontiguousarray(features.T, np.float64)  # [D, H]
        self.offsets = offsets
        self.stats = _narrow(stats)
        self.metric = metric
        self.sign = 1.0 if metric.higher_is_better else -1.0
        self.longest = int(np.diff(offsets).max(initial=0))

    def intervals(self, scores: Floats, direction: Floats, threads: int = 1) -> tuple[Floats, Floats]:
        """Cuts [E], sorted, and the totals [E+1, M] before, between and after them."""
        n = len(self.offsets) - 1
        if threads == 1:
            return sweep(*self._breakpoints(scores, direction, 0, n), self.stats, TOLERANCE)
        edges = np.linspace(0, n, threads + 1).astype(np.int64)
        ranges = list(zip(edges[:-1], edges[1:], strict=True))
        parts = parallel.each(lambda ends: self._breakpoints(scores, direction, *ends), ranges, threads)
        place, change, first = (np.concatenate(part) for part in zip(*parts, strict=True))
        return sweep(place, change, first, self.stats, TOLERANCE)

    def _breakpoints(self, scores: Floats, direction: Floats, low: int, high: int) -> tuple[Floats, Floats, Ints]:
        return breakpoints(self.columns, scores, direction, self.offsets, low, high, self.longest, self.stats)

    def search(
        self, scores: Floats, direction: Floats, bounds: tuple[float, float] = (-np.inf, np.inf), threads: int = 1
    ) -> Step:
        """The best interval within `bounds` on x, at its middle; of equally good ones the widest.

        Och (2003). Where the best interval has no end, a little past its only breakpoint.
        """
        cuts, totals = self.intervals(scores, direction, threads)
        return best_step(cuts, self.sign * self.metric.score(totals), bounds)


def best_step(cuts: Floats, values: Floats, bounds: tuple[float, float]) -> Step:
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
    return Step(_middle(float(lows[pick]), float(highs[pick])), float(best))


def _middle(low: float, high: float) -> float:
    if np.isinf(low) and np.isinf(high):
        return 0.0
    if np.isinf(low):
        return float(high - max(_BEYOND[0], _BEYOND[1] * abs(high)))
    if np.isinf(high):
        return float(low + max(_BEYOND[0], _BEYOND[1] * abs(low)))
    return float(0.5 * (low + high))


def _narrow(stats: Floats) -> np.ndarray:
    """Statistics as int16 where they are small whole numbers: a fifth of the memory traffic of a sweep."""
    small = stats.astype(np.int16) if np.abs(stats).max(initial=0) < 2**15 else None
    return small if small is not None and (small == stats).all() else np.ascontiguousarray(stats, np.float64)
