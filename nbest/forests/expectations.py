"""First- and second-order expectations of functions that add up over the edges of a derivation.

With shares q and node posteriors P of nbest.forests.posteriors, and r(d) = sum of r(e) over the edges of d,

    E[r]        = sum_e P(e) r(e)
    R(v)        = sum_e q(e) (r(e) + sum_t R(t))                                mean below a node
    Cov(x, r)   = sum_e D(e) x(e),    D(e) = E[(number of e in d) (r(d) - E[r])]

D comes from one pass down the forest: D(e) = q(e) (P(v) (r(e) + sum_t R(t) - R(v)) + h(v)) with h the sum of D over
the edges that have v as a tail (h = 0 at the root). It is the derivative of E[r] by the score of the edge, and what
Pauls, DeNero & Klein (2009), figures 4 and 5, compute with marked inside and outside values (here per unit of
posterior, so that nothing overflows, and for all statistics at once). Li & Eisner (2009) call it the second-order
expectation semiring. Cost: two passes over the edges, O(V) memory besides.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nbest.base.types import Floats
from nbest.compute import segments
from nbest.compute.compilation import kernel
from nbest.compute.parallel import over_ranges
from nbest.compute.vectors import most
from nbest.corpus.layout import forest_of
from nbest.forests.posteriors import checked_scores, posteriors, run_both

if TYPE_CHECKING:
    from nbest.corpus import Forests
    from nbest.corpus.layout import Layout


def expectations(forests: Forests, scores: Floats, values: Floats) -> Floats:
    """[N, ...] expected sum of edge values [E, ...] over the edges of a derivation; 0 for an empty forest."""
    used = posteriors(forests, scores).edges
    return segments.sums(used.reshape(-1, *(1,) * (np.ndim(values) - 1)) * values, forests.forest_edges)


def covariances(forests: Forests, scores: Floats, values: Floats, other: Floats) -> Floats:
    """[N, ...] covariance of the sum of edge values [E, ...] with that of `other` [E] over a derivation."""
    marked = derivatives(forests, scores, other)
    return segments.sums(marked.reshape(-1, *(1,) * (np.ndim(values) - 1)) * values, forests.forest_edges)


def variances(forests: Forests, scores: Floats, values: Floats) -> Floats:
    """[N] variance of the sum of edge values [E] over a derivation, as sum_e P(e) delta(e)^2: never below 0.

    delta(e) = r(e) + sum_t R(t) - R(head). Sums that are the same in all derivations give rounding of the order of
    (1e-16 r(d))^2, where a difference of two large numbers would leave 1e-16 r(d)^2.
    """
    layout, shares, nodes, amounts = _shared(forests, scores, values)
    out = np.zeros(len(layout))
    over_ranges(
        lambda low, high: _variances(low, high, layout.graph, (shares, nodes, amounts), out),
        layout.edge_offsets,
    )
    return out


def derivatives(forests: Forests, scores: Floats, other: Floats) -> Floats:
    """[E] derivative of the expectation of `other` [E] by the score of each edge."""
    layout, shares, nodes, amounts = _shared(forests, scores, other)
    over_ranges(lambda low, high: _derivatives(low, high, layout.graph, (shares, nodes, amounts)), layout.edge_offsets)
    return layout.gather(amounts)


def _shared(forests: Forests, scores: Floats, values: Floats) -> tuple[Layout, Floats, Floats, Floats]:
    """The layout, shares [E'], node posteriors [V'] and values [E'] that may be written to."""
    layout = forests.layout
    _, shares, nodes = run_both(layout, layout.spread(checked_scores(forests, scores)))
    return layout, shares, nodes, layout.spread(values)


@kernel
def _derivatives(low, high, graph, edges):
    shares, nodes, amounts = edges
    size = most(low, high, graph.node_offsets)
    means = np.empty(size)
    above = np.empty(size)
    for i in range(low, high):
        forest, (a, b), (c, d) = forest_of(graph, i)
        upward(forest, shares[c:d], amounts[c:d], means)
        downward(forest, shares[c:d], nodes[a:b], amounts[c:d], (means, above))


@kernel
def _variances(low, high, graph, edges, out):
    shares, nodes, amounts = edges
    means = np.empty(most(low, high, graph.node_offsets))
    for i in range(low, high):
        forest, (a, b), (c, d) = forest_of(graph, i)
        begin, x, q = forest.starts, amounts[c:d], shares[c:d]
        upward(forest, q, x, means)
        for v in range(1, b - a):
            for e in range(begin[v], begin[v + 1]):
                out[i] += nodes[a + v] * q[e] * (x[e] - means[v]) ** 2


@kernel
def upward(forest, shares, amounts, means):
    """Mean below each node; `amounts` become those of an edge with all below it."""
    starts, first, second = forest
    means[0] = 0.0
    for v in range(1, len(starts) - 1):
        mean = 0.0
        for e in range(np.uint32(starts[v]), np.uint32(starts[v + 1])):
            x = amounts[e] + means[np.uint32(first[e])] + means[np.uint32(second[e])]
            amounts[e] = x
            mean += shares[e] * x
        means[v] = mean


@kernel
def downward(forest, shares, nodes, amounts, sums):
    """Turn the `amounts` that `upward` left into D(e); `sums` are the means that it found, and room for as many."""
    starts, first, second = forest
    means, above = sums
    count = len(starts) - 1
    above[:count] = 0.0
    for v in range(count - 1, 0, -1):
        p = nodes[v]
        h = above[v] - p * means[v]
        for e in range(np.uint32(starts[v]), np.uint32(starts[v + 1])):
            x = shares[e] * (p * amounts[e] + h)
            amounts[e] = x
            above[np.uint32(first[e])] += x
            above[np.uint32(second[e])] += x
