"""What is added to an objective so that weights stay small, in units of scaled features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from nbest.base.errors import ParameterError
from nbest.base.types import Floats


class Penalty(Protocol):
    """A function of the weights alone, added once for the whole corpus."""

    def __call__(self, weights: Floats) -> tuple[float, Floats]:
        """Value and gradient."""
        ...


@dataclass(frozen=True)
class NoPenalty:
    """0 everywhere."""

    def __call__(self, weights: Floats) -> tuple[float, Floats]:
        """0 and zeros."""
        return 0.0, np.zeros_like(weights)


NO_PENALTY = NoPenalty()


@dataclass(frozen=True)
class Quadratic:
    """A Gaussian prior on the weights: sum_d (theta_d - centre_d)^2 / (2 sigma_d^2).

    A variance of infinity leaves a weight free.
    """

    variance: Floats | float  # sigma^2, one for all weights or [D]
    centre: Floats | float = 0.0

    def __post_init__(self) -> None:
        if not (np.asarray(self.variance) > 0).all():
            raise ParameterError(f"'variance' of a penalty must be > 0, got {self.variance}")

    def __call__(self, weights: Floats) -> tuple[float, Floats]:
        """Value, and (theta - centre) / sigma^2."""
        away = weights - self.centre
        return float((away**2 / (2.0 * self.variance)).sum()), away / self.variance


@dataclass(frozen=True)
class SparseOnly:
    """`Quadratic` on all but the first `dense` weights, so that a model of dense features stays as sharp as it is."""

    variance: float
    dense: int

    def __call__(self, weights: Floats) -> tuple[float, Floats]:
        """Value and gradient, 0 for dense weights."""
        return Quadratic(np.where(np.arange(len(weights)) < self.dense, np.inf, self.variance))(weights)
