"""The two passes of the Numba backend over forests: posteriors with their moments, and the weighted feature sum.

They answer the same calls as `nbest.objectives.moments.Blocked`, so an objective on lists is one on forests. Features
of forest i are columns [D, E_i], statistics [M, E_i]: each pass reads memory in order. Gradients are kept for each
forest and added in their order, so the result does not depend on the number of threads.

With mu(v) the mean of the statistics below node v and delta(e) = s(e) + sum_t mu(t) - mu(head), the covariance of
the totals of a derivation is sum_e P(e) delta(e) delta(e)'. The gradient of linear . mu + tr(W C) is one pass down:

    D(e) = q(e) (P(v) (b(e) - B(v)) + g(v) . delta(e) + h(v)),     b(e) = r(e) + delta' W delta + sum_t B(t)
    g(t) += q(e) g(v) + 2 P(v) q(e) W delta(e),   h(t) += D(e),    B(v) = sum_e q(e) b(e)

which on lists (edges without tails, one node) is p (c - cbar). The covariance and its gradient are exact: no further
inside-outside pass for each statistic is needed, as in Li & Eisner (2009), section 5.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from nbest.base.types import Floats, Ints
from nbest.compute.compilation import kernel
from nbest.compute.parallel import most, over_ranges
from nbest.compute.vectors import combine, dot
from nbest.corpus.layout import Layout, forest_of
from nbest.forests.expectations import downward, upward
from nbest.forests.posteriors import check_log_z, fill_inside, fill_outside
from nbest.objectives.backends import Moments, StatCredit

if TYPE_CHECKING:
    from nbest.corpus import Forests


@dataclass
class ForestBlocked:
    """Forests laid out for the passes, with room for what the first leaves for the second."""

    layout: Layout
    columns: Floats  # [E' * D]
    stats: Floats  # [E' * M]
    width: int  # D
    measures: int  # M
    scores: Floats  # [E'] gamma * weights . features
    shares: Floats  # [E'] probability of an edge given its head
    nodes: Floats  # [V'] posteriors of nodes
    posterior: Floats  # [E'] of edges
    rows: tuple[Ints, Floats] | None = None  # [A] statistics in which a formula of second order is curved, [E', A]

    @classmethod
    def of(cls, forests: Forests, stats: Floats | Ints, *, scale: Floats, single: bool = False) -> ForestBlocked:
        """Lay out features [E, D] divided by `scale` [D] (columns of scale 0 become 0), and statistics [E, M]."""
        layout = forests.layout
        size, width = layout.edge_offsets[-1], forests.features.shape[1]
        factors = np.divide(1.0, scale, out=np.zeros(width), where=scale > 0)
        columns = np.zeros(size * width, np.float32 if single or forests.features.dtype == np.float32 else np.float64)
        laid = np.zeros(size * stats.shape[1], np.float32 if single else np.float64)
        edges = np.zeros(0, np.int64) if layout.edges is None else layout.edges
        _lay_out(np.ascontiguousarray(forests.features), layout.edge_offsets, edges, factors, columns)
        _lay_out(np.ascontiguousarray(stats, np.float64), layout.edge_offsets, edges, np.ones(stats.shape[1]), laid)
        scores, shares, posterior = np.zeros((3, size))
        nodes = np.zeros(layout.node_offsets[-1])
        return cls(
            layout, columns, laid, width, stats.shape[1], scores=scores, shares=shares, nodes=nodes, posterior=posterior
        )

    def posteriors(self, weights: Floats, gamma: float, extra: Floats, pairs: Ints) -> Moments:
        """First pass: mean of the totals, their covariance for the wanted pairs, entropy."""
        forests = len(self.layout)
        means, second = np.zeros((forests, self.measures)), np.zeros((forests, len(pairs)))
        entropy, log_z = np.zeros(forests), np.zeros(forests)
        active, places = _active(pairs)
        data, graph, curved = (self.columns, self.stats), self.layout.graph, (self._rows(active), places)
        left, found = (self.scores, self.shares, self.nodes, self.posterior), (means, second, entropy, log_z)
        over_ranges(
            lambda low, high: _posteriors(
                low, high, graph, data, weights * gamma, curved=curved, left=left, found=found
            ),
            graph.edge_offsets,
        )
        check_log_z(log_z)
        covariance = np.zeros((self.measures, self.measures))
        for (a, b), values in zip(pairs, second.T, strict=True):
            covariance[a, b] = covariance[b, a] = values.sum()
        return Moments(means.sum(axis=0), covariance, float(entropy.sum()))

    def feature_sum(
        self, credit: StatCredit, pairs: Ints, *, temperature: float, gamma: float, start: Floats | None = None
    ) -> tuple[Floats, Floats]:
        """Second pass: the gradient [D] of linear . mu + tr(W C) - temperature * entropy, and D(e) [E'].

        W [M, M] is symmetric, zero outside `pairs`; `start` [E'] is added to what each edge is worth.
        """
        amounts = np.zeros(len(self.posterior)) if start is None else start
        gradients = np.zeros((len(self.layout), self.width))
        active, places = _active(pairs)
        rows, curves = self._rows(active), np.array([credit.quadratic[a, b] for a, b in pairs])
        data, graph, curved = (self.columns, self.stats), self.layout.graph, (rows, places, curves)
        left, out, worth = (self.scores, self.shares, self.nodes), (amounts, gradients), (credit.linear, temperature)
        over_ranges(
            lambda low, high: _feature_sum(low, high, graph, data, worth, curved=curved, left=left, out=out),
            graph.edge_offsets,
        )
        return gamma * gradients.sum(axis=0), amounts

    def _rows(self, active: Ints) -> Floats:
        """[E', A] these statistics, made once."""
        if self.rows is None or not np.array_equal(self.rows[0], active):
            rows = np.empty((len(self.posterior), len(active)), self.stats.dtype)
            _to_rows(self.layout.edge_offsets, self.stats, self.measures, active, rows)
            self.rows = active, rows
        return self.rows[1]


def _active(pairs: Ints) -> tuple[Ints, Ints]:
    """The statistics that occur in pairs, and the pairs as places among them."""
    active = np.unique(pairs).astype(np.int64)
    return active, np.searchsorted(active, pairs).astype(np.int64)


@kernel
def _lay_out(rows, edge_offsets, edges, factors, out):
    """[E, C] by rows to [C, E_i] by forest, times a factor for each column; extra edges keep 0."""
    width = rows.shape[1]
    for i in range(len(edge_offsets) - 1):
        low = edge_offsets[i]
        size = edge_offsets[i + 1] - low
        for k in range(size):
            row = edges[low + k] if len(edges) else low + k
            if row >= 0:
                for c in range(width):
                    out[low * width + c * size + k] = rows[row, c] * factors[c]


@kernel
def _to_rows(edge_offsets, stats, measures, active, out):
    for i in range(len(edge_offsets) - 1):
        low, high = edge_offsets[i], edge_offsets[i + 1]
        s = stats[low * measures : high * measures].reshape((measures, high - low))
        for e in range(high - low):
            for j in range(len(active)):
                out[low + e, j] = s[active[j], e]


@kernel
def _means(forest, shares, rows, means):
    """Mean below each node of the curved statistics."""
    starts, first, second = forest
    means[0] = 0.0
    for v in range(1, len(starts) - 1):
        means[v] = 0.0
        for e in range(np.uint32(starts[v]), np.uint32(starts[v + 1])):
            a, b, q = np.uint32(first[e]), np.uint32(second[e]), shares[e]
            for j in range(rows.shape[1]):
                means[v, j] += q * (rows[e, j] + means[a, j] + means[b, j])


@kernel
def _deviations(forest, e, v, curved, delta):
    a, b = np.uint32(forest.first[e]), np.uint32(forest.second[e])
    rows, means = curved
    for j in range(len(delta)):
        delta[j] = rows[e, j] + means[a, j] + means[b, j] - means[v, j]


@kernel
def _turned(delta, places, curves, out):
    """Fill `out` with W delta; delta' W delta."""
    out[:] = 0.0
    total = 0.0
    for k in range(len(curves)):
        a, b, w = places[k, 0], places[k, 1], curves[k]
        out[a] += w * delta[b]
        if a != b:
            out[b] += w * delta[a]
    for j in range(len(delta)):
        total += delta[j] * out[j]
    return total


@kernel
def _posteriors(low, high, graph, data, weights, curved, left, found):
    columns, stats = data
    rows, places = curved
    scores, shares, nodes, used = left
    means, second_moments, entropy, log_z = found
    room = most(low, high, graph.node_offsets)
    shift = np.empty(room)
    value = np.empty(room)
    width, measures = len(weights), means.shape[1]
    size = rows.shape[1]
    below = np.empty((room if size else 0, size))
    delta = np.empty(size)
    for i in range(low, high):
        forest, (a, b), (c, d) = forest_of(graph, i)
        begin, p, n, score, q = forest.starts, used[c:d], nodes[a:b], scores[c:d], shares[c:d]
        score[:] = 0.0
        combine(score, weights, columns[c * width : d * width].reshape((width, d - c)))
        log_z[i] = fill_inside(forest, score, q, shift, value)
        fill_outside(forest, q, n)
        if log_z[i] == -np.inf:
            p[:] = 0.0
            continue
        for v in range(1, b - a):
            for e in range(np.uint32(begin[v]), np.uint32(begin[v + 1])):
                p[e] = n[v] * q[e]
        entropy[i] = max(log_z[i] - dot(p, score), 0.0)
        s = stats[c * measures : d * measures].reshape((measures, d - c))
        for j in range(measures):
            means[i, j] = dot(p, s[j])
        if size:
            _means(forest, q, rows[c:d], below)
            for v in range(1, b - a):
                if n[v] > 0.0:
                    for e in range(begin[v], begin[v + 1]):
                        _deviations(forest, e, v, (rows[c:d], below), delta)
                        for k in range(len(places)):
                            second_moments[i, k] += p[e] * delta[places[k, 0]] * delta[places[k, 1]]


@kernel
def _feature_sum(low, high, graph, data, worth, curved, left, out):
    columns, stats = data
    linear, temperature = worth
    rows, places, curves = curved
    scores, shares, nodes = left
    amounts, gradients = out
    room = most(low, high, graph.node_offsets)
    width, measures = gradients.shape[1], len(linear)
    means = np.empty(room)
    above = np.empty(room)
    size = rows.shape[1]
    below = np.empty((room if size else 0, size))
    slopes = np.empty_like(below)
    for i in range(low, high):
        forest, (a, b), (c, d) = forest_of(graph, i)
        n, q, x = nodes[a:b], shares[c:d], amounts[c:d]
        s = stats[c * measures : d * measures].reshape((measures, d - c))
        combine(x, linear, s)
        if temperature != 0.0:
            combine(x, np.full(1, temperature), scores[c:d].reshape((1, d - c)))
        if size:
            _means(forest, q, rows[c:d], below)
            _add_curved(forest, (rows[c:d], below), places, curves, x)
        upward(forest, q, x, means)
        if size:
            bent = (rows[c:d], below), places, curves, slopes
            _downward_curved(forest, q, n, bent, x, sums=(means, above))
        else:
            downward(forest, q, n, x, (means, above))
        f = columns[c * width : d * width].reshape((width, d - c))
        for k in range(width):
            gradients[i, k] = dot(x, f[k])


@kernel
def _add_curved(forest, curved, places, curves, amounts):
    starts, size = forest.starts, curved[0].shape[1]
    delta, turned = np.empty(size), np.empty(size)
    for v in range(1, len(starts) - 1):
        for e in range(starts[v], starts[v + 1]):
            _deviations(forest, e, v, curved, delta)
            amounts[e] += _turned(delta, places, curves, turned)


@kernel
def _downward_curved(forest, shares, nodes, bent, amounts, sums):
    starts, first, second = forest
    curved, places, curves, slopes = bent
    means, above = sums
    count, size = len(starts) - 1, slopes.shape[1]
    above[:count] = 0.0
    slopes[:count] = 0.0
    delta, turned = np.empty(size), np.empty(size)
    for v in range(count - 1, 0, -1):
        p = nodes[v]
        h = above[v] - p * means[v]
        for e in range(starts[v], starts[v + 1]):
            a, b, q = np.uint32(first[e]), np.uint32(second[e]), shares[e]
            _deviations(forest, e, v, curved, delta)
            _turned(delta, places, curves, turned)
            x = p * amounts[e] + h
            for j in range(size):
                x += slopes[v, j] * delta[j]
            x *= q
            amounts[e] = x
            above[a] += x
            above[b] += x
            for j in range(size):
                g = q * (slopes[v, j] + 2.0 * p * turned[j])
                slopes[a, j] += g
                slopes[b, j] += g
