"""Inside-outside and CoBLEU on charts, against plain NumPy and a semiring engine in Python."""

from __future__ import annotations

import math
import time

import numpy as np

from benchmarks.forest_kbest import chart
from benchmarks.lists import best_of
from nbest.base.types import Floats
from nbest.compute import segments
from nbest.compute.executors import Threads
from nbest.corpus import Forests
from nbest.forests.ngrams import Ngrams, NgramStats, ReferenceNgrams
from nbest.forests.posteriors import posteriors, run_both
from nbest.forests.semirings import SEMIRINGS, outside
from nbest.metrics import BLEU
from nbest.objectives import CoBLEU, Risk, value_and_gradient
from nbest.objectives.cobleu import Counts, NgramShard
from nbest.objectives.forest_shard import ForestShard

_FEATURES = 9
_ONE = Threads(1)


def main(words: int = 30, copies: int = 16) -> None:
    """Print edges a second, ratios and bytes an edge; one thread."""
    forests = _copies(chart(words), copies)
    one = forests.select([0])
    rng = np.random.default_rng(1)
    weights = rng.normal(0.0, 0.3, _FEATURES)
    scores = forests.features @ weights
    print(f"{copies} charts of {words} words, {one.edges} edges each, {_FEATURES} features; one thread")
    layout = forests.layout
    spread = layout.spread(scores)
    fast, _ = best_of(lambda: run_both(layout, spread, 1))
    rate = _say("inside and outside (posteriors)", fast, forests.edges)
    part = scores[: one.edges]
    plain, expected = best_of(lambda: plain_posteriors(one, part), 2)
    assert np.allclose(posteriors(one, part).edges, expected), "the plain version differs"
    print(f"  plain NumPy: {rate / (one.edges / plain):.0f} times slower")
    engine, total = best_of(lambda: engine_log_z(one, part), 1)
    assert np.isclose(total, posteriors(one, part).log_z[0]), "the engine differs"
    print(f"  semiring engine in Python, inside only: {rate / (one.edges / engine):.0f} times slower")
    for name, kind in SEMIRINGS.items():
        if name in ("log", "max", "counting"):
            values = kind.lift(scores)
            seconds, _ = best_of(lambda kind=kind, values=values: outside(kind(), forests, values, 1), 3)  # type: ignore[misc]
            _say(f"  one kernel for all semirings, {name}", seconds, forests.edges)
    _training(forests, one, weights)
    _memory(forests)


def _training(forests: Forests, one: Forests, weights: Floats) -> None:
    scale, metric = np.ones(_FEATURES), BLEU(tokenize="none")
    shard = _ngram_shard(forests, scale, single=True)  # as in training on so many
    objective = CoBLEU()
    value_and_gradient(objective, weights, [shard], _ONE)
    seconds, _ = best_of(lambda: value_and_gradient(objective, weights, [shard], _ONE))
    rate = _say("CoBLEU, value and gradient", seconds, forests.edges)
    small = _ngram_shard(one, scale)
    plain, expected = best_of(lambda: plain_cobleu(small, weights), 1)
    found = value_and_gradient(objective, weights, [small], _ONE)
    assert np.isclose(found[0], expected[0]), "the plain value differs"
    assert np.allclose(found[1], expected[1], rtol=1e-6, atol=1e-9), "the plain gradient differs"
    print(f"  plain NumPy, eight marked programs as in the paper: {rate / (one.edges / plain):.0f} times slower")
    stats = np.random.default_rng(1).integers(0, 3, (forests.edges, 10)).astype(np.float64)
    shards = {order: ForestShard(forests, scale, stats, single=True) for order in (1, 2)}
    busy = dict.fromkeys(shards, math.inf)
    for _ in range(6):  # in turn, processor time: their ratio does not depend on what else runs
        for order, part in shards.items():
            begin = time.process_time()
            value_and_gradient(Risk(metric, order=order), weights, [part], _ONE)
            busy[order] = min(busy[order], time.process_time() - begin)
    for order, seconds in busy.items():
        _say(f"risk of order {order}, 10 statistics, value and gradient", seconds, forests.edges)
    print(f"  order 2 takes {busy[2] / busy[1]:.1f} times order 1")


def _say(what: str, seconds: float, edges: int) -> float:
    print(f"{what}: {edges / seconds / 1e6:.0f} million edges/s")
    return edges / seconds


def _memory(forests: Forests) -> None:
    layout = forests.layout
    graph = sum(a.nbytes for a in (forests.edge_offsets, forests.tail_offsets, forests.tails))
    kernel = sum(a.nbytes for a in layout.graph[2:])
    words = sum(a.nbytes for a in (forests.symbols, forests.symbol_offsets) if a is not None)
    print(
        f"bytes an edge: graph {graph / forests.edges:.1f}, features {forests.features.nbytes / forests.edges:.1f}, "
        f"words {words / forests.edges:.1f}, layout for kernels {kernel / forests.edges:.1f}, a pass "
        f"{2 * 8 + 8 * layout.node_offsets[-1] / forests.edges:.1f}"
    )


def _copies(one: Forests, copies: int) -> Forests:
    """The same forest several times, with features of their own."""
    rng = np.random.default_rng(2)
    symbol_offsets, symbols = one.need_words("the benchmark")
    return Forests(
        node_offsets=np.arange(copies + 1) * one.nodes,
        edge_offsets=segments.offsets_of(np.tile(np.diff(one.edge_offsets), copies)),
        tail_offsets=segments.offsets_of(np.tile(one.arities, copies)),
        tails=np.tile(one.tails, copies),
        features=rng.normal(0.0, 1.0, (copies * one.edges, _FEATURES)),
        feature_names=tuple(f"f{d}" for d in range(_FEATURES)),
        ids=tuple(str(i) for i in range(copies)),
        symbol_offsets=segments.offsets_of(np.tile(np.diff(symbol_offsets), copies)),
        symbols=np.tile(symbols, copies),
        vocabulary=one.vocabulary,
    )


def _ngram_shard(forests: Forests, scale: Floats, *, single: bool = False) -> NgramShard:
    found = _counts(forests)
    return NgramShard(forests, scale, found.counts, single, found=found)


def _counts(forests: Forests, each: int = 60) -> NgramStats:
    """N-grams as in a chart with boundary words: 0, 1, 2, 3 of the orders, some 1.5 of them in the reference."""
    rng = np.random.default_rng(3)
    sizes = rng.poisson(1.5, forests.edges)
    orders = np.tile(np.repeat(np.arange(1, 5), each // 4), len(forests)).astype(np.int32)
    offsets = np.arange(len(forests) + 1) * each
    limits = np.ones(len(orders), np.int32)
    nothing: np.ndarray = np.zeros(len(orders), np.int32)
    lengths = np.full(len(forests), 30)
    references = ReferenceNgrams(
        Ngrams(offsets, nothing, nothing, orders), limits, np.arange(len(forests) + 1), lengths
    )
    counts = np.tile(np.array([0, 1, 2, 3], np.int32), (forests.edges, 1))
    counts[forests.arities == 0] = [1, 0, 0, 0]
    matches = rng.integers(0, each, sizes.sum()).astype(np.int32)
    return NgramStats(4, counts, segments.offsets_of(sizes), matches, offsets, orders, limits, references)


# plain versions ---------------------------------------------------------------------------------------------------


def plain_posteriors(forests: Forests, scores: Floats) -> Floats:
    """Edge posteriors of one forest in log space, a node at a time."""
    inside, outside_, _ = _plain_passes(forests, scores)
    heads, tails = forests.heads, _two_tails(forests)
    weights = scores + np.append(inside, 0.0)[tails].sum(axis=1) + outside_[heads] - inside[-1]
    return np.exp(weights)


def _two_tails(forests: Forests) -> np.ndarray:
    """[E, 2] tails, -1 where there are fewer."""
    out = np.full((forests.edges, 2), -1)
    for place in range(2):
        has = forests.arities > place
        out[has, place] = forests.tails[forests.tail_offsets[:-1][has] + place]
    return out


def _plain_passes(forests: Forests, scores: Floats) -> tuple[Floats, Floats, Floats]:
    tails, starts = _two_tails(forests), forests.edge_offsets
    inside = np.zeros(forests.nodes + 1)  # the last stands for no tail
    own = np.empty(forests.edges)
    for v in range(forests.nodes):
        part = slice(starts[v], starts[v + 1])
        own[part] = scores[part] + inside[tails[part]].sum(axis=1)
        inside[v] = np.logaddexp.reduce(own[part])
    outside_ = np.full(forests.nodes + 1, -np.inf)
    outside_[forests.nodes - 1] = 0.0
    for v in range(forests.nodes - 1, -1, -1):
        part = slice(starts[v], starts[v + 1])
        for place in range(2):
            here = tails[part, place]
            np.logaddexp.at(outside_, here, outside_[v] + own[part] - inside[here])
    return inside[:-1], outside_[:-1], own


def engine_log_z(forests: Forests, scores: Floats) -> float:
    """log Z of one forest by an engine over any semiring, as in textbooks: Python numbers, edges as objects."""

    def plus(a: float, b: float) -> float:
        top, low = (a, b) if a > b else (b, a)
        return top if low == -math.inf else top + math.log1p(math.exp(low - top))

    starts, offsets = forests.edge_offsets.tolist(), forests.tail_offsets.tolist()
    tails, values = forests.tails.tolist(), scores.tolist()
    inside: list[float] = []
    for v in range(forests.nodes):
        total = -math.inf
        for e in range(starts[v], starts[v + 1]):
            value = values[e]
            for t in tails[offsets[e] : offsets[e + 1]]:
                value += inside[t]
            total = plus(total, value)
        inside.append(total)
    return inside[-1]


def plain_cobleu(shard: NgramShard, weights: Floats) -> tuple[float, Floats]:
    """Value and gradient of CoBLEU on one forest: E[phi l_n] for each order, clipped and not, a node at a time."""
    forests, found = shard.forests, shard.found
    scores = forests.features @ weights
    inside, above, own = _plain_passes(forests, scores)
    tails = _two_tails(forests)
    used = np.exp(own + above[forests.heads] - inside[-1])
    rows = np.repeat(np.arange(forests.edges), np.diff(found.match_offsets))
    expected = np.zeros(len(found.orders))
    np.add.at(expected, found.matches, used[rows])
    every = used @ found.counts
    clipped = np.zeros(4)
    np.add.at(clipped, found.orders - 1, np.minimum(expected, found.limits))
    value, credit = CoBLEU().combine(Counts(every, clipped, shard.reference_length, 0.0))
    gradient = np.zeros(len(weights))
    shares = np.exp(own - inside[forests.heads])
    nodes = np.exp(above[: forests.nodes] + inside - inside[-1])
    for n in range(4):
        open_ = (found.orders[found.matches] == n + 1) & (expected <= found.limits)[found.matches]
        matched = np.bincount(rows[open_], minlength=forests.edges).astype(np.float64)
        for amounts, worth in ((found.counts[:, n].astype(np.float64), credit.all[n]), (matched, credit.unclipped[n])):
            gradient += worth * (_plain_marked(forests, tails, shares, nodes, amounts) @ forests.features)
    return value, gradient


def _plain_marked(forests: Forests, tails: np.ndarray, shares: Floats, nodes: Floats, amounts: Floats) -> Floats:
    starts = forests.edge_offsets
    means = np.zeros(forests.nodes + 1)
    below = np.empty(forests.edges)
    for v in range(forests.nodes):
        part = slice(starts[v], starts[v + 1])
        below[part] = amounts[part] + means[tails[part]].sum(axis=1)
        means[v] = shares[part] @ below[part]
    above = np.zeros(forests.nodes + 1)
    out = np.empty(forests.edges)
    for v in range(forests.nodes - 1, -1, -1):
        part = slice(starts[v], starts[v + 1])
        out[part] = shares[part] * (nodes[v] * (below[part] - means[v]) + above[v])
        for place in range(2):
            np.add.at(above, tails[part, place], out[part])
        above[-1] = 0.0
    return out
