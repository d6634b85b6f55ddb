"""The likelihood against enumeration."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import lists

from nbest.objectives import Likelihood, Quadratic, Shard, scales, value_and_gradient
from nbest.testing import toy_lists

weights_of_two = st.lists(st.floats(-3, 3), min_size=2, max_size=2).map(np.array)


def by_enumeration(corpus, weights, variance):
    losses = corpus.metric.losses(corpus.stats)
    value, slope = 0.0, np.zeros(len(weights))
    for low, high in zip(corpus.offsets[:-1], corpus.offsets[1:], strict=True):
        if low == high:
            continue
        mass = [math.exp(float(row @ weights)) for row in corpus.features[low:high]]
        gold = [loss == min(losses[low:high]) for loss in losses[low:high]]
        value -= math.log(sum(m for m, g in zip(mass, gold, strict=True) if g) / sum(mass))
        for row, m, g in zip(corpus.features[low:high], mass, gold, strict=True):
            slope += row * m / sum(mass) - (row * m / sum(n for n, k in zip(mass, gold, strict=True) if k) if g else 0)
    prior = sum(float(w) ** 2 / (2 * v) for w, v in zip(weights, variance, strict=True))
    return value + prior, slope + weights / np.array(variance)


@settings(deadline=None, max_examples=150)
@given(lists(), weights_of_two, st.lists(st.sampled_from([0.25, 1.0, math.inf]), min_size=2, max_size=2))
def test_value_and_gradient(corpus, weights, variance):
    shard = Shard(corpus, np.ones(2), corpus.metric.losses(corpus.stats))
    value, slope = value_and_gradient(Likelihood(Quadratic(np.array(variance))), weights, [shard])
    expected = by_enumeration(corpus, weights, variance)
    assert value == pytest.approx(expected[0], rel=1e-9, abs=1e-9)
    np.testing.assert_allclose(slope, expected[1], rtol=1e-9, atol=1e-9)


@settings(deadline=None, max_examples=50)
@given(lists(), weights_of_two)
def test_scaled_columns(corpus, weights):
    """Weights are in units of scaled features; a scale of 0 leaves a column out."""
    objective, losses = Likelihood(Quadratic(np.full(2, np.inf))), corpus.metric.losses(corpus.stats)
    plain = value_and_gradient(objective, weights / [2.0, 0.5], [Shard(corpus, np.ones(2), losses)])
    scaled = value_and_gradient(objective, weights, [Shard(corpus, np.array([2.0, 0.5]), losses)])
    assert scaled[0] == pytest.approx(plain[0], rel=1e-9, abs=1e-9)
    np.testing.assert_allclose(scaled[1], plain[1] / [2.0, 0.5], atol=1e-9)
    without = value_and_gradient(objective, weights, [Shard(corpus, np.array([1.0, 0.0]), losses)])
    alone = value_and_gradient(objective, weights * [1, 0], [Shard(corpus, np.ones(2), losses)])
    assert without[0] == pytest.approx(alone[0], rel=1e-9, abs=1e-9)
    assert without[1][1] == 0


def test_sparse_columns_count_as_dense_ones():
    corpus = toy_lists(sparse=True)
    plain = replace(corpus, sparse=None, sparse_names=())
    dense = plain.with_features(corpus.sparse_names, corpus.sparse.toarray())
    weights = np.linspace(-1, 1, 11)
    losses = corpus.metric.losses(corpus.stats)
    found, expected = (
        value_and_gradient(Likelihood(Quadratic(np.ones(11))), weights, [Shard(c, np.ones(11), losses)])
        for c in (corpus, dense)
    )
    assert found[0] == pytest.approx(expected[0], rel=1e-12)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-9, atol=1e-9)


def test_scales_of_sparse_columns_are_root_mean_squares():
    corpus = toy_lists(sparse=True)
    found = scales(corpus, np.array([3.0, 4.0, 5.0]))
    assert found[:3].tolist() == [3, 4, 5]
    np.testing.assert_allclose(found[3:], np.sqrt((corpus.sparse.toarray() ** 2).mean(axis=0)))


def test_large_weights_stay_finite():
    corpus = toy_lists()
    shard = Shard(corpus, np.ones(3), corpus.metric.losses(corpus.stats))
    for size in (1e3, 1e8, 1e15):
        value, slope = value_and_gradient(
            Likelihood(Quadratic(np.full(3, np.inf))), np.array([size, size, size]), [shard]
        )
        assert np.isfinite(value)
        assert np.isfinite(slope).all()
