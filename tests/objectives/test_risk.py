"""Risk: gradients against differences, values against enumeration, limits, kernels against plain NumPy.

Long because every part runs over the same corpora and the same table of metrics (`CASES`).
"""

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from strategies import lists

from nbest.base.errors import CapabilityError, ParameterError
from nbest.compute import segments
from nbest.compute.executors import Serial, Threads
from nbest.compute.jets import expand
from nbest.corpus import NBest, Texts
from nbest.metrics import (
    BLEU,
    CER,
    CHRF,
    F1,
    LAS,
    METRICS,
    TER,
    UAS,
    WER,
    CHRFPlusPlus,
    Exact,
    External,
    Precision,
    Recall,
    SentenceBLEU,
    TokenAccuracy,
)
from nbest.metrics.rates import FLOOR
from nbest.model.loglinear import LogLinear
from nbest.objectives import Quadratic, Risk, Shard, value_and_gradient
from nbest.objectives.backends import NUMBA, StatCredit
from nbest.objectives.moments import Blocked
from nbest.testing import check_objective, toy_lists
from nbest.testing.corpora import as_read_by

CASES = {
    "bleu": (BLEU(tokenize="none"), {}),
    "bleu, alpha": (BLEU(tokenize="none"), {"alpha": 3.0, "segments": 8}),
    "bleu, sharp alpha": (BLEU(tokenize="none"), {"alpha": 100.0, "segments": 8}),
    "bleu, order 2": (BLEU(tokenize="none", max_ngram_order=2), {}),
    "sentence-bleu": (SentenceBLEU(tokenize="none"), {}),
    "chrf": (CHRF(), {}),
    "chrf, beta 1": (CHRF(char_order=2, beta=1), {}),
    "chrf++": (CHRFPlusPlus(), {}),
    "ter": (TER(), {}),
    "wer": (WER(), {}),
    "cer": (CER(), {}),
    "exact": (Exact(), {}),
    "accuracy": (TokenAccuracy(), {}),
    "precision": (Precision(), {}),
    "recall": (Recall(), {}),
    "f1": (F1(), {}),
    "f0.5": (F1(beta=0.5), {}),
    "las": (LAS(), {}),
    "uas": (UAS(), {}),
    "external": (External(), {}),
    "external cost": (External(higher_is_better=False), {}),
}
FEATURES = ("dense", "sparse", "mixed")
WORDS = np.array(["1:a", "2:bee", "3:c", "4:dog", "5:e"])  # arcs too, for attachment scores


def test_every_smooth_metric_has_a_case():
    assert {type(metric) for metric, _ in CASES.values()} == {k for k in METRICS.values() if hasattr(k, "smooth")}


# corpora ---------------------------------------------------------------------------------------------------------


def corrupted(rng, words):
    """Some words replaced, some left out, one perhaps put in."""
    words = np.where(rng.random(len(words)) < 0.25, rng.choice(WORDS, len(words)), words)
    words = words[rng.random(len(words)) > 0.15]
    return np.insert(words, rng.integers(len(words) + 1), rng.choice(WORDS)) if rng.random() < 0.4 else words


@lru_cache(maxsize=256)
def corpus_of(metric, seed=1, count=8, longest=5, features="dense", references=1):
    """Lists of texts of varied lengths; list 1 is empty, list 2 has one hypothesis."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, longest + 1, count)
    sizes[1:3] = 0, 1
    truth = [rng.choice(WORDS, rng.integers(5, 10)) for _ in sizes]
    owners = segments.owners(segments.offsets_of(sizes))
    texts = [" ".join(corrupted(rng, truth[i])) for i in owners]
    dense = rng.normal(size=(len(texts), 0 if features == "sparse" else 3))
    extra = rng.normal(size=(len(texts), 4)) * (rng.random((len(texts), 4)) < 0.5)
    corpus = NBest(
        offsets=segments.offsets_of(sizes),
        features=dense,
        feature_names=tuple(f"f{d}" for d in range(dense.shape[1])),
        ids=tuple(map(str, range(count))),
        texts=Texts.of(texts),
        references=tuple((" ".join(t), *(" ".join(corrupted(rng, t)) for _ in range(references - 1))) for t in truth),
        sparse=None if features == "dense" else csr_array(extra),
        sparse_names=() if features == "dense" else tuple(f"s{d}" for d in range(4)),
    )
    if isinstance(metric, External):
        return replace(corpus, metric=metric, stats=metric.stats_of(rng.normal(size=len(texts))))
    return corpus.with_metric(metric)


def width_of(corpus):
    return len(corpus.feature_names) + len(corpus.sparse_names)


def shard_of(corpus, scale=1.0):
    return Shard(corpus, np.full(width_of(corpus), scale), corpus.metric.losses(corpus.stats))


def weights_for(corpus, seed=1, size=1.0):
    return np.random.default_rng(seed).normal(0, size, width_of(corpus))


# plain Python ----------------------------------------------------------------------------------------------------


def plain_posteriors(corpus, weights, gamma):
    """For each list its probabilities, by math.exp."""
    dense = corpus.features.shape[1]
    rows = corpus.features if corpus.sparse is None else np.hstack([corpus.features, corpus.sparse.toarray()])
    assert rows.shape[1] - dense == len(corpus.sparse_names)
    found = []
    for low, high in zip(corpus.offsets[:-1], corpus.offsets[1:], strict=True):
        scores = [gamma * math.fsum(w * float(x) for w, x in zip(weights, row, strict=True)) for row in rows[low:high]]
        mass = [math.exp(score - max(scores)) for score in scores]
        found.append([m / math.fsum(mass) for m in mass])
    return found


def plain_moments(corpus, weights, gamma):
    """Mean and full covariance of totals and the entropy, by loops."""
    size = corpus.stats.shape[1]
    mean, covariance, entropy = np.zeros(size), np.zeros((size, size)), 0.0
    for low, p in zip(corpus.offsets[:-1], plain_posteriors(corpus, weights, gamma), strict=True):
        own = sum((q * corpus.stats[low + k] for k, q in enumerate(p)), np.zeros(size))
        mean += own
        for k, q in enumerate(p):
            covariance += q * np.outer(corpus.stats[low + k] - own, corpus.stats[low + k] - own)
            entropy -= q * math.log(q) if q > 0 else 0.0
    return mean, covariance, entropy


def curvature(formula, mean, covariance):
    """tr(Q V) by second differences along the axes of V, on plain numbers."""
    spread, directions = np.linalg.eigh(covariance)
    total = 0.0
    for value, e in zip(spread, directions.T, strict=True):
        if value > 1e-12:
            h = 2e-3 * min(1.0, mean[np.abs(e) > 1e-9].min() + FLOOR)
            m2, m1, m0, p1, p2 = (float(formula(list(mean + k * h * e))) for k in (-2, -1, 0, 1, 2))
            total += value * (16 * (m1 + p1) - (m2 + p2) - 30 * m0) / (12 * h * h)
    return total


def slope_by_differences(function, weights, step):
    """Central differences of fourth order."""
    out = np.empty(len(weights))
    for d in range(len(weights)):
        e = np.zeros(len(weights))
        e[d] = step
        near, far = function(weights + e) - function(weights - e), function(weights + 2 * e) - function(weights - 2 * e)
        out[d] = (8 * near - far) / (12 * step)
    return out


def check_slope(risk, weights, corpus, scale=1.0, step=None):
    shard = shard_of(corpus, scale)
    _, found = value_and_gradient(risk, weights, [shard], Serial())
    step = (3e-3 if step is None else step) / max(1.0, risk.gamma)
    expected = slope_by_differences(lambda w: value_and_gradient(risk, w, [shard], Serial())[0], weights, step)
    assert np.abs(found - expected).max() <= 1e-6 * np.abs(expected).max() + 1e-9, f"{found}, expected {expected}"


# gradients and values --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("temperature", [0.0, 0.7])
def test_gradient(case, order, temperature):
    metric, options = CASES[case]
    for features in FEATURES:
        for seed, gamma, references in ((1, 1.0, 1), (2, 2.5, 3)):
            corpus = corpus_of(metric, seed, features=features, references=references)
            risk = Risk(metric, order=order, temperature=temperature, gamma=gamma, **options)
            # a sharp sigmoid needs shorter steps
            check_slope(risk, weights_for(corpus, seed), corpus, step=5e-4 if options.get("alpha", 0) > 10 else None)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("features", FEATURES)
def test_gradient_with_penalties_and_scales(case, features):
    metric, options = CASES[case]
    corpus = corpus_of(metric, 3, features=features)
    each = np.linspace(0.5, 3.0, width_of(corpus))
    each[0] = np.inf
    for variance in (2.0, each):
        risk = Risk(metric, penalty=Quadratic(variance), temperature=0.2, **options)
        check_slope(risk, weights_for(corpus, 3), corpus, 0.5, step=5e-4 if options.get("alpha", 0) > 10 else None)
        value, slope = risk.penalty(np.ones(width_of(corpus)))
        assert value == pytest.approx(np.sum(1 / (2 * variance * np.ones(width_of(corpus)))))
        np.testing.assert_allclose(slope, 1 / variance * np.ones(width_of(corpus)))


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("references", [1, 2])
def test_value_against_plain_python(case, references):
    metric, options = CASES[case]
    for seed, gamma, temperature, features in ((1, 1.0, 0.0, "dense"), (2, 0.3, 0.7, "mixed"), (3, 2.0, 0.1, "sparse")):
        corpus = corpus_of(metric, seed, features=features, references=references)
        weights = weights_for(corpus, seed)
        mean, covariance, entropy = plain_moments(corpus, weights, gamma)
        prior = float((weights**2).sum()) / 6
        for order in (1, 2):
            risk = Risk(metric, order=order, temperature=temperature, gamma=gamma, penalty=Quadratic(3.0), **options)
            found, _ = value_and_gradient(risk, weights, [shard_of(corpus)], Serial())
            expected = float(risk.formula(list(mean)))
            expected += 0.5 * curvature(risk.formula, mean, covariance) if order == 2 else 0.0
            assert found == pytest.approx(-expected - temperature * entropy + prior, rel=1e-6, abs=1e-7)


def log_rate(part, whole, v_part, v_whole):
    """E[log(part / whole)] to second order, by hand: log mu - v / (2 mu^2) of either."""
    part, whole = part + FLOOR, whole + FLOOR
    return math.log(part / whole) - v_part / (2 * part**2) + v_whole / (2 * whole**2)


def by_hand(name, mean, v):
    """Second-order expectations written out."""
    if name == "precision":
        return log_rate(mean[0], mean[1], v[0, 0], v[1, 1])
    if name == "recall":
        return log_rate(mean[0], mean[2], v[0, 0], v[2, 2])
    if name == "f1":
        return log_rate(2 * mean[0], mean[1] + mean[2], 4 * v[0, 0], v[1, 1] + v[2, 2] + 2 * v[1, 2])
    if name == "wer":
        whole = mean[1] + FLOOR
        return -(mean[0] / whole - v[0, 1] / whole**2 + mean[0] * v[1, 1] / whole**3)
    logs = sum(log_rate(mean[2 + n], mean[6 + n], v[2 + n, 2 + n], v[6 + n, 6 + n]) for n in range(4)) / 4
    h, r = mean[0] + FLOOR, mean[1] + FLOOR
    if r <= h:
        return logs
    return logs + 1 - r / h + 0.5 * (-2 * r / h**3 * v[0, 0] + 2 * v[0, 1] / h**2)


@pytest.mark.parametrize("name", ["precision", "recall", "f1", "wer", "bleu"])
def test_value_by_hand(name):
    metric, _ = CASES[name]
    branches = set()
    for seed in range(12):
        corpus = corpus_of(metric, seed, references=1 + seed % 3)
        weights = weights_for(corpus, seed)
        mean, covariance, _ = plain_moments(corpus, weights, 1.0)
        branches.add(mean[1] > mean[0])
        found, _ = value_and_gradient(Risk(metric), weights, [shard_of(corpus)], Serial())
        assert found == pytest.approx(-by_hand(name, mean, covariance), rel=1e-10)
    assert name != "bleu" or branches == {True, False}  # too short and long enough


def exactly(corpus, weights, gamma):
    """E of the smooth formula over all choices of one hypothesis a list."""
    posteriors = plain_posteriors(corpus, weights, gamma)
    places = [range(low, low + len(p)) for low, p in zip(corpus.offsets[:-1], posteriors, strict=True) if p]
    flat = np.concatenate([np.array(p) for p in posteriors])
    terms = []
    for choice in product(*places):
        totals = corpus.stats[list(choice)].sum(axis=0)
        terms.append(math.prod(flat[h] for h in choice) * float(corpus.metric.smooth(list(totals))))
    return math.fsum(terms)


@pytest.mark.parametrize("case", ["ter", "wer", "cer", "exact", "external", "external cost"])
@pytest.mark.parametrize("order", [1, 2])
def test_linear_formulas_are_exact(case, order):
    metric, _ = CASES[case]
    for seed in (1, 2, 3):
        corpus = corpus_of(metric, seed, count=6, longest=4)
        weights = weights_for(corpus, seed)
        for gamma in (0.0, 1.0, 4.0):
            found, _ = value_and_gradient(Risk(metric, order=order, gamma=gamma), weights, [shard_of(corpus)], Serial())
            assert found == pytest.approx(-exactly(corpus, weights, gamma), rel=1e-10)


def exact_by_totals(corpus, weights):
    """As `exactly`, with choices of equal totals joined after every list."""
    pmf = {(0.0,) * corpus.stats.shape[1]: 1.0}
    for low, p in zip(corpus.offsets[:-1], plain_posteriors(corpus, weights, 1.0), strict=True):
        own = {}
        for k, q in enumerate(p):
            key = tuple(corpus.stats[low + k].tolist())
            own[key] = own.get(key, 0.0) + q
        longer = {}
        for (totals, mass), (more, q) in product(
            pmf.items(), own.items() if own else [((0.0,) * len(next(iter(pmf))), 1.0)]
        ):
            key = tuple(a + b for a, b in zip(totals, more, strict=True))
            longer[key] = longer.get(key, 0.0) + mass * q
        pmf = longer
    totals = np.array(list(pmf))
    return float(np.array(list(pmf.values())) @ corpus.metric.smooth(list(totals.T)))


NONLINEAR = [Precision(), F1(), BLEU(tokenize="none", max_ngram_order=1), BLEU(tokenize="none", max_ngram_order=2)]


@pytest.mark.parametrize("metric", NONLINEAR, ids=["precision", "f1", "bleu1", "bleu2"])
def test_the_second_order_gains_as_the_corpus_grows(metric):
    gaps = {}
    for count in (5, 20):
        gaps[count] = {1: [], 2: []}
        for seed in range(10):
            corpus = corpus_of(metric, seed, count=count, longest=3)
            weights = weights_for(corpus, seed)
            exact = -exact_by_totals(corpus, weights)
            for order in (1, 2):
                found, _ = value_and_gradient(Risk(metric, order=order), weights, [shard_of(corpus)], Serial())
                gaps[count][order].append(abs(found - exact))
    medians = {count: {order: np.median(gap) for order, gap in by.items()} for count, by in gaps.items()}
    assert medians[20][2] < medians[5][2]
    assert medians[20][1] < medians[5][1]
    assert medians[20][2] < 0.5 * medians[20][1]


@pytest.mark.parametrize("metric", [Precision(), F1(beta=2.0), BLEU(tokenize="none", max_ngram_order=2)])
def test_joined_totals_are_enumeration(metric):
    corpus = corpus_of(metric, 4, count=6, longest=3)
    weights = weights_for(corpus, 4)
    assert exact_by_totals(corpus, weights) == pytest.approx(exactly(corpus, weights, 1.0), rel=1e-12)


@settings(deadline=None, max_examples=60)
@given(
    lists(), st.lists(st.floats(-2, 2), min_size=2, max_size=2), st.sampled_from([1, 2]), st.sampled_from([0.0, 0.5])
)
def test_tiny_corpora(corpus, weights, order, temperature):
    """Value and gradient on corpora with ties, empty lists, zero counts and no hypotheses at all."""
    weights = np.array(weights)
    mean, covariance, entropy = plain_moments(corpus, weights, 1.0)
    assume(not isinstance(corpus.metric, BLEU) or abs(mean[0] - mean[1]) > 0.05)  # the kink of the brevity penalty
    risk = Risk(corpus.metric, order=order, temperature=temperature)
    found, _ = value_and_gradient(risk, weights, [shard_of(corpus)], Serial())
    expansion = expand(risk.formula, mean)
    expected = expansion.value + (0.5 * float((expansion.hessian * covariance).sum()) if order == 2 else 0.0)
    assert found == pytest.approx(-expected - temperature * entropy, rel=1e-9, abs=1e-9)
    check_slope(risk, weights, corpus, step=1e-3)


# limits ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("order", [1, 2])
def test_gamma_zero_is_uniform(case, order):
    metric, options = CASES[case]
    corpus = corpus_of(metric, 5)
    shard = shard_of(corpus)
    risk = Risk(metric, order=order, gamma=0.0, temperature=0.3, **options)
    value, slope = value_and_gradient(risk, weights_for(corpus), [shard], Serial())
    assert not slope.any()
    assert value == value_and_gradient(replace(risk, gamma=1.0), np.zeros(3), [shard], Serial())[0]
    sizes = corpus.lengths[corpus.lengths > 0]
    np.testing.assert_allclose(NUMBA.posterior(shard), np.repeat(1 / sizes, sizes), rtol=1e-14)
    assert risk.moments(weights_for(corpus), shard).entropy == pytest.approx(np.log(sizes).sum())


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("order", [1, 2])
def test_gamma_without_end_is_the_one_best(case, order):
    metric, options = CASES[case]
    for seed in (1, 2):
        corpus = corpus_of(metric, seed)
        weights = weights_for(corpus, seed)
        choice = LogLinear(dict(zip(corpus.feature_names, weights, strict=True))).predict(corpus)
        for gamma in (1e5, 1e6):
            risk = Risk(metric, order=order, gamma=gamma, **options)
            value, slope = value_and_gradient(risk, weights, [shard_of(corpus)], Serial())
            assert value == pytest.approx(-float(risk.formula(list(corpus.totals(choice)))), rel=1e-9)
            assert np.abs(slope).max() < 1e-9


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("features", FEATURES)
def test_one_hypothesis_a_list_gives_no_gradient(case, features):
    metric, options = CASES[case]
    corpus = corpus_of(metric, 6, features=features)
    place = np.arange(corpus.hypotheses) - np.repeat(corpus.offsets[:-1], corpus.lengths)
    single = corpus.keep(place == 0)
    weights = weights_for(corpus)
    for order in (1, 2):
        risk = Risk(metric, order=order, temperature=2.0, penalty=Quadratic(4.0), **options)
        value, slope = value_and_gradient(risk, weights, [shard_of(single)], Serial())
        np.testing.assert_allclose(slope, weights / 4, rtol=0, atol=1e-12)
        totals = list(single.stats.sum(axis=0))
        assert value == pytest.approx(-float(risk.formula(totals)) + float(weights @ weights) / 8, rel=1e-12)


# threads and shards ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", [WER(), BLEU(tokenize="none"), CHRF(char_order=3)], ids=["wer", "bleu", "chrf"])
@pytest.mark.parametrize("features", FEATURES)
def test_threads_change_no_bit(metric, features):
    corpus = corpus_of(metric, 7, count=150, longest=9, features=features)
    weights = weights_for(corpus, 7)
    found = [
        value_and_gradient(Risk(metric, temperature=0.1), weights, [shard_of(corpus)], Threads(threads))
        for threads in (1, 2, 3)
    ]
    for value, slope in found[1:]:
        assert value == found[0][0]
        assert np.array_equal(slope, found[0][1])


@pytest.mark.parametrize("case", CASES)
def test_shards_add_up(case):
    metric, options = CASES[case]
    corpus = corpus_of(metric, 8, count=20, features="mixed")
    weights = weights_for(corpus, 8)
    risk = Risk(metric, temperature=0.1, penalty=Quadratic(2.0), **options)
    whole = value_and_gradient(risk, weights, [shard_of(corpus)], Serial())
    for count in (2, 7, 20):
        parts = [shard_of(corpus.select(part)) for part in np.array_split(np.arange(20), count)]
        value, slope = value_and_gradient(risk, weights, parts, Threads(2))
        assert value == pytest.approx(whole[0], rel=1e-12)
        np.testing.assert_allclose(slope, whole[1], rtol=1e-10, atol=1e-12)


# kernels against plain NumPy -------------------------------------------------------------------------------------


def numpy_posteriors(features, stats, offsets, weights, gamma, extra):
    scores = gamma * (features.astype(np.float64) @ weights + extra)
    p = segments.softmax(scores, offsets)
    lengths = segments.lengths(offsets)
    log_p = scores - np.repeat(segments.logsumexp(scores, offsets), lengths)
    means = segments.sums(p[:, None] * stats, offsets)
    centred = stats - np.repeat(means, lengths, axis=0)
    return p, log_p, means, (p[:, None] * centred).T @ centred


def by_rows(blocked):
    """[H, D] features out of their layout by segment."""
    parts = [blocked.columns[blocked.width * a : blocked.width * b].reshape(blocked.width, b - a).T
             for a, b in zip(blocked.offsets[:-1], blocked.offsets[1:], strict=True)]  # fmt: skip
    return np.concatenate([np.zeros((0, blocked.width)), *parts])


def check_kernels(seed, offsets, width, measures, kind, whole, with_extra):
    rng = np.random.default_rng(seed)
    count = int(offsets[-1])
    features = rng.normal(size=(count, width)).astype(kind)
    stats = rng.integers(-3, 9, (count, measures)).astype(np.float64) if whole else rng.normal(size=(count, measures))
    extra = rng.normal(size=count) if with_extra else np.zeros(0)
    weights, gamma, temperature = rng.normal(size=width), 1.7, 0.6
    pairs = np.ascontiguousarray(np.argwhere(np.triu(np.ones((measures, measures), bool))))
    offsets.flags.writeable = False  # as in a corpus: the kernels that it has
    blocked = Blocked.of(features, stats, offsets)
    assert blocked.columns.dtype == kind
    lengths = segments.lengths(offsets)
    own = segments.sums(features, offsets) / np.maximum(lengths, 1)[:, None]
    rows = by_rows(blocked)
    np.testing.assert_allclose(rows, features - np.repeat(own, lengths, axis=0), atol=4 * np.finfo(kind).eps)
    features = rows  # as the kernels see them
    assert blocked.stats.dtype == (np.int16 if whole or not count else np.float64)
    found = blocked.posteriors(weights, gamma, extra, pairs)
    p, log_p, means, covariance = numpy_posteriors(features, stats, offsets, weights, gamma, extra if with_extra else 0)
    np.testing.assert_allclose(blocked.posterior, p, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(blocked.log_posterior, log_p, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(blocked.means, means, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(found.mean, means.sum(axis=0), rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(found.covariance, covariance, rtol=1e-10, atol=1e-10)
    assert found.entropy == pytest.approx(-float(p @ log_p), rel=1e-11, abs=1e-11)
    linear, curve = rng.normal(size=measures), rng.normal(size=(measures, measures))
    curve = curve + curve.T
    total, share = blocked.feature_sum(StatCredit(linear, curve), pairs, temperature=temperature, gamma=gamma)
    own = np.repeat(means, segments.lengths(offsets), axis=0)
    credit = stats @ linear + ((stats - 2 * own) @ curve * stats).sum(axis=1) + temperature * log_p
    average = np.repeat(segments.sums(p * credit, offsets), segments.lengths(offsets))
    expected = gamma * p * (credit - average)
    np.testing.assert_allclose(share, expected, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(total, expected @ features.astype(np.float64), rtol=1e-9, atol=1e-9)


@settings(deadline=None, max_examples=100)
@given(
    st.integers(0, 999),
    st.lists(st.integers(0, 9), min_size=0, max_size=6),
    st.integers(0, 7),
    st.integers(1, 4),
    st.sampled_from([np.float32, np.float64]),
    st.booleans(),
    st.booleans(),
)
def test_kernels(seed, sizes, width, measures, kind, whole, with_extra):
    offsets = segments.offsets_of(np.array(sizes, np.int64))
    check_kernels(seed, offsets, width, measures, kind, whole, with_extra and offsets[-1] > 0)


def test_kernels_over_several_blocks():
    for seed in (1, 2):
        sizes = np.random.default_rng(seed).integers(0, 40, 100)
        check_kernels(seed, segments.offsets_of(sizes), 14, 5, np.float32, True, False)


def test_large_statistics_are_not_narrowed():
    stats = np.array([[40_000.0, 1.0], [3.0, -40_000.0]])
    assert Blocked.of(np.zeros((2, 1)), stats, np.array([0, 2])).stats.dtype == np.float64


# hard cases ------------------------------------------------------------------------------------------------------


def finite(risk, weights, corpus):
    with np.errstate(all="raise", under="ignore"):
        value, slope = value_and_gradient(risk, weights, [shard_of(corpus)], Threads(2))
    assert np.isfinite(value)
    assert np.isfinite(slope).all()
    return value, slope


def texts_of(corpus, metric, texts, references):
    bare = replace(corpus, texts=Texts.of(as_read_by(metric, text) for text in texts), stats=None, metric=None)
    if isinstance(metric, External):
        return replace(bare, metric=metric, stats=metric.stats_of(np.zeros(len(texts))))
    return bare.with_metric(metric, [[as_read_by(metric, text) for text in refs] for refs in references])


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("order", [1, 2])
def test_nothing_matches_and_nothing_said(case, order):
    metric, options = CASES[case]
    corpus = corpus_of(metric, 9)
    count = corpus.hypotheses
    risk = Risk(metric, order=order, temperature=0.1, **options)
    weights = weights_for(corpus, 9)
    refs = [("u v w x y z",)] * len(corpus)
    rng = np.random.default_rng(1)
    cases = {
        "no match at all": ["k l m n o p q"[: 2 * rng.integers(3, 7) + 1] for _ in range(count)],
        "no 4-gram": ["u k v l w m"[: 2 * rng.integers(1, 5) + 1] for _ in range(count)],
        "empty": [""] * count,
        "some empty": ["" if h % 2 else "u v" for h in range(count)],
    }
    for texts in cases.values():
        lists = texts_of(corpus, metric, texts, refs)
        finite(risk, weights, lists)
        check_slope(risk, weights, lists, step=5e-4 if options.get("alpha", 0) > 10 else None)
    finite(risk, weights, texts_of(corpus, metric, [""] * count, [("",)] * len(corpus)))
    finite(risk, weights, corpus.keep(np.zeros(count, bool)))


@pytest.mark.parametrize("case", CASES)
def test_huge_scores_gammas_and_temperatures(case):
    metric, options = CASES[case]
    corpus = corpus_of(metric, 10, features="mixed")
    weights = weights_for(corpus, 10)
    for order in (1, 2):
        for size, gamma, temperature in product((1e-6, 1.0, 1e6), (0.0, 1e-6, 1.0, 1e6), (0.0, 1.0, 1e6)):
            finite(Risk(metric, order=order, gamma=gamma, temperature=temperature, **options), size * weights, corpus)


def test_a_high_temperature_pulls_to_the_uniform_distribution():
    corpus = corpus_of(F1(), 11)
    weights = weights_for(corpus, 11)
    value, slope = finite(Risk(F1(), temperature=1e6), weights, corpus)
    assert slope @ weights > 0
    assert value < finite(Risk(F1(), temperature=1e6), 2 * weights, corpus)[0]
    assert not np.abs(finite(Risk(F1(), temperature=1e6), 0 * weights, corpus)[1]).max() > 1


# errors ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"order": 3}, "'order' of Risk must be 1 or 2, got 3"),
        ({"gamma": -1.0}, "'gamma' of Risk must be >= 0, got -1.0"),
        ({"temperature": float("nan")}, "'temperature' of Risk must be >= 0, got nan"),
    ],
)
def test_parameters(options, reason):
    with pytest.raises(ParameterError, match=reason):
        Risk(WER(), **options)


@pytest.mark.parametrize("variance", [0.0, np.array([1.0, -1.0]), np.nan])
def test_variances_of_penalties(variance):
    with pytest.raises(ParameterError, match="'variance' of a penalty must be > 0"):
        Quadratic(variance)


def test_capabilities():
    with pytest.raises(CapabilityError, match=r"'alpha' of Risk is BLEU's .*; WER has none"):
        Risk(WER(), alpha=1.0)

    class Rough:
        name = "rough"

    with pytest.raises(CapabilityError, match=r"Risk needs a smooth formula .*; rough has none"):
        Risk(Rough())


# known-bad -------------------------------------------------------------------------------------------------------


class NoThirdDerivative(Risk):
    def combine(self, moments):
        found = expand(self.formula, moments.mean, moments.covariance)
        value, _ = super().combine(moments)
        return value, StatCredit(-found.gradient, -0.5 * found.hessian)


class EntropyTheOtherWay(Risk):
    def gradient(self, weights, shard, credit):
        return NUMBA.feature_sum(shard, credit, self._pairs(), temperature=-self.temperature, gamma=self.gamma)


class ForgetsOwnMean(Risk):
    """Without -2 sbar' W s."""

    def gradient(self, weights, shard, credit):
        NUMBA._laid_out(shard).means[:] = 0.0
        return super().gradient(weights, shard, credit)


class ForgetsTheQuadraticTerm(Risk):
    def combine(self, moments):
        value, credit = super().combine(moments)
        return value, replace(credit, quadratic=np.zeros_like(credit.quadratic))


class ForgetsGamma(Risk):
    def gradient(self, weights, shard, credit):
        return super().gradient(weights, shard, credit) / self.gamma


class OnlyVariances(Risk):
    """A value without covariances."""

    def combine(self, moments):
        _, credit = super().combine(moments)
        return super().combine(replace(moments, covariance=np.diag(np.diag(moments.covariance))))[0], credit


@dataclass(frozen=True)
class Slopeless(Quadratic):
    def __call__(self, weights):
        return super().__call__(weights)[0], np.zeros_like(weights)


class NoPenaltyGradient(Risk):
    def __post_init__(self):
        object.__setattr__(self, "penalty", Slopeless(2.0))


class EntropyOfShards(Risk):
    """The square of each shard's entropy: shards do not add up."""

    def moments(self, weights, shard):
        found = super().moments(weights, shard)
        return replace(found, entropy=found.entropy**2)


@dataclass(frozen=True)
class Uncurved(Risk):
    """Leaves a pair of statistics out of the credit but not out of the slopes."""

    def gradient(self, weights, shard, credit):
        return NUMBA.feature_sum(shard, credit, self._pairs()[1:], temperature=self.temperature, gamma=self.gamma)


BROKEN = (
    NoThirdDerivative, EntropyTheOtherWay, ForgetsOwnMean, ForgetsTheQuadraticTerm, ForgetsGamma, OnlyVariances,
    NoPenaltyGradient, EntropyOfShards, Uncurved,
)  # fmt: skip


def factory(kind, metric, **options):
    def make(parts):
        return kind(metric, penalty=Quadratic(2.0), temperature=0.3, gamma=1.5, **options), [
            shard_of(part) for part in parts
        ]

    return make


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("kind", [Risk, *BROKEN])
def test_broken_ones_are_rejected(kind, seed):
    corpus = corpus_of(F1(), seed, count=12, references=3)  # so that there are covariances
    if kind is Risk:
        check_objective(factory(Risk, F1()), corpus, seed=seed)
        return
    with pytest.raises(AssertionError, match=r"differs from central differences|shards must add up"):
        check_objective(factory(kind, F1()), corpus, seed=seed)


@pytest.mark.parametrize(
    "case", ["chrf, beta 1", "ter", "cer", "exact", "accuracy", "precision", "recall", "external cost"]
)
def test_contract_for_other_metrics(case):
    metric, options = CASES[case]
    check_objective(factory(Risk, metric, **options), corpus_of(metric, 12, count=6))


@pytest.mark.parametrize("alpha", [1e-3, 1.0, 100.0, 1e6])
@pytest.mark.parametrize("count", [1, 1000])
def test_curved_pairs_do_not_depend_on_the_sigmoid(alpha, count):
    """A sharp sigmoid is flat nearly everywhere, which must not hide where it is curved."""
    pairs = Risk(BLEU(), alpha=alpha, segments=count)._pairs().tolist()
    assert pairs == [[0, 0], [0, 1], [1, 1], *([m, m] for m in range(2, 10))]


def test_a_sigmoid_at_equal_lengths():
    """Where hypotheses are as long as references (toy lists) the sigmoid has its whole curvature."""
    metric = BLEU(tokenize="none")
    corpus = toy_lists(2, metric=metric, segments_=10)
    check_slope(Risk(metric, alpha=100.0, segments=10), weights_for(corpus), corpus)
