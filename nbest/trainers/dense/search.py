"""What users do today, to compare with: grid search and random search over weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

from nbest.base.errors import ParameterError, _known
from nbest.base.parameters import parameter
from nbest.base.randomness import generator
from nbest.base.types import Floats
from nbest.corpus import NBest
from nbest.lines.choices import RowLists, row_shards, totals_of
from nbest.model.loglinear import LogLinear
from nbest.optimisers.result import Result
from nbest.trainers.differing import FLAT, flat
from nbest.trainers.finishing import finish
from nbest.trainers.keeping import keeping_base
from nbest.trainers.lists import on_lists
from nbest.trainers.problem import Problem, prepare
from nbest.trainers.trainer import Trainer

_POINTS = 10**6  # of an axis of the grid

_BATCH = 64


@dataclass
class GridSearch(Trainer):
    """Tries every weight of a grid, in units of features scaled to unit spread within lists.

    The feature `base` (default: the first that differs within lists) keeps weight 1, the others take `points` values
    from `low` to `high`. With more than `limit` combinations the grid is scanned one feature at a time, in
    turns until nothing gains, which is what rescoring tools do with several features.
    """

    points: int = parameter(25, "weights tried of each feature", least=2, most=_POINTS)
    low: float = parameter(-3.0, "the lowest of them")
    high: float = parameter(3.0, "the highest")
    base: str | None = parameter(None, "feature of weight 1 (None: the first that differs within lists)")
    limit: int = parameter(20000, "combinations; where there are more, features are scanned one at a time", least=0)

    @keeping_base
    @on_lists
    def fit(self, corpus: NBest, heldout: NBest | None = None) -> LogLinear:
        """Learn weights from lists with statistics."""
        problem = prepare(corpus, "GridSearch", heldout)
        if not self.low < self.high:
            raise ParameterError(f"GridSearch needs 'low' < 'high', got {self.low} and {self.high}")
        useful = [name for name, scale in zip(problem.names, problem.scale, strict=True) if scale > 0]
        if self.base is not None and self.base not in useful:
            raise ParameterError(f"'base' of GridSearch must be a feature that differs; {_known(useful, self.base)}")
        start = np.zeros(len(problem.names))
        start[problem.names.index(self.base or useful[0])] = 1.0
        others = [int(d) for d in np.flatnonzero(problem.scale > 0) if start[d] == 0]
        full = self.points ** len(others) <= self.limit
        self.result_ = self._full(problem, start, others) if full else self._scan(problem, start, others)
        return finish(self, problem, self.result_, heldout)

    def _full(self, problem: Problem[NBest], start: Floats, others: list[int]) -> Result:
        def grid() -> Iterator[Floats]:
            for values in product(np.linspace(self.low, self.high, self.points), repeat=len(others)):
                weights = start.copy()
                weights[others] = values
                yield weights

        count = self.points ** len(others)
        best, value, worst = _best_of(problem, _lists(problem), grid(), count, self.progress)
        return _result(problem, best, value, worst, message=f"tried all {count} points of the grid", tried=count)

    def _scan(self, problem: Problem[NBest], start: Floats, others: list[int]) -> Result:
        best, value, lowest, tried = start, -np.inf, np.inf, 0
        idle, lists = 0, _lists(problem)
        while idle < len(others):
            for d in others:
                line = np.repeat(best[None], self.points, axis=0)
                line[:, d] = np.linspace(self.low, self.high, self.points)
                found, score, worst = _best_of(problem, lists, iter(line), self.points)
                lowest = min(lowest, problem.sign * worst)
                tried += self.points
                gain = problem.sign * score > problem.sign * value if np.isfinite(value) else True
                idle = 0 if gain else idle + 1
                best, value = (found, score) if gain else (best, value)
                if idle == len(others):
                    break
        message = f"scanned one feature at a time, {tried} points"
        return _result(problem, best, value, worst=problem.sign * lowest, message=message, tried=tried)


@dataclass
class RandomSearch(Trainer):
    """Tries `trials` weight vectors drawn from U[-1, 1]^D, in units of features scaled to unit spread within lists."""

    trials: int = parameter(1000, "weight vectors to try", least=1)
    seed: int = parameter(1, "of what is drawn")

    @keeping_base
    @on_lists
    def fit(self, corpus: NBest, heldout: NBest | None = None) -> LogLinear:
        """Learn weights from lists with statistics."""
        problem = prepare(corpus, "RandomSearch", heldout)
        rng = generator(self.seed)
        drawn = (rng.uniform(-1.0, 1.0, len(problem.names)) for _ in range(self.trials))
        best, value, worst = _best_of(problem, _lists(problem), drawn, self.trials, self.progress)
        self.result_ = _result(
            problem, best, value, worst, message=f"tried {self.trials} random points", tried=self.trials
        )
        return finish(self, problem, self.result_, heldout)


def _result(problem: Problem[NBest], best: Floats, value: float, worst: float, message: str, tried: int) -> Result:
    """The best candidate, or no weights where the worst one, its negative and no weights at all are as good."""
    if value == worst and flat(problem, best, value):
        return Result(np.zeros(len(problem.names)), value, "flat", FLAT, tried)
    return Result(best, value, "converged", message, tried)


def _lists(problem: Problem[NBest]) -> list[RowLists]:
    return row_shards(np.ascontiguousarray(problem.corpus.features, np.float64), problem.corpus.offsets)


def _best_of(
    problem: Problem[NBest],
    lists: list[RowLists],
    candidates: Iterator[Floats],
    count: int,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[Floats, float, float]:
    """The candidate (in scaled units) with the best metric, the first of equals, its metric, and the worst one's."""
    best, value, worst = np.zeros(len(problem.names)), -np.inf, np.inf
    for at in range(0, count, _BATCH):
        batch = np.array([next(candidates) for _ in range(min(_BATCH, count - at))])
        plain = np.stack([problem.plain(weights) for weights in batch])
        totals = totals_of(lists, problem.stats, plain)
        values = problem.sign * problem.metric.score(totals)
        if values.max() > value:
            best, value = batch[int(values.argmax())], float(values.max())
        worst = min(worst, float(values.min()))
        if progress is not None:
            progress(min(at + _BATCH, count), count)
    return best, problem.sign * value, problem.sign * worst
