"""What the second order adds to the passes over one forest, four statistics at a time.

With mu(v) the mean of the statistics below node v and delta(e) = s(e) + sum_t mu(t) - mu(head), the covariance of
the totals of a derivation is sum_e P(e) delta(e) delta(e)'. The gradient of linear . mu + tr(W C) is one pass down:

    D(e) = q(e) (P(v) (b(e) - B(v)) + g(v) . delta(e) + h(v)),     b(e) = r(e) + delta' W delta + sum_t B(t)
    g(t) += q(e) g(v) + 2 P(v) q(e) W delta(e),   h(t) += D(e),    B(v) = sum_e q(e) b(e)

which on lists (edges without tails, one node) is p (c - cbar). The covariance and its gradient are exact: no further
inside-outside pass for each statistic is needed, as in Li & Eisner (2009), section 5. Statistics that occur in no pair
are left out, and rows are padded with zeros. Cost: the means once, each delta three times.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nbest.base.types import Floats, Ints
from nbest.compute.compilation import kernel
from nbest.compute.lanes import WIDTH, lane, load, padded, spread, store


class CurvedPairs(NamedTuple):
    """The pairs of statistics in which a formula is curved, as places among the A statistics that occur in any."""

    active: Ints  # [A]
    own: Ints  # [Q] places (the first of those) of pairs of a statistic with itself
    crossed: Ints  # [Q', 2] places of the others

    @classmethod
    def of(cls, pairs: Ints) -> CurvedPairs:
        """Of pairs [Q + Q', 2] of statistics."""
        active = np.unique(pairs).astype(np.int64)
        places = np.searchsorted(active, pairs).astype(np.int64)
        same = places[:, 0] == places[:, 1]
        return cls(active, places[same, 0], places[~same])

    @property
    def width(self) -> int:
        """Length of padded rows of these statistics; 0 if there are none."""
        return padded(len(self.active))

    def covariance(self, squares: Floats, products: Floats, measures: int) -> Floats:
        """[M, M] from sums of squares [width] and of products [Q'], 0 where no pair is."""
        out = np.zeros((measures, measures))
        for place in self.own:
            out[self.active[place], self.active[place]] = squares[place]
        for (a, b), value in zip(self.active[self.crossed], products, strict=True):
            out[a, b] = out[b, a] = value
        return out

    def weights(self, quadratic: Floats) -> CurvedWeights:
        """Of a symmetric W [M, M] that is 0 outside of the pairs."""
        own, active = np.zeros((1, self.width)), self.active
        own[0, self.own] = quadratic[active[self.own], active[self.own]]
        places, sources = self.crossed.ravel(), self.crossed[:, ::-1].ravel()
        rows = np.zeros((len(places), self.width))
        rows[np.arange(len(places)), places] = quadratic[active[places], active[sources]]
        return CurvedWeights(own, sources, rows)


class CurvedWeights(NamedTuple):
    """W of W delta = own * delta + sum_k delta[sources[k]] * rows[k]."""

    own: Floats  # [1, width]
    sources: Ints  # [K]
    rows: Floats  # [K, width], one entry in each


@kernel
def fill_moments(forest, edges, curved, crossed, sums):
    """Fill the means below nodes; add P(e) delta(e)^2 to a row of squares [1, width], products of pairs to another."""
    starts, first, second = forest
    shares, nodes, posterior = edges
    rows, means = curved
    squares, products = sums
    means[0] = 0.0
    for v in range(1, len(starts) - 1):
        low, high = np.uint32(starts[v]), np.uint32(starts[v + 1])
        for c in range(0, rows.shape[1], WIDTH):
            mean = spread(0.0)
            for e in range(low, high):
                mean = mean + spread(shares[e]) * _below(e, c, first[e], second[e], curved)
            store(means, v, c, mean)
            if nodes[v] > 0.0:
                total = load(squares, 0, c)
                for e in range(low, high):
                    delta = _below(e, c, first[e], second[e], curved) - mean
                    total = total + spread(posterior[e]) * delta * delta
                store(squares, 0, c, total)
        if nodes[v] > 0.0:
            for k in range(len(crossed)):
                x, y = crossed[k]
                for e in range(low, high):
                    a, b = np.uint32(first[e]), np.uint32(second[e])
                    delta = rows[e, x] + means[a, x] + means[b, x] - means[v, x]
                    other = rows[e, y] + means[a, y] + means[b, y] - means[v, y]
                    products[k] += posterior[e] * delta * other


@kernel
def add_upward(forest, shares, curved, weights, amounts, means):
    """As `expectations.upward`, after delta' W delta has been added to the amount of each edge."""
    starts, first, second = forest
    delta = np.empty((1, weights.own.shape[1]))
    means[0] = 0.0
    for v in range(1, len(starts) - 1):
        mean = 0.0
        for e in range(np.uint32(starts[v]), np.uint32(starts[v + 1])):
            _fill_delta(e, v, first[e], second[e], curved, delta=delta)
            bent = 0.0
            for c in range(0, delta.shape[1], WIDTH):
                bent = _add_all(bent, load(delta, 0, c) * _turned(delta, c, weights))
            x = amounts[e] + bent + means[np.uint32(first[e])] + means[np.uint32(second[e])]
            amounts[e] = x
            mean += shares[e] * x
        means[v] = mean


@kernel
def downward_curved(forest, edges, curved, weights, amounts, sums):
    """As `expectations.downward`, with the slopes g; `sums` are the means of `add_upward`, room for as many, and g."""
    starts, first, second = forest
    shares, nodes = edges
    means, above, slopes = sums
    count = len(starts) - 1
    above[:count] = 0.0
    slopes[:count] = 0.0
    delta = np.empty((1, weights.own.shape[1]))
    for v in range(count - 1, 0, -1):
        p = nodes[v]
        h = above[v] - p * means[v]
        for e in range(np.uint32(starts[v]), np.uint32(starts[v + 1])):
            a, b, q = np.uint32(first[e]), np.uint32(second[e]), shares[e]
            _fill_delta(e, v, a, b, curved, delta=delta)
            x = p * amounts[e] + h
            for c in range(0, delta.shape[1], WIDTH):
                slope = load(slopes, v, c)
                x = _add_all(x, slope * load(delta, 0, c))
                share = spread(q) * (slope + spread(2.0 * p) * _turned(delta, c, weights))
                store(slopes, a, c, load(slopes, a, c) + share)
                store(slopes, b, c, load(slopes, b, c) + share)
            x *= q
            amounts[e] = x
            above[a] += x
            above[b] += x


@kernel
def _below(e, c, first, second, curved):
    """Four statistics of an edge with the means of its tails."""
    rows, means = curved
    return load(rows, e, c) + load(means, np.uint32(first), c) + load(means, np.uint32(second), c)


@kernel
def _fill_delta(e, v, first, second, curved, delta):
    for c in range(0, delta.shape[1], WIDTH):
        store(delta, 0, c, _below(e, c, first, second, curved) - load(curved[1], v, c))


@kernel
def _turned(delta, c, weights):
    """Four entries of W delta."""
    out = load(weights.own, 0, c) * load(delta, 0, c)
    for k in range(len(weights.sources)):
        out = out + spread(delta[0, np.uint32(weights.sources[k])]) * load(weights.rows, k, c)
    return out


@kernel
def _add_all(start, four):
    """One after the other, as a loop over statistics adds them."""
    return start + lane(four, 0) + lane(four, 1) + lane(four, 2) + lane(four, 3)
