"""Exact line search and MERT, against sorting and hull in NumPy."""

from __future__ import annotations

import statistics
import time

import numpy as np

import nbest
from benchmarks.lists import best_of, files
from nbest.lines.search import list_lines
from nbest.trainers.dense.mert import _Search
from nbest.trainers.problem import prepare


def main() -> None:
    """Print seconds and ratios."""
    lists, refs = files()
    corpus = nbest.read(lists)
    corpus = corpus.with_metric(nbest.BLEU(tokenize="none"), nbest.read_references(refs, corpus.ids))
    problem = prepare(corpus, "benchmark")
    lines = list_lines(corpus.features / problem.scale, corpus.offsets, problem.stats, problem.metric)
    weights = np.random.default_rng(1).uniform(-1, 1, len(problem.names))
    scores, axis = lines.scores(weights), np.eye(len(weights))[0]
    ours, (cuts, _) = best_of(lambda: lines.intervals(scores, axis), 20)
    begin = time.perf_counter()
    expected = _plain(corpus.offsets, scores, lines.shards[0].columns[0])
    plain = time.perf_counter() - begin
    assert np.allclose(np.sort(expected), cuts, atol=1e-6), "the plain envelope differs"
    print(f"intervals along a coordinate ({len(cuts)} cuts): {ours * 1e3:.2f} ms")
    print(f"  sort and hull in Python {plain * 1e3:.0f} ms: {plain / ours:.0f} times slower")
    whole, _ = best_of(lambda: lines.search(scores, axis), 20)
    print(f"search along a coordinate, with the metric: {whole * 1e3:.2f} ms")
    for threads in (1, 2):
        values, seconds, searches = [], [], []
        for seed in range(1, 6):
            search = _Search(nbest.MERT(restarts=20, seed=seed, threads=threads), problem)
            begin = time.perf_counter()
            result = search.run()
            seconds.append(time.perf_counter() - begin)
            values.append(result.value)
            searches.append(result.evaluations)
        print(
            f"MERT, 20 starts, {threads} threads, 5 seeds: BLEU median {statistics.median(values):.3f} "
            f"({min(values):.3f} to {max(values):.3f}), {statistics.median(seconds):.2f} s "
            f"({min(seconds):.2f} to {max(seconds):.2f}), {statistics.median(searches):.0f} line searches"
        )


def _plain(offsets: np.ndarray, scores: np.ndarray, slopes: np.ndarray) -> np.ndarray:
    """Cuts by sorting slopes and keeping a hull, segment by segment."""
    cuts = []
    for low, high in zip(offsets[:-1], offsets[1:], strict=True):
        hull: list[tuple[float, float, float]] = []
        for b, a in sorted(zip(slopes[low:high], scores[low:high], strict=True)):
            start = -np.inf
            while hull:
                top_b, top_a, top_start = hull[-1]
                if top_b == b:
                    hull.pop()
                    continue
                start = (top_a - a) / (b - top_b)
                if start > top_start:
                    break
                hull.pop()
                start = -np.inf
            hull.append((b, a, start))
        cuts += [start for _, _, start in hull[1:]]
    return np.array(cuts)
