"""What trainers share: a checked problem in scaled units, and a model in the user's units."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from nbest import segments
from nbest.corpus import NBest
from nbest.errors import CapabilityError, ConvergenceWarning, ParameterError, _known
from nbest.features import within_scale
from nbest.model import LogLinear
from nbest.objectives import Likelihood, Shard, scales, value_and_gradient
from nbest.optimisers.lbfgs import lbfgs
from nbest.optimisers.result import Result
from nbest.types import Floats, Metric

_SINGLE = 1 << 20  # entries from which features are kept in float32


@dataclass(frozen=True)
class Problem:
    """A corpus ready for training. Weights of trainers are in units of scaled features: plain = scaled / scale."""

    corpus: NBest
    metric: Metric
    stats: Floats  # [H, M]
    scale: Floats  # [D + D']; 0 for a feature that never differs within a list

    @property
    def names(self) -> tuple[str, ...]:
        """D + D' names of dense and sparse features."""
        return (*self.corpus.feature_names, *self.corpus.sparse_names)

    @property
    def sign(self) -> float:
        """1 where higher scores are better, else -1: what to multiply scores by to maximise."""
        return 1.0 if self.metric.higher_is_better else -1.0

    def plain(self, scaled: Floats) -> Floats:
        """Weights in the user's units."""
        return np.divide(scaled, self.scale, out=np.zeros_like(scaled), where=self.scale > 0)

    def start(self, weights: Mapping[str, float] | None) -> Floats:
        """Given weights in scaled units; every name must be a feature."""
        for name in weights or {}:
            if name not in self.names:
                raise ParameterError(f"start weights name {name!r}, which these lists lack; {_known(self.names, name)}")
        return np.array([(weights or {}).get(name, 0.0) for name in self.names]) * self.scale

    def score(self, scaled: Floats) -> float:
        """The metric of the hypotheses that these weights choose, recomputed as a model would."""
        return self.corpus.score(self.model(scaled).predict(self.corpus))

    def model(self, scaled: Floats) -> LogLinear:
        """The model with these weights, in the user's units."""
        dense = () if self.corpus.sparse is None else self.corpus.feature_names
        return LogLinear(dict(zip(self.names, self.plain(scaled).tolist(), strict=True)), dense=dense)

    def shard(self) -> Shard:
        """The whole corpus as one shard with the metric's losses; large ones keep their features in float32."""
        single = self.corpus.features.size > _SINGLE
        return Shard(self.corpus, self.scale, self.metric.losses(self.stats), single=single)


def prepare(corpus: NBest, trainer: str, heldout: NBest | None = None, *, sparse: bool = False) -> Problem:
    """Check that a corpus can be trained on and the held-out one scored, and measure the features."""
    stats, metric = corpus.need_stats()
    if heldout is not None:
        _check_heldout(corpus, heldout)
    if corpus.sparse is not None and not sparse:
        raise CapabilityError(
            f"{trainer} tunes dense features and these lists have {len(corpus.sparse_names)} sparse ones; "
            "use risk, likelihood or softbleu, which take both"
        )
    if not corpus.feature_names and corpus.sparse is None:
        raise CapabilityError(f"{trainer} needs features and these lists have none; add some (--add length,agreement)")
    if corpus.lengths.max(initial=0) < 2:
        raise CapabilityError(f"{trainer} needs lists with at least two hypotheses; every list here has fewer")
    scale = scales(corpus, within_scale(corpus))
    if not (scale > 0).any():
        raise CapabilityError(f"{trainer} cannot learn: no feature differs between the hypotheses of any list")
    return Problem(corpus, metric, stats, scale)


def _check_heldout(corpus: NBest, heldout: NBest) -> None:
    """Complain of held-out lists before the training and not after it."""
    if heldout.stats is None or heldout.metric is None:
        raise CapabilityError("the held-out lists have no statistics yet; call heldout.with_metric(metric, references)")
    missing = [name for name in corpus.feature_names if name not in heldout.feature_names]
    if missing:
        raise ParameterError(f"the held-out lists have no feature {missing[0]!r}, which the lists to train on have")


def describe(trainer: Any) -> dict[str, Any]:
    """Name and settings of a trainer, for the model file."""
    settings = {f.name: getattr(trainer, f.name) for f in fields(trainer) if f.init and f.repr}
    return {"name": type(trainer).__name__, **settings}


def finish(
    trainer: Any, problem: Problem, result: Result, heldout: NBest | None, *, calibrate: bool = True
) -> LogLinear:
    """The model of a result: in the user's units, scaled to a calibrated posterior, with dev and held-out scores.

    Scaling by a positive number changes no 1-best choice; it makes the softmax of the scores a fair probability on
    the development lists, which MBR and consensus decisions need.
    """
    if result.status != "converged":
        warnings.warn(f"{type(trainer).__name__}: {result.message}", ConvergenceWarning, stacklevel=3)
    model = calibrated(problem, result.weights) if calibrate else problem.model(result.weights)
    scores = {"dev": problem.corpus.score(model.predict(problem.corpus))}
    if heldout is not None:
        scores["heldout"] = heldout.score(model.predict(heldout))
    return replace(
        model,
        metric=signature_of(problem.corpus),
        trainer=describe(trainer),
        scores_=scores,
        seed=getattr(trainer, "seed", None),
    )


def signature_of(corpus: NBest) -> str:
    """Name and signature of the metric of a corpus."""
    _, metric = corpus.need_stats()
    counts = {len(refs) for refs in corpus.references or ((),)}
    return f"{metric.name}|{metric.signature(counts.pop() if len(counts) == 1 else -1)}"


def calibrated(problem: Problem, scaled: Floats) -> LogLinear:
    """The model of these weights times `calibration`, or times the nearest power of two where ties are at stake.

    Rounding may tell apart hypotheses whose scores are equal; a power of two is never rounded.
    """
    model = problem.model(scaled)
    choice = model.predict(problem.corpus)
    factor = calibration(problem, scaled)
    for exact in (factor, 2.0 ** np.round(np.log2(factor))):
        other = replace(model, weights={name: float(exact * weight) for name, weight in model.weights.items()})
        if np.array_equal(other.predict(problem.corpus), choice):
            return other
    return model


def calibration(problem: Problem, scaled: Floats) -> float:
    """The factor for the scores that makes the gold hypotheses most likely, between 1e-3 and 1e3 of unit spread."""
    scores = problem.model(scaled).scores(problem.corpus)
    means = segments.sums(scores, problem.corpus.offsets) / np.maximum(problem.corpus.lengths, 1)
    spread = float(np.sqrt(np.mean((scores - np.repeat(means, problem.corpus.lengths)) ** 2)))
    if spread == 0 or not np.isfinite(spread):
        return 1.0
    column = NBest(
        offsets=problem.corpus.offsets,
        features=(scores / spread)[:, None],
        feature_names=("score",),
        ids=problem.corpus.ids,
    )
    shard = Shard(column, np.ones(1), problem.metric.losses(problem.stats))
    objective = Likelihood(np.array([1e6]))  # a prior so weak that it only matters where lists are separable
    best = lbfgs(lambda w: value_and_gradient(objective, w, [shard]), np.array([1.0]), iterations=50, tolerance=1e-6)
    return float(np.clip(best.weights[0], 1e-3, 1e3)) / spread
