"""Inside and outside in real numbers: posteriors of edges and nodes, expectations, covariances, entropy.

The inside pass keeps, for every node, a shift (a logarithm) and a value relative to it, so that nothing overflows
whatever the scores or the number of derivations; what it leaves is the share of each edge among the derivations of its
head,

    q(e) = w(e) prod_t I(t) / I(head(e)),       sum over the edges of a node = 1,

from which everything else follows without logarithms: the posterior of an edge is P(e) = P(head) q(e), of a node the
sum over the edges it is a tail of (by position), and the mean of an additive function r below a node is
R(v) = sum_e q(e) (r(e) + sum_t R(t)).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch

import numpy as np

from nbest.base.errors import ParameterError
from nbest.base.types import Floats
from nbest.compute import segments
from nbest.compute.compilation import kernel
from nbest.compute.intrinsics import fast_exp
from nbest.compute.parallel import over_ranges
from nbest.compute.vectors import most
from nbest.corpus import Forests, NBest
from nbest.corpus.contract import Corpus, no_answer
from nbest.corpus.layout import Layout, forest_of

_LARGE = 1e100  # values relative to the shift beyond which the shift is moved; products of two must not overflow


@dataclass(frozen=True)
class Posteriors:
    """Of all derivations under weights exp(sum of scores): an empty forest has log_z -inf and zeros."""

    log_z: Floats  # [N] log of the sum of weights of all derivations
    edges: Floats  # [E] how often an edge is used, in expectation
    nodes: Floats  # [V]
    shares: Floats  # [E] q(e), probability of an edge given its head (0 for a head without derivation)
    entropy: Floats  # [N] of the distribution over derivations, in nats


def posteriors(forests: Forests, scores: Floats, threads: int | None = None) -> Posteriors:
    """Posteriors of edges and nodes under edge scores [E] (natural logarithms; -inf excludes an edge)."""
    layout, scores = forests.layout, checked_scores(forests, scores)
    log_z, shares, nodes = run_both(layout, layout.spread(scores), threads)
    shares = layout.gather(shares)
    inner = layout.gather_nodes(nodes)
    edges = shares * np.repeat(inner, segments.lengths(forests.edge_offsets))
    mean = segments.sums(edges * np.where(np.isfinite(scores), scores, 0.0), forests.forest_edges)
    entropy = np.where(np.isfinite(log_z), np.maximum(log_z - mean, 0.0), 0.0)
    return Posteriors(log_z, edges, inner, shares, entropy)


def checked_scores(forests: Forests, scores: Floats) -> Floats:
    """Scores as float64 [E], neither NaN nor +inf."""
    scores = np.asarray(scores, np.float64)
    if scores.shape != (forests.edges,):
        raise ParameterError(f"'scores' must be one number for each of {forests.edges} edges, got shape {scores.shape}")
    if np.isnan(scores).any() or (scores == np.inf).any():
        raise ParameterError("'scores' of edges must be numbers below infinity")
    return scores


def run_both(layout: Layout, scores: Floats, threads: int | None = None) -> tuple[Floats, Floats, Floats]:
    """log Z [N], shares [E'] and node posteriors [V'] of scores [E']."""
    log_z = np.empty(len(layout))
    shares = np.empty(len(scores))
    nodes = np.empty(layout.node_offsets[-1])
    found = log_z, shares, nodes
    over_ranges(lambda low, high: _run(low, high, layout.graph, scores, found), layout.edge_offsets, threads)
    check_log_z(log_z)
    return found


def check_log_z(log_z: Floats) -> None:
    """Complain of weights so large that even logarithms overflow."""
    if np.isnan(log_z).any() or (log_z == np.inf).any():
        raise ParameterError("the scores of whole derivations exceed the range of numbers; scale the weights down")


@kernel
def _run(low, high, graph, scores, found):
    log_z, shares, nodes = found
    size = most(low, high, graph.node_offsets)
    shift = np.empty(size)
    value = np.empty(size)
    for i in range(low, high):
        forest, (a, b), (c, d) = forest_of(graph, i)
        log_z[i] = fill_inside(forest, scores[c:d], shares[c:d], shift, value)
        fill_outside(forest, shares[c:d], nodes[a:b])


@kernel
def fill_inside(forest, scores, shares, shift, value):
    """Fill the shares of the edges of one forest; log Z. Node v's inside value is value[v] exp(shift[v])."""
    starts, first, second = forest
    count = len(starts) - 1
    if count < 2:
        return -np.inf
    shift[0] = 0.0
    value[0] = 1.0
    for v in range(1, count):
        low, high = np.uint32(starts[v]), np.uint32(starts[v + 1])
        top = -np.inf
        for e in range(low, high):
            x = scores[e] + shift[np.uint32(first[e])] + shift[np.uint32(second[e])]
            shares[e] = x
            top = x if x > top else top
        if top == -np.inf:
            shift[v] = -np.inf
            value[v] = 0.0
            for e in range(low, high):
                shares[e] = 0.0
            continue
        total = 0.0
        for e in range(low, high):
            x = fast_exp(shares[e] - top) * value[np.uint32(first[e])] * value[np.uint32(second[e])]
            shares[e] = x
            total += x
        inverse = 1.0 / total
        for e in range(low, high):
            shares[e] *= inverse
        if total > _LARGE:
            top += np.log(total)
            total = 1.0
        shift[v] = top
        value[v] = total
    return shift[count - 1] + np.log(value[count - 1])


@kernel
def fill_outside(forest, shares, nodes):
    """Fill the posteriors of the nodes of one forest from the shares."""
    starts, first, second = forest
    count = len(starts) - 1
    nodes[:] = 0.0
    if count < 2 or starts[count - 1] == starts[count]:
        return
    total = 0.0
    for e in range(starts[count - 1], starts[count]):
        total += shares[e]
    nodes[count - 1] = 1.0 if total > 0.0 else 0.0
    for v in range(count - 1, 0, -1):
        p = nodes[v]
        if p == 0.0:
            continue
        for e in range(np.uint32(starts[v]), np.uint32(starts[v + 1])):
            x = p * shares[e]
            nodes[np.uint32(first[e])] += x
            nodes[np.uint32(second[e])] += x
    nodes[0] = 0.0


@singledispatch
def filled(corpus: Corpus) -> int:
    """How many segments have something to choose."""
    raise no_answer("filled", corpus)


@filled.register(NBest)
def _(corpus: NBest) -> int:
    return int((corpus.lengths > 0).sum())


@filled.register(Forests)
def _(corpus: Forests) -> int:
    return int((posteriors(corpus, np.zeros(corpus.edges)).log_z > -np.inf).sum())
