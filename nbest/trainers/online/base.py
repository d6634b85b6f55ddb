"""What online trainers share: kernels on rows of a sparse matrix, averaged rounds, and the weight of the base score."""

from __future__ import annotations

import threading
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from nbest.base.randomness import generator
from nbest.base.types import Floats, Ints
from nbest.compute import segments
from nbest.compute.compilation import kernel
from nbest.compute.parallel import each
from nbest.corpus import NBest
from nbest.corpus.grouping import units
from nbest.model.loglinear import LogLinear
from nbest.optimisers.result import Result
from nbest.trainers.sparse.base import Rounds, SparseLists, sparse_lists

Round = Callable[[Ints, Floats, Floats, int], int]
"""One round over segments in an order: changes weights and lazy sums, after so many steps; the number of updates."""

_LEFT_OUT = 5  # every so manieth list is left out to choose on where no held-out lists are given
_FEW = 20  # with fewer lists than this none is left out


def kernel_lists(lists: SparseLists) -> tuple[Ints, Floats, tuple[Ints, Ints, Floats]]:
    """Offsets of the lists, scores that stay as they are and the rows of the matrix, as kernels take them."""
    return lists.offsets, lists.base, (lists.matrix.indptr, lists.matrix.indices, lists.matrix.data)


@kernel
def list_scores(low, high, lists, weights, out):
    """Scores of the hypotheses low..high-1 into `out`, from its begin."""
    _, base, (starts, columns, data) = lists
    for h in range(low, high):
        total = base[h]
        for e in range(starts[h], starts[h + 1]):
            total += data[e] * weights[columns[e]]
        out[h - low] = total


@kernel
def difference(good, bad, matrix, where, what):
    """Columns and values of row good - row bad, without zeros, into the buffers; how many there are."""
    starts, columns, data = matrix
    a, b, count = starts[good], starts[bad], 0
    while a < starts[good + 1] or b < starts[bad + 1]:
        if b == starts[bad + 1] or (a < starts[good + 1] and columns[a] < columns[b]):
            where[count], what[count] = columns[a], data[a]
            a += 1
        elif a == starts[good + 1] or columns[b] < columns[a]:
            where[count], what[count] = columns[b], -data[b]
            b += 1
        else:
            where[count], what[count] = columns[a], data[a] - data[b]
            a, b = a + 1, b + 1
        if what[count] != 0:
            count += 1
    return count


@kernel
def add_step(size, where, what, before, sums):
    """weights += size * difference; `lazy` sums up what the average over all steps lacks: steps before * change."""
    weights, lazy = sums
    for k in range(len(where)):
        change = size * what[k]
        weights[where[k]] += change
        lazy[where[k]] += before * change


@dataclass(frozen=True)
class _Run:
    """The best round of one base weight, and what came before it."""

    base_weight: float
    values: Floats
    number: int
    reached: float
    history: tuple[dict[str, Any], ...]
    stopped: str  # why the rounds ended before the last, "" if they did not


def informative(lists: SparseLists) -> Ints:
    """The segments whose hypotheses differ in loss, from which alone anything can be learnt; there are some."""
    return np.flatnonzero(ranges(lists.losses, lists.offsets) > 0)


def ranges(values: Floats, offsets: Ints) -> Floats:
    """[N] largest less smallest value of each segment; 0 where empty."""
    span = segments.maxima(values, offsets) + segments.maxima(-values, offsets)
    return np.where(segments.lengths(offsets) > 0, span, 0.0)


def longest_row(lists: SparseLists) -> int:
    """Places that the difference of two rows may take."""
    return 2 * int(np.diff(lists.matrix.indptr).max(initial=0)) + 1


def fit_online(
    trainer: Any,
    corpus: NBest,
    heldout: NBest | None,
    make: Callable[[SparseLists, Ints, float], Round],
    *,
    spreads: tuple[float, ...],
    first: Callable[[SparseLists, Ints], Floats] | None = None,
) -> LogLinear:
    """Rounds over the lists for each weight of the base score that is to be tried; the best model.

    `make(lists, segments, step)` prepares the rounds of a run with updates of this size. A base score of weight b with
    steps of 1 chooses as one of weight 1 with steps of 1 / b: so it is trained, and the base keeps its own weights.
    Where the base weight is not given, those are tried that give the base score these `spreads` within lists.
    `first(lists, segments)` are the values to begin with where there is no base score of dense features, else 0.

    Chosen (round and base weight) on held-out lists. Without any: on every fifth list, left out at random, after which
    all lists are trained on for as many rounds; with dense features only, or few lists, on the lists themselves.
    Cost: a pass over the matrix a round, and another to score it.
    """
    name = type(trainer).__name__
    lists = sparse_lists(corpus, name, heldout, start=trainer.start, dense=trainer.dense, progress=trainer.progress)
    rows = informative(lists)
    tried = _base_weights(trainer, lists, spreads)
    judge, taught, label = judge_of(trainer.seed, lists, rows, heldout)
    again = label == "left_out"
    report = _Report(trainer.progress, trainer.rounds * (len(tried) + again))
    template = Rounds(lists, judge, None if label == "dev" else trainer.patience)

    bare = lists.corpus.sparse is None and not lists.base.any()

    def begin(rows: Ints) -> Floats:
        return np.zeros(len(lists.names)) if first is None or not bare else first(lists, rows)

    def run(weight: float) -> _Run:
        work = make(lists, taught, 1.0 / weight)
        return _run(
            trainer, copy(template), begin(taught), taught, weight, work=work, limit=trainer.rounds, report=report
        )

    found = max(each(run, tried), key=lambda r: lists.problem.sign * r.reached)
    trainer.result_ = _result(found, label, name)
    if again:  # the rounds and the base weight are known: now all lists may teach
        work = make(lists, rows, 1.0 / found.base_weight)
        weight, limit = found.base_weight, found.number
        found = _run(trainer, Rounds(lists, None), begin(rows), rows, weight, work=work, limit=limit, report=report)
        trainer.result_ = replace(trainer.result_, weights=found.values)
    report.advance(report.total)
    values = lists.not_worse(found.values, heldout)
    if not values.any() and found.values.any():
        said = f"{trainer.result_.message}; on held-out lists no round is better than the base model, which is kept"
        trainer.result_ = replace(trainer.result_, weights=values, message=said)
    return lists.finish(trainer, values, heldout)


def _base_weights(trainer: Any, lists: SparseLists, spreads: tuple[float, ...]) -> tuple[float, ...]:
    if trainer.base_weight is not None:
        return (float(trainer.base_weight),)
    size = segments.deviation(lists.base, lists.offsets)
    return tuple(wanted / size for wanted in spreads) if size > 0 else (1.0,)


def judge_of(seed: int, lists: SparseLists, rows: Ints, heldout: NBest | None) -> tuple[NBest | None, Ints, str]:
    """Lists to choose on, segments to learn from, and what the former are called."""
    if heldout is not None:
        return heldout, rows, "heldout"
    if lists.corpus.sparse is None or len(rows) < _FEW:
        return lists.corpus, rows, "dev"
    left = np.zeros(len(lists.corpus), bool)
    if lists.corpus.groups is None:
        left[generator(seed, 0).permutation(rows)[::_LEFT_OUT]] = True
    else:  # whole groups
        mine = units(lists.corpus)
        left[rows] = np.isin(mine[rows], generator(seed, 0).permutation(np.unique(mine[rows]))[::_LEFT_OUT])
        if left[rows].all():
            return lists.corpus, rows, "dev"
    return lists.corpus.select(np.flatnonzero(left)), rows[~left[rows]], "left_out"


def _run(
    trainer: Any,
    rounds: Rounds,
    weights: Floats,
    rows: Ints,
    base_weight: float,
    work: Round,
    limit: int,
    report: _Report,
) -> _Run:
    """Rounds in a new order each, the weights averaged over all steps so far, until `limit` or enough of them."""
    rounds.history = []
    lazy, stopped = np.zeros(len(weights)), ""
    for number in range(1, limit + 1):
        done = (number - 1) * len(rows)
        order = rows[generator(trainer.seed, number).permutation(len(rows))]
        updates = work(order, weights, lazy, done)
        average = weights - lazy / (done + len(rows))
        going = rounds.see(number, average, updates=updates, base_weight=base_weight)
        report.advance(1 if going and updates else limit - number + 1)
        if not going or not updates:
            stopped = "no update was left to make" if going else f"{rounds.patience} rounds brought nothing better"
            break
    assert rounds.best is not None
    reached = rounds.history[rounds.best_round - 1]
    score = reached.get("heldout", reached["dev"])
    return _Run(
        base_weight, rounds.best, rounds.best_round, reached=score, history=tuple(rounds.history), stopped=stopped
    )


def _result(found: _Run, judged: str, trainer: str) -> Result:
    """The result of the best run; its history calls what was chosen on by its name."""
    history = tuple(
        {(judged if key == "heldout" else key): value for key, value in entry.items()} for entry in found.history
    )
    ended = found.stopped or "the limit of rounds was reached"
    message = f"{trainer} keeps round {found.number} of {len(history)} with base weight {found.base_weight:g}: {ended}"
    status = "converged" if found.stopped else "limit"
    return Result(found.values, found.reached, status, message, sum(e["updates"] for e in history), history=history)


class _Report:
    """Progress of several runs at once, in rounds."""

    def __init__(self, progress: Callable[[int, int], None] | None, total: int) -> None:
        self.progress, self.done, self.total, self.lock = progress, 0, total, threading.Lock()

    def advance(self, rounds: int) -> None:
        """So many rounds are done, or will not be needed."""
        with self.lock:
            self.done = min(self.done + rounds, self.total)
            if self.progress is not None:
                self.progress(self.done, self.total)
