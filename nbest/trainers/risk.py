"""Minimum risk by annealing: smooth first, sharp at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from nbest import parallel
from nbest.corpus import NBest
from nbest.decisions import oracle
from nbest.errors import ParameterError
from nbest.features import corpus_scale
from nbest.model import LogLinear
from nbest.objectives import Risk, Shard, value_and_gradient
from nbest.optimisers.lbfgs import lbfgs
from nbest.optimisers.result import Result
from nbest.trainers.base import Problem, finish, prepare
from nbest.trainers.mert import MERT
from nbest.types import Bools, Floats

_AGREE = 1e-4  # expected and 1-best loss count as equal below this difference, in units of the formula


@dataclass
class MinRisk:
    """Minimises the expected loss of the corpus, first under a high temperature on the entropy, then ever sharper.

    Smith & Eisner (2006). Schedules:
    "temperature"  T from `t0` to `t1`, times `cooling` each step, theta re-optimised from the last one; then T = 0 and
                   gamma doubled each step (the quench) until expected and 1-best metric agree or nothing changes.
    "gamma"        no temperature; gamma from 1/64 doubled until they agree, with a quadratic penalty of `variance`.
    "both"         "temperature" with the penalty.
    Temperatures are in units that fit any corpus and metric: T = t * spread / N, with `spread` the difference of
    the smooth metric between the oracle and uniform posteriors, and N segments.

    With held-out lists the point of the path with the best held-out 1-best metric is taken, and cooling stops after
    `patience` steps without a better one; without them the end of the path.
    Differs from the paper: any metric with a smooth formula; features are scaled inside, in two ways (by their spread
    within lists and over the corpus), which makes two paths over the same objective of which the better is kept.

    order      1: metric of expected totals, 2: with the covariance of totals (Taylor)
    variance   sigma^2 of the penalty, in scaled units (inf: none)
    start      weights to start from, in the features' own units (default 0)
    folds      without held-out lists, this many folds of the corpus choose where on the path to stop
    polish     where nothing chooses the stop: end with exact line searches along coordinates, as MERT does
    alpha      BLEU's sigmoid brevity penalty instead of the exact one
    """

    schedule: str = "temperature"
    order: int = 2
    t0: float = 1.0
    t1: float = 0.01
    cooling: float = 0.5
    variance: float | None = None
    iterations: int = 100
    patience: int = 3
    alpha: float | None = None
    folds: int = 0
    polish: bool = True
    seed: int = 1
    start: dict[str, float] | None = None
    threads: int | None = field(default=None, repr=False)
    progress: Callable[[int, int], None] | None = field(default=None, repr=False)
    result_: Result | None = field(default=None, init=False, repr=False)

    def fit(self, corpus: NBest, heldout: NBest | None = None) -> LogLinear:
        """Learn weights from lists with statistics; held-out lists, or folds of the corpus, choose where to stop."""
        self._check()
        problem = prepare(corpus, "MinRisk", sparse=True)
        problems = [problem, replace(problem, scale=corpus_scale(corpus, problem.scale))]
        threads = parallel.thread_count(self.threads)
        inner = max(1, threads // len(problems))
        stops = [None, None] if heldout is not None or self.folds < 2 else self._stops(problems, threads)
        jobs = [(p, stop) for p, stop in zip(problems, stops, strict=True) if stop is None or stop.chosen]
        paths = parallel.each(lambda job: _Path(self, job[0], heldout, inner).run(job[1]), jobs, threads)
        best = max(range(len(paths)), key=lambda i: paths[i].goodness)
        end = paths[best]
        if heldout is None and self.folds < 2 and self.polish and corpus.sparse is None:
            end = _polished(jobs[best][0], end, threads)
        self.result_ = end.result
        return finish(self, jobs[best][0], self.result_, heldout)

    def _stops(self, problems: list[Problem], threads: int) -> list[_Stop]:
        """For each way of scaling, after how many steps the metric of left-out folds is best; the better way is chosen."""
        corpus = problems[0].corpus
        fold = np.random.default_rng(self.seed).permutation(len(corpus)) % self.folds
        jobs = [(p, f) for p in problems for f in range(self.folds)]
        paths = parallel.each(lambda job: _fold_totals(self, job[0], fold == job[1]), jobs, threads)
        stops = []
        for i, problem in enumerate(problems):
            mine = paths[i * self.folds : (i + 1) * self.folds]
            steps = max(len(path) for path in mine)
            totals = sum(np.stack([path[min(t, len(path) - 1)] for t in range(steps)]) for path in mine)
            values = problem.sign * problem.metric.score(totals)
            stops.append(_Stop(int(values.argmax()) + 1, float(values.max())))
        best = max(stops, key=lambda stop: stop.value)
        return [replace(stop, chosen=stop is best) for stop in stops]

    def _check(self) -> None:
        if self.schedule not in ("temperature", "gamma", "both"):
            raise ParameterError(f"'schedule' of MinRisk must be temperature, gamma or both, got {self.schedule!r}")
        if not 0 < self.t1 <= self.t0:
            raise ParameterError(f"MinRisk needs 0 < t1 <= t0, got t0 {self.t0} and t1 {self.t1}")
        if not 0 < self.cooling < 1:
            raise ParameterError(f"'cooling' of MinRisk must be between 0 and 1, got {self.cooling}")
        if self.patience < 1 or self.iterations < 1:
            raise ParameterError("'patience' and 'iterations' of MinRisk must be >= 1")
        if self.variance is not None and not self.variance > 0:
            raise ParameterError(f"'variance' of MinRisk must be > 0, got {self.variance}")


@dataclass(frozen=True)
class _End:
    result: Result
    goodness: float  # held-out metric where there is one, else dev metric; larger is better


@dataclass(frozen=True)
class _Stop:
    """How many steps of a path to take, the cross-validated metric there, and whether this path is the one to take."""

    steps: int
    value: float
    chosen: bool = False


def _fold_totals(trainer: MinRisk, problem: Problem, out: Bools) -> list[Floats]:
    """Totals of the left-out segments after each step of a path over the others."""
    rest, left = problem.corpus.select(np.flatnonzero(~out)), problem.corpus.select(np.flatnonzero(out))
    part = replace(problem, corpus=rest, stats=rest.need_stats()[0])
    path = _Path(trainer, part, None, 1)
    path.watched = left
    path.run(None)
    return [record["left_out"] for record in path.history]


def _polished(problem: Problem, end: _End, threads: int) -> _End:
    """Climb on along coordinates by exact line search."""
    search = MERT(restarts=0, hops=0, start=dict(problem.model(end.result.weights).weights), threads=threads)
    weights = problem.start(search.fit(problem.corpus).weights)
    found = search.result_
    if found is None or problem.sign * found.value <= problem.sign * end.result.value:
        return end
    message = f"{end.result.message}, then {found.message}"
    return _End(replace(end.result, weights=weights, value=found.value, message=message), problem.sign * found.value)


class _Path:
    """One annealing path."""

    def __init__(self, trainer: MinRisk, problem: Problem, heldout: NBest | None, threads: int) -> None:
        self.trainer, self.problem, self.heldout = trainer, problem, heldout
        self.shard: Shard = problem.shard()
        default = np.inf if trainer.schedule == "temperature" else 1.0
        self.base = Risk(
            problem.metric,
            order=trainer.order,
            variance=default if trainer.variance is None else trainer.variance,
            alpha=trainer.alpha,
            segments=len(problem.corpus),
            threads=threads,
        )
        self.evaluations = 0
        self.history: list[dict[str, Any]] = []
        self.watched: NBest | None = None  # lists whose totals are recorded, for cross-validation

    def run(self, stop: _Stop | None) -> _End:
        weights = self.problem.start(self.trainer.start)
        steps = list(self._schedule())[: None if stop is None else stop.steps]
        best, idle, fitted = (-np.inf, weights), 0, -np.inf
        for number, risk in enumerate(steps):
            weights = self._optimise(risk, weights)
            record = self._record(risk, weights)
            goodness = self.problem.sign * record.get("heldout", record["dev"])
            if self.trainer.progress is not None:
                self.trainer.progress(number + 1, len(steps))
            if self.heldout is None or goodness > best[0]:
                best, idle, fitted = (goodness, weights), 0, record["dev"]
            elif self.problem.sign * record["dev"] > self.problem.sign * fitted:
                idle += 1  # better on dev without being better on held-out lists
            if self.heldout is not None and idle >= self.trainer.patience:
                break
            if risk.temperature == 0 and record["gap"] < _AGREE:
                break
        value = self.problem.score(best[1])
        message = f"annealed in {len(self.history)} steps"
        return _End(Result(best[1], value, "converged", message, self.evaluations, tuple(self.history)), best[0])

    def _schedule(self) -> Iterator[Risk]:
        trainer = self.trainer
        if trainer.schedule == "gamma":
            yield from (replace(self.base, gamma=2.0**k) for k in range(-6, 11))
            return
        unit = self._spread() / max(1, int((self.problem.corpus.lengths > 0).sum()))
        t = trainer.t0
        while t >= trainer.t1 * (1 - 1e-9):
            yield replace(self.base, temperature=t * unit)
            t *= trainer.cooling
        yield from (replace(self.base, gamma=2.0**k) for k in range(11))

    def _spread(self) -> float:
        """How much better the oracle is than uniform posteriors, by the smooth metric."""
        uniform = self.base.moments(np.zeros(len(self.problem.names)), self.shard).mean
        totals = self.problem.corpus.totals(oracle(self.problem.corpus))
        return max(float(self.base.formula(totals) - self.base.formula(uniform)), 1e-3)

    def _optimise(self, risk: Risk, weights: Floats) -> Floats:
        def function(point: Floats) -> tuple[float, Floats]:
            self.evaluations += 1
            return value_and_gradient(risk, point, [self.shard], 1)

        return lbfgs(function, weights, iterations=self.trainer.iterations, tolerance=1e-6).weights

    def _record(self, risk: Risk, weights: Floats) -> dict[str, Any]:
        """Where the path is: expected and 1-best metric, held-out metric."""
        model = self.problem.model(weights)
        choice = model.predict(self.problem.corpus)
        expected, _ = replace(risk, temperature=0.0).combine(risk.moments(weights, self.shard))
        sharp = -float(risk.formula(self.problem.corpus.totals(choice)))
        record = {
            "temperature": risk.temperature,
            "gamma": risk.gamma,
            "expected": expected,
            "gap": abs(expected - sharp),
            "dev": self.problem.corpus.score(choice),
        }
        if self.heldout is not None:
            record["heldout"] = self.heldout.score(model.predict(self.heldout))
        if self.watched is not None:
            record["left_out"] = self.watched.totals(model.predict(self.watched))
        self.history.append(record)
        return record
