"""Consensus training: the BLEU of expected n-gram counts over forests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from nbest.base.errors import CapabilityError, ParameterError, look_up
from nbest.base.types import Floats
from nbest.compute.executors import executor_of
from nbest.corpus import Forests
from nbest.corpus.contract import Corpus, need_corpus
from nbest.decisions.chosen import score_of
from nbest.features import corpus_scale
from nbest.forests.derivations import as_forests
from nbest.metrics import BLEU
from nbest.model.loglinear import LogLinear
from nbest.objectives import Quadratic, total_moments, value_and_gradient
from nbest.objectives.cobleu import CoBLEU, NgramShard
from nbest.objectives.forest_shard import SINGLE
from nbest.optimisers import OPTIMISERS
from nbest.optimisers.result import Result
from nbest.trainers.dense.mert import MERT
from nbest.trainers.finishing import finish
from nbest.trainers.problem import Problem, prepare


@dataclass
class MaxCoBLEU:
    """Maximises CoBLEU, the BLEU of expected n-gram counts, which is what consensus decoding needs.

    Pauls, DeNero & Klein (2009). Forests, or lists (each is a forest of one node). BLEU only.
    Differs: features are scaled inside by their spread; `start="mert"` runs MERT first (their best row); annealing,
    which they only suggest: "temperature" begins with an entropy term of t0 / N for N segments, times `cooling` until
    t1, then none; "gamma" begins with scores times 1/64, doubled each step until 1, from the last theta each time,
    under a penalty (without one theta undoes it). Held-out data choose the step to stop at, if given.

    schedule    "none" (the paper's), "temperature" or "gamma"
    optimiser   lbfgs, or adaptive (the paper's ascent: steps longer after success, shorter and retried after failure)
    variance    sigma^2 of the penalty sum theta^2 / (2 N sigma^2), in scaled units (inf: none)
    start       weights to start from, in the features' own units, or "mert" (default 0)
    """

    schedule: str = "none"
    optimiser: str = "lbfgs"
    variance: float = 1000.0
    t0: float = 1.0
    t1: float = 0.03
    cooling: float = 0.5
    iterations: int = 200
    start: dict[str, float] | str | None = None
    seed: int = 1
    threads: int | None = field(default=None, repr=False)
    progress: Callable[[int, int], None] | None = field(default=None, repr=False)
    result_: Result | None = field(default=None, init=False, repr=False)

    def fit(self, corpus: Corpus, heldout: Corpus | None = None) -> LogLinear:
        """Learn weights from forests or lists with BLEU as their metric."""
        self._check()
        need_corpus("MaxCoBLEU", "corpus", corpus)
        if corpus.sparse is not None:
            count = len(corpus.sparse_names)
            raise CapabilityError(f"MaxCoBLEU tunes dense features and these lists have {count} sparse ones; use risk")
        corpus.need_metric()
        forests = as_forests(corpus)
        problem = prepare(forests, "MaxCoBLEU", heldout)
        metric = problem.metric
        if not isinstance(metric, BLEU):
            raise CapabilityError(f"MaxCoBLEU trains on BLEU only, and the metric is {metric.name}; use risk or mert")
        problem = replace(problem, scale=corpus_scale(forests, problem.scale))
        single = forests.features.size > SINGLE
        shards = [NgramShard.of(part, metric, problem.scale, single=single) for part in forests.shards()]
        begin = problem.start(self._start(corpus))
        self.result_ = self._run(problem, shards, begin, heldout)
        return replace(finish(self, problem, self.result_, heldout, calibrate=False), features=corpus.recipes)

    def _start(self, corpus: Corpus) -> dict[str, float] | None:
        if isinstance(self.start, str):
            return dict(MERT(seed=self.seed, threads=self.threads).fit(corpus).weights)
        return self.start

    def _run(
        self, problem: Problem[Forests], shards: list[NgramShard], weights: Floats, heldout: Corpus | None
    ) -> Result:
        steps = list(self._steps(problem, shards[0].found.order))
        history: list[dict[str, Any]] = []
        best: tuple[float, Floats] | None = None
        evaluations, result = 0, None
        for number, objective in enumerate(steps):
            result = self._optimise(objective, shards, weights)
            weights, evaluations = result.weights, evaluations + result.evaluations
            record: dict[str, Any] = {
                "temperature": objective.temperature,
                "gamma": objective.gamma,
                "cobleu": self._cobleu(objective, shards, weights),
                "dev": problem.score(weights),
                "path": [float(entry["value"]) for entry in result.history],
            }
            if heldout is not None:
                record["heldout"] = score_of(heldout, problem.model(weights))
            history.append(record)
            if heldout is None or best is None or record["heldout"] >= best[0]:
                best = (record.get("heldout", 0.0), weights * objective.gamma)
            if self.progress is not None:
                self.progress(number + 1, len(steps))
        assert best is not None
        assert result is not None
        message = f"{len(steps)} steps; the last: {result.message}"
        return Result(best[1], problem.score(best[1]), result.status, message, evaluations, tuple(history))

    def _steps(self, problem: Problem[Forests], order: int) -> Iterator[CoBLEU]:
        unit = 1.0 / max(1, problem.filled)
        last = CoBLEU(order, penalty=Quadratic(self.variance / unit))
        if self.schedule == "temperature":
            t = self.t0
            while t >= self.t1 * (1 - 1e-9):
                yield replace(last, temperature=t * unit)
                t *= self.cooling
        if self.schedule == "gamma":
            yield from (replace(last, gamma=2.0**k) for k in range(-6, 0))
        yield last

    def _optimise(self, objective: CoBLEU, shards: list[NgramShard], weights: Floats) -> Result:
        minimise = look_up(OPTIMISERS, self.optimiser, "optimiser")
        executor = executor_of(self.threads)
        return minimise(
            lambda w: value_and_gradient(objective, w, shards, executor),
            weights,
            iterations=self.iterations,
            tolerance=1e-7,
        )

    def _cobleu(self, objective: CoBLEU, shards: list[NgramShard], weights: Floats) -> float:
        moments = total_moments(objective, weights, shards, executor_of(self.threads))
        value, _ = replace(objective, temperature=0.0).combine(moments)
        return 100.0 * float(np.exp(-value))

    def _check(self) -> None:
        if self.schedule not in ("none", "temperature", "gamma"):
            raise ParameterError(f"'schedule' of MaxCoBLEU must be none, temperature or gamma, got {self.schedule!r}")
        if self.iterations < 1:
            raise ParameterError(f"'iterations' of MaxCoBLEU must be >= 1, got {self.iterations}")
        if not self.variance > 0:
            raise ParameterError(f"'variance' of MaxCoBLEU must be > 0, got {self.variance}")
        if not 0 < self.t1 <= self.t0 < np.inf or not 0 < self.cooling < 1:
            raise ParameterError("MaxCoBLEU needs 0 < t1 <= t0 and 0 < cooling < 1")
        if isinstance(self.start, str) and self.start != "mert":
            raise ParameterError(f"'start' of MaxCoBLEU must be weights or 'mert', got {self.start!r}")
