"""A trainer: one feature, by itself."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nbest.base.parameters import parameter
from nbest.optimisers.result import Result
from nbest.trainers.finishing import finish
from nbest.trainers.lists import on_lists
from nbest.trainers.problem import prepare
from nbest.trainers.trainer import Trainer


@dataclass
class OneFeature(Trainer):
    """Uses the one feature that is best alone, with the sign that is better."""

    sign: str = parameter("any", "signs that are tried", choices=("any", "+", "-"))

    @on_lists
    def fit(self, corpus, heldout=None):
        """Try every feature of lists with statistics."""
        problem = prepare(corpus, "OneFeature", heldout)
        signs = {"any": (1.0, -1.0), "+": (1.0,), "-": (-1.0,)}[self.sign]
        points = np.vstack([sign * np.diag(problem.scale) for sign in signs])
        points = points[np.abs(points).sum(axis=1) > 0]
        values = [problem.score(point) for point in points]
        best = int(np.argmax(problem.sign * np.array(values)))
        self.result_ = Result(points[best], values[best], "converged", f"tried {len(points)} points", len(points))
        return finish(self, problem, self.result_, heldout)
