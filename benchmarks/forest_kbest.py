"""The k best derivations of a chart, against the same algorithm with heapq in Python."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.lists import best_of
from nbest.compute import segments
from nbest.corpus import Forests
from nbest.forests.kbest import kbest
from nbest.forests.sampling import sample


def main(words: int = 30, k: int = 1000) -> None:
    """Print seconds, ratios and memory."""
    forests = chart(words)
    scores = forests.features[:, 0]
    print(f"one chart of {words} words: {forests.nodes} nodes, {forests.edges} edges; k = {k}")
    _ = forests.layout
    ours, found = best_of(lambda: kbest(forests, scores, k, threads=1))
    plain, expected = best_of(lambda: plain_kbest(forests, scores, k), 3)
    assert np.allclose(found.sums(scores), expected), "the plain search differs"
    print(f"kbest: {ours * 1e3:.1f} ms; {len(found.edges)} edges read out")
    print(f"  heapq in Python {plain * 1e3:.0f} ms: {plain / ours:.0f} times slower")
    for size in (1, 100, k, 10 * k):
        seconds, rows = best_of(lambda size=size: kbest(forests, scores, size, threads=1), 3)  # type: ignore[misc]
        other, different = best_of(
            lambda size=size: kbest(forests, scores, size, distinct=True, threads=1),  # type: ignore[misc]
            3,
        )
        texts = len(set(rows.texts()))
        print(f"  k = {size}: {seconds * 1e3:.1f} ms ({texts} texts); distinct {other * 1e3:.1f} ms ({len(different)})")
    peak = peak_memory(lambda: kbest(forests, scores, 100 * k, threads=1))
    print(f"  k = {100 * k}: {peak:.1f} MiB more memory at its peak")
    drawn, _ = best_of(lambda: sample(forests, scores, k, threads=1))
    print(f"sample, {k} draws: {drawn * 1e3:.1f} ms")


def peak_memory(function: Callable[[], object]) -> float:
    """MiB by which memory in use grows during a call, at most (Linux: kernels' memory is not seen by tracemalloc).

    Memory that was freed before is used again and not counted: too low by some MiB, so only for large calls.
    """
    Path("/proc/self/clear_refs").write_text("5")  # sets the highest use so far to the present one
    before = _status("VmRSS")
    function()
    return (_status("VmHWM") - before) / 1024


def _status(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(name)).split()[1])


def chart(words: int, variants: int = 9, degree: int = 12, seed: int = 1) -> Forests:
    """One forest as from a chart parser: `variants` nodes a span, `degree` edges a node, half of them in order."""
    rng = np.random.default_rng(seed)
    base: dict[tuple[int, int], int] = {}
    nodes, counts, tails, symbols = 0, [], [], []
    for width in range(1, words + 1):
        for i in range(words - width + 1):
            base[i, i + width] = nodes
            for _ in range(1 if width == words else variants):
                counts.append(3 if width == 1 else degree)
                for _ in range(counts[-1]):
                    cut = 0 if width == 1 else int(rng.integers(i + 1, i + width))
                    pair = [base[i, cut], base[cut, i + width]] if cut else []
                    tails.append([t + int(rng.integers(variants)) for t in pair])
                    order = [-1, -2] if rng.random() < 0.5 else [-2, -1]
                    symbols.append(order if cut else [int(rng.integers(5 * words))])
                nodes += 1
    sizes = np.array([len(row) for row in symbols])
    return Forests(
        node_offsets=np.array([0, nodes]),
        edge_offsets=segments.offsets_of(np.array(counts)),
        tail_offsets=segments.offsets_of(np.array([len(row) for row in tails])),
        tails=np.array([t for row in tails for t in row]),
        features=rng.normal(size=(len(tails), 1)),
        feature_names=("score",),
        ids=("chart",),
        symbol_offsets=segments.offsets_of(sizes),
        symbols=np.array([s for row in symbols for s in row]),
        vocabulary=tuple(f"w{w}" for w in range(5 * words)),
    )


def plain_kbest(forests: Forests, scores: np.ndarray, k: int) -> list[float]:
    """Scores of the k best derivations of the one forest: Huang & Chiang's algorithm 3 as it is usually written."""
    bounds, cuts, flat = forests.edge_offsets.tolist(), forests.tail_offsets.tolist(), forests.tails.tolist()
    tails = [flat[a:b] for a, b in zip(cuts[:-1], cuts[1:], strict=True)]
    values = scores.tolist()
    known: list[list[float]] = []
    heaps: list[list | None] = [None] * forests.nodes
    taken: list[list] = []  # edge and ranks of the tails of each derivation known
    seen: list[set] = [set() for _ in range(forests.nodes)]
    for v in range(forests.nodes):
        options = [(values[e] + sum(known[t][0] for t in tails[e]), e) for e in range(bounds[v], bounds[v + 1])]
        best, edge = max(options, key=lambda pair: (pair[0], -pair[1]))
        known.append([best])
        taken.append([(edge, (0,) * len(tails[edge]))])
        seen[v].add(taken[v][0])

    def candidate(e: int, ranks: tuple[int, ...]) -> tuple:
        total = values[e] + sum(known[t][r] for t, r in zip(tails[e], ranks, strict=True))
        return -total, e, ranks

    def lazy(v: int, want: int) -> None:
        heap = heaps[v]
        if heap is None:
            edges = (e for e in range(bounds[v], bounds[v + 1]) if e != taken[v][0][0])
            heap = heaps[v] = [candidate(e, (0,) * len(tails[e])) for e in edges]
            seen[v].update(row[1:] for row in heap)
            heapq.heapify(heap)
        while len(known[v]) <= want:
            e, ranks = taken[v][-1]
            for place, t in enumerate(tails[e]):
                following = (*ranks[:place], ranks[place] + 1, *ranks[place + 1 :])
                lazy(t, following[place])
                if following[place] < len(known[t]) and (e, following) not in seen[v]:
                    seen[v].add((e, following))
                    heapq.heappush(heap, candidate(e, following))
            if not heap:
                return
            total, e, ranks = heapq.heappop(heap)
            known[v].append(-total)
            taken[v].append((e, ranks))

    lazy(forests.nodes - 1, k - 1)
    return known[-1][:k]


if __name__ == "__main__":
    main()
