"""Boosting at the size of Collins & Koo and of MSR-II's paper: 80,000 lists x 20 hypotheses, 860,000 n-gram features.

Sentences of Zipf-like words, hypotheses with some words changed, counts of uni- and bigrams. Then the rounds against
a plain version that makes all sums anew each round, on small lists.
"""

from __future__ import annotations

import resource
import time
from typing import TYPE_CHECKING

import numpy as np

from nbest.base.types import Floats
from nbest.corpus import NBest
from nbest.metrics import External
from nbest.trainers.sparse.base import sparse_lists
from nbest.trainers.sparse.boosting import Boosting
from nbest.trainers.sparse.boosting_descent import Descent
from nbest.trainers.sparse.boosting_pairs import GoldPairs, pairs_of

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_WORDS = 20_000
_LENGTH = 20


def main() -> None:
    """Print seconds, memory and ratios."""
    both = _lists(82_000, 20, 860_000)
    corpus, heldout = both.select(range(80_000)), both.select(range(80_000, 82_000))
    del both
    _phases(corpus)
    for penalty in (0.0, 1e-6):
        _rounds(corpus, heldout, penalty)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"peak memory {peak:.2f} GB, with the lists and their making")
    _ratio()


def _lists(count: int, size: int, features: int, seed: int = 1) -> NBest:
    """Lists of one base score and counts of words and (hashed) pairs of words; the metric is the wrong words.

    Every word has four that sound alike; a hypothesis has a few words replaced by one of them.
    """
    from scipy.sparse import csr_array

    rng = np.random.default_rng(seed)
    share = 1.0 / np.arange(1, _WORDS + 1)
    truth = rng.choice(_WORDS, (count, _LENGTH), p=share / share.sum()).astype(np.int32)
    words = np.repeat(truth, size, axis=0)
    wrong = rng.random(words.shape) < rng.choice([0.02, 0.1, 0.2], (count * size, 1))
    words = np.where(wrong, words // 4 * 4 + rng.integers(0, 4, words.shape, dtype=np.int32), words)
    errors = (words != np.repeat(truth, size, axis=0)).sum(axis=1)
    bigrams = words[:, :-1].astype(np.int64) * 1_000_003 + words[:, 1:] * 7919
    columns = np.concatenate([words, _WORDS + bigrams % (features - _WORDS)], axis=1).astype(np.int32)
    width = columns.shape[1]
    entries = (np.ones(columns.size, np.float32), columns.ravel(), np.arange(len(columns) + 1) * width)
    counts: csr_array = csr_array(entries, shape=(len(columns), features))
    counts.sum_duplicates()
    metric = External(label="errors", higher_is_better=False)
    return NBest(
        offsets=np.arange(count + 1) * size,
        features=(-2.0 * errors + rng.normal(0.0, 3.0, len(errors)))[:, None],
        feature_names=("base",),
        sparse=counts,
        sparse_names=tuple(map(str, range(features))),
        ids=tuple(map(str, range(count))),
        stats=metric.stats_of(errors),
        metric=metric,
    )


def _phases(corpus: NBest) -> None:
    """Seconds of laying out, after a small one that compiles."""
    Boosting(rounds=3).fit(corpus.select(range(100)), corpus.select(range(100, 200)))
    begin = time.perf_counter()
    lists = sparse_lists(corpus, "benchmark")
    laid = time.perf_counter()
    pairs = pairs_of(lists)
    paired = time.perf_counter()
    Descent(pairs, lists.base[pairs.golds] - lists.base[pairs.others], 1e-4)
    seconds = (
        f"lists {laid - begin:.1f} s, pairs {paired - laid:.1f} s, first sums {time.perf_counter() - paired:.2f} s"
    )
    entries = f"{len(pairs.others):,} pairs, {len(pairs.columns):,} differences"
    print(
        f"{len(corpus):,} lists, {corpus.hypotheses:,} hypotheses, {len(lists.names):,} features, {entries}: {seconds}"
    )


def _rounds(corpus: NBest, heldout: NBest, penalty: float) -> None:
    for rounds in (2000, 10_000):
        trainer = Boosting(rounds=rounds, penalty=penalty)
        begin = time.perf_counter()
        model = trainer.fit(corpus, heldout)
        seconds = time.perf_counter() - begin
        result = trainer.result_
        assert result is not None
        print(
            f"{result.evaluations} rounds, penalty {penalty}: {seconds:.1f} s with everything, loss "
            f"{result.history[0]['loss']:.4f} to {result.value:.4f}, held-out errors "
            f"{result.history[0]['heldout']:.4f} to {model.scores_['heldout']:.4f}, "
            f"{sum(1 for weight in model.weights.values() if weight)} weights"
        )


def _ratio(rounds: int = 50) -> None:
    """The fast update against sums made anew from all differences each round, in sparse NumPy products."""
    lists = sparse_lists(_lists(4000, 20, 100_000), "benchmark")
    pairs = pairs_of(lists)
    margins = lists.base[pairs.golds] - lists.base[pairs.others]
    begin = time.perf_counter()
    descent = Descent(pairs, margins, 1e-4)
    for _ in range(rounds):
        column, _share = descent.best()
        descent.move(column, descent.step(column))
    ours = time.perf_counter() - begin
    begin = time.perf_counter()
    loss = _plain(pairs, margins.copy(), rounds)
    plain = time.perf_counter() - begin
    print(
        f"{rounds} rounds, {len(pairs.others):,} pairs: {ours:.3f} s; made anew {plain:.1f} s: {plain / ours:.0f} times"
    )
    assert abs(loss - descent.loss) < 1e-6, (loss, descent.loss)


def _plain(pairs: GoldPairs, margins: Floats, rounds: int) -> float:
    from scipy.sparse import csr_array

    shape = (len(pairs.others), len(pairs.sizes))
    differences = csr_array((pairs.values.astype(np.float64), pairs.columns, pairs.offsets), shape=shape)
    ups, downs = differences.maximum(0).T.tocsr(), (-differences).maximum(0).T.tocsr()
    columns = differences.tocsc()
    sizes = np.where(pairs.sizes > 0, pairs.sizes, np.inf)
    for _ in range(rounds):
        weights = np.exp(-margins)
        best = int(np.argmax((np.sqrt(ups @ weights) - np.sqrt(downs @ weights)) ** 2 / sizes))
        span = slice(columns.indptr[best], columns.indptr[best + 1])
        rows, d = columns.indices[span], columns.data[span]
        margins[rows] += _least(weights[rows], d, pairs.sizes[best], 1e-4 * weights.sum()) * d
    return float(np.exp(-margins).mean())


def _least(weights: Floats, d: Floats, size: float, pseudo: float) -> float:
    """The step of least smoothed loss, by scipy."""
    from scipy.optimize import minimize_scalar

    def value(t: float) -> float:
        return float(weights @ np.exp(-t * d) + 2.0 * pseudo * np.cosh(size * t))

    return float(minimize_scalar(value, bracket=(-0.1, 0.1), tol=1e-12).x)


if __name__ == "__main__":
    main()
