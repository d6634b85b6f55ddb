"""The default method: many fits, averaged by how often each is the best on lists that it was not fitted to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from nbest.base.parameters import check, parameter
from nbest.base.types import Floats, Ints
from nbest.compute import parallel
from nbest.compute.forks import apart
from nbest.corpus import NBest
from nbest.corpus.contract import Corpus, need_corpus
from nbest.corpus.grouping import in_folds, units
from nbest.decisions.onebest import first
from nbest.metrics.paired import by_group, resampled
from nbest.model.equal import equal_weights
from nbest.model.loglinear import LogLinear
from nbest.objectives.backends import NUMBA, current_backend
from nbest.optimisers.result import Result
from nbest.trainers.crossfit import crossed
from nbest.trainers.dense.fits import Fits, chosen_stats, in_proportion
from nbest.trainers.dense.risk import MinRisk
from nbest.trainers.finishing import calibrated, finished
from nbest.trainers.problem import Problem, prepare
from nbest.trainers.sharpness import spread
from nbest.trainers.trainer import Trainer

_ROWS = 250_000  # hypotheses that are fitted in folds, at most; segments spread over the corpus
_MANY = 500  # segments from which on one partition into folds is enough
_DRAWS = 200  # of left-out segments
_APART = 10_000  # between the seeds of two partitions
_EQUAL = 1e-9  # relative difference of scores that is rounding
_SURE = 2.0  # standard errors by which what is not learned must be better, to be taken


@dataclass
class Auto(Trainer):
    """Averages fits of likelihood, risk and soft metric, by how often each is the best on lists left out of it.

    Fits are of likelihood under priors around 0 and around the base model, of risk under temperatures, and of the
    metric of expected statistics under priors: each a path from strong regularisation to almost none. All are fitted in
    folds (whole groups together). Left-out segments are drawn with replacement again and again, and the share of the
    draws in which a fit is the best by the metric of its choices is its weight in the average, in which sizes of
    weights add up to 1 in units of features scaled to unit spread; each fit is itself averaged over all lists and over
    folds. So nothing jumps where two fits are about as good, and few lists give a model that is near to all good ones.
    The base model are the weights `start`, or those that make the first hypotheses likely. Where the first hypotheses
    themselves or equal weights are better on left-out lists by two standard errors, they are taken.

    Held-out lists count as left out. `crossed_` has the choices of models that never saw the lists they choose of, nor
    used them to weigh fits; `result_.history` has the fits with their left-out scores and shares. Metrics without a
    smooth formula have the fits of likelihood only. Of many lists some are fitted in folds. Forests: `MinRisk`.
    """

    folds: int = parameter(5, "parts of the lists, each left out once", least=2)
    repeats: int = parameter(2, "how often they are parted anew; of more than 500 segments once", least=1)
    seed: int = parameter(1, "of the folds and draws")
    start: dict[str, float] | None = parameter(None, "weights of the base model, in the features' own units")

    def fit(self, corpus: Corpus, heldout: Corpus | None = None) -> LogLinear:
        """Learn weights from lists with statistics; of forests as minimum risk does."""
        check(self)
        need_corpus("Auto", "corpus", corpus)
        if not isinstance(corpus, NBest):
            return MinRisk(start=self.start, seed=self.seed, progress=self.progress).fit(corpus, heldout)
        problem = prepare(corpus, "Auto", heldout, sparse=True)
        found = _Averaged(self, problem, heldout)
        weights, message = found.weights, f"averaged over {int((found.shares > 0).sum())} of {len(found.names)} fits"
        model = _sharp(problem, weights)
        if found.folds > 1:
            sharp = _size(model) / _size(problem.model(weights))  # of fold models, too, for decisions and confidence
            self.crossed_ = crossed([problem.model(sharp * each) for each in found.models], corpus, found.fold)
            better = _unlearned(problem, self.crossed_.chosen, self.seed)
            if better is not None:
                message, weights = f"{better[0]} are better on left-out lists", better[1]
                model = _sharp(problem, weights)
                self.crossed_ = crossed([model] * found.folds, corpus, found.fold)
        score = problem.score(weights)
        self.result_ = Result(weights, score, "converged", message=message, history=tuple(found.history()))
        return finished(self, model, problem.corpus, heldout)


def _sharp(problem: Problem[NBest], weights: Floats) -> LogLinear:
    """The model of weights with a fair posterior; of no weights there is none."""
    return calibrated(problem, weights) if weights.any() else problem.model(weights)


def _size(model: LogLinear) -> float:
    return sum(map(abs, model.weights.values())) or 1.0


class _Averaged:
    """The fits of one problem and their average."""

    def __init__(self, trainer: Auto, problem: Problem[NBest], heldout: Corpus | None) -> None:
        lists = problem.corpus
        self.trainer, self.problem = trainer, problem
        self.fits = Fits.of(problem, trainer.start)
        self.names = self.fits.names
        self.folds = min(trainer.folds, int(units(lists).max(initial=-1)) + 1)
        repeats = trainer.repeats if len(lists) <= _MANY else 1
        self.partitions = [in_folds(lists, self.folds, trainer.seed + _APART * r) for r in range(repeats)]
        self.fold = self.partitions[0]
        self.rows = spread(len(lists), max(1, len(lists) * _ROWS // max(lists.hypotheses, _ROWS)))
        self.full, fitted = self._fitted()
        self.left_out = np.zeros((len(self.rows), len(self.names), len(problem.metric.stat_names)))
        for (which, number), (_, stats) in fitted.items():
            self.left_out[self.partitions[which][self.rows] == number] += stats / repeats
        self.held_out = self._held_out(heldout)
        self.shares = self._shares(np.arange(len(self.rows)))
        every = [self.full, *(weights for weights, _ in fitted.values())]
        self.weights = in_proportion(self.shares @ np.mean(every, axis=0))
        away = [np.flatnonzero(self.fold[self.rows] != number) for number in range(self.folds)]
        self.models = [
            in_proportion(self._shares(away[number]) @ weights)
            for (which, number), (weights, _) in fitted.items()
            if which == 0
        ]

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
        if not isinstance(heldout, NBest):
            return np.zeros((0, *self.left_out.shape[1:]))
        models = [self.problem.model(weights) for weights in self.full]
        stats, chosen = heldout.need_stats()[0], [model.predict(model.complete(heldout)) for model in models]
        return np.stack([np.where(each[:, None] >= 0, stats[each], 0.0) for each in chosen], axis=1)

    def _shares(self, places: Ints) -> Floats:
        """[fits] in which share of draws of these left-out segments, and of held-out ones, each is the best."""
        if self.folds < 2 and not len(self.held_out):
            return np.full(len(self.names), 1.0 / len(self.names))
        stats = _units(self.problem.corpus, self.rows[places], self.left_out[places])
        return best_shares(self.problem, np.concatenate([stats, self.held_out]), self.trainer.seed)


def best_shares(problem: Problem[Any], stats: Floats, seed: int) -> Floats:
    """[fits] how often each has the best score, of units with statistics [G, fits, M] drawn with replacement."""
    drawn = problem.sign * resampled(problem.metric, stats, samples=_DRAWS, seed=seed)
    drawn = np.where(np.isnan(drawn), -np.inf, drawn)
    most = drawn.max(axis=1, keepdims=True)
    best = drawn >= most - _EQUAL * np.abs(most)
    return np.asarray((best / best.sum(axis=1, keepdims=True)).mean(axis=0))


def _units(lists: NBest, rows: Ints, stats: Floats) -> Floats:
    """Statistics of segments [n, ...], summed over those of a group."""
    return by_group(stats, None if lists.groups is None else [lists.groups[i] for i in rows])


def _unlearned(problem: Problem[NBest], chosen: Ints, seed: int) -> tuple[str, Floats] | None:
    """The first hypotheses or equal weights, where they are better on left-out lists than what was learned."""
    lists, equal = problem.corpus, equal_weights(problem.corpus)
    others: dict[str, tuple[Ints, Floats]] = {}
    others["the first hypotheses"] = first(None, lists), np.zeros(len(problem.names))
    if equal is not None:
        others["equal weights"] = equal.predict(lists), problem.start(equal.weights)
    filled = np.flatnonzero(chosen >= 0)
    choices = np.stack([chosen, *(choice for choice, _ in others.values())], axis=1)[filled]
    stats = _units(lists, filled, lists.need_stats()[0][choices].astype(np.float64))
    drawn = problem.sign * resampled(problem.metric, stats, samples=_DRAWS, seed=seed)
    scores = problem.sign * problem.metric.score(stats.sum(axis=0))
    behind, error = scores[1:] - scores[0], (drawn[:, 1:] - drawn[:, :1]).std(axis=0)
    best = int(behind.argmax())
    if not behind[best] > _SURE * error[best]:
        return None
    name, (_, weights) = list(others.items())[best]
    return name, weights
