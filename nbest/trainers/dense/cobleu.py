"""Consensus training: the BLEU of expected n-gram counts over forests."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from nbest.base.errors import CapabilityError, ParameterError
from nbest.base.parameters import check, parameter
from nbest.base.types import Floats
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
from nbest.trainers.trainer import Trainer


@dataclass
class MaxCoBLEU(Trainer):
    """Maximises CoBLEU, the BLEU of expected n-gram counts, which is what consensus decoding needs.

    Pauls, DeNero & Klein (2009). Forests, or lists (each is a forest of one node). BLEU only; with `objective` "cobp"
    the precision of expected bigrams, in which nothing speaks of length, and of which the history tells
    in place of CoBLEU.
    Differs: features are scaled inside by their spread; `start="mert"` runs MERT first (their best row); annealing,
    which they only suggest: "temperature" begins with an entropy term of t0 / N for N segments, times `cooling` until
    t1, then none; "gamma" begins with scores times 1/64, doubled each step until 1, from the last theta each time,
    under a penalty (without one theta undoes it). Held-out data choose the step to stop at, if given.
    """

    objective: str = parameter(
        "cobleu",
        "BLEU of expected counts, or cobp: their bigram precision alone, eq. 1 of the paper",
        choices=("cobleu", "cobp"),
    )
    schedule: str = parameter("none", "what is annealed (the paper: none)", choices=("none", "temperature", "gamma"))
    optimiser: str = parameter(
        "lbfgs",
        "adaptive is the paper's ascent: steps longer after success, shorter and retried after failure",
        choices=OPTIMISERS,
    )
    variance: float = parameter(
        1000.0, "sigma^2 of the penalty sum theta^2 / (2 N sigma^2), in scaled units (inf: none)", above=0
    )
    t0: float = parameter(1.0, "first temperature", above=0, finite=True)
    t1: float = parameter(0.03, "last temperature", above=0)
    cooling: float = parameter(0.5, "factor of the temperature in each step", above=0, below=1)
    iterations: int = parameter(200, "of the optimiser in a step, at most", least=1)
    start: dict[str, float] | str | None = parameter(
        None,
        "weights to start from, in the features' own units, or mert, to find some (None: 0)",
        choices=("mert",),
    )
    seed: int = parameter(1, "of mert")

    @property
    def random(self) -> bool:
        """Only a start by mert is."""
        return self.start == "mert"

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
        counted = metric if self.objective == "cobleu" else replace(metric, max_ngram_order=2)
        shards = [NgramShard.of(part, counted, problem.scale, single=single) for part in forests.shards()]
        begin = problem.start(self._start(corpus))
        self.result_ = self._run(problem, shards, begin, heldout)
        return replace(finish(self, problem, self.result_, heldout, calibrate=False), features=corpus.recipes)

    def _start(self, corpus: Corpus) -> dict[str, float] | None:
        if isinstance(self.start, str):
            return dict(MERT(seed=self.seed, progress=self.progress).fit(corpus).weights)
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
        return Result(
            best[1], problem.score(best[1]), result.status, message, evaluations=evaluations, history=tuple(history)
        )

    def _steps(self, problem: Problem[Forests], order: int) -> Iterator[CoBLEU]:
        unit = 1.0 / max(1, problem.filled)
        last = CoBLEU(order, penalty=Quadratic(self.variance / unit), precision=self.objective == "cobp")
        if self.schedule == "temperature":
            t = self.t0
            while t >= self.t1 * (1 - 1e-9):
                yield replace(last, temperature=t * unit)
                t *= self.cooling
        if self.schedule == "gamma":
            yield from (replace(last, gamma=2.0**k) for k in range(-6, 0))
        yield last

    def _optimise(self, objective: CoBLEU, shards: list[NgramShard], weights: Floats) -> Result:
        return OPTIMISERS[self.optimiser](
            lambda w: value_and_gradient(objective, w, shards),
            weights,
            iterations=self.iterations,
            tolerance=1e-7,
        )

    def _cobleu(self, objective: CoBLEU, shards: list[NgramShard], weights: Floats) -> float:
        moments = total_moments(objective, weights, shards)
        value, _ = replace(objective, temperature=0.0).combine(moments)
        return 100.0 * float(np.exp(-value))

    def _check(self) -> None:
        check(self)
        if self.t1 > self.t0:
            raise ParameterError(f"MaxCoBLEU needs t1 <= t0, got t0 {self.t0} and t1 {self.t1}")
