"""Conditional maximum likelihood of the best hypotheses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nbest.base.parameters import parameter
from nbest.base.types import Floats
from nbest.corpus import NBest
from nbest.model.loglinear import LogLinear
from nbest.objectives import Likelihood, Quadratic, value_and_gradient
from nbest.optimisers.lbfgs import lbfgs
from nbest.trainers.finishing import finish
from nbest.trainers.lists import on_lists
from nbest.trainers.problem import prepare
from nbest.trainers.trainer import Trainer


@dataclass
class MaxLikelihood(Trainer):
    """Maximises the probability of the minimum-loss hypotheses of each list, less a Gaussian prior, by L-BFGS.

    Smith & Eisner (2006), eq. 4. `variance` is the prior's sigma^2: one number, or one for each feature by name
    (others get 1), in units of features scaled to unit spread within lists, so that it does not depend on the
    features' own units; `float("inf")` means no prior. Dense and sparse features. Deterministic.
    """

    variance: float | dict[str, float] = parameter(1.0, "sigma^2 of the prior; by feature, others have 1", above=0)
    iterations: int = parameter(500, "of L-BFGS, at most", least=1)

    @on_lists
    def fit(self, corpus: NBest, heldout: NBest | None = None) -> LogLinear:
        """Learn weights from lists with statistics."""
        problem = prepare(corpus, "MaxLikelihood", heldout, sparse=True)
        shards, objective = problem.shards(), Likelihood(Quadratic(self._variances(problem.names)))
        start = np.zeros(len(problem.names))
        self.result_ = lbfgs(lambda w: value_and_gradient(objective, w, shards), start, iterations=self.iterations)
        return finish(self, problem, self.result_, heldout, calibrate=False)

    def _variances(self, names: tuple[str, ...]) -> Floats:
        given = self.variance if isinstance(self.variance, dict) else dict.fromkeys(names, self.variance)
        return np.array([given.get(name, 1.0) for name in names], np.float64)
