"""Exact line search and MERT on forests, against envelopes by sorting slopes in plain Python."""

from __future__ import annotations

import time
from bisect import bisect_right

import numpy as np

import nbest
from benchmarks.lists import best_of
from nbest.base.types import Floats, Ints
from nbest.compute import segments
from nbest.compute.row_tables import new_table
from nbest.corpus import Forests
from nbest.lines.forest_envelopes import envelopes
from nbest.lines.forests import ForestColumns, forest_lines
from nbest.trainers.dense.mert import _Search
from nbest.trainers.problem import prepare

_EVERYWHERE = (-np.inf, np.inf)


def main() -> None:
    """Print seconds and ratios."""
    _search(charts(16))
    _train(lattices(200))


def _search(forests: Forests) -> None:
    """One line search on charts: envelopes alone against plain Python, then with reading out and the metric."""
    layout, table = forests.layout, new_table()
    lines = forest_lines(forests, forests.features, forests.need_metric())
    weights = np.random.default_rng(1).uniform(-1, 1, len(forests.feature_names))
    a, b = lines.scores(weights), lines.shards[0].columns[0]
    ours, found = best_of(lambda: envelopes(layout, a, b, _EVERYWHERE, table, 1), 5)
    begin = time.perf_counter()
    expected = _plain(forests, a, b)
    plain = (time.perf_counter() - begin) * forests.edges / forests.forest_edges[1]
    np.testing.assert_allclose(found.place[1 : found.offsets[1]], expected, rtol=1e-6)
    pieces = len(found.place) / len(forests)
    print(f"envelopes of {len(forests)} charts of {forests.forest_edges[1]} edges, {pieces:.0f} pieces at each root:")
    print(f"  one thread {ours * 1e3:.0f} ms, {forests.edges / ours / 1e6:.2f} million edges a second")
    print(f"  plain Python {plain * 1e3:.0f} ms: {plain / ours:.0f} times slower")
    narrow, _ = best_of(lambda: envelopes(layout, a, b, (-0.1, 0.1), table, 1), 5)
    print(f"  between bounds of -0.1 and 0.1 {narrow * 1e3:.0f} ms")
    whole, _ = best_of(lambda: lines.search(a, np.eye(len(weights))[0]), 5)
    print(f"search along a coordinate, derivations known: {whole * 1e3:.0f} ms")


def _train(forests: Forests) -> None:
    """MERT with its default settings on lattices."""
    problem = prepare(forests, "benchmark")
    size = forests.edges // len(forests)
    print(f"MERT on {len(forests)} lattices of {size} edges, {len(problem.names)} features:")
    for hops in (0, 8):
        search = _Search(nbest.MERT(hops=hops, threads=2), problem)
        (shard,) = search.lines.shards
        assert isinstance(shard, ForestColumns)
        begin = time.perf_counter()
        result = search.run()
        seconds = time.perf_counter() - begin
        known = shard.measured
        print(
            f"  20 starts, {hops} hops, 2 threads: WER {result.value:.2f}, {seconds:.0f} s, {result.evaluations} line "
            f"searches, {known.strings} strings of {known.derivations} derivations measured"
        )


# made-up forests ------------------------------------------------------------------------------------------------


def charts(count: int, words: int = 20, variants: int = 6, degree: int = 12, features: int = 6) -> Forests:
    """Forests over all spans of a sentence, `variants` nodes a span, `degree` edges of two tails a node."""
    rng = np.random.default_rng(1)
    base: dict[tuple[int, int], int] = {}
    heads: list[int] = []
    tails: list[list[int]] = []
    for width in range(1, words + 1):
        for i in range(words - width + 1):
            j, base[i, i + width] = i + width, len(heads)
            for _ in range(variants if width < words else 1):
                into: list[list[int]] = [[], [], []]
                if width > 1:
                    cuts, sides = rng.integers(i + 1, j, degree).tolist(), rng.integers(0, variants, (degree, 2))
                    into = [[base[i, k] + int(p), base[k, j] + int(q)] for k, (p, q) in zip(cuts, sides, strict=True)]
                tails += into
                heads.append(len(into))
    symbols = [[-1, -2] if edge else [int(rng.integers(100))] for edge in tails]
    return _forests(heads, tails, symbols, count, rng.normal(size=(count * len(tails), features)))


def lattices(count: int, words: int = 20, width: int = 5, features: int = 6) -> Forests:
    """Lattices with `width` nodes a word, each with five words from each of up to four nodes before it."""
    rng = np.random.default_rng(1)
    heads, tails, symbols = [1], [[]], [[]]  # type: list[int], list[list[int]], list[list[int]]
    before = [0]
    for _ in range(words):
        here = list(range(len(heads), len(heads) + width))
        for _ in here:
            into = [[int(t)] for t in rng.permutation(before)[:4] for _ in range(5)]
            tails, symbols = tails + into, symbols + [[-1, int(rng.integers(100))] for _ in into]
            heads.append(len(into))
        before = here
    heads, tails, symbols = [*heads, width], [*tails, *([t] for t in before)], [*symbols, *([-1] for _ in before)]
    return _forests(heads, tails, symbols, count, rng.normal(size=(count * len(tails), features)))


def _forests(
    heads: list[int], tails: list[list[int]], symbols: list[list[int]], count: int, features: Floats
) -> Forests:
    """The same forest several times with other features and references: each the words of a derivation, of which the
    first two features know a little."""
    rng = np.random.default_rng(2)
    starts = segments.offsets_of(np.array(heads))
    references = []
    for i in range(count):
        edges: list[int] = []
        reference = _draw(len(heads) - 1, starts, tails, symbols, rng, edges)
        features[i * len(tails) + np.array(edges), :2] += 2.0
        references.append(reference)
    offsets = lambda rows: segments.offsets_of(np.tile([len(row) for row in rows], count))  # noqa: E731
    return Forests(
        node_offsets=np.arange(count + 1) * len(heads),
        edge_offsets=segments.offsets_of(np.tile(heads, count)),
        tail_offsets=offsets(tails),
        tails=np.tile([t for row in tails for t in row], count),
        features=features,
        feature_names=tuple(f"f{d}" for d in range(features.shape[1])),
        ids=tuple(map(str, range(count))),
        symbol_offsets=offsets(symbols),
        symbols=np.tile([s for row in symbols for s in row], count),
        vocabulary=tuple(f"w{k}" for k in range(100)),
        references=tuple((" ".join(f"w{w}" for w in row),) for row in references),
    ).with_metric(nbest.WER())


def _draw(
    node: int, starts: Ints, tails: list[list[int]], symbols: list[list[int]], rng: np.random.Generator, used: list[int]
) -> list[int]:
    """The words of a random derivation of a node; its edges are added to `used`."""
    edge = int(rng.integers(starts[node], starts[node + 1]))
    used.append(edge)
    below = [_draw(tail, starts, tails, symbols, rng, used) for tail in tails[edge]]
    return [word for s in symbols[edge] for word in (below[-1 - s] if s < 0 else [s])]


def _plain(forests: Forests, a: Floats, b: Floats) -> list[float]:
    """Cuts of the root of the first forest: lines of all edges of a node sorted by slope, and their hull."""
    known: list[tuple[list[tuple[float, float]], list[float]]] = []
    for v in range(forests.node_offsets[1]):
        lines = []
        for e in range(forests.edge_offsets[v], forests.edge_offsets[v + 1]):
            tails = [known[t] for t in forests.tails[forests.tail_offsets[e] : forests.tail_offsets[e + 1]]]
            for x in sorted({-np.inf, *(cut for _, cuts in tails for cut in cuts)}):
                below = [envelope[bisect_right(cuts, x)] for envelope, cuts in tails]
                lines.append((b[e] + sum(line[0] for line in below), a[e] + sum(line[1] for line in below)))
        known.append(_hull(lines))
    return known[-1][1]


def _hull(lines: list[tuple[float, float]]) -> tuple[list[tuple[float, float]], list[float]]:
    """Upper envelope of lines (slope, height at 0), and the cuts between."""
    hull: list[tuple[float, float]] = []
    cuts: list[float] = []
    for b, a in sorted(lines):
        while hull:
            x = -np.inf if hull[-1][0] == b else (hull[-1][1] - a) / (b - hull[-1][0])
            if x > (cuts[-1] if cuts else -np.inf):
                cuts.append(x)
                break
            hull.pop()
            if cuts:
                cuts.pop()
        hull.append((b, a))
    return hull, cuts
