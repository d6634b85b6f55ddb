"""Derivations drawn at random from the distribution of the model."""

from __future__ import annotations

import numpy as np

from nbest.base.errors import ParameterError
from nbest.base.randomness import generator
from nbest.base.types import Floats, Ints
from nbest.compute.compilation import kernel
from nbest.compute.growing import roomy
from nbest.compute.parallel import over_ranges
from nbest.corpus import Forests
from nbest.corpus.layout import forest_of
from nbest.forests.derivations import Derivations
from nbest.forests.kbest import joined
from nbest.forests.posteriors import checked_scores, run_both

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def sample(forests: Forests, scores: Floats, count: int, *, seed: int = 1, threads: int | None = None) -> Derivations:
    """`count` independent derivations of each forest, drawn with probability proportional to exp(sum of edge scores).

    Top-down: at every node an edge is drawn by its share q(e) among the derivations of the node (see
    `nbest.forests.posteriors`), then its tails, each use of a node anew. Exact up to the rounding of the shares and
    the 53 bits of a random number. Forests without derivation give none. Forest number i has its own stream of
    SplitMix64 (Steele, Lea & Flood 2014, OOPSLA 453-472), so that its first draws are the same for every `count`,
    number of threads and whatever the other forests are.
    Cost: inside once, then O(|D| log M) a draw for derivations of |D| edges and M edges into a node.
    """
    if count < 0:
        raise ParameterError(f"'count' of sample must be >= 0, got {count}")
    layout = forests.layout
    _, shares, _ = run_both(layout, layout.spread(checked_scores(forests, scores)), threads)
    own = np.arange(len(shares)) if layout.edges is None else layout.edges
    states = generator(seed).integers(0, 2**64 - 1, len(forests), np.uint64, endpoint=True)
    parts: dict[int, tuple[Ints, Ints, Ints]] = {}

    def work(low: int, high: int) -> None:
        parts[low] = _sample(low, high, layout.graph, count, states=states, shares=shares, own=own)

    over_ranges(work, layout.edge_offsets, threads)
    return joined(forests, [parts[low] for low in sorted(parts)])


@kernel
def _uniform(state):
    """The next state, and a number of 53 bits in [0, 1)."""
    state += _GOLDEN
    z = (state ^ (state >> np.uint64(30))) * _FIRST
    z = (z ^ (z >> np.uint64(27))) * _SECOND
    z ^= z >> np.uint64(31)
    return state, np.float64(z >> np.uint64(11)) * 2.0**-53


@kernel
def _accumulate(starts, shares):
    """Turn the shares of the edges of each node into their running sums."""
    for v in range(len(starts) - 1):
        for e in range(starts[v] + 1, starts[v + 1]):
            shares[e] += shares[e - 1]


@kernel
def _pick(sums, low, high, x):
    """The first edge whose running sum exceeds x times the whole; never one without a share."""
    goal = x * sums[high - 1]
    if goal >= sums[high - 1]:  # by rounding
        goal = np.nextafter(sums[high - 1], 0.0)
    return low + np.searchsorted(sums[low:high], goal, side="right")


@kernel
def _draw(forest, sums, own, stack, state, edges, total):
    """Append the edges of one derivation of the root."""
    starts, first, second = forest
    stack[0], depth = len(starts) - 2, 1
    while depth:
        v = stack[depth - 1]
        depth -= 1
        if v == 0:
            continue
        state, x = _uniform(state)
        e = _pick(sums, starts[v], starts[v + 1], x)
        if own[e] >= 0:
            edges = roomy(edges, total)
            edges[total] = own[e]
            total += 1
        stack[depth], stack[depth + 1] = second[e], first[e]
        depth += 2
    return state, edges, total


@kernel
def _sample(low, high, graph, count, states, shares, own):
    """Derivations of a range of forests: how many a forest, edges a derivation, edges."""
    counts = np.zeros(high - low, np.int64)
    sizes = np.empty((high - low) * count, np.int64)
    edges = np.empty(16, np.int64)
    derivations, total = 0, 0
    for i in range(low, high):
        forest, (a, b), (c, d) = forest_of(graph, i)
        begin, sums, state = forest.starts, shares[c:d], states[i]
        _accumulate(begin, sums)
        if b - a < 2 or begin[-2] == begin[-1] or sums[-1] <= 0.0:
            continue
        counts[i - low] = count
        stack = np.empty(b - a + 1, np.int64)
        for _ in range(count):
            before = total
            state, edges, total = _draw(forest, sums, own[c:d], stack, state=state, edges=edges, total=total)
            sizes[derivations] = total - before
            derivations += 1
    return counts, sizes[:derivations].copy(), edges[:total].copy()
