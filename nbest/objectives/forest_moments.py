"""The two passes of the Numba backend over forests: posteriors with their moments, and the weighted feature sum.

They answer the same calls as `nbest.objectives.moments.Blocked`, so an objective on lists is one on forests. Features
of forest i are columns [D, E_i], statistics [M, E_i]: each pass reads memory in order. Gradients are kept for each
forest and added in their order, so the result does not depend on the number of threads.
What the second order adds is in `forest_curvature`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from nbest.base.types import Floats, Ints
from nbest.compute.compilation import kernel
from nbest.compute.parallel import over_ranges
from nbest.compute.vectors import combine, dot, most
from nbest.corpus.layout import Layout, forest_of
from nbest.forests.expectations import downward, upward
from nbest.forests.posteriors import check_log_z, fill_inside, fill_outside
from nbest.objectives.backends import Moments, StatCredit
from nbest.objectives.forest_curvature import CurvedPairs, add_upward, downward_curved, fill_moments

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
    curved: tuple[Ints, Floats, Floats] | None = (
        None  # [A] statistics of pairs; them [E', A'], means below nodes [V', A']
    )

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
        curves = CurvedPairs.of(pairs)
        means, entropy, log_z = np.zeros((forests, self.measures)), np.zeros(forests), np.zeros(forests)
        squares, products = np.zeros((forests, curves.width)), np.zeros((forests, len(curves.crossed)))
        data, graph, curved = (self.columns, self.stats), self.layout.graph, (*self._curved(curves), curves.crossed)
        left, found = (self.scores, self.shares, self.nodes, self.posterior), (means, entropy, log_z)
        over_ranges(
            lambda low, high: _posteriors(
                low,
                high,
                graph,
                data,
                weights * gamma,
                curved=curved,
                left=left,
                found=found,
                second=(squares, products),
            ),
            graph.edge_offsets,
        )
        check_log_z(log_z)
        squares, products = (np.array([column.sum() for column in each.T]) for each in (squares, products))
        covariance = curves.covariance(squares, products, self.measures)
        return Moments(means.sum(axis=0), covariance, float(entropy.sum()))

    def feature_sum(
        self, credit: StatCredit, pairs: Ints, *, temperature: float, gamma: float, start: Floats | None = None
    ) -> tuple[Floats, Floats]:
        """Second pass: the gradient [D] of linear . mu + tr(W C) - temperature * entropy, and D(e) [E'].

        W [M, M] is symmetric, zero outside `pairs`; `start` [E'] is added to what each edge is worth.
        """
        amounts = np.zeros(len(self.posterior)) if start is None else start
        gradients = np.zeros((len(self.layout), self.width))
        curves = CurvedPairs.of(pairs)
        data, graph, curved = (self.columns, self.stats), self.layout.graph, self._curved(curves)
        bent = curves.weights(credit.quadratic)
        left, out, worth = (self.scores, self.shares, self.nodes), (amounts, gradients), (credit.linear, temperature)
        over_ranges(
            lambda low, high: _feature_sum(low, high, graph, data, worth, curved=(*curved, bent), left=left, out=out),
            graph.edge_offsets,
        )
        return gamma * gradients.sum(axis=0), amounts

    def _curved(self, pairs: CurvedPairs) -> tuple[Floats, Floats]:
        """[E', A'] the statistics of these pairs, made once, and [V', A'] their means, which the first pass fills."""
        if self.curved is None or not np.array_equal(self.curved[0], pairs.active):
            rows = np.zeros((len(self.posterior), pairs.width), self.stats.dtype)
            _to_rows(self.layout.edge_offsets, self.stats, self.measures, pairs.active, rows)
            self.curved = pairs.active, rows, np.zeros((len(self.nodes), pairs.width))
        return self.curved[1:]


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
def _posteriors(low, high, graph, data, weights, curved, left, found, second):
    columns, stats = data
    rows, below, crossed = curved
    scores, shares, nodes, used = left
    means, entropy, log_z = found
    squares, products = second
    room = most(low, high, graph.node_offsets)
    shift = np.empty(room)
    value = np.empty(room)
    width, measures = len(weights), means.shape[1]
    for i in range(low, high):
        forest, (a, b), (c, d) = forest_of(graph, i)
        begin, p, n, score, q = forest.starts, used[c:d], nodes[a:b], scores[c:d], shares[c:d]
        score[:] = 0.0
        combine(score, weights, columns[c * width : d * width].reshape((width, d - c)))
        log_z[i] = fill_inside(forest, score, q, shift, value)
        fill_outside(forest, q, n)
        if log_z[i] == -np.inf:
            p[:] = 0.0
            below[a:b] = 0.0
            continue
        for v in range(1, b - a):
            for e in range(np.uint32(begin[v]), np.uint32(begin[v + 1])):
                p[e] = n[v] * q[e]
        entropy[i] = max(log_z[i] - dot(p, score), 0.0)
        s = stats[c * measures : d * measures].reshape((measures, d - c))
        for j in range(measures):
            means[i, j] = dot(p, s[j])
        if rows.shape[1]:
            fill_moments(forest, (q, n, p), (rows[c:d], below[a:b]), crossed, sums=(squares[i : i + 1], products[i]))


@kernel
def _feature_sum(low, high, graph, data, worth, curved, left, out):
    columns, stats = data
    linear, temperature = worth
    rows, below, bent = curved
    scores, shares, nodes = left
    amounts, gradients = out
    room = most(low, high, graph.node_offsets)
    width, measures = gradients.shape[1], len(linear)
    means = np.empty(room)
    above = np.empty(room)
    slopes = np.empty((room if rows.shape[1] else 0, rows.shape[1]))
    for i in range(low, high):
        forest, (a, b), (c, d) = forest_of(graph, i)
        n, q, x = nodes[a:b], shares[c:d], amounts[c:d]
        s = stats[c * measures : d * measures].reshape((measures, d - c))
        combine(x, linear, s)
        if temperature != 0.0:
            combine(x, np.full(1, temperature), scores[c:d].reshape((1, d - c)))
        if rows.shape[1]:
            own = rows[c:d], below[a:b]
            add_upward(forest, q, own, bent, x, means=means)
            downward_curved(forest, (q, n), own, bent, x, sums=(means, above, slopes))
        else:
            upward(forest, q, x, means)
            downward(forest, q, n, x, (means, above))
        f = columns[c * width : d * width].reshape((width, d - c))
        for k in range(width):
            gradients[i, k] = dot(x, f[k])
