"""What line searches send to and fro where their shards are in other processes: little.

Scores of all hypotheses are as large as a column of features. A `Position` says in some hundred bytes how they came
about, and each shard makes its own out of it, once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from nbest.base.types import Floats
from nbest.compute.executors import new_key

if TYPE_CHECKING:
    from nbest.lines.search import Columns

SLOTS = 4
"""Climbs whose scores a shard keeps: as many run side by side where shards are in other processes."""

Pieces = tuple[Floats, Floats, Floats]
"""Of some segments: where choices change [P], how the statistics do there [P, M], and those at x = -inf [F, M]."""

Steps = tuple[tuple[int, float], ...]
"""A direction: its features and how much of each."""


def steps_of(direction: Floats) -> Steps:
    """Those of a direction [D] that are not 0."""
    return tuple((int(d), float(direction[d])) for d in np.flatnonzero(direction))


@dataclass(frozen=True)
class Position:
    """Scores by the weights that they began with and the moves since, which are added one by one in this order."""

    weights: Floats  # [D]
    moves: tuple[tuple[float, Steps], ...] = ()  # how far, and along what
    start: str = field(default_factory=new_key)

    def moved(self, direction: Floats, x: float) -> Position:
        """After a step of x along a direction."""
        return Position(self.weights, (*self.moves, (float(x), steps_of(direction))), self.start)

    def scores(self, shard: Columns) -> Floats:
        """[H or E'] those of a shard: out of its room by the moves that are new, else by all of them."""
        kept = shard.room.setdefault("scores", {})
        done, own = kept.pop(self.start, (None, None))
        if own is None or done != self.moves[: len(done)]:
            done, own = (), shard.scores(self.weights)
        for x, steps in self.moves[len(done) :]:
            shard.add(own, x, steps)
        kept[self.start] = self.moves, own
        for old in list(kept)[:-SLOTS]:
            kept.pop(old, None)
        return own


def narrow(pieces: Pieces) -> tuple[Any, Any, Any]:
    """Statistics as integers where they are whole: an eighth of the bytes where they are small."""
    place, *stats = pieces
    return place, *(_narrow(each) for each in stats)


def wide(pieces: tuple[Any, Any, Any]) -> Pieces:
    """What was narrow, with the same bits as before."""
    place, change, begin = pieces
    return place, np.asarray(change, np.float64), np.asarray(begin, np.float64)


def _narrow(stats: Floats) -> Any:
    low, high = stats.min(initial=0.0), stats.max(initial=0.0)
    if not (low >= -(2**31) and high < 2**31 and (stats == np.rint(stats)).all()):
        return stats
    return stats.astype(np.min_scalar_type(min(int(low), -int(high) - 1)))  # of a negative number, so it has a sign
