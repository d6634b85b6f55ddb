"""What trainers share: a checked problem in scaled units, and a model in the user's units."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from nbest.base.errors import CapabilityError, ConvergenceWarning, ParameterError, _known, need_kind
from nbest.base.types import Floats, Ints
from nbest.compute import segments
from nbest.compute.jets import expand
from nbest.corpus import Forests, NBest
from nbest.corpus.contract import signature_of
from nbest.corpus.metric import Metric
from nbest.decisions import oracle
from nbest.decisions.chosen import score_of
from nbest.features import within_scale
from nbest.features.recipes import with_recipes
from nbest.forests.edge_stats import bleu_edge_stats
from nbest.forests.expectations import expectations
from nbest.forests.kbest import kbest
from nbest.forests.posteriors import posteriors
from nbest.forests.scale import forest_scale
from nbest.metrics import BLEU
from nbest.model.loglinear import LogLinear
from nbest.objectives import Likelihood, Quadratic, Shard, scales, value_and_gradient
from nbest.objectives.forest_shard import ForestShard, forest_shards
from nbest.objectives.shard import list_shards
from nbest.optimisers.lbfgs import lbfgs
from nbest.optimisers.result import Result
from nbest.trainers.differing import STRINGS, losses_differ, strings_differ
from nbest.trainers.sharpness import decision_gamma

SINGLE = 1 << 20  # entries from which features are kept in float32


class _Scaled:
    """Weights in units of scaled features, and in the user's: plain = scaled / scale."""

    metric: Metric
    scale: Floats  # [D + D']; 0 for a feature that never differs within a list

    @property
    def names(self) -> tuple[str, ...]:
        """D + D' names of dense and sparse features."""
        raise NotImplementedError

    @property
    def sign(self) -> float:
        """1 where higher scores are better, else -1: what to multiply scores by to maximise."""
        return 1.0 if self.metric.higher_is_better else -1.0

    def plain(self, scaled: Floats) -> Floats:
        """Weights in the user's units."""
        return np.divide(scaled, self.scale, out=np.zeros_like(scaled), where=self.scale > 0)

    def start(self, weights: Mapping[str, float] | None) -> Floats:
        """Given weights in scaled units; every name must be a feature."""
        names, given = self.names, weights or {}
        known = set(names)
        odd = next((name for name in given if name not in known), None)
        if odd is not None:
            raise ParameterError(f"start weights name {odd!r}, which the corpus lacks; {_known(names, odd)}")
        return np.array([given.get(name, 0.0) for name in names]) * self.scale


@dataclass(frozen=True)
class Problem(_Scaled):
    """Lists ready for training."""

    corpus: NBest
    metric: Metric
    stats: Floats  # [H, M]
    scale: Floats

    @property
    def names(self) -> tuple[str, ...]:
        """D + D' names of dense and sparse features."""
        return (*self.corpus.feature_names, *self.corpus.sparse_names)

    def score(self, scaled: Floats) -> float:
        """The metric of the hypotheses that these weights choose, recomputed as a model would."""
        return self.corpus.score(self.model(scaled).predict(self.corpus))

    def model(self, scaled: Floats) -> LogLinear:
        """The model with these weights, in the user's units."""
        dense = None if self.corpus.sparse is None else self.corpus.feature_names
        return LogLinear(dict(zip(self.names, self.plain(scaled).tolist(), strict=True)), dense=dense)

    def shards(self) -> list[Shard]:
        """The shards of the corpus, with the metric's losses; large corpora keep their features in float32."""
        single = self.corpus.features.size > SINGLE
        return list_shards(self.corpus, self.scale, self.metric.losses(self.stats), single=single)

    def totals(self, scaled: Floats) -> Floats:
        """[M] statistics of the hypotheses that these weights choose."""
        return self.corpus.totals(self.model(scaled).predict(self.corpus))

    def oracle_totals(self) -> Floats:
        """[M] statistics of the hypotheses of least loss."""
        return self.corpus.totals(oracle(self.corpus))

    @property
    def dense(self) -> bool:
        """Whether there are no sparse features."""
        return self.corpus.sparse is None

    @property
    def filled(self) -> int:
        """How many lists are not empty."""
        return int((self.corpus.lengths > 0).sum())

    def part(self, rows: Ints) -> Problem:
        """The same for these segments only."""
        corpus = self.corpus.select(rows)
        return replace(self, corpus=corpus, stats=corpus.need_stats()[0])


@dataclass
class ForestProblem(_Scaled):
    """Forests ready for training."""

    corpus: Forests
    metric: Metric
    scale: Floats

    @property
    def names(self) -> tuple[str, ...]:
        """D names of features."""
        return self.corpus.feature_names

    def score(self, scaled: Floats) -> float:
        """The metric of the best derivations under these weights."""
        return score_of(self.model(scaled), self.corpus)

    def model(self, scaled: Floats) -> LogLinear:
        """The model with these weights, in the user's units."""
        return LogLinear(dict(zip(self.names, self.plain(scaled).tolist(), strict=True)))

    def lists(self, scaled: Floats, k: int) -> NBest:
        """The k best distinct strings of each forest under these weights, with statistics."""
        return kbest(self.corpus, self.model(scaled).edge_scores(self.corpus), k, distinct=True).lists()

    @cached_property
    def additive(self) -> tuple[Forests, Floats]:
        """Forests of the same derivations, and statistics [E, M] that add up over their edges."""
        if self.corpus.stats is not None:
            return self.corpus, self.corpus.stats
        if isinstance(self.metric, BLEU):
            return bleu_edge_stats(self.corpus, self.metric)
        raise CapabilityError(
            f"{self.metric.name} does not add up over the edges of a forest; train on lists of its best strings"
        )

    def shards(self) -> list[ForestShard]:
        """The shards of the forests; large corpora keep their features in float32."""
        forests, stats = self.additive
        return forest_shards(forests, self.scale, stats, single=forests.features.size > SINGLE)

    def totals(self, scaled: Floats) -> Floats:
        """[M] statistics, as sums over edges, of the best derivations under these weights."""
        forests, stats = self.additive
        return kbest(forests, self.model(scaled).edge_scores(forests), 1).sums(stats).sum(axis=0)

    def oracle_totals(self) -> Floats:
        """[M] statistics, as sums over edges, of the derivations that are best by the slope of the metric."""
        forests, stats = self.additive
        mean = expectations(forests, np.zeros(forests.edges), stats).sum(axis=0)
        slope = expand(self.metric.smooth, mean).gradient  # type: ignore[attr-defined]
        return kbest(forests, stats @ slope, 1).sums(stats).sum(axis=0)

    @property
    def filled(self) -> int:
        """How many forests are not empty."""
        return int((posteriors(self.corpus, np.zeros(self.corpus.edges)).log_z > -np.inf).sum())

    def part(self, rows: Ints) -> ForestProblem:
        """The same for these segments only."""
        return ForestProblem(self.corpus.select(rows), self.metric, self.scale)


def prepare(
    corpus: NBest,
    trainer: str,
    heldout: NBest | Forests | None = None,
    *,
    sparse: bool = False,
    sparse_scale: bool = True,
) -> Problem:
    """Check that a corpus can be trained on and the held-out one scored, and measure the features.

    `sparse`: the trainer takes sparse features; without `sparse_scale` they are not measured and their scale is 1.
    """
    need_kind(trainer, "corpus", corpus, NBest)
    stats, metric = corpus.need_stats()
    if heldout is not None:
        _check_heldout(corpus, heldout)
    if corpus.sparse is not None and not sparse:
        raise CapabilityError(
            f"{trainer} tunes dense features and these lists have {len(corpus.sparse_names)} sparse ones; "
            "use msr2, boosting, perceptron, mira, pro, risk, likelihood or softbleu, which take both"
        )
    if not corpus.feature_names and corpus.sparse is None:
        raise CapabilityError(f"{trainer} needs features and these lists have none; add some (--add length,agreement)")
    if corpus.lengths.max(initial=0) < 2:
        raise CapabilityError(f"{trainer} needs lists with at least two hypotheses; every list here has fewer")
    within = within_scale(corpus)
    scale = scales(corpus, within) if sparse_scale else np.append(within, np.ones(len(corpus.sparse_names)))
    if not (scale > 0).any():
        raise CapabilityError(f"{trainer} cannot learn: no feature differs between the hypotheses of any list")
    if not losses_differ(corpus):
        raise CapabilityError(
            f"{trainer} cannot learn: in every list all hypotheses have the same loss by {metric.name}; "
            "are the references right? If so, give longer lists or another metric"
        )
    return Problem(corpus, metric, stats, scale)


def prepare_forests(forests: Forests, trainer: str, heldout: NBest | Forests | None = None) -> ForestProblem:
    """Check that forests can be trained on and the held-out ones scored, and measure the features."""
    need_kind(trainer, "forests", forests, Forests)
    metric = forests.need_metric()
    forests.need_words(trainer)
    if heldout is not None:
        _check_heldout(forests, heldout)
    if not forests.feature_names:
        raise CapabilityError(f"{trainer} needs features and these forests have none")
    scale = forest_scale(forests)
    if not (scale > 0).any():
        raise CapabilityError(f"{trainer} cannot learn: no feature differs between the derivations of any forest")
    if not strings_differ(forests):
        raise CapabilityError(
            f"{trainer} cannot learn: in every forest all strings have the same loss by {metric.name}; "
            "are the references right? If so, give larger forests or another metric"
        )
    return ForestProblem(forests, metric, scale)


def _check_heldout(corpus: NBest | Forests, heldout: NBest | Forests) -> None:
    """Complain of held-out lists before the training and not after it."""
    need_kind("fit", "heldout", heldout, NBest, Forests)
    if heldout.metric is None or (isinstance(heldout, NBest) and heldout.stats is None):
        raise CapabilityError("the held-out data have no statistics yet; call heldout.with_metric(metric, references)")
    missing = [name for name in corpus.feature_names if name not in heldout.feature_names]
    if missing and not (isinstance(heldout, Forests) and heldout.absent_is_zero):
        raise ParameterError(f"the held-out data have no feature {missing[0]!r}, which those to train on have")


def describe(trainer: Any) -> dict[str, Any]:
    """Name and settings of a trainer, for the model file."""
    settings = {f.name: getattr(trainer, f.name) for f in fields(trainer) if f.init and f.repr}
    return {"name": type(trainer).__name__, **settings}


def finish(
    trainer: Any,
    problem: Problem | ForestProblem,
    result: Result,
    heldout: NBest | Forests | None,
    *,
    calibrate: bool = True,
) -> LogLinear:
    """The model of a result: in the user's units, scaled to a calibrated posterior, with dev and held-out scores.

    Scaling by a positive number changes no 1-best choice; it makes the softmax of the scores a fair probability on
    the development lists (of forests: on their best strings), which MBR and consensus decisions need.
    """
    if result.status != "converged":
        warnings.warn(f"{type(trainer).__name__}: {result.message}", ConvergenceWarning, stacklevel=3)
    model = calibrated(problem, result.weights) if calibrate else problem.model(result.weights)
    return finished(trainer, model, problem.corpus, heldout)


def finished(
    trainer: Any,
    model: LogLinear,
    corpus: NBest | Forests,
    heldout: NBest | Forests | None,
    *,
    dev: float | None = None,
) -> LogLinear:
    """The model with its dev and held-out scores, the recipes of the lists, and what its file says of the trainer.

    With `dev`, the score on all lists to train on, `corpus` may be some of them.
    """
    heldout = model.complete(heldout) if isinstance(heldout, Forests) else heldout
    scores = {"dev": score_of(model, corpus) if dev is None else dev}
    if heldout is not None:
        scores["heldout"] = score_of(model, heldout)
    return replace(
        model,
        features=with_recipes(corpus.recipes, model.features) if isinstance(corpus, NBest) else model.features,
        metric=signature_of(corpus),
        trainer=describe(trainer),
        scores_=scores,
        seed=getattr(trainer, "seed", None),
        gamma=decision_gamma(model, corpus if heldout is None else heldout),
    )


def calibrated(problem: Problem | ForestProblem, scaled: Floats) -> LogLinear:
    """The model of these weights times `calibration`, or times the nearest power of two where ties are at stake.

    Rounding may tell apart hypotheses whose scores are equal; a power of two is never rounded.
    """
    if isinstance(problem, ForestProblem):
        lists = problem.lists(scaled, STRINGS)
        problem = Problem(lists, problem.metric, lists.need_stats()[0], problem.scale)
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
    spread = segments.deviation(scores, problem.corpus.offsets)
    if spread == 0 or not np.isfinite(spread):
        return 1.0
    column = NBest(
        offsets=problem.corpus.offsets,
        features=(scores / spread)[:, None],
        feature_names=("score",),
        ids=problem.corpus.ids,
    )
    shards = list_shards(column, np.ones(1), problem.metric.losses(problem.stats))
    objective = Likelihood(Quadratic(1e6))  # a prior so weak that it only matters where lists are separable
    best = lbfgs(lambda w: value_and_gradient(objective, w, shards), np.array([1.0]), iterations=50, tolerance=1e-6)
    return float(np.clip(best.weights[0], 1e-3, 1e3)) / spread
