"""Minimum risk by annealing: smooth first, sharp at the end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from nbest.base.errors import ParameterError
from nbest.base.parameters import check, parameter
from nbest.base.types import Bools, Floats
from nbest.compute import parallel
from nbest.compute.forks import apart
from nbest.corpus.contract import Corpus, need_corpus
from nbest.corpus.grouping import in_folds, units
from nbest.decisions.chosen import score_of
from nbest.features import corpus_scale
from nbest.forests.edge_stats import adds_up
from nbest.model.loglinear import LogLinear
from nbest.objectives import NO_PENALTY, Quadratic, Risk, total_moments, value_and_gradient
from nbest.objectives.backends import NUMBA
from nbest.optimisers.lbfgs import lbfgs
from nbest.optimisers.result import Result
from nbest.trainers.dense.mert import climb
from nbest.trainers.finishing import finish
from nbest.trainers.lists import fit_on_lists
from nbest.trainers.problem import Problem, prepare
from nbest.trainers.trainer import Trainer

_AGREE = 1e-4  # expected and 1-best loss count as equal below this difference, in units of the formula


@dataclass
class MinRisk(Trainer):
    """Minimises the expected loss of the corpus, first under a high temperature on the entropy, then ever sharper.

    Smith & Eisner (2006). Schedules:
    "temperature"  T from `t0` to `t1`, times `cooling` each step, from the last theta; then the quench: T = 0 and
                   gamma from 4 doubled each step until expected and 1-best metric agree, with a penalty on what
                   moves away from where the cooling ended.
    "gamma"        no temperature; gamma from 1/64 doubled until they agree, with the penalty on all of theta.
    "both"         "temperature" with that penalty from the beginning.
    Temperatures are in nats of the metric's logarithm for each of N segments: T = t / N for a log formula such as log
    BLEU (T is in the paper's units), t times about the rate / N for a rate such as WER; so one range fits all. With
    `entropy` "mean" or "sum" T = t multiplies the entropy of the posterior as it is, its mean over segments or its sum;
    the penalty has the same unit, sum theta^2 / (2 N sigma^2) or sum theta^2 / (2 sigma^2). Beside one number for the
    corpus (-log BLEU) the sum of 200 segments is still flat at the paper's last T of 0.01.

    With held-out lists the point of the path with the best held-out 1-best metric is taken, and cooling stops after
    `patience` steps without a better one; without them the point with the best dev metric, the first of equals. With
    `take` "last" the whole path is walked and its end is taken, as in the paper; held-out lists are only scored.
    Differs from the paper: any metric with a smooth formula; features are scaled inside by their spread; the quench has
    a quadratic penalty, without which theta grows by itself at once and doubling gamma has nothing left to do.
    """

    schedule: str = parameter("temperature", "what is annealed", choices=("temperature", "gamma", "both"))
    order: int = parameter(2, "1: metric of expected totals, 2: with the covariance of totals (Taylor)", choices=(1, 2))
    t0: float = parameter(1.0, "first temperature", above=0, finite=True)
    t1: float = parameter(0.03, "last temperature", above=0)
    cooling: float = parameter(0.5, "factor of the temperature in each step", above=0, below=1)
    variance: float = parameter(
        1.0, "sigma^2 of the penalty sum theta^2 / (2 N sigma^2) in scaled units, in the same nats (inf: none)", above=0
    )
    iterations: int = parameter(100, "of L-BFGS in a step, at most", least=1)
    entropy: str = parameter(
        "scaled",
        "what temperatures and the penalty are for: nats of the metric's logarithm, or the mean or sum of the entropy",
        choices=("scaled", "mean", "sum"),
    )
    take: str = parameter(
        "best",
        "point of the path: the best by held-out lists (without them dev), or the last",
        choices=("best", "last"),
    )
    patience: int = parameter(3, "steps without a better held-out score before cooling stops", least=1)
    alpha: float | None = parameter(None, "sharpness of BLEU's sigmoid brevity penalty (None: the exact penalty)")
    folds: int = parameter(0, "without held-out lists, this many folds choose where on the path to stop (0: none)")
    polish: bool = parameter(
        True, "where nothing chooses the stop: end with exact line searches along coordinates, as MERT does"
    )
    seed: int = parameter(1, "of the folds")
    start: dict[str, float] | None = parameter(None, "weights to start from, in the features' own units (None: 0)")

    def fit(self, corpus: Corpus, heldout: Corpus | None = None) -> LogLinear:
        """Learn weights from lists with statistics or forests with a metric; held-out ones or folds choose the stop."""
        self._check()
        need_corpus("MinRisk", "corpus", corpus)
        if not adds_up(corpus):
            return fit_on_lists(corpus, self, MinRisk.fit, heldout)
        # by their spread over the corpus, so that features that grow with length move later; seen to do better on
        # the test part of one benchmark than their spread within lists, with equal dev scores
        problem = prepare(corpus, "MinRisk", heldout, sparse=True)
        problem = replace(problem, scale=corpus_scale(corpus, problem.scale))
        self._check_folds(corpus, heldout)
        path = _Path(self, problem, heldout)
        end = _result(*(self._crossed(path) if self.folds else path.whole()))
        chosen = heldout is not None and self.take == "best"
        if not chosen and not self.folds and self.polish and corpus.whole and corpus.sparse is None:
            end = _polished(problem, end)
        self.result_ = end
        return finish(self, problem, end, heldout)

    @property
    def random(self) -> bool:
        """Only the folds are drawn."""
        return self.folds > 0

    def _check_folds(self, corpus: Corpus, heldout: Corpus | None) -> None:
        if self.folds == 0:
            return
        if self.take == "last":
            raise ParameterError("'folds' of MinRisk choose a point of the path, and 'take' asks for the last")
        if heldout is not None:
            raise ParameterError("held-out lists and 'folds' of MinRisk both choose where to stop; give one of them")
        most = int(units(corpus).max(initial=-1)) + 1
        if not 2 <= self.folds <= most:
            what = "segments" if corpus.groups is None else "groups"
            limit = f"0 or between 2 and the number of {what} ({most})"
            raise ParameterError(f"'folds' of MinRisk must be {limit}, got {self.folds}")

    def _crossed(self, path: _Path) -> tuple[list[_Step], int]:
        """The steps of the path up to where the metric of left-out folds is best."""
        problem = path.problem
        fold = in_folds(problem.corpus, self.folds, self.seed)
        tell = partial(parallel.counter(self.progress, self.folds + 1), 1)
        path.evaluate(path.base, problem.start(self.start))  # what has to be compiled is, once
        # a worker that would have no fold walks over all of the corpus, further than may be wanted
        beside = [-1] if parallel.thread_count(None) > self.folds else []
        found: list[Any] = apart(
            lambda number: path.walk() if number < 0 else _fold_totals(path, fold == number),
            [*beside, *range(self.folds)],
            told=tell,
            forking=path.base.backend is NUMBA,
        )
        stop = self._stop(problem, found[len(beside) :])
        steps = found[0][:stop] if beside else path.walk(stop)
        return steps, len(steps) - 1

    def _stop(self, problem: Problem[Any], paths: list[list[Floats]]) -> int:
        """After how many steps the metric of left-out folds is best."""
        steps = max(len(path) for path in paths)
        totals = np.sum([[path[min(t, len(path) - 1)] for t in range(steps)] for path in paths], axis=0)
        return int((problem.sign * problem.metric.score(totals)).argmax()) + 1

    def _check(self) -> None:
        check(self)
        if self.t1 > self.t0:
            raise ParameterError(f"MinRisk needs t1 <= t0, got t0 {self.t0} and t1 {self.t1}")


@dataclass(frozen=True)
class _Step:
    """Where a step of a path led to."""

    weights: Floats
    evaluations: int  # since the path began
    record: dict[str, Any]  # for the history


def _fold_totals(path: _Path, out: Bools) -> list[Floats]:
    """Totals of the left-out segments after each step of a path over the others."""
    own = _Path(path.trainer, path.problem.part(np.flatnonzero(~out)), None)
    own.watched = path.problem.part(np.flatnonzero(out))
    return [step.record["left_out"] for step in own.walk()]


def _result(steps: list[_Step], chosen: int) -> Result:
    best = steps[chosen]
    return Result(
        best.weights,
        best.record["dev"],
        "converged",
        message=f"annealed in {len(steps)} steps",
        evaluations=steps[-1].evaluations,
        history=tuple(step.record for step in steps),
    )


def _polished(problem: Problem[Any], end: Result) -> Result:
    """Climb on along coordinates by exact line search."""
    found = climb(problem, problem.model(end.weights).weights)
    if found.status != "converged" or problem.sign * found.value <= problem.sign * end.value:
        return end
    return replace(end, weights=found.weights, value=found.value, message=f"{end.message}, then {found.message}")


def nat_per_segment(problem: Problem[Any], risk: Risk, shards: Sequence[Any]) -> float:
    """One nat of the metric's logarithm for each filled segment, in units of its formula.

    That is 1 / N for a log formula and about the rate / N for a rate: the unit of temperatures and penalties.
    """
    uniform = total_moments(risk, np.zeros(len(problem.names)), shards).mean
    best = problem.oracle_totals()
    gain = abs(float(risk.formula(best) - risk.formula(uniform)))
    low, high = (float(problem.metric.score(totals)) for totals in (uniform, best))
    nats = abs(np.log(high) - np.log(low)) if low > 0 and high > 0 else 0.0
    return max(gain / nats if nats > 1e-6 else gain, 1e-6) / max(1, problem.filled)


def _centred(risk: Risk, centre: Floats | float) -> Risk:
    """With its penalty on what is away from there: around 0 it would throw back weights that the cooling made large."""
    penalty = risk.penalty
    return replace(risk, penalty=replace(penalty, centre=centre)) if isinstance(penalty, Quadratic) else risk


class _Path:
    """One annealing path."""

    def __init__(self, trainer: MinRisk, problem: Problem[Any], heldout: Corpus | None) -> None:
        self.trainer, self.problem, self.heldout = trainer, problem, heldout
        self.shards = problem.shards()
        self.base = Risk(problem.metric, order=trainer.order, alpha=trainer.alpha, segments=len(problem.corpus))
        self.evaluations = 0
        self.watched: Problem[Any] | None = None  # whose totals are recorded, for cross-validation

    def walk(self, stop: int | None = None) -> list[_Step]:
        """So many steps, or until expected and 1-best metric agree or held-out lists say that it is enough."""
        weights, self.evaluations = self.problem.start(self.trainer.start), 0
        schedule, steps = list(self._schedule())[:stop], list[_Step]()
        best, idle, fitted = -np.inf, 0, -np.inf
        centre: Floats | float = 0.0
        for number, risk in enumerate(schedule):
            if number and schedule[number - 1].temperature and not risk.temperature:
                weights = weights / risk.gamma  # the quench begins at the same posteriors
                centre = weights if self.trainer.schedule == "temperature" else centre
            weights = self._optimise(_centred(risk, centre), weights)
            record = self._record(risk, weights)
            steps.append(_Step(weights, self.evaluations, record))
            if self.trainer.progress is not None and self.trainer.folds == 0:
                self.trainer.progress(number + 1, len(schedule))
            if self.goodness(record) >= best:
                best, idle, fitted = self.goodness(record), 0, record["dev"]
            elif self.problem.sign * record["dev"] > self.problem.sign * fitted:
                idle += 1  # better on dev without being better on held-out lists
            enough = self.heldout is not None and self.trainer.take == "best" and idle >= self.trainer.patience
            if enough or (risk.temperature == 0 and record["gap"] < _AGREE):
                break
        return steps

    def whole(self) -> tuple[list[_Step], int]:
        """All steps, and the number of the one to take: of equally good ones the first, which is the smoothest."""
        steps = self.walk()
        if self.trainer.take == "last":
            return steps, len(steps) - 1
        return steps, max(range(len(steps)), key=lambda number: self.goodness(steps[number].record))

    def goodness(self, record: dict[str, Any]) -> float:
        """The metric that chooses, larger is better."""
        return self.problem.sign * float(record.get("heldout", record["dev"]))

    def evaluate(self, risk: Risk, weights: Floats) -> tuple[float, Floats]:
        """Value and gradient."""
        self.evaluations += 1
        return value_and_gradient(risk, weights, self.shards)

    def _schedule(self) -> Iterator[Risk]:
        trainer = self.trainer
        unit = self._unit()
        penalty = Quadratic(trainer.variance / unit)
        if trainer.schedule == "gamma":
            yield from (replace(self.base, gamma=2.0**k, penalty=penalty) for k in range(-6, 11))
            return
        t = trainer.t0
        while t >= trainer.t1 * (1 - 1e-9):
            early = penalty if trainer.schedule == "both" else NO_PENALTY
            yield replace(self.base, temperature=t * unit, penalty=early)
            t *= trainer.cooling
        yield from (replace(self.base, gamma=2.0**k, penalty=penalty) for k in range(2, 11))

    def _unit(self) -> float:
        """A temperature of 1, for the sum of entropies beside the formula."""
        if self.trainer.entropy == "scaled":
            return nat_per_segment(self.problem, self.base, self.shards)
        return 1.0 if self.trainer.entropy == "sum" else 1.0 / max(1, self.problem.filled)

    def _optimise(self, risk: Risk, weights: Floats) -> Floats:
        function = partial(self.evaluate, risk)
        return lbfgs(function, weights, iterations=self.trainer.iterations, tolerance=1e-6).weights

    def _record(self, risk: Risk, weights: Floats) -> dict[str, Any]:
        """Where the path is: entropy (its mean, in nats), expected and 1-best metric, held-out metric."""
        chosen, dev = self.problem.totals_and_score(weights)
        moments = total_moments(risk, weights, self.shards)
        expected, _ = replace(risk, temperature=0.0).combine(moments)
        sharp = -float(risk.formula(chosen))
        record: dict[str, Any] = {
            "temperature": risk.temperature,
            "gamma": risk.gamma,
            "entropy": moments.entropy / max(1, self.problem.filled),
            "expected": expected,
            "gap": abs(expected - sharp),
            "dev": dev,
        }
        if self.heldout is not None:
            record["heldout"] = score_of(self.heldout, self.problem.model(weights))
        if self.watched is not None:
            record["left_out"] = self.watched.totals(weights)
        return record
