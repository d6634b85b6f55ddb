"""Soft BLEU: the metric of expected statistics, climbed by RProp."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from nbest.base.parameters import parameter
from nbest.base.types import Floats
from nbest.corpus import NBest
from nbest.features import corpus_scale
from nbest.metrics import BLEU
from nbest.model.loglinear import LogLinear
from nbest.objectives import Risk, SparseOnly, value_and_gradient
from nbest.optimisers import OPTIMISERS
from nbest.trainers.dense.risk import nat_per_segment
from nbest.trainers.finishing import finish
from nbest.trainers.keeping import keeping_base
from nbest.trainers.lists import on_lists
from nbest.trainers.problem import prepare
from nbest.trainers.trainer import Trainer


@dataclass
class SoftBLEU(Trainer):
    """Maximises the metric of expected statistics, less a prior, plus an entropy term, by RProp.

    Nguyen, Mahajan & He (2007), sections 2.3 and 2.4: for BLEU, log BLEU of expected counts with a sigmoid brevity
    penalty (`alpha`); it is `Risk` of order 1 at gamma 1 without annealing. Differs: any metric with a smooth formula
    (for WER it is the expected error rate); weights and prior are in units of features scaled by their spread.
    """

    variance: float = parameter(
        float("inf"), "sigma^2 of the prior sum theta^2 / (2 N sigma^2), N segments, as MinRisk's (inf: none)", above=0
    )
    prior: str = parameter(
        "all", "weights it is on; sparse leaves a model of dense features as sharp as it is", choices=("all", "sparse")
    )
    entropy: float = parameter(
        0.0, "weight of the entropy, in nats of the metric's logarithm for each segment, as t of MinRisk", least=0
    )
    alpha: float = parameter(
        100.0, "sharpness of the sigmoid brevity penalty, per word of difference in length (BLEU only)", least=0
    )
    optimiser: str = parameter("rprop", "what climbs", choices=OPTIMISERS)
    iterations: int = parameter(500, "of the optimiser, at most", least=1)
    start: dict[str, float] | None = parameter(None, "weights to start from, in the features' own units (None: 0)")
    weights_: dict[str, float] | None = field(default=None, init=False, repr=False, kw_only=True)
    """Weights as they were left, in the features' own units: those of the model are scaled for a fair posterior, and
    the sharpness of the posterior is part of what soft BLEU learns."""

    @keeping_base
    @on_lists
    def fit(self, corpus: NBest, heldout: NBest | None = None) -> LogLinear:
        """Learn weights from lists with statistics; of all points visited the best held-out one is taken, if given."""
        problem = prepare(corpus, "SoftBLEU", heldout, sparse=True)
        problem = replace(problem, scale=corpus_scale(corpus, problem.scale))
        shards = problem.shards()
        risk = Risk(
            problem.metric,
            order=1,
            alpha=self.alpha if isinstance(problem.metric, BLEU) else None,
            segments=len(corpus),
        )
        unit = nat_per_segment(problem, risk, shards)
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

        result = OPTIMISERS[self.optimiser](
            lambda w: value_and_gradient(risk, w, shards),
            problem.start(self.start),
            iterations=self.iterations,
            tolerance=1e-5,
            callback=after,
        )
        weights = best[0][1] if best else result.weights
        self.result_ = replace(result, weights=weights, value=problem.score(weights))
        self.weights_ = dict(problem.model(weights).weights)
        return finish(self, problem, self.result_, heldout)
