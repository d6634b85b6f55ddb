"""Covariances of many statistics on forests and their share of the gradient: all derivations, and a plain twin."""

import numpy as np
import pytest

from nbest.objectives.backends import StatCredit
from nbest.objectives.forest_curvature import CurvedPairs
from nbest.objectives.forest_moments import ForestBlocked
from nbest.testing.forests import derivation_sums, enumerate_derivations, toy_forests

MEASURES = 11
SETS = {
    "own": [(j, j) for j in range(MEASURES)],
    "crossed": [(0, 10), (1, 3), (2, 9), (4, 5)],
    "all": [(a, b) for a in range(MEASURES) for b in range(a, MEASURES)],
    "five": [(1, 1), (1, 7), (4, 4), (7, 7), (4, 10), (8, 8)],
    "none": [],
}


def drawn(seed, name):
    rng = np.random.default_rng(seed)
    forests = toy_forests(seed, tails=4 if seed % 2 else 2, lattices=seed % 3 == 0, ties=seed % 4 == 0, limit=150)
    pairs = np.array(SETS[name], np.int64).reshape(-1, 2)
    quadratic = np.zeros((MEASURES, MEASURES))
    for a, b in pairs:
        quadratic[a, b] = quadratic[b, a] = rng.normal()
    stats = rng.integers(0, 4, (forests.edges, MEASURES)).astype(float)
    return forests, stats, pairs, StatCredit(rng.normal(size=MEASURES), quadratic)


def covariance_of_all(forests, stats, weights):
    """[M, M] sum over forests, from all derivations; and the mean."""
    total, mean = np.zeros((MEASURES, MEASURES)), np.zeros(MEASURES)
    for i in range(len(forests)):
        found = enumerate_derivations(forests, i)
        if not found:
            continue
        scores, sums = derivation_sums(found, forests.features) @ weights, derivation_sums(found, stats)
        p = np.exp(scores - np.logaddexp.reduce(scores))
        total += np.cov(sums.T, aweights=p, ddof=0) if len(found) > 1 else 0.0
        mean += p @ sums
    return total, mean


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("seed", range(6))
def test_covariance_and_gradient(seed, name):
    forests, stats, pairs, credit = drawn(seed, name)
    laid = ForestBlocked.of(forests, stats, scale=np.ones(3))
    weights = np.random.default_rng(seed).normal(size=3)

    def value(weights):
        covariance, mean = covariance_of_all(forests, stats, weights)
        return credit.linear @ mean + (credit.quadratic * covariance).sum()

    found = laid.posteriors(weights, 1.0, np.zeros(0), pairs)
    expected, mean = covariance_of_all(forests, stats, weights)
    wanted = np.zeros((MEASURES, MEASURES), bool)
    wanted[tuple(pairs.T)] = wanted[tuple(pairs.T[::-1])] = True
    np.testing.assert_allclose(found.covariance, np.where(wanted, expected, 0.0), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.mean, mean, rtol=1e-9)
    gradient, _ = laid.feature_sum(credit, pairs, temperature=0.0, gamma=1.0)
    moves = 1e-5 * np.eye(3)
    differences = [(value(weights + move) - value(weights - move)) / 2e-5 for move in moves]
    np.testing.assert_allclose(gradient, differences, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("name", SETS)
def test_equals_its_plain_twin(name, single):
    forests, stats, pairs, credit = drawn(5, name)
    laid = ForestBlocked.of(forests, stats, scale=np.ones(3), single=single)
    laid.posteriors(np.array([0.5, -1.0, 0.3]), 1.0, np.zeros(0), pairs)
    _, found = laid.feature_sum(credit, pairs, temperature=0.0, gamma=1.0)
    laid_stats = np.stack([laid.layout.spread(column) for column in stats.T], axis=1)
    for i in range(len(forests)):
        edges = slice(*laid.layout.edge_offsets[i : i + 2])
        expected = plain_worth(laid, i, laid_stats[edges], credit)
        np.testing.assert_allclose(found[edges], expected, rtol=1e-9, atol=1e-9)


def plain_worth(laid, i, stats, credit):
    """[E'_i] D(e) of one forest by the formulas, node by node, with all of W."""
    graph, low = laid.layout.graph, laid.layout.node_offsets[i]
    nodes = range(1, laid.layout.node_offsets[i + 1] - low)
    starts = graph.starts[low + i :]
    edges = slice(*laid.layout.edge_offsets[i : i + 2])
    tails, q = np.stack([graph.first[edges], graph.second[edges]], axis=1), laid.shares[edges]
    mu, worth = np.zeros((len(nodes) + 1, MEASURES)), np.zeros(len(nodes) + 1)
    slopes, above = np.zeros_like(mu), np.zeros_like(worth)
    delta, b = np.zeros_like(stats), np.zeros(len(stats))
    for v in nodes:
        into = range(starts[v], starts[v + 1])
        for e in into:
            mu[v] += q[e] * (stats[e] + mu[tails[e]].sum(axis=0))
        for e in into:
            delta[e] = stats[e] + mu[tails[e]].sum(axis=0) - mu[v]
            b[e] = stats[e] @ credit.linear + delta[e] @ credit.quadratic @ delta[e] + worth[tails[e]].sum()
            worth[v] += q[e] * b[e]
    out = np.zeros(len(stats))
    for v in reversed(nodes):
        p = laid.nodes[low + v]
        for e in range(starts[v], starts[v + 1]):
            out[e] = q[e] * (p * (b[e] - worth[v]) + slopes[v] @ delta[e] + above[v])
            for t in tails[e]:
                above[t] += out[e]
                slopes[t] += q[e] * slopes[v] + 2 * p * q[e] * (credit.quadratic @ delta[e])
    return out


def test_pairs():
    pairs = CurvedPairs.of(np.array([[2, 2], [2, 7], [5, 5]]))
    assert pairs.active.tolist() == [2, 5, 7]
    assert pairs.width == 4
    assert pairs.own.tolist() == [0, 1]
    assert pairs.crossed.tolist() == [[0, 2]]
    assert CurvedPairs.of(np.zeros((0, 2), np.int64)).width == 0
