"""Perceptron, MIRA and PRO on sparse lists of the size of Yuan et al. (2007), and against Python on small ones."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from nbest.corpus import NBest
from nbest.metrics import CER
from nbest.trainers.online.base import informative
from nbest.trainers.online.mira import MIRA
from nbest.trainers.online.perceptron import AveragedPerceptron
from nbest.trainers.online.pro import PRO, logistic, pair_shards
from nbest.trainers.online.pro_pairs import Pairs, sample_pairs
from nbest.trainers.sparse.base import SparseLists, sparse_lists

_SIZE, _ENTRIES = 20, 40


def main() -> None:
    """Print seconds and ratios. NBEST_ONLINE_LISTS is the number of lists (80,000)."""
    _twins(lists_of(400, 10_000))
    count = int(os.environ.get("NBEST_ONLINE_LISTS", "80000"))
    corpus, heldout = lists_of(count, 860_000), lists_of(max(count // 20, 100), 860_000, seed=2)
    print(f"{count} lists x {_SIZE} hypotheses x {_ENTRIES} entries, 860000 columns; {len(heldout)} held-out lists")
    begin = time.perf_counter()
    lists = sparse_lists(corpus, "benchmark")
    print(f"laid out in {time.perf_counter() - begin:.2f} s, {lists.matrix.nnz} entries")
    for name, trainer in _ONLINE.items():
        seconds = _round_seconds(lists, trainer, 3)
        print(f"{name}: {seconds:.2f} s a round", flush=True)
    rows = informative(lists, "benchmark")
    begin = time.perf_counter()
    pairs = sample_pairs(lists.losses, lists.offsets, rows, 0.0, 5000, 50, (1,))
    print(f"PRO: {len(pairs.better)} pairs drawn in {time.perf_counter() - begin:.2f} s", end="")
    begin = time.perf_counter()
    logistic(pair_shards(lists.matrix, lists.base, lists.offsets, pairs), np.zeros(len(lists.names)))
    print(f", an evaluation in {time.perf_counter() - begin:.2f} s")
    for name, trainer in {**_ONLINE, "PRO": PRO()}.items():
        begin = time.perf_counter()
        model = trainer.fit(corpus, heldout)
        seconds, history = time.perf_counter() - begin, trainer.result_.history
        scores = " / ".join(f"{score:.2f}" for score in model.scores_.values())
        first = heldout.score(heldout.offsets[:-1])
        print(f"{name}, whole training: {seconds:.1f} s, CER {scores} (first hypotheses {first:.2f})", end="")
        print(f", {len(history)} rounds of the best: {trainer.result_.message}", flush=True)


_ONLINE: dict[str, Any] = {
    "perceptron": AveragedPerceptron(),
    "perceptron, margin": AveragedPerceptron(sensitive="margin"),
    "MIRA": MIRA(),
}


def lists_of(count: int, columns: int, seed: int = 1) -> NBest:
    """Lists whose hypotheses share three quarters of their n-grams, drawn like 1 / rank; errors follow hidden weights.

    The base score knows half of what the counts know; hypotheses are sorted by it.
    """
    hidden = np.random.default_rng(0).normal(size=columns) * (np.random.default_rng(1).random(columns) < 0.3)
    rng = np.random.default_rng(seed)
    shape = (count, _SIZE, _ENTRIES)
    taken = np.repeat(_zipf(rng, (count, 1, _ENTRIES), columns), _SIZE, axis=1)
    changed = rng.random(shape, np.float32) < 0.25
    taken[changed] = _zipf(rng, int(changed.sum()), columns)
    quality = hidden[taken].sum(axis=2)
    errors = np.clip(np.round(quality.max(axis=1, keepdims=True) - quality), 0, 15)
    base = -errors + 3.0 * rng.normal(size=errors.shape)
    order = np.argsort(-base, axis=1)
    base, errors = np.take_along_axis(base, order, 1), np.take_along_axis(errors, order, 1)
    taken = np.sort(np.take_along_axis(taken, order[:, :, None], 1), axis=2)
    rows = count * _SIZE
    matrix = csr_array(
        (np.ones(rows * _ENTRIES), taken.reshape(-1), np.arange(rows + 1) * _ENTRIES), shape=(rows, columns)
    )
    matrix.sum_duplicates()
    return NBest(
        offsets=np.arange(count + 1) * _SIZE,
        features=base.reshape(-1, 1),
        feature_names=("lm",),
        ids=tuple(map(str, range(count))),
        sparse=matrix,
        sparse_names=tuple(f"n{c}" for c in range(columns)),
        stats=np.stack([errors.reshape(-1), np.full(rows, 20.0)], axis=1),
        metric=CER(),
    )


def _zipf(rng: np.random.Generator, size: Any, columns: int) -> Any:
    """Columns with probability like 1 / rank."""
    return np.minimum(np.exp(rng.random(size, np.float32) * np.log(columns)).astype(np.int32), columns) - 1


def _round_seconds(lists: SparseLists, trainer: Any, repeats: int) -> float:
    """The shortest of some rounds after a first one, which compiles."""
    rows = informative(lists, "benchmark")
    work = trainer.rounds_of(lists, rows, 0.1)
    weights, lazy = np.zeros(len(lists.names)), np.zeros(len(lists.names))
    times = []
    for number in range(repeats + 1):
        order = np.random.default_rng(number).permutation(rows)
        begin = time.perf_counter()
        work(order, weights, lazy, number * len(rows))
        times.append(time.perf_counter() - begin)
    return min(times[1:])


def _twins(corpus: NBest) -> None:
    """A perceptron round and an evaluation of PRO in Python."""
    lists = sparse_lists(corpus, "benchmark")
    rows = informative(lists, "benchmark")
    ours = _round_seconds(lists, AveragedPerceptron(), 5)
    plain = _seconds(lambda: _python_round(lists, rows))
    print(f"{len(corpus)} lists: a perceptron round {ours * 1e3:.1f} ms, in Python {plain / ours:.0f} times slower")
    pairs = sample_pairs(lists.losses, lists.offsets, rows, 0.0, 5000, 50, (1,))
    values = np.random.default_rng(1).normal(size=len(lists.names)) / 10
    shards = pair_shards(lists.matrix, lists.base, lists.offsets, pairs)
    ours = min(_seconds(lambda: logistic(shards, values)) for _ in range(5))
    plain = _seconds(lambda: _python_logistic(lists, pairs, values))
    print(f"  an evaluation of PRO {ours * 1e3:.1f} ms, in Python {plain / ours:.0f} times slower")


def _seconds(function: Callable[[], Any]) -> float:
    begin = time.perf_counter()
    function()
    return time.perf_counter() - begin


def _row(lists: SparseLists, h: int) -> list[tuple[int, float]]:
    own = slice(lists.matrix.indptr[h], lists.matrix.indptr[h + 1])
    return list(zip(lists.matrix.indices[own].tolist(), lists.matrix.data[own].tolist(), strict=True))


def _python_round(lists: SparseLists, rows: Any) -> dict[int, float]:
    weights: dict[int, float] = {}
    for i in rows:
        own = range(lists.offsets[i], lists.offsets[i + 1])
        score = {h: lists.base[h] + sum(v * weights.get(c, 0.0) for c, v in _row(lists, h)) for h in own}
        good = max(own, key=lambda h: (-lists.losses[h], score[h]))
        rival = max(own, key=lambda h: (score[h], lists.losses[h]))
        if lists.losses[rival] > lists.losses[good]:
            for h, sign in ((good, 0.1), (rival, -0.1)):
                for c, v in _row(lists, h):
                    weights[c] = weights.get(c, 0.0) + sign * v
    return weights


def _python_logistic(lists: SparseLists, pairs: Pairs, values: Any) -> tuple[float, dict[int, float]]:
    from math import exp, log1p

    scores = [b + sum(v * values[c] for c, v in _row(lists, h)) for h, b in enumerate(lists.base)]
    credit, total = [0.0] * len(scores), 0.0
    for good, bad in zip(pairs.better.tolist(), pairs.worse.tolist(), strict=True):
        margin = scores[good] - scores[bad]
        total += log1p(exp(-abs(margin))) + max(-margin, 0.0)
        wrong = 1.0 / (1.0 + exp(min(margin, 700.0)))
        credit[good] -= wrong
        credit[bad] += wrong
    gradient: dict[int, float] = {}
    for h, factor in enumerate(credit):
        for c, v in _row(lists, h):
            gradient[c] = gradient.get(c, 0.0) + factor * v
    return total, gradient


if __name__ == "__main__":
    main()
