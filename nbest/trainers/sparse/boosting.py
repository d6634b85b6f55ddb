"""Boosting for reranking: the exponential loss of pairs, lowered by one feature a round."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from nbest.base.parameters import parameter
from nbest.base.types import Floats
from nbest.compute import segments
from nbest.corpus import NBest
from nbest.model.loglinear import LogLinear
from nbest.optimisers.result import Result
from nbest.trainers.keeping import keeping_base
from nbest.trainers.lists import on_lists
from nbest.trainers.sparse.base import SparseLists, sparse_lists
from nbest.trainers.sparse.boosting_descent import Descent
from nbest.trainers.sparse.boosting_kernels import choose_again, line_step
from nbest.trainers.sparse.boosting_pairs import GoldPairs, pairs_of
from nbest.trainers.trainer import Trainer

_TINY = np.log(1e-12)  # a loss whose logarithm is this far below that of the first one is as good as 0
_FINITE = 1e-9  # smoothing of the factor of base scores: they differ in every pair, it only keeps the factor finite


@dataclass
class Boosting(Trainer):
    """Lowers the exponential loss of all pairs of a gold hypothesis and a worse one, by one feature a round.

        loss = 1/S sum_i sum_j s_ij exp(-(score(gold_i) - score(ij))) + penalty / 2 sum_d weight_d^2
        step = 1/2 log((W+ + epsilon Z) / (W- + epsilon Z))

    Collins (2000), ICML; Collins & Koo (2005), Computational Linguistics 31(1). W+ and W- are the masses of
    the pairs for and against the feature, Z that of all Q pairs, epsilon is `smoothing` / Q: as if so many pairs were
    for and against every feature already, whatever the size of the corpus. s_ij is 1, or with `weighted`
    the difference of the losses; S is the sum of s_ij. Gold is the hypothesis of least loss (of equals, that of the
    best base score); others as good make no pair. Every round takes the feature that lowers the loss most.
    `penalty` > 0 regularises the objective (the idea of Huang, Harper & Wang 2007, EMNLP-CoNLL), here by the squares
    of learnt weights in units of their columns (dense ones are scaled to unit spread within lists); the choice of the
    feature and its step both minimise the penalised loss, which falls every round.

    Differs: differences gold - other may be any numbers. W+ and W- are then sums of weight * |d|, features are ranked
    as if all |d| of one were their mean weighted by |d| (exact where they are equal), and the step minimises the
    smoothed loss itself, by Newton's method. The base score is first multiplied by the factor that makes the loss
    least, unless `start` gives its weights. Features that no round takes have no weight.

    At most `rounds` rounds; fewer where no feature lowers the loss by a share of `tolerance`. With held-out lists
    those up to the best held-out score are kept; `patience` rounds without a better one end the training.
    Cost of a round: the features of the pairs in which the chosen one differs. Deterministic.
    """

    rounds: int = parameter(20_000, "rounds at most, each takes one feature", least=1)
    smoothing: float = parameter(
        10.0,
        "pairs for and against every feature already; without them a step of a feature of gold only is infinite",
        above=0,
        finite=True,
    )
    penalty: float = parameter(0.0, "of the squares of learnt weights", least=0, finite=True)
    weighted: bool = parameter(False, "whether pairs count by the difference of their losses")
    start: dict[str, float] | None = parameter(None, "weights of the base score, in the features' own units")
    dense: bool | None = parameter(None, "whether to learn weights of dense features (None: without sparse ones)")
    patience: int | None = parameter(2000, "rounds without a better held-out score that end the training", least=1)
    tolerance: float = parameter(1e-6, "least share by which a round must lower the loss", least=0, finite=True)

    @keeping_base
    @on_lists
    def fit(self, corpus: NBest, heldout: NBest | None = None) -> LogLinear:
        """Learn weights from lists with statistics."""
        lists = sparse_lists(corpus, "Boosting", heldout, start=self.start, dense=self.dense, progress=self.progress)
        lists, self.result_ = self._learn(lists, heldout)
        return lists.finish(self, self.result_.weights, heldout)

    def _learn(self, lists: SparseLists, heldout: NBest | None) -> tuple[SparseLists, Result]:
        """The lists with their base scores scaled, and the weights of the columns."""
        pairs = pairs_of(lists, weighted=self.weighted)
        if self.start is None:
            lists = _scaled(lists, pairs)
        held = None if heldout is None else _Choice(lists.of(heldout))
        margins = lists.base[pairs.golds] - lists.base[pairs.others]
        descent = Descent(pairs, margins, self.smoothing / len(margins), self.penalty)
        return lists, self._descend(descent, lists, held)

    def _descend(self, descent: Descent, lists: SparseLists, held: _Choice | None) -> Result:
        """Rounds until one of the reasons to stop; the weights of the best one."""
        first, sign = descent.log_mass, lists.problem.sign
        history: list[dict[str, Any]] = [_record(0, None, 0.0, descent.loss, held)]
        steps: list[tuple[int, float]] = []
        best, status, message = 0, "limit", f"ended after {self.rounds} rounds, as asked"
        for number in range(1, self.rounds + 1):
            column, share = descent.best()
            if share <= self.tolerance or descent.log_mass <= first + _TINY:
                what = "no feature lowers the loss further" if share <= self.tolerance else "the loss is as good as 0"
                status, message = "converged", f"{what} after {number - 1} rounds"
                break
            step = descent.step(column)
            descent.move(column, step)
            steps.append((column, step))
            if held is not None:
                held.move(column, step)
            history.append(_record(number, lists.names[column], step, descent.loss, held))
            if held is None or sign * history[-1]["heldout"] > sign * history[best]["heldout"]:
                best = number
            if self.progress is not None and (number % 100 == 0 or number == self.rounds):
                self.progress(number, self.rounds)
            if self.patience is not None and held is not None and number - best >= self.patience:
                status, message = "converged", f"no better on held-out lists for {self.patience} rounds"
                break
        if held is not None:
            message += f"; round {best} is best on held-out lists"
        weights = np.zeros(len(lists.names))
        for column, step in steps[:best]:
            weights[column] += step
        return Result(
            weights, history[best]["loss"], status, message=message, evaluations=len(steps), history=tuple(history)
        )


def _record(number: int, feature: str | None, step: float, loss: float, held: _Choice | None) -> dict[str, Any]:
    entry = {"round": number, "feature": feature, "step": step, "loss": loss}
    return entry if held is None else entry | {"heldout": held.score()}


def _scaled(lists: SparseLists, pairs: GoldPairs) -> SparseLists:
    """The lists with base scores times the factor that makes the loss least, found as a step from 0."""
    distances = lists.base[pairs.golds] - lists.base[pairs.others]
    total = float(np.abs(distances).sum())
    if total == 0:
        return lists
    size, mass = float((distances**2).sum()) / total, float(pairs.strengths.sum())
    factor = float(
        line_step(
            masses=pairs.strengths,
            distances=distances,
            size=size,
            own=0.0,
            pseudo=_FINITE * mass,
            penalty=0.0,
            start=0.0,
        )
    )
    weights = {name: factor * weight for name, weight in lists.base_weights.items()}
    return replace(lists, base_weights=weights, base=factor * lists.base)


class _Choice:
    """What weights choose in lists, followed from step to step: only the lists that have the feature are looked at."""

    def __init__(self, lists: SparseLists) -> None:
        self._columns = lists.matrix.tocsc()
        self._scores = np.array(lists.base, np.float64)
        self._offsets, self._owners = lists.offsets, segments.owners(lists.offsets)
        self._choice = segments.argmax(self._scores, lists.offsets)
        self._stats, self._metric = lists.problem.stats, lists.problem.metric
        self._totals: Floats = np.array(lists.corpus.totals(self._choice), np.float64)

    def move(self, column: int, step: float) -> None:
        """Add a step to the weight of a column."""
        span = slice(self._columns.indptr[column], self._columns.indptr[column + 1])
        rows, values = self._columns.indices[span], self._columns.data[span]
        choose_again(
            step,
            rows,
            values,
            self._scores,
            self._owners,
            offsets=self._offsets,
            stats=self._stats,
            choice=self._choice,
            totals=self._totals,
        )

    def score(self) -> float:
        """The metric of what is chosen."""
        return float(self._metric.score(self._totals))
