"""PRO: tuning as ranking, by logistic regression on pairs of hypotheses."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from nbest.base.errors import CapabilityError, ConvergenceWarning
from nbest.base.parameters import parameter
from nbest.base.types import Floats, Ints
from nbest.compute.compilation import kernel
from nbest.compute.executors import HeldShard, current
from nbest.compute.vectors import most
from nbest.corpus import NBest
from nbest.model.loglinear import LogLinear
from nbest.optimisers.lbfgs import lbfgs
from nbest.optimisers.result import Result
from nbest.trainers.keeping import keeping_base
from nbest.trainers.lists import on_lists
from nbest.trainers.online.base import informative, judge_of, ranges
from nbest.trainers.online.pro_pairs import Pairs, sample_pairs
from nbest.trainers.sparse.base import Rounds, SparseLists, sparse_lists
from nbest.trainers.trainer import Trainer

if TYPE_CHECKING:
    from scipy.sparse import csr_array

VARIANCES = (0.001, 0.01, 0.1, 1.0)
"""Variances of the prior that are tried, tightest first, where there are lists to choose on."""

_SHARDS = 4  # fixed, so that sums do not depend on the number of threads
_CURVATURE = 0.1  # of the loss of a pair, for the units of L-BFGS: 1/4 at margin 0, less where pairs are told apart


@dataclass
class PRO(Trainer):
    """Logistic regression that tells the better of two hypotheses of a list by the difference of their features.

        value = sum_p log(1 + exp(-(score_better - score_worse))) + |theta - theta_0|^2 / (2 variance)

    Hopkins & May (2011), EMNLP 1352-1362, figure 4: from each list `gamma` pairs are drawn, those whose losses differ
    by more than `alpha` are kept, and of these the `xi` of the largest difference. theta_0 is the base model (`start`,
    see `sparse_lists`; none for dense features alone); weights of dense features are learnt along with sparse ones
    unless `dense` is False. With `rounds` > 1 pairs are drawn anew in each and the weights of the rounds averaged.
    `variance`, in units of dense features of unit spread within lists: None chooses it on held-out lists, trying
    wider ones until `patience` of them bring nothing better; without held-out lists on lists that are left out at
    first; with dense features only and no held-out lists it is 1.

    L-BFGS stops after `iterations` or where the value changes by less than `tolerance`, relative.

    Differs: a list with at most `gamma` pairs gives each of them once, not draws with replacement; equal differences
    are taken in random order; `alpha` is a share of the mean range of losses in a list (the paper: of BLEU); a pair and
    its mirror image are the same term, so it is counted once; lists are fixed, so rounds are not interpolated;
    `gamma` and `xi` are 1000 and 200, not 5000 and 50: the one pair in a hundred that differs most is of extremes,
    which teach lengths and little else (Nakov, Guzman & Vogel 2013, ACL short papers 12-17).
    Cost: an evaluation is one pass over the matrix; the differences are never stored. L-BFGS works in units of the
    curvature of each column, which takes a fifth of the evaluations on counts of n-grams.
    """

    gamma: int = parameter(1000, "pairs drawn from each list", least=1)
    xi: int = parameter(200, "pairs kept of each list", least=1)
    alpha: float = parameter(0.05, "least difference of losses, a share of their mean range in a list", least=0)
    variance: float | None = parameter(
        None, "of the prior, in units of dense features of unit spread within lists (None: chosen)", above=0
    )
    rounds: int = parameter(1, "how often pairs are drawn; the weights are averaged", least=1)
    iterations: int = parameter(100, "of L-BFGS, at most", least=1)
    tolerance: float = parameter(1e-5, "relative change of the value at which L-BFGS stops", above=0)
    dense: bool | None = parameter(True, "whether to learn weights of dense features (None: without sparse ones)")
    start: dict[str, float] | None = parameter(None, "weights of the base score, in the features' own units")
    patience: int = parameter(1, "variances without a better score that end the search", least=1)
    seed: int = parameter(1, "of the pairs, and of the lists left out")

    @keeping_base
    @on_lists
    def fit(self, corpus: NBest, heldout: NBest | None = None) -> LogLinear:
        """Learn weights from lists with statistics."""
        lists = sparse_lists(corpus, "PRO", heldout, start=self.start, dense=self.dense, progress=self.progress)
        rows = informative(lists)
        judge, taught, label = judge_of(self.seed, lists, rows, heldout)
        tried = VARIANCES if self.variance is None and label != "dev" else (self.variance or 1.0,)
        if len(tried) == 1:
            judge, taught, label = heldout, rows, "heldout"
        again = label == "left_out"
        rounds = Rounds(lists, judge, self.patience)
        search = _PriorSearch(self, lists, self.rounds * (len(tried) + again))
        search.path(taught, tried, rounds)
        assert rounds.best is not None
        values, best = rounds.best, rounds.history[rounds.best_round - 1]
        if again:  # the prior is known: now all lists may teach
            final = Rounds(lists, None)
            values = search.path(rows, (best["variance"],), final)
            best = final.history[-1]
        search.report(search.total)
        values = lists.not_worse(values, heldout)
        self.result_ = _result(rounds, values, best, label)
        if not self.result_.converged:
            warnings.warn(self.result_.message, ConvergenceWarning, stacklevel=3)
        return lists.finish(self, values, heldout)


class _PriorSearch:
    """Regressions over one or several priors, each from where the last one ended."""

    def __init__(self, trainer: PRO, lists: SparseLists, total: int) -> None:
        self.trainer, self.lists, self.total, self.done = trainer, lists, total, 0

    def path(self, rows: Ints, variances: tuple[float, ...], rounds: Rounds) -> Floats:
        """Fit with each prior until `rounds` has enough; the values of the last."""
        trainer = self.trainer
        drawn = [self._sample(rows, number) for number in range(trainer.rounds)]
        samples = [(pairs, pairs.squares(self.lists.matrix)) for pairs in drawn]
        values = np.zeros(len(self.lists.names))
        for number, variance in enumerate(variances, 1):
            results: list[Result] = []
            for pairs, squares in samples:
                begin = results[-1].weights if results else values
                results.append(self._fit(pairs, squares, variance, begin))
                self.report(self.done + 1)
            values = np.mean([result.weights for result in results], axis=0)
            cost, steps = sum(r.value for r in results), sum(r.evaluations for r in results)
            done = all(result.converged for result in results)
            record = {"variance": variance, "value": cost, "evaluations": steps, "converged": done}
            if not rounds.see(number, values, **record):
                break
        return values

    def _sample(self, rows: Ints, number: int) -> Pairs:
        lists, trainer = self.lists, self.trainer
        least = trainer.alpha * float(ranges(lists.losses, lists.offsets)[rows].mean())
        pairs = sample_pairs(
            lists.losses,
            lists.offsets,
            rows,
            least,
            trainer.gamma,
            kept=trainer.xi,
            seed=(trainer.seed, number),
        )
        if not len(pairs.better):
            raise CapabilityError(
                f"PRO found no two hypotheses of a list whose losses differ by more than {least:g}, which is 'alpha' "
                f"({trainer.alpha:g}) times the mean range of losses; give a smaller 'alpha'"
            )
        return pairs

    def _fit(self, pairs: Pairs, squares: Floats, variance: float, begin: Floats) -> Result:
        """The regression, in units of each column's curvature and for columns that differ in some pair only."""
        lists, trainer = self.lists, self.trainer
        active, shards = np.flatnonzero(squares), pair_shards(lists.matrix, lists.base, lists.offsets, pairs)
        units, weights = 1.0 / np.sqrt(_CURVATURE * squares[active] + 1.0 / variance), np.zeros(len(begin))

        def value(scaled: Floats) -> tuple[float, Floats]:
            own = units * scaled
            weights[active] = own
            cost, gradient = logistic(shards, weights)
            return cost + float(own @ own) / (2 * variance), (gradient[active] + own / variance) * units

        found = lbfgs(value, begin[active] / units, iterations=trainer.iterations, tolerance=trainer.tolerance)
        weights[active] = units * found.weights
        return replace(found, weights=weights)

    def report(self, done: int) -> None:
        """Tell how many regressions are done."""
        self.done = min(done, self.total)
        if self.trainer.progress is not None:
            self.trainer.progress(self.done, self.total)


def _result(rounds: Rounds, values: Floats, best: dict[str, Any], label: str) -> Result:
    """The result of the last regression; its history calls what was chosen on by its name."""
    history = tuple({(label if k == "heldout" else k): v for k, v in entry.items()} for entry in rounds.history)
    ended = "converged" if best["converged"] else "was stopped by its limit of iterations (raise 'iterations')"
    message = f"PRO keeps variance {best['variance']:g}, the best of {len(history)}; its regression {ended}"
    status = "converged" if best["converged"] else "limit"
    return Result(
        values, best["value"], status, message, evaluations=sum(e["evaluations"] for e in history), history=history
    )


@dataclass
class PairShard(HeldShard):
    """Some segments: the rows of the matrix and the base scores of their hypotheses, and their pairs."""

    offsets: Ints  # [N+1]
    base: Floats  # [H]
    rows: tuple[Ints, Ints, Floats]  # where they begin [H+1], columns and values
    pairs: tuple[Ints, Ints, Ints]  # where those of a segment begin [N+1], better and worse


def pair_shards(matrix: csr_array, base: Floats, offsets: Ints, pairs: Pairs) -> list[PairShard]:
    """Segments in four shards with about as many pairs each, whoever sums them."""
    cuts = np.searchsorted(pairs.offsets, pairs.offsets[-1] * np.arange(_SHARDS + 1) // _SHARDS)
    cuts[0], cuts[-1] = 0, len(offsets) - 1
    shards = []
    for first, last in zip(cuts[:-1], cuts[1:], strict=True):
        low, high = offsets[[first, last]]
        begins, ends = matrix.indptr[low : high + 1], pairs.offsets[first : last + 1]
        entries, own = slice(begins[0], begins[-1]), slice(ends[0], ends[-1])
        rows = begins - begins[0], matrix.indices[entries], matrix.data[entries]
        ordered = ends - ends[0], pairs.better[own] - low, pairs.worse[own] - low
        shards.append(PairShard(offsets[first : last + 1] - low, base[low:high], rows, ordered))
    return shards


def logistic(shards: list[PairShard], weights: Floats) -> tuple[float, Floats]:
    """sum_p log(1 + exp(-(score_better - score_worse))), and its gradient; score = base + matrix . weights.

    One pass over the matrix: a list is scored, and its gradient added while its rows are still in the cache.
    The gradient is written over by the next call.
    """
    found = current().map(partial(_logistic_of, weights), shards)
    gradient = found[0][1]
    for _, more in found[1:]:
        gradient += more
    return float(sum(value for value, _ in found)), gradient


def _logistic_of(weights: Floats, shard: PairShard) -> tuple[float, Floats]:
    gradient = shard.room.setdefault("gradient", np.empty(len(weights)))
    gradient[:] = 0.0
    lists = shard.offsets, shard.base, shard.rows
    value = _logistic(0, len(shard.offsets) - 1, lists, shard.pairs, weights, gradient=gradient)
    return value, gradient


@kernel
def _logistic(low, high, lists, pairs, weights, gradient):
    """The value of segments low..high-1; adds to the gradient."""
    offsets, base, (starts, columns, data) = lists
    pair_offsets, better, worse = pairs
    longest = most(low, high, offsets)
    scores, credit = np.empty(longest), np.empty(longest)
    used = np.empty(longest, np.bool_)
    total = 0.0
    for i in range(low, high):
        begin, end = offsets[i], offsets[i + 1]
        if pair_offsets[i] == pair_offsets[i + 1]:
            continue
        used[:] = False
        for p in range(pair_offsets[i], pair_offsets[i + 1]):
            used[better[p] - begin] = used[worse[p] - begin] = True
        for h in range(begin, end):
            if used[h - begin]:
                score = base[h]
                for e in range(starts[h], starts[h + 1]):
                    score += data[e] * weights[columns[e]]
                scores[h - begin], credit[h - begin] = score, 0.0
        for p in range(pair_offsets[i], pair_offsets[i + 1]):
            good, bad = better[p] - begin, worse[p] - begin
            margin = scores[good] - scores[bad]
            small = np.exp(-abs(margin))
            total += np.log1p(small) + max(-margin, 0.0)
            wrong = (small if margin > 0 else 1.0) / (1.0 + small)  # probability of the wrong order
            credit[good] -= wrong
            credit[bad] += wrong
        for h in range(begin, end):
            if used[h - begin] and credit[h - begin] != 0:
                for e in range(starts[h], starts[h + 1]):
                    gradient[columns[e]] += credit[h - begin] * data[e]
    return total
