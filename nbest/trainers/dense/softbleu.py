"""Soft BLEU: the metric of expected statistics, climbed by RProp."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from nbest.base.errors import ParameterError, look_up
from nbest.base.types import Floats
from nbest.compute.executors import executor_of
from nbest.corpus import NBest
from nbest.features import corpus_scale
from nbest.metrics import BLEU
from nbest.model.loglinear import LogLinear
from nbest.objectives import Risk, SparseOnly, value_and_gradient
from nbest.optimisers import OPTIMISERS, Result
from nbest.trainers.dense.risk import nat_per_segment
from nbest.trainers.finishing import finish
from nbest.trainers.lists import on_lists
from nbest.trainers.problem import prepare


@dataclass
class SoftBLEU:
    """Maximises the metric of expected statistics, less a prior, plus an entropy term, by RProp.

    Nguyen, Mahajan & He (2007), sections 2.3 and 2.4: for BLEU, log BLEU of expected counts with a sigmoid brevity
    penalty (`alpha`); it is `Risk` of order 1 at gamma 1 without annealing. Differs: any metric with a smooth formula
    (for WER it is the expected error rate); weights and prior are in units of features scaled by their spread.

    variance    sigma^2 of the prior, sum theta^2 / (2 N sigma^2) for N segments, in the units of MinRisk (inf: none)
    prior       the weights that it is on: all, or sparse, which leaves a model of dense features as sharp as it is
    entropy     weight of the entropy, in nats of the metric's logarithm for each segment, as t of MinRisk
    alpha       sharpness of the sigmoid brevity penalty, per word of difference in length (BLEU only)
    optimiser   rprop, lbfgs or adaptive
    start       weights to start from, in the features' own units (default 0)
    """

    variance: float = float("inf")
    prior: str = "all"
    entropy: float = 0.0
    alpha: float = 100.0
    optimiser: str = "rprop"
    iterations: int = 500
    start: dict[str, float] | None = None
    threads: int | None = field(default=None, repr=False)
    progress: Callable[[int, int], None] | None = field(default=None, repr=False)
    result_: Result | None = field(default=None, init=False, repr=False)

    @on_lists
    def fit(self, corpus: NBest, heldout: NBest | None = None) -> LogLinear:
        """Learn weights from lists with statistics; of all points visited the best held-out one is taken, if given."""
        if self.iterations < 1:
            raise ParameterError(f"'iterations' of SoftBLEU must be >= 1, got {self.iterations}")
        if not self.variance > 0:
            raise ParameterError(f"'variance' of SoftBLEU must be > 0, got {self.variance}")
        if self.prior not in ("all", "sparse"):
            raise ParameterError(f"'prior' of SoftBLEU must be all or sparse, got {self.prior!r}")
        for name in ("entropy", "alpha"):
            if not getattr(self, name) >= 0:
                raise ParameterError(f"'{name}' of SoftBLEU must be >= 0, got {getattr(self, name)}")
        minimise = look_up(OPTIMISERS, self.optimiser, "optimiser")
        problem = prepare(corpus, "SoftBLEU", heldout, sparse=True)
        problem = replace(problem, scale=corpus_scale(corpus, problem.scale))
        shards, executor = problem.shards(), executor_of(self.threads)
        risk = Risk(
            problem.metric,
            order=1,
            alpha=self.alpha if isinstance(problem.metric, BLEU) else None,
            segments=len(corpus),
        )
        unit = nat_per_segment(problem, risk, shards, executor)
        free = len(corpus.feature_names) if self.prior == "sparse" else 0
        risk = replace(risk, temperature=self.entropy * unit, penalty=SparseOnly(self.variance / unit, free))
        best: list[tuple[float, Floats]] = []

        def after(iteration: int, weights: Floats, value: float) -> bool:
            if self.progress is not None:
                self.progress(min(iteration + 1, self.iterations), self.iterations)
            if heldout is not None:
                reached = problem.sign * heldout.score(problem.model(weights).predict(heldout))
                if not best or reached > best[0][0]:
                    best[:] = [(reached, weights.copy())]
            return False

        result = minimise(
            lambda w: value_and_gradient(risk, w, shards, executor),
            problem.start(self.start),
            iterations=self.iterations,
            tolerance=1e-5,
            callback=after,
        )
        weights = best[0][1] if best else result.weights
        self.result_ = replace(result, weights=weights, value=problem.score(weights))
        return finish(self, problem, self.result_, heldout)
