"""Five roads to the expected metric: the convolution is exact, the others come near it as they should."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import lists

from nbest.base.errors import CapabilityError, ParameterError
from nbest.compute import segments
from nbest.metrics import BLEU, F1, WER, Precision, Recall
from nbest.objectives.estimators import ESTIMATORS, convolution, distribution, expected, moments, monte_carlo

FORMULAS = {"precision": Precision().smooth, "f1": F1().smooth, "f2": F1(beta=2.0).smooth, "recall": Recall().smooth}


def drawn(seed, count, longest=4, gold_varies=False):
    """Scores, statistics (correct, guessed, gold) and offsets of random lists, none of them empty."""
    rng = np.random.default_rng(seed)
    offsets = segments.offsets_of(rng.integers(2, longest + 1, count))
    owners = segments.owners(offsets)
    gold = rng.integers(2, 7, len(owners)) if gold_varies else rng.integers(2, 7, count)[owners]
    guessed = rng.integers(1, 7, len(owners))
    correct = np.floor(rng.random(len(owners)) * (np.minimum(guessed, gold) + 1))
    return rng.normal(size=len(owners)), np.stack([correct, guessed, gold], axis=1).astype(np.float64), offsets


def by_enumeration(formula, posterior, stats, offsets):
    """The sum over all choices of one hypothesis a list, one term each."""
    filled = [range(a, b) for a, b in zip(offsets[:-1], offsets[1:], strict=True) if a < b]
    terms = []
    for choice in product(*filled):
        totals = [math.fsum(stats[h, m] for h in choice) for m in range(stats.shape[1])]
        terms.append(math.prod(posterior[h] for h in choice) * float(formula(totals)))
    return math.fsum(terms)


@settings(deadline=None, max_examples=150)
@given(lists(metrics=("wer", "bleu", "f1")), st.lists(st.floats(-2, 2), min_size=2, max_size=2))
def test_convolution_is_enumeration(corpus, weights):
    posterior = segments.softmax(corpus.features @ np.array(weights), corpus.offsets)
    formula = corpus.metric.smooth
    found = expected(formula, posterior, corpus.stats, corpus.offsets, "convolution")
    assert found == pytest.approx(
        by_enumeration(formula, posterior, corpus.stats, corpus.offsets), rel=1e-12, abs=1e-12
    )


@pytest.mark.parametrize("name", FORMULAS)
@pytest.mark.parametrize("gold_varies", [False, True])
def test_convolution_is_enumeration_for_elements(name, gold_varies):
    for seed in range(10):
        scores, stats, offsets = drawn(seed, 5, gold_varies=gold_varies)
        posterior = segments.softmax(scores, offsets)
        found = expected(FORMULAS[name], posterior, stats, offsets, "convolution")
        assert found == pytest.approx(by_enumeration(FORMULAS[name], posterior, stats, offsets), rel=1e-12)


@settings(deadline=None, max_examples=50)
@given(lists(metrics=("f1",)))
def test_the_distribution_is_one_with_the_right_moments(corpus):
    posterior = segments.softmax(corpus.features[:, 0], corpus.offsets)
    table, varying, low = distribution(posterior, corpus.stats, corpus.offsets)
    mean, covariance = moments(posterior, corpus.stats, corpus.offsets)
    assert table.sum() == pytest.approx(1.0, rel=1e-12)
    places = np.indices(table.shape).reshape(len(varying), table.size) + low[varying][:, None]
    np.testing.assert_allclose(places @ table.ravel(), mean[varying], atol=1e-9)
    centred = places - mean[varying][:, None]
    found = (centred * table.ravel()) @ centred.T
    np.testing.assert_allclose(found, covariance[np.ix_(varying, varying)], atol=1e-9)
    fixed = np.setdiff1d(np.arange(3), varying)
    np.testing.assert_allclose(low[fixed], mean[fixed], atol=1e-9)


def gaps(how, name, count, gamma=1.0, seeds=range(20)):
    """The median distance to the exact expectation."""
    found = []
    for seed in seeds:
        scores, stats, offsets = drawn(seed, count)
        posterior = segments.softmax(gamma * scores, offsets)
        exact = convolution(FORMULAS[name], posterior, stats, offsets)
        found.append(abs(expected(FORMULAS[name], posterior, stats, offsets, how) - exact))
    return float(np.median(found))


@pytest.mark.parametrize("name", ["precision", "f1"])
@pytest.mark.parametrize("how", ["taylor1", "taylor2", "normal"])
def test_the_gap_closes_as_the_corpus_grows(name, how):
    small, middle, large = (gaps(how, name, count) for count in (3, 12, 48))
    assert large < 0.6 * middle < 0.4 * small


@pytest.mark.parametrize("name", ["precision", "f1"])
@pytest.mark.parametrize("how", ["taylor1", "taylor2", "normal"])
def test_the_gap_closes_as_gamma_rises(name, how):
    blunt, sharp, sharpest = (gaps(how, name, 6, gamma) for gamma in (0.5, 20.0, 1e5))
    assert sharp < blunt
    assert sharpest < 1e-9


@pytest.mark.parametrize("name", ["precision", "f1"])
def test_the_second_order_is_nearer_than_the_first(name):
    for count in (6, 12, 48):
        assert gaps("taylor2", name, count) < 0.5 * gaps("taylor1", name, count)
        assert gaps("normal", name, count) < 0.5 * gaps("taylor1", name, count)


@pytest.mark.parametrize("name", FORMULAS)
def test_sampling_is_within_its_error(name):
    for seed in range(20):
        scores, stats, offsets = drawn(seed, 5, gold_varies=seed % 2 == 0)
        posterior = segments.softmax(scores, offsets)
        exact = convolution(FORMULAS[name], posterior, stats, offsets)
        mean, error = monte_carlo(FORMULAS[name], posterior, stats, offsets, samples=4000, seed=seed)
        assert abs(mean - exact) <= 4 * error
        assert mean == expected(FORMULAS[name], posterior, stats, offsets, "sampled", samples=4000, seed=seed)


def test_the_error_of_sampling_falls_with_the_root_of_the_samples():
    scores, stats, offsets = drawn(1, 5)
    posterior = segments.softmax(scores, offsets)
    few, many = (monte_carlo(FORMULAS["f1"], posterior, stats, offsets, samples=n)[1] for n in (1000, 16000))
    assert few / many == pytest.approx(4.0, rel=0.2)


@pytest.mark.parametrize("how", ESTIMATORS)
def test_formulas_that_are_linear(how):
    """With a fixed denominator all roads lead to the same number (the sampled one nearly)."""
    scores, stats, offsets = drawn(2, 5)
    posterior = segments.softmax(scores, offsets)
    rates = np.stack([stats[:, 0], stats[:, 2]], axis=1)  # gold is fixed within a list
    exact = by_enumeration(WER().smooth, posterior, rates, offsets)
    tolerance = 4 * monte_carlo(WER().smooth, posterior, rates, offsets)[1] if how == "sampled" else 0.0
    found = expected(WER().smooth, posterior, rates, offsets, how)
    # the normal reaches beyond what is possible, where its mass is moved to the border
    assert found == pytest.approx(exact, rel=1e-3 if how == "normal" else 1e-12, abs=tolerance)


def test_the_normal_converges_in_its_nodes():
    scores, stats, offsets = drawn(3, 12)
    posterior = segments.softmax(scores, offsets)
    coarse, fine, finest = (expected(FORMULAS["f1"], posterior, stats, offsets, "normal", nodes=n) for n in (8, 48, 96))
    assert abs(fine - finest) <= abs(coarse - finest) + 1e-12
    assert fine == pytest.approx(finest, abs=1e-6)


@pytest.mark.parametrize("how", ESTIMATORS)
def test_certain_choices_and_empty_lists(how):
    stats = np.array([[1.0, 2.0, 3.0], [2.0, 3.0, 4.0], [0.0, 5.0, 4.0]])
    offsets = np.array([0, 1, 1, 3])
    found = expected(FORMULAS["f1"], np.array([1.0, 1.0, 0.0]), stats, offsets, how)
    assert found == pytest.approx(float(F1().smooth([3.0, 5.0, 7.0])), rel=1e-12)
    none = expected(FORMULAS["f1"], np.zeros(0), np.zeros((0, 3)), np.zeros(3, np.int64), how)
    assert none == pytest.approx(float(F1().smooth([0.0, 0.0, 0.0])), rel=1e-12)


def test_bleu_of_short_orders_can_be_convolved():
    metric = BLEU(max_ngram_order=1, tokenize="none")
    rng = np.random.default_rng(1)
    offsets = segments.offsets_of(np.full(30, 4))
    lengths = rng.integers(3, 7, offsets[-1])
    correct = np.floor(rng.random(offsets[-1]) * (lengths + 1))
    stats = np.stack([lengths, np.repeat(rng.integers(3, 7, 30), 4), correct, lengths], axis=1).astype(np.float64)
    posterior = segments.softmax(rng.normal(size=offsets[-1]), offsets)
    mean, error = monte_carlo(metric.smooth, posterior, stats, offsets, samples=20_000)
    found = expected(metric.smooth, posterior, stats, offsets, "convolution")
    assert abs(found - mean) <= 4 * error
    assert found == pytest.approx(expected(metric.smooth, posterior, stats, offsets, "normal", nodes=32), abs=2e-3)


def test_complaints():
    scores, stats, offsets = drawn(1, 3)
    posterior = segments.softmax(scores, offsets)
    formula = FORMULAS["f1"]
    with pytest.raises(ParameterError, match=r"unknown estimator 'taylor3'.*did you mean 'taylor"):
        expected(formula, posterior, stats, offsets, "taylor3")
    with pytest.raises(ParameterError, match="sum to 1 within each list"):
        expected(formula, posterior * 2, stats, offsets)
    with pytest.raises(ParameterError, match=r"of .* hypotheses, got"):
        expected(formula, posterior[:-1], stats, offsets)
    with pytest.raises(ParameterError, match="'nodes' of normal must be >= 1"):
        expected(formula, posterior, stats, offsets, "normal", nodes=0)
    with pytest.raises(ParameterError, match="'samples' of monte_carlo must be >= 2"):
        expected(formula, posterior, stats, offsets, "sampled", samples=1)
    with pytest.raises(CapabilityError, match="whole statistics"):
        expected(formula, posterior, stats / 3, offsets, "convolution")
    with pytest.raises(CapabilityError, match="a table of"):
        expected(formula, posterior, stats * 10_000, offsets, "convolution")
    scores, stats, offsets = drawn(1, 3, gold_varies=True)
    with pytest.raises(CapabilityError, match="3 statistics vary freely"):
        expected(formula, segments.softmax(scores, offsets), stats, offsets, "normal", nodes=200)
