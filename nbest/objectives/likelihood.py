"""Negative log-likelihood of the best hypotheses of each list."""

from __future__ import annotations

from dataclasses import dataclass, field

from nbest.base.types import Floats
from nbest.objectives.backends import Backend, current_backend
from nbest.objectives.penalties import Penalty
from nbest.objectives.shard import Shard


@dataclass(frozen=True)
class Likelihood:
    """Minus the log probability of the gold sets, plus a penalty (a Gaussian prior).

        value    = - sum_i log sum_{k in G_i} p_ik + penalty
        gradient = sum_i (E_p[f] - E_p[f given k in G_i]) + its gradient

    G_i are the hypotheses of minimum loss; where several tie, their probabilities are summed.
    Smith & Eisner (2006), eq. 4 and section 6. Cost: two passes over features.
    """

    penalty: Penalty
    backend: Backend = field(default_factory=current_backend)

    def moments(self, weights: Floats, shard: Shard) -> float:
        """The log-likelihood of this shard; additive over shards."""
        return self.backend.log_likelihood(shard, weights)

    def combine(self, moments: float) -> tuple[float, None]:
        """The corpus value; the second pass needs nothing more."""
        return -moments, None

    def gradient(self, weights: Floats, shard: Shard, credit: None) -> Floats:
        """Gradient of this shard's part, from what `moments` left at the same weights."""
        return self.backend.residual_sum(shard)
