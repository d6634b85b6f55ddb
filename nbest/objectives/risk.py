"""Expected loss under the posterior: linear, first and second order, with temperature, sharpness and penalty."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from inspect import signature
from typing import Any

import numpy as np

from nbest.base.errors import CapabilityError, ParameterError
from nbest.base.types import Floats, Ints
from nbest.compute.jets import expand
from nbest.objectives.backends import Backend, Moments, StatCredit, current_backend
from nbest.objectives.forest_shard import ForestShard
from nbest.objectives.penalties import NO_PENALTY, Penalty
from nbest.objectives.shard import Shard


@dataclass(frozen=True)
class Risk:
    """Minus the expected smooth metric of the corpus, minus temperature times entropy; minimised.

        value    = -(m(mu) + 1/2 tr(Q(mu) V)) - T H(p) + penalty,   p = softmax(gamma theta . f)
        gradient = gamma sum_i sum_k p_ik (c_ik - cbar_i) f_ik + gradient of the penalty
        credit c = -(u . s + s' W s - 2 sbar' W s) + T log p,    W = Q/2,  u = dm/dmu + 1/2 d tr(Q V)/dmu

    m is the metric's `smooth` formula of totals (log BLEU, log F, minus the error rate, ...), mu and V mean and
    covariance of the totals, Q the Hessian of m at mu; `order` 1 leaves V out. For a formula that is linear in the
    totals both orders are the exact expectation. H is summed over segments, in nats.
    Smith & Eisner (2006), COLING/ACL posters 787-794, eq. 6-8 and section 5; order 1 with `alpha` is the soft BLEU of
    Nguyen et al. (2007). Differs: any smooth metric of totals and the full covariance; derivatives by `jets`.
    Cost: two passes over features, O(H) memory.
    """

    metric: Any  # a SmoothMetric; BLEU's `smooth` takes `alpha` and `segments` too
    order: int = 2
    temperature: float = 0.0
    gamma: float = 1.0
    penalty: Penalty = NO_PENALTY
    alpha: float | None = None  # BLEU's sigmoid brevity penalty
    segments: int = 1  # of the corpus, for `alpha`
    backend: Backend = field(default_factory=current_backend)

    def __post_init__(self) -> None:
        if self.order not in (1, 2):
            raise ParameterError(f"'order' of Risk must be 1 or 2, got {self.order}")
        for name in ("temperature", "gamma"):
            if not getattr(self, name) >= 0:
                raise ParameterError(f"'{name}' of Risk must be >= 0, got {getattr(self, name)}")
        if not hasattr(self.metric, "smooth"):
            raise CapabilityError(f"Risk needs a smooth formula (`smooth`) of the metric; {self.metric.name} has none")
        if self.alpha is not None and "alpha" not in signature(self.metric.smooth).parameters:
            raise CapabilityError(f"'alpha' of Risk is BLEU's sigmoid brevity penalty; {self.metric.name} has none")

    def formula(self, totals: Any) -> Any:
        """The metric's smooth formula of totals, larger is better."""
        if self.alpha is None:
            return self.metric.smooth(totals)
        return self.metric.smooth(totals, alpha=self.alpha, segments=self.segments)

    def moments(self, weights: Floats, shard: Shard | ForestShard) -> Moments:
        """Expected totals, their covariance and the entropy; additive over shards."""
        return self.backend.posteriors(shard, weights, self.gamma, self._pairs())

    def _pairs(self) -> Ints:
        if self.order == 1:
            return np.zeros((0, 2), np.int64)
        return _curved(self.metric, self.alpha is not None)

    def combine(self, moments: Moments) -> tuple[float, StatCredit]:
        """Corpus value and credit."""
        found = expand(self.formula, moments.mean, None if self.order == 1 else moments.covariance)
        if self.order == 1:
            quadratic = np.zeros_like(found.hessian)
            return -found.value - self.temperature * moments.entropy, StatCredit(-found.gradient, quadratic)
        value = found.value + 0.5 * float((found.hessian * moments.covariance).sum())
        credit = StatCredit(-(found.gradient + 0.5 * found.third), -0.5 * found.hessian)
        return -value - self.temperature * moments.entropy, credit

    def gradient(self, weights: Floats, shard: Shard | ForestShard, credit: StatCredit) -> Floats:
        """Gradient of this shard's part, at the posteriors that `moments` left."""
        return self.backend.feature_sum(shard, credit, self._pairs(), temperature=self.temperature, gamma=self.gamma)


@lru_cache(maxsize=64)
def _curved(metric: Any, sigmoid: bool) -> Ints:
    """[Q, 2] the pairs of statistics in which the formula is not linear, found at a generic point."""
    size = len(metric.stat_names)
    # where a sharp sigmoid is flat its curvature rounds to 0: look where it is not
    risk = Risk(metric, alpha=1.0 if sigmoid else None, segments=50)
    hessian = np.zeros((size, size), bool)
    for seed in range(4):  # several points, so that every branch is met
        point = np.random.default_rng(seed).uniform(50.0, 100.0, size)
        hessian |= expand(risk.formula, point).hessian != 0
    return np.ascontiguousarray(np.argwhere(np.triu(hessian)))  # as the empty one: kernels are compiled once
