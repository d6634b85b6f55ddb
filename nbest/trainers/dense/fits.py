"""Weights fitted in many ways to the same lists, from the strongest regularisation to none: what `Auto` averages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from nbest.base.types import Floats, Ints
from nbest.compute import segments
from nbest.corpus import NBest
from nbest.features import corpus_scale
from nbest.metrics import BLEU
from nbest.objectives import Likelihood, Quadratic, Risk, value_and_gradient
from nbest.objectives.penalties import Penalty
from nbest.objectives.shard import list_shards
from nbest.optimisers.lbfgs import lbfgs
from nbest.trainers.dense.risk import nat_per_segment
from nbest.trainers.finishing import calibration
from nbest.trainers.problem import Problem

TEMPERATURES = (4.0, 2.0, 1.0, 0.5, 0.25, 0.125, 0.06)
"""Of risk, as `t0` of MinRisk, from hot to cool."""
VARIANCES = (0.01, 0.1, 1.0, 30.0)
"""Of likelihood around 0."""
AROUND_BASE = (0.01, 0.1, 1.0)
"""Of likelihood around the base model."""
SOFT = (0.1, 1.0, 10.0)
"""Variances of the metric of expected statistics."""
_ALPHA = 100.0  # SoftBLEU's
_IMITATION = 10.0  # variance of the weights that make the first hypotheses likely
_IMITATED = 0.9  # share of lists from which on it is said to choose as what made the lists
_ITERATIONS = 15  # of a step: the next one goes on from there


@dataclass(frozen=True)
class Fits:
    """What is the same for all parts of a corpus: units of the features and the base model, for which no reference is
    looked at."""

    problem: Problem[NBest]
    spread: Floats  # [D + D'] of features over the whole corpus, the units of risk
    base: Floats  # [D + D'] weights of the base model
    trusted: bool = False  # whether that is what made the lists: it is given, or chooses the first hypotheses
    alone: str | None = None  # a feature that is also tried by itself

    @classmethod
    def of(cls, problem: Problem[NBest], start: dict[str, float] | None = None, alone: str | None = None) -> Fits:
        """The base model is `start`, or the weights under which the first hypotheses are most likely."""
        base = problem.start(start) if start else _imitation(problem)
        trusted = bool(start) or _agreement(problem, base) >= _IMITATED
        return cls(problem, corpus_scale(problem.corpus, problem.scale), base, trusted, alone)

    @property
    def smooth(self) -> bool:
        """Whether the metric has a formula that can be climbed."""
        return hasattr(self.problem.metric, "smooth")

    @property
    def names(self) -> list[str]:
        """What each fit is."""
        plain = [f"likelihood, variance {v:g}" for v in VARIANCES]
        plain += ["base model", *(f"likelihood around the base model, variance {v:g}" for v in AROUND_BASE)]
        if self.smooth:
            plain += [f"risk, t {t:g}" for t in TEMPERATURES] + [f"soft metric, variance {v:g}" for v in SOFT]
        plain += [] if self.alone is None else [f"{self.alone} alone"]
        return plain if self.alone is None else [f"votes: {name}" for name in plain]

    def on(self, rows: Ints) -> Floats:
        """[fits, D + D'] weights fitted to these segments, in units of the problem, their sizes adding up to 1."""
        part = self.problem if len(rows) == len(self.problem.corpus) else self.problem.part(rows)
        found = [*self._likely(part), *self._around_base(part)]
        if self.smooth:
            other = replace(part, scale=self.spread)
            units = np.divide(part.scale, self.spread, out=np.zeros_like(part.scale), where=self.spread > 0)
            found += [units * each for each in (*_cooled(other), *_softened(other))]
        if self.alone is not None:
            found.append(part.start({self.alone: 1.0}))
        return in_proportion(np.array(found))

    def _likely(self, part: Problem[NBest]) -> Iterator[Floats]:
        shards = part.shards()
        weights: Floats = np.zeros(len(part.names))
        for variance in VARIANCES:
            weights = _likeliest(Quadratic(variance), weights, shards)
            yield weights

    def _around_base(self, part: Problem[NBest]) -> Iterator[Floats]:
        shards = part.shards()
        yield self.base
        centre = weights = self.base * calibration(part.model(self.base), part.corpus)
        for variance in AROUND_BASE:
            weights = _likeliest(Quadratic(variance, centre), weights, shards)
            yield weights


def in_proportion(weights: Floats) -> Floats:
    """[..., D] weights whose sizes add up to 1; 0 stays 0."""
    sizes = np.abs(weights).sum(axis=-1, keepdims=True)
    return np.divide(weights, sizes, out=np.zeros_like(weights), where=sizes > 0)


def chosen_stats(problem: Problem[NBest], weights: Floats) -> Floats:
    """[N, fits, M] statistics of what each of the weights [fits, D + D'] chooses; 0 where a list is empty."""
    lists = problem.corpus
    plain = np.array([problem.plain(each) for each in weights])
    width = len(lists.feature_names)
    scores = np.asarray(lists.features, np.float64) @ plain[:, :width].T
    if lists.sparse is not None:
        scores += lists.sparse @ plain[:, width:].T
    chosen = np.stack([segments.argmax(column, lists.offsets) for column in np.ascontiguousarray(scores.T)], axis=1)
    stats = lists.need_stats()[0][chosen].astype(np.float64)
    stats[chosen < 0] = 0.0
    return stats


def _imitation(problem: Problem[NBest]) -> Floats:
    """Weights under which the first hypotheses of the lists are likely, whatever they are worth."""
    lists = problem.corpus
    losses = np.ones(lists.hypotheses)
    losses[lists.offsets[:-1][lists.lengths > 0]] = 0.0
    shards = list_shards(lists, problem.scale, losses)
    return _likeliest(Quadratic(_IMITATION), np.zeros(len(problem.names)), shards, 3 * _ITERATIONS)


def _agreement(problem: Problem[NBest], weights: Floats) -> float:
    """In which share of the lists that leave a choice these weights choose the first hypothesis."""
    lists = problem.corpus
    several = lists.lengths > 1
    return float((problem.model(weights).predict(lists)[several] == lists.offsets[:-1][several]).mean())


def _likeliest(penalty: Penalty, start: Floats, shards: Sequence[Any], iterations: int = 2 * _ITERATIONS) -> Floats:
    function = partial(value_and_gradient, Likelihood(penalty), shards=shards)
    return lbfgs(function, start, iterations=iterations, tolerance=1e-5).weights


def _cooled(part: Problem[NBest]) -> Iterator[Floats]:
    """Of the risk under ever lower temperatures."""
    shards = part.shards()
    weights: Floats = np.zeros(len(part.names))
    risk = Risk(part.metric, segments=len(part.corpus))
    unit = nat_per_segment(part, risk, shards)
    for t in TEMPERATURES:
        weights = _riskless(replace(risk, temperature=t * unit), weights, shards)
        yield weights


def _softened(part: Problem[NBest]) -> Iterator[Floats]:
    """Of the metric of expected statistics, ever less held back."""
    shards = part.shards()
    weights: Floats = np.zeros(len(part.names))
    alpha = _ALPHA if isinstance(part.metric, BLEU) else None
    risk = Risk(part.metric, order=1, alpha=alpha, segments=len(part.corpus))
    unit = nat_per_segment(part, risk, shards)
    for variance in SOFT:
        weights = _riskless(replace(risk, penalty=Quadratic(variance / unit)), weights, shards)
        yield weights


def _riskless(risk: Risk, start: Floats, shards: Sequence[Any]) -> Floats:
    function = partial(value_and_gradient, risk, shards=shards)
    return lbfgs(function, start, iterations=_ITERATIONS, tolerance=1e-4).weights
