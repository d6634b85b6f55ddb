"""Climbs of MERT: from a start, and by hops from where one has led. Each is one piece of work, here or elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from nbest.base.randomness import generator
from nbest.base.types import Bools, Floats, Ints
from nbest.compute import parallel
from nbest.compute.executors import HeldShard, current, new_key
from nbest.lines.climbing import GAIN, LARGE, SMALL, climb_round
from nbest.lines.positions import SLOTS
from nbest.lines.search import Lines, Scores

if TYPE_CHECKING:
    from nbest.trainers.dense.mert import MERT

_HOP = 0.2  # size of a perturbation, in units of the weights


@dataclass
class Point:
    """Weights and their value (higher is better)."""

    weights: Floats
    value: float


@dataclass(frozen=True)
class Chain:
    """Climbs one after the other: where they are, their random stream, and how many searches they took."""

    point: Point
    stream: tuple[int, ...]  # the seeds of its own
    random: np.random.Generator | None = None  # the stream, as far as it was used
    searches: int = 0


@dataclass
class Climber(HeldShard):
    """What climbs know: the lines of a corpus, and what MERT is told of its features, in units of unit spread.

    Weights are those of U features, then of K combinations of them.

    Held: a worker in another process climbs from one start after the other with the lines that it was sent once.
    """

    lines: Lines
    trainer: MERT  # its settings
    given: Floats  # [U + K] weights of `start`
    free: Bools  # [U + K] not frozen
    signs: Floats  # [U + K] 1 and -1 where bounded, else 0
    combined: Floats  # [U, K] what a combination has of each feature

    def allowed(self, weights: Floats) -> Floats:
        """Signs as bounded, frozen weights as given."""
        bounded = np.where(self.signs != 0, self.signs * np.abs(weights), weights)
        return np.where(self.free, bounded, self.given)

    def folded(self, weights: Floats) -> Floats:
        """[U + K] the same scores by weights of features alone."""
        own = weights[: len(self.combined)] + self.combined @ weights[len(self.combined) :]
        return np.append(own, np.zeros(self.combined.shape[1]))

    def lanes(self, most: int) -> list[Climber]:
        """Copies of its own for workers in other processes, each as often as its worker has threads.

        Made once, for at most so many climbs at a time.
        """
        if "lanes" not in self.room:
            copies = [replace(self, key=new_key(), room={}) for _ in range(min(current().workers, most))]
            widths = current().map(_width, copies)
            lanes = [(number, place) for place, width in enumerate(widths) for number in range(width)]
            self.room["lanes"] = [copies[place] for _, place in sorted(lanes)]
        return self.room["lanes"][:most]


def _width(climber: Climber) -> int:
    """How many climbs a worker can make side by side."""
    return 1 if climber.lines.alone else parallel.thread_count(None)


def from_start(chain: Chain, climber: Climber) -> Chain:
    """One climb from where the chain begins."""
    own = _Climb(climber)
    return replace(chain, point=own.climb(chain.point, generator(*chain.stream)), searches=own.searches)


def by_a_hop(chain: Chain, climber: Climber) -> Chain:
    """Perturb and climb again, keeping what is better: a step of iterated local search."""
    own, point, random = _Climb(climber), chain.point, chain.random or generator(*chain.stream)
    size = _HOP * np.abs(point.weights).mean() or _HOP
    moved = climber.allowed(point.weights + size * random.normal(size=len(point.weights)))
    other = own.climb(Point(moved, -np.inf), random, goal=point.value)
    best = other if other.value > point.value else point
    return replace(chain, point=best, random=random, searches=chain.searches + own.searches)


Step = Callable[[Chain, Climber], Chain]


def climb_all(
    step: Step, chains: Sequence[Chain], climber: Climber, tell: Callable[[int], None], *, steps: int = 1
) -> list[Chain]:
    """Chains side by side, as the executor and the lines allow, each by so many steps.

    | lines | executor | climbs |
    | --- | --- | --- |
    | any | here | on threads; those that have none of their own go into the line searches |
    | one shard | in other processes | there, each as a whole: a search takes less time than to ask for it |
    | several shards | in other processes | on threads here that wait for searches, as many as shards keep scores of |

    One after the other where searches serve each other, but for those in different processes.
    """
    executor = current()
    if executor.apart and len(climber.lines.shards) == 1:
        return _elsewhere(step, chains, climber, tell, steps=steps)

    def run(chain: Chain) -> Chain:
        for _ in range(steps):
            chain = step(chain, climber)
            tell(1)
        return chain

    return parallel.each(run, chains, 1 if climber.lines.alone else SLOTS if executor.apart else None)


def _elsewhere(
    step: Step, chains: Sequence[Chain], climber: Climber, tell: Callable[[int], None], *, steps: int
) -> list[Chain]:
    """A worker is sent its own copy of the climber once, and step after step of chains that nobody has begun."""
    executor, found, todo, failed = current(), dict[int, Chain](), iter(range(len(chains))), False

    def work(copy: Climber) -> None:
        nonlocal failed
        try:
            for place in todo:
                found[place] = chains[place]
                for _ in range(steps):
                    if failed:
                        return
                    [found[place]] = executor.map(partial(step, found[place]), [copy])
                    tell(1)
        except BaseException:
            failed = True  # nothing more is begun
            raise

    if chains:
        lanes = climber.lanes(len(chains))
        parallel.each(work, lanes, len(lanes))
    return [found[place] for place in range(len(chains))]


class _Climb:
    """One climb, and how many searches it took."""

    def __init__(self, climber: Climber) -> None:
        self.trainer, self.lines, self.free, self.signs = climber.trainer, climber.lines, climber.free, climber.signs
        self.searches = 0

    def climb(self, point: Point, rng: np.random.Generator, goal: float = -np.inf) -> Point:
        """Climb until nothing gains, or until `goal` is out of reach."""
        axes = np.flatnonzero(self.free)
        if len(axes) == 0:
            return Point(point.weights, value_at(self.lines, point.weights))
        point, scores = replace(point, weights=point.weights.copy()), self.lines.scores(point.weights)
        climb = self._first_gain if self.trainer.ascent == "first" else self._best_gain
        while True:
            point, scores = climb(point, scores, axes, rng, goal)
            if point.value < goal:
                return point
            moved = self._random_gain(point, scores, axes, rng)
            if moved is None:
                return point
            point, scores = moved

    def _first_gain(
        self, point: Point, scores: Scores, axes: np.ndarray, rng: np.random.Generator, goal: float
    ) -> tuple[Point, Scores]:
        """Coordinates in random order, each gain taken at once, until none is left.

        Given up after a round that gained less than half of what the goal is still away.
        """
        queue = axes[:0]
        settled = np.zeros(len(point.weights), bool)  # coordinates that cannot gain from here
        before = -np.inf
        while settled.sum() < len(axes):
            if len(queue) == 0:
                if point.value + 2.0 * (point.value - before) < goal:
                    break
                queue, before = rng.permutation(axes), point.value
            queue = self._compiled_round(point, scores, queue, settled)
            if len(queue) == 0 or settled.sum() == len(axes):
                continue
            queue, axis = queue[:-1], queue[-1]
            if settled[axis]:
                continue
            moved = self._move(point, scores, axis_of(axis, len(self.free)))
            if moved is not None:
                settled[:] = False
                point, scores = moved
            settled[axis] = True
        return point, scores

    def _compiled_round(self, point: Point, scores: Scores, queue: Ints, settled: Bools) -> Ints:
        """What is left of the queue after all moves that one kernel can make, which changes the others in place."""
        lists = self.lines.compiled
        if lists is None or lists.threads > 1:
            return queue
        value, searches = np.array([point.value]), np.zeros(1, np.int64)
        state = scores, point.weights, settled, value, searches
        goal, signs, free = self.lines.goal, self.signs, int(self.free.sum())
        left = climb_round(
            lists.columns, lists.lists, lists.stats, goal, signs=signs, queue=queue, free=free, state=state
        )
        point.value = float(value[0])
        self.searches += int(searches[0])
        return queue[:left]

    def _best_gain(
        self, point: Point, scores: Scores, axes: np.ndarray, rng: np.random.Generator, goal: float
    ) -> tuple[Point, Scores]:
        """The paper's update: search every coordinate, move along the one that gains most."""
        while True:
            moves = [self._move(point, scores, axis_of(d, len(self.free))) for d in axes]
            best = max((move for move in moves if move is not None), key=lambda m: m[0].value, default=None)
            if best is None:
                return point, scores
            point, scores = best

    def _random_gain(
        self, point: Point, scores: Scores, axes: np.ndarray, rng: np.random.Generator
    ) -> tuple[Point, Scores] | None:
        for _ in range(self.trainer.directions if len(axes) > 1 else 0):
            direction = np.zeros(len(point.weights))
            few = rng.choice(axes, size=min(len(axes), int(rng.integers(2, 4))), replace=False)
            direction[few] = rng.normal(size=len(few))
            moved = self._move(point, scores, direction)
            if moved is not None:
                return moved
        return None

    def _move(self, point: Point, scores: Scores, direction: Floats) -> tuple[Point, Scores] | None:
        """The best point along a direction and its scores, if it gains."""
        self.searches += 1
        step = self.lines.search(scores, direction, self._bounds(point.weights, direction))
        if not step.value > point.value + GAIN:
            return None
        weights = point.weights + step.x * direction
        size = np.abs(weights).mean()
        if not SMALL < size < LARGE:  # far from unit size a perturbation or a fixed margin would mean nothing
            if size == 0 or not self.free.all():
                return None if size == 0 else (Point(weights, step.value), self.lines.scores(weights))
            weights = weights / size
            return Point(weights, step.value), self.lines.scores(weights)
        return Point(weights, step.value), self.lines.moved(scores, direction, step.x)

    def _bounds(self, weights: Floats, direction: Floats) -> tuple[float, float]:
        """The x for which no weight leaves its bounded sign."""
        low, high = -np.inf, np.inf
        for d in np.flatnonzero((self.signs != 0) & (direction != 0)):
            edge = -weights[d] / direction[d]
            if self.signs[d] * direction[d] > 0:
                low = max(low, edge)
            else:
                high = min(high, edge)
        return low, high


def value_at(lines: Lines, weights: Floats) -> float:
    """The value at a point, by a search along a direction that changes nothing."""
    return lines.search(lines.scores(weights), np.zeros(len(weights))).value


def axis_of(d: int, count: int) -> Floats:
    """The direction of one of so many features."""
    axis = np.zeros(count)
    axis[d] = 1.0
    return axis
