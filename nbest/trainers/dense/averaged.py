"""Many fits of one problem, averaged by how often each is the best on lists left out of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from nbest.base.types import Floats, Ints
from nbest.compute import parallel
from nbest.compute.forks import apart
from nbest.corpus import NBest
from nbest.corpus.contract import Corpus, are_lists
from nbest.corpus.grouping import in_folds, units
from nbest.metrics.paired import by_group, resampled
from nbest.objectives.backends import NUMBA, current_backend
from nbest.trainers.dense.fits import Fits, chosen_stats, in_proportion
from nbest.trainers.problem import Problem
from nbest.trainers.sharpness import spread

DRAWS = 200
"""Of left-out segments."""
_ROWS = 250_000  # hypotheses that are fitted in folds, at most; segments spread over the corpus
_MANY = 500  # segments from which on one partition into folds is enough
_APART = 10_000  # between the seeds of two partitions
_EQUAL = 1e-9  # relative difference of scores that is rounding


class Averaged:
    """The fits of one problem and their average."""

    def __init__(self, trainer: Any, fits: Fits, heldout: Corpus | None) -> None:
        lists, problem = fits.problem.corpus, fits.problem
        self.trainer, self.problem, self.fits = trainer, problem, fits
        self.names = fits.names
        self.folds = min(trainer.folds, int(units(lists).max(initial=-1)) + 1)
        repeats = trainer.repeats if len(lists) <= _MANY else 1
        self.partitions = [in_folds(lists, self.folds, trainer.seed + _APART * r) for r in range(repeats)]
        self.rows = spread(len(lists), max(1, len(lists) * _ROWS // max(lists.hypotheses, _ROWS)))
        self.fold = np.full(len(lists), -1)
        self.fold[self.rows] = self.partitions[0][self.rows]
        self.full, fitted = self._fitted()
        self.left_out = np.zeros((len(self.rows), len(self.names), len(problem.metric.stat_names)))
        for (which, number), (_, stats) in fitted.items():
            self.left_out[self.partitions[which][self.rows] == number] += stats / repeats
        self.held_out = self._held_out(heldout)
        self.shares = self._shares(np.arange(len(self.rows)))
        every = [self.full, *(weights for weights, _ in fitted.values())]
        self.weights = in_proportion(self.shares @ np.mean(every, axis=0))
        away = [np.flatnonzero(self.fold[self.rows] != number) for number in range(self.folds)]
        self.models: list[Floats] = [
            in_proportion(self._shares(away[number]) @ weights)
            for (which, number), (weights, _) in fitted.items()
            if which == 0
        ]
        if self.models and fits.trusted:
            self._lean(away)

    def _lean(self, away: Sequence[Ints]) -> None:
        """Let the base model have the share of draws in which it is better than what was learned without the lists."""
        base, both = in_proportion(self.fits.base), np.zeros((len(self.rows), 2, self.left_out.shape[2]))
        for number, weights in enumerate(self.models):
            out = self.fold[self.rows] == number
            both[out] = chosen_stats(self.problem.part(self.rows[out]), np.stack([weights, base]))

        def leaning(weights: Floats, places: Ints) -> Floats:
            stats = units_of(self.problem.corpus, self.rows[places], both[places])
            learned, own = best_shares(self.problem, stats, self.trainer.seed)
            return in_proportion(learned * weights + own * base)

        self.weights = leaning(self.weights, np.arange(len(self.rows)))
        self.models = [leaning(weights, places) for weights, places in zip(self.models, away, strict=True)]

    def history(self) -> Iterator[dict[str, Any]]:
        """Each fit, its score on left-out and held-out lists, and its share in the average."""
        totals = self.left_out.sum(axis=0) + self.held_out.sum(axis=0)
        scores = self.problem.metric.score(totals)
        for name, score, share in zip(self.names, scores.tolist(), self.shares.tolist(), strict=True):
            yield {"fit": name, "left_out": score, "share": share}

    def _fitted(self) -> tuple[Floats, dict[tuple[int, int], tuple[Floats, Floats]]]:
        """Weights of all fits on all lists; and on those of every fold, with what they choose of the others."""
        parts = [(r, k) for r in range(len(self.partitions)) for k in range(self.folds)] if self.folds > 1 else []
        lists, fits = self.problem.corpus, self.fits
        tell = partial(parallel.counter(self.trainer.progress, len(parts) + 1), 1)

        def fitted(part: tuple[int, int] | None) -> Any:
            if part is None:
                return fits.on(np.arange(len(lists)))
            out = self.partitions[part[0]][self.rows] == part[1]
            weights = fits.on(self.rows[~out])
            return weights, chosen_stats(self.problem.part(self.rows[out]), weights)

        first, rest = fitted(None), []  # what has to be compiled is, once
        tell()
        rest = apart(fitted, parts, told=tell, forking=current_backend() is NUMBA)
        return first, dict(zip(parts, rest, strict=True))

    def _held_out(self, heldout: Corpus | None) -> Floats:
        """[N', fits, M] statistics of what the fits on all lists choose of held-out ones."""
        if not are_lists(heldout):
            return np.zeros((0, *self.left_out.shape[1:]))
        models = [self.problem.model(weights) for weights in self.full]
        stats, chosen = heldout.need_stats()[0], [model.predict(model.complete(heldout)) for model in models]
        return np.stack([np.where(each[:, None] >= 0, stats[each], 0.0) for each in chosen], axis=1)

    def _shares(self, places: Ints) -> Floats:
        """[fits] in which share of draws of these left-out segments, and of held-out ones, each is the best."""
        if self.folds < 2 and not len(self.held_out):
            return np.full(len(self.names), 1.0 / len(self.names))
        stats = units_of(self.problem.corpus, self.rows[places], self.left_out[places])
        return best_shares(self.problem, np.concatenate([stats, self.held_out]), self.trainer.seed)


def best_shares(problem: Problem[Any], stats: Floats, seed: int) -> Floats:
    """[fits] how often each has the best score, of units with statistics [G, fits, M] drawn with replacement."""
    drawn = problem.sign * resampled(problem.metric, stats, samples=DRAWS, seed=seed)
    drawn = np.where(np.isnan(drawn), -np.inf, drawn)
    most = drawn.max(axis=1, keepdims=True)
    best = drawn >= most - _EQUAL * np.abs(most)
    return np.asarray((best / best.sum(axis=1, keepdims=True)).mean(axis=0))


def units_of(lists: NBest, rows: Ints, stats: Floats) -> Floats:
    """Statistics of segments [n, ...], summed over those of a group."""
    return by_group(stats, None if lists.groups is None else [lists.groups[i] for i in rows])
