"""Posteriors, entropy, expectations and covariances against the enumeration of all derivations."""

from unittest.mock import patch

import numpy as np
import pytest

from nbest.base.errors import ParameterError
from nbest.compute import segments
from nbest.corpus import Forests
from nbest.forests.derivations import forests_of
from nbest.forests.expectations import covariances, derivatives, expectations
from nbest.forests.posteriors import posteriors
from nbest.testing import toy_lists
from nbest.testing.forests import derivation_sums, enumerate_derivations, toy_forests

SHAPES = [
    {},
    {"tails": 4, "nodes": 6},
    {"ties": True},
    {"lattices": True, "nodes": 8},
    {"edges": 5, "tails": 2},
    {"nodes": 1, "edges": 6},
]


def made(seed, edges=3, **shape):
    """Toy forests with at most so many edges into a node."""
    with patch("nbest.testing.forests._EDGES", edges):
        return toy_forests(seed, **shape)


def scores_of(forests, seed, size=2.0, impossible=0.1):
    rng = np.random.default_rng(seed)
    scores = rng.normal(0.0, size, forests.edges)
    scores[rng.random(forests.edges) < impossible] = -np.inf
    return scores


def enumerated(forests, i, scores):
    """Derivations of forest i and their probabilities; None where all weigh nothing."""
    derivations = enumerate_derivations(forests, i)
    totals = derivation_sums(derivations, scores)
    if len(totals) == 0 or totals.max() == -np.inf:
        return derivations, None, -np.inf
    log_z = np.logaddexp.reduce(totals)
    return derivations, np.exp(totals - log_z), log_z


def check_posteriors(forests, scores, find=posteriors):
    found = find(forests, scores)
    for i in range(len(forests)):
        derivations, p, log_z = enumerated(forests, i, scores)
        edges = slice(forests.forest_edges[i], forests.forest_edges[i + 1])
        if p is None:
            assert found.log_z[i] == -np.inf
            assert not found.edges[edges].any()
            assert found.entropy[i] == 0.0
            continue
        assert found.log_z[i] == pytest.approx(log_z, rel=1e-12, abs=1e-9)
        used = np.zeros(forests.edges)
        for derivation, share in zip(derivations, p, strict=True):
            np.add.at(used, list(derivation.edges), share)
        np.testing.assert_allclose(found.edges[edges], used[edges], atol=1e-10)
        nodes = slice(forests.node_offsets[i], forests.node_offsets[i + 1])
        heads = segments.sums(found.edges, forests.edge_offsets)[nodes]
        np.testing.assert_allclose(found.nodes[nodes], heads, atol=1e-10)
        positive = p[p > 0]
        assert found.entropy[i] == pytest.approx(-(positive * np.log(positive)).sum(), abs=1e-9 * max(1, abs(log_z)))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", range(10))
def test_posteriors_equal_enumeration(shape, seed):
    forests = made(seed, **shape)
    check_posteriors(forests, scores_of(forests, seed))
    check_posteriors(forests, scores_of(forests, seed, size=1e4))
    check_posteriors(forests, scores_of(forests, seed, impossible=0.0) - 1e5)


def test_the_check_rejects_posteriors_by_identity():
    """A node that an edge uses twice must count twice."""

    def once(forests, scores):
        found = posteriors(forests, scores)
        return type(found)(found.log_z, np.minimum(found.edges, 1.0), found.nodes, found.shares, found.entropy)

    forests = toy_forests(1, forests=40)
    with pytest.raises(AssertionError):
        check_posteriors(forests, scores_of(forests, 1), once)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", range(6))
def test_expectations_equal_enumeration(shape, seed):
    forests = made(seed, **shape)
    scores = scores_of(forests, seed)
    other = np.random.default_rng(seed).normal(size=forests.edges)
    means = expectations(forests, scores, forests.features)
    spreads = covariances(forests, scores, forests.features, other)
    for i in range(len(forests)):
        derivations, p, _ = enumerated(forests, i, scores)
        if p is None:
            assert not means[i].any()
            assert not spreads[i].any()
            continue
        values, others = derivation_sums(derivations, forests.features), derivation_sums(derivations, other)
        np.testing.assert_allclose(means[i], p @ values, atol=1e-10)
        np.testing.assert_allclose(spreads[i], (p * (others - p @ others)) @ values, atol=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_derivatives_are_those_of_expectations(seed):
    forests = toy_forests(seed, forests=3)
    scores = scores_of(forests, seed, impossible=0.0)
    other = np.random.default_rng(seed).normal(size=forests.edges)
    found = derivatives(forests, scores, other)
    for e in range(0, forests.edges, 3):
        step = np.zeros(forests.edges)
        step[e] = 1e-6
        above, below = (expectations(forests, scores + sign * step, other).sum() for sign in (1, -1))
        assert found[e] == pytest.approx((above - below) / 2e-6, abs=1e-8)


def test_threads_do_not_matter():
    forests = toy_forests(1, forests=40)
    scores = scores_of(forests, 1)
    one, three = posteriors(forests, scores, 1), posteriors(forests, scores, 3)
    for name in ("log_z", "edges", "nodes", "shares", "entropy"):
        assert np.array_equal(getattr(one, name), getattr(three, name))


def test_lists_as_forests_are_lists():
    corpus = toy_lists(3)
    scores = corpus.features @ np.array([1.0, -2.0, 0.5])
    found = posteriors(forests_of(corpus), scores)
    np.testing.assert_allclose(found.edges, segments.softmax(scores, corpus.offsets), rtol=1e-13)
    np.testing.assert_allclose(found.log_z, segments.logsumexp(scores, corpus.offsets), rtol=1e-13)


def test_bad_scores_are_refused():
    forests = toy_forests(1)
    with pytest.raises(ParameterError, match="one number for each"):
        posteriors(forests, np.zeros(3))
    with pytest.raises(ParameterError, match="below infinity"):
        posteriors(forests, np.full(forests.edges, np.nan))
    chain = long_lattice(3)
    with pytest.raises(ParameterError, match="exceed the range"):
        posteriors(chain, np.full(chain.edges, 1.7e308))


def test_a_forest_of_a_million_edges():
    """A long lattice: two links between neighbours, half a million nodes deep."""
    nodes = 500_001
    forests = long_lattice(nodes)
    scores = np.tile([0.0, np.log(3.0)], nodes)[: forests.edges]
    scores[0] = 0.0
    found = posteriors(forests, scores)
    assert found.log_z[0] == pytest.approx((nodes - 1) * np.log(4.0), rel=1e-10)
    np.testing.assert_allclose(found.nodes, 1.0, atol=1e-9)
    assert found.edges[1:].reshape(-1, 2).sum(axis=1) == pytest.approx(np.ones(nodes - 1))


def long_lattice(nodes):
    counts = np.array([1, *[2] * (nodes - 1)])
    return Forests(
        node_offsets=np.array([0, nodes]),
        edge_offsets=np.concatenate([[0], np.cumsum(counts)]),
        tail_offsets=np.arange(-1, 2 * nodes - 1).clip(0),
        tails=np.repeat(np.arange(nodes - 1), 2),
        features=np.zeros((2 * nodes - 1, 1)),
        feature_names=("f",),
        ids=("0",),
    )
