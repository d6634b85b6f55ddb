"""Risk and CoBLEU on forests against all derivations as lists, brute-force sums and finite differences."""

from collections import Counter

import numpy as np
import pytest

from nbest.base.errors import CapabilityError, ParameterError
from nbest.compute import segments
from nbest.compute.executors import Threads
from nbest.corpus import NBest, Texts
from nbest.forests.derivations import forests_of
from nbest.forests.edge_stats import bleu_edge_stats
from nbest.metrics import BLEU, F1, WER
from nbest.objectives import CoBLEU, Risk, Shard, value_and_gradient
from nbest.objectives.backends import NUMBA
from nbest.objectives.cobleu import NgramShard
from nbest.objectives.forest_shard import ForestShard
from nbest.testing import toy_lists
from nbest.testing.forests import derivation_sums, enumerate_derivations, toy_forests


def enumerated(forests, stats, metric):
    """All derivations as lists."""
    found = [enumerate_derivations(forests, i) for i in range(len(forests))]
    flat = [d for some in found for d in some]
    return NBest(
        offsets=segments.offsets_of(np.array([len(some) for some in found], np.int64)),
        features=derivation_sums(flat, forests.features),
        feature_names=forests.feature_names,
        ids=forests.ids,
        stats=derivation_sums(flat, stats),
        metric=metric,
    )


def both(objective, weights, shard):
    return value_and_gradient(objective, weights, [shard])


def close(found, expected, tolerance=1e-9):
    size = 1.0 + abs(expected[0]) + np.abs(expected[1]).max()
    assert abs(found[0] - expected[0]) <= tolerance * size
    assert np.abs(found[1] - expected[1]).max() <= tolerance * size


def differences(objective, weights, shard, step=1e-5):
    out = np.empty(len(weights))
    for d in range(len(weights)):
        move = np.zeros(len(weights))
        move[d] = step
        out[d] = (both(objective, weights + move, shard)[0] - both(objective, weights - move, shard)[0]) / (2 * step)
    return out


METRICS = [BLEU(max_ngram_order=2, tokenize="none"), F1(), WER()]


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("metric", METRICS, ids=lambda m: m.name)
@pytest.mark.parametrize("seed", range(12))
def test_risk_equals_that_of_all_derivations(seed, metric, order):
    forests = toy_forests(seed, tails=4 if seed % 2 else 2, lattices=seed % 3 == 0, ties=seed % 4 == 0, limit=200)
    rng = np.random.default_rng(seed)
    stats = rng.integers(0, 4, (forests.edges, len(metric.stat_names))).astype(float)
    lists = enumerated(forests, stats, metric)
    risk = Risk(metric, order=order, temperature=0.3, gamma=1.7)
    scale = np.array([1.0, 0.5, 0.0])
    for weights in (np.zeros(3), rng.normal(size=3), rng.normal(0.0, 20.0, 3)):
        found = both(risk, weights, ForestShard(forests, scale, stats))
        close(found, both(risk, weights, Shard(lists, scale, np.zeros(lists.hypotheses))))


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("seed", range(6))
def test_risk_gradient_equals_differences(seed, order):
    forests = toy_forests(seed, tails=3, limit=200)
    rng = np.random.default_rng(seed)
    metric = BLEU(max_ngram_order=2, tokenize="none")
    stats = rng.integers(1, 4, (forests.edges, len(metric.stat_names))).astype(float)
    risk, shard = Risk(metric, order=order, temperature=0.2), ForestShard(forests, np.ones(3), stats)
    weights = rng.normal(size=3)
    expected = differences(risk, weights, shard)
    np.testing.assert_allclose(both(risk, weights, shard)[1], expected, rtol=1e-6, atol=1e-7)


def test_two_formulas_on_one_shard():
    """What the second pass keeps for one set of statistics is not used for another."""
    forests = toy_forests(3, forests=6)
    stats = np.random.default_rng(1).normal(size=(forests.edges, 4))
    shard, fresh = (ForestShard(forests, np.ones(3), stats) for _ in range(2))
    weights = np.array([0.5, -1.0, 2.0])
    NUMBA.posteriors(shard, weights, 1.0, np.array([[0, 1]]))
    found = NUMBA.posteriors(shard, weights, 1.0, np.array([[2, 3]]))
    expected = NUMBA.posteriors(fresh, weights, 1.0, np.array([[2, 3]]))
    assert np.array_equal(found.covariance, expected.covariance)


def test_shards_add_up_and_threads_do_not_matter():
    forests = toy_forests(3, forests=12)
    metric = F1()
    stats = np.random.default_rng(1).integers(0, 4, (forests.edges, 3)).astype(float)
    forests = forests.with_stats(metric, stats)
    weights, scale = np.array([0.5, -1.0, 2.0]), np.ones(3)
    risk = Risk(metric, temperature=0.1)
    whole = both(risk, weights, ForestShard(forests, scale, forests.stats))
    parts = [forests.select(rows) for rows in np.array_split(np.arange(12), 3)]
    shards = [ForestShard(part, scale, part.stats) for part in parts]
    close(value_and_gradient(risk, weights, shards), whole, 1e-12)
    whole = [ForestShard(forests, scale, forests.stats)]
    one, two = (value_and_gradient(risk, weights, whole, Threads(n)) for n in (1, 2))
    assert one[0] == two[0]
    assert np.array_equal(one[1], two[1])


@pytest.mark.parametrize("order", [1, 2])
def test_risk_of_lists_as_forests_is_that_of_lists(order):
    corpus = toy_lists(2, metric=BLEU(tokenize="none"))
    forests, stats = bleu_edge_stats(forests_of(corpus), corpus.metric)
    np.testing.assert_array_equal(stats, corpus.stats)
    risk = Risk(corpus.metric, order=order, temperature=0.1)
    for weights in (np.zeros(3), np.array([1.0, 2.0, -1.0])):
        found = both(risk, weights, ForestShard(forests, np.ones(3), stats))
        close(found, both(risk, weights, Shard(corpus, np.ones(3), np.zeros(corpus.hypotheses))), 1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_statistics_of_edges_add_up_to_those_of_texts(seed):
    """Lengths and numbers of n-grams exactly, matches as far as no clipping is needed across edges."""
    metric = BLEU(max_ngram_order=3, tokenize="none")
    forests, stats = bleu_edge_stats(toy_forests(seed, tails=3, limit=100), metric)
    found = [enumerate_derivations(forests, i) for i in range(len(forests))]
    for i, some in enumerate(found):
        if some:
            texts = Texts.of([" ".join(d.words) for d in some])
            exact = metric.stats(texts, np.array([0, len(some)]), forests.references[i : i + 1])
            sums = derivation_sums(some, stats)
            np.testing.assert_array_equal(sums[:, [0, 1]], exact[:, [0, 1]])
            np.testing.assert_array_equal(sums[:, 5:], exact[:, 5:])
            assert (sums[:, 2:5] >= exact[:, 2:5]).all()


def brute_cobleu(forests, weights, order, floor, temperature, gamma, precision=False):
    """Minus ln CoBLEU minus T H, from the definition, over all derivations."""
    every, clipped, length, entropy = np.zeros(order), np.zeros(order), 0.0, 0.0
    for i in range(len(forests)):
        derivations = enumerate_derivations(forests, i)
        if not derivations:
            continue
        scores = gamma * derivation_sums(derivations, forests.features) @ weights
        p = np.exp(scores - np.logaddexp.reduce(scores))
        entropy -= (p[p > 0] * np.log(p[p > 0])).sum()
        counts, limits = Counter(), Counter()
        for share, derivation in zip(p, derivations, strict=True):
            for gram in grams(derivation.words, order):
                counts[gram] += share
        for reference in forests.references[i]:
            for gram, count in Counter(grams(tuple(reference.split()), order)).items():
                limits[gram] = max(limits[gram], count)
        length += np.mean([len(reference.split()) for reference in forests.references[i]])
        for gram, count in counts.items():
            every[len(gram) - 1] += count
            clipped[len(gram) - 1] += min(count, limits[gram])
    every, clipped, length = every + floor, clipped + floor, length + floor
    if precision:
        return -np.log(clipped[-1] / every[-1]) - temperature * entropy
    return -min(0.0, 1.0 - length / every[0]) - np.mean(np.log(clipped) - np.log(every)) - temperature * entropy


def grams(words, order):
    return [words[a : a + n] for n in range(1, order + 1) for a in range(len(words) - n + 1)]


@pytest.mark.parametrize("order", [1, 2, 3, 4])
@pytest.mark.parametrize("seed", range(8))
def test_cobleu_equals_its_definition(seed, order):
    forests = toy_forests(seed, forests=8, tails=4 if seed % 2 else 2, limit=100, lattices=seed % 5 == 0)
    if seed % 3 == 0:
        forests = forests.with_references([(*refs, "ant cat bee dog") for refs in forests.references])
    rng = np.random.default_rng(seed)
    shard = NgramShard.of(forests, BLEU(max_ngram_order=order, tokenize="none"), np.ones(3))
    temperature = 0.1 * (seed % 2)
    objective = CoBLEU(order, temperature, gamma=1.5)
    for weights in (rng.normal(size=3), rng.normal(0.0, 5.0, 3)):
        value, gradient = both(objective, weights, shard)
        assert value == pytest.approx(brute_cobleu(forests, weights, order, 0.1, temperature, 1.5), abs=1e-9)
        np.testing.assert_allclose(gradient, differences(objective, weights, shard), rtol=1e-5, atol=2e-8)


def test_cobleu_with_floor_zero_is_the_papers():
    forests = toy_forests(5, forests=30, limit=100)
    shard = NgramShard.of(forests, BLEU(max_ngram_order=2, tokenize="none"), np.ones(3))
    weights = np.array([0.3, -0.2, 0.1])
    value, gradient = both(CoBLEU(2, floor=0.0), weights, shard)
    assert value == pytest.approx(brute_cobleu(forests, weights, 2, 0.0, 0.0, 1.0), abs=1e-10)
    np.testing.assert_allclose(gradient, differences(CoBLEU(2, floor=0.0), weights, shard), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_consensus_precision_equals_its_definition(seed, order):
    """Eq. 1 of Pauls et al. (2009), where the order is 2; other orders and lengths do not matter."""
    forests = toy_forests(seed, forests=8, tails=4 if seed % 2 else 2, limit=100, lattices=seed % 3 == 0)
    shard = NgramShard.of(forests, BLEU(max_ngram_order=order, tokenize="none"), np.ones(3))
    objective = CoBLEU(order, 0.05, gamma=1.5, precision=True)
    for weights in np.random.default_rng(seed).normal(size=(2, 3)):
        value, gradient = both(objective, weights, shard)
        brute = brute_cobleu(forests, weights, order, 0.1, 0.05, 1.5, precision=True)
        assert value == pytest.approx(brute, abs=1e-9)
        np.testing.assert_allclose(gradient, differences(objective, weights, shard), rtol=1e-5, atol=2e-8)


def test_consensus_precision_needs_matches_of_its_own_order_only():
    forests = toy_forests(5).with_references([("zebra",)] * 5)
    shard = NgramShard.of(forests, BLEU(max_ngram_order=2, tokenize="none"), np.ones(3))
    with pytest.raises(CapabilityError, match="2-gram"):
        both(CoBLEU(2, floor=0.0, precision=True), np.zeros(3), shard)


def test_cobleu_without_any_match_says_so():
    forests = toy_forests(5).with_references([("zebra",)] * 5)
    shard = NgramShard.of(forests, BLEU(max_ngram_order=2, tokenize="none"), np.ones(3))
    with pytest.raises(CapabilityError, match="1-gram"):
        both(CoBLEU(2, floor=0.0), np.zeros(3), shard)
    assert np.isfinite(both(CoBLEU(2), np.zeros(3), shard)[0])


def test_cobleu_checks_its_settings():
    with pytest.raises(ParameterError, match="'gamma' of CoBLEU"):
        CoBLEU(gamma=-1.0)
    shard = NgramShard.of(toy_forests(5), BLEU(max_ngram_order=2, tokenize="none"), np.ones(3))
    with pytest.raises(ParameterError, match="'order' of CoBLEU"):
        both(CoBLEU(3), np.zeros(3), shard)


def test_at_a_kink_the_gradient_is_between_the_slopes():
    """Two hypotheses alike likely, one with the word twice: the expected count is exactly the limit."""
    lists = NBest(
        offsets=np.array([0, 2]), features=np.array([[1.0], [0.0]]), feature_names=("f",), ids=("0",),
        texts=Texts.of(["ant ant", "bee cat"]), references=(("ant dog",),),
    )  # fmt: skip
    shard = NgramShard.of(forests_of(lists), BLEU(max_ngram_order=1, tokenize="none"), np.ones(1))
    here, gradient = both(CoBLEU(1), np.zeros(1), shard)
    below, above = (both(CoBLEU(1), np.full(1, x), shard)[0] for x in (-1e-6, 1e-6))
    slopes = sorted([(here - below) / 1e-6, (above - here) / 1e-6])
    assert slopes[0] < slopes[1] - 0.1, "a kink"
    assert slopes[0] - 1e-6 <= gradient[0] <= slopes[1] + 1e-6
