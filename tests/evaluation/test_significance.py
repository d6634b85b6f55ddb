"""Paired tests against sacrebleu, scipy, enumeration and simulation."""

from itertools import product

import numpy as np
import pytest
from sacrebleu import metrics as sacrebleu_metrics
from sacrebleu.significance import PairedTest
from scipy.stats import wilcoxon as scipy_wilcoxon

from nbest.base.errors import ParameterError
from nbest.compute.segments import offsets_of
from nbest.corpus import Texts
from nbest.evaluation.significance import TESTS, bootstrap, permutation, resampled, wilcoxon
from nbest.metrics import BLEU, CHRF, WER, External

WORDS = np.array(["the", "a", "of", "to", "and", "in", "cat", "dog", "house", "tree", "big", "runs", "red", "blue"])


def systems(seed, count=40):
    """References and the outputs of two systems, one a little worse."""
    rng = np.random.default_rng(seed)
    references = [rng.choice(WORDS, rng.integers(5, 15)) for _ in range(count)]

    def noisy(share):
        out = []
        for words in references:
            changed = rng.random(len(words)) < share
            out.append(" ".join(np.where(changed, rng.choice(WORDS, len(words)), words)))
        return out

    return [" ".join(words) for words in references], noisy(0.3), noisy(0.35)


def stats_of(metric, hypotheses, references):
    return metric.stats(
        Texts.of(hypotheses), offsets_of(np.ones(len(hypotheses), np.int64)), [[text] for text in references]
    )


@pytest.mark.parametrize("seed", [1, 2, 12345])
def test_permutation_equals_sacrebleu(seed, monkeypatch):
    """sacrebleu 2.6.0, --paired-ar, for BLEU and chrF."""
    monkeypatch.setenv("SACREBLEU_SEED", str(seed))
    references, first, second = systems(seed)
    theirs = {"BLEU": sacrebleu_metrics.BLEU(), "chrF2": sacrebleu_metrics.CHRF()}
    _, scores = PairedTest(
        [("first", first), ("second", second)], theirs, [references], test_type="ar", n_samples=400
    )()
    for (_, results), metric in zip(list(scores.items())[1:], (BLEU(), CHRF()), strict=True):
        found = permutation(
            metric, stats_of(metric, first, references), stats_of(metric, second, references), samples=400, seed=seed
        )
        assert found.first == pytest.approx(results[0].score, rel=1e-9)
        assert found.second == pytest.approx(results[1].score, rel=1e-9)
        assert found.p == pytest.approx(results[1].p_value, abs=1e-12)


def test_identical_systems_differ_from_sacrebleu(monkeypatch):
    """The documented difference: they count only strictly larger differences and report 1 / (samples + 1)."""
    monkeypatch.setenv("SACREBLEU_SEED", "1")
    references, first, _ = systems(1)
    _, scores = PairedTest(
        [("a", first), ("b", first)], {"BLEU": sacrebleu_metrics.BLEU()}, [references], "ar", n_samples=99
    )()
    assert scores["BLEU"][1].p_value == pytest.approx(1 / 100)
    stats = stats_of(BLEU(), first, references)
    for test in TESTS.values():
        assert test(BLEU(), stats, stats).p == 1.0
        assert test(BLEU(), stats, stats).difference == 0.0


def values(rng, count, shift=0.0):
    return External().stats_of(rng.normal(shift, 1.0, count))


@pytest.mark.parametrize("name", TESTS)
def test_symmetric(name):
    rng = np.random.default_rng(3)
    for count in (1, 2, 30):
        first, second = values(rng, count), values(rng, count, 0.3)
        one, other = TESTS[name](External(), first, second), TESTS[name](External(), second, first)
        assert one.p == pytest.approx(other.p, abs=1e-12)
        assert (one.first, one.second) == (other.second, other.first)
        assert one.difference == -other.difference
        if one.interval is not None:
            np.testing.assert_allclose(one.interval, [-end for end in other.interval[::-1]], atol=1e-9)
            assert one.first_interval == other.second_interval


@pytest.mark.parametrize("metric", [External(), WER()])
@pytest.mark.parametrize("count", [1, 3, 8])
def test_permutation_agrees_with_all_swaps(metric, count):
    """Small whole numbers, so that ties occur; the exact p counts them as at least as extreme."""
    rng = np.random.default_rng(count)
    samples = 20000
    first, second = (
        np.stack([rng.integers(0, 5, count), np.full(count, 3)], axis=1).astype(np.float64) for _ in range(2)
    )
    observed = abs(float(metric.score(second.sum(axis=0)) - metric.score(first.sum(axis=0))))
    extreme = 0
    for swaps in product([False, True], repeat=count):
        mask = np.array(swaps)[:, None]
        a, b = np.where(mask, second, first).sum(axis=0), np.where(mask, first, second).sum(axis=0)
        extreme += abs(float(metric.score(a) - metric.score(b))) >= observed - 1e-9
    exact = extreme / 2**count
    found = permutation(metric, first, second, samples=samples, seed=count).p
    assert abs(found - exact) <= 5 * np.sqrt(exact * (1 - exact) / samples) + 2 / samples


@pytest.mark.parametrize("name", ["permutation", "bootstrap", "wilcoxon"])
def test_level_under_the_null(name):
    """Equal systems are called different at 0.05 about one time in twenty: 200 simulations, some slack."""
    options = {} if name == "wilcoxon" else {"samples": 300}
    rejected = 0
    for seed in range(200):
        rng = np.random.default_rng([seed, 77])
        # the same segment difficulty for both, which is what pairing is for
        hard = rng.normal(0, 2, 60)
        first, second = (External().stats_of(hard + rng.normal(0, 1, 60)) for _ in range(2))
        rejected += TESTS[name](External(), first, second, **options).p < 0.05
    assert rejected <= 24


def test_a_real_difference_is_found():
    rng = np.random.default_rng(5)
    hard = rng.normal(0, 2, 200)
    first, second = External().stats_of(hard), External().stats_of(hard + rng.normal(0.5, 1, 200))
    for test in TESTS.values():
        assert 0 < test(External(), first, second).p < 0.01


def test_bootstrap_intervals_cover():
    """Of 100 simulated systems, about 95 intervals hold the true difference."""
    hits = 0
    for seed in range(100):
        rng = np.random.default_rng([seed, 5])
        hard = rng.normal(0, 2, 80)
        first, second = External().stats_of(hard), External().stats_of(hard + rng.normal(0.4, 1, 80))
        found = bootstrap(External(), first, second, samples=400, seed=seed)
        hits += found.interval[0] <= 0.4 <= found.interval[1]
        assert found.interval[0] <= found.difference <= found.interval[1]
        assert found.first_interval[0] <= found.first <= found.first_interval[1]
    assert hits >= 84


@pytest.mark.parametrize("name", TESTS)
def test_p_is_never_zero(name):
    first = External().stats_of(np.zeros(300))
    second = External().stats_of(np.ones(300) + np.arange(300) / 1000)
    found = TESTS[name](External(), first, second)
    assert 0 < found.p <= 0.01
    if name != "wilcoxon":
        assert found.p <= 3 / found.samples


@pytest.mark.parametrize("batch", [1, 3, 10])
def test_wilcoxon_equals_scipy(batch):
    """scipy 1.17, on batches made by hand; 25 segments, so that the last batch is smaller."""
    rng = np.random.default_rng(batch)
    first, second = (np.stack([rng.integers(0, 9, 25), rng.integers(3, 9, 25)], axis=1) * 1.0 for _ in range(2))
    gaps = []
    for at in range(0, 25, batch):
        a, b = first[at : at + batch].sum(axis=0), second[at : at + batch].sum(axis=0)
        gaps.append(100 * b[0] / b[1] - 100 * a[0] / a[1])
    gaps = [gap for gap in gaps if abs(gap) > 1e-12]
    found = wilcoxon(WER(), first, second, batch=batch)
    assert found.p == pytest.approx(scipy_wilcoxon(gaps).pvalue, abs=1e-12)
    assert found.samples == -(-25 // batch)


def test_seeds():
    rng = np.random.default_rng(1)
    first, second = values(rng, 50), values(rng, 50, 0.2)
    for test in (permutation, bootstrap):
        assert test(External(), first, second, seed=1) == test(External(), first, second, seed=1)
        several = {test(External(), first, second, samples=500, seed=seed).p for seed in range(6)}
        assert len(several) > 1
        assert max(several) - min(several) < 0.2


@pytest.mark.parametrize("name", TESTS)
def test_refusals(name):
    test, stats = TESTS[name], External().stats_of([1.0, 2.0])
    with pytest.raises(ParameterError, match=r"need the same segments: statistics \(2, 2\) and \(1, 2\)"):
        test(External(), stats, stats[:1])
    with pytest.raises(ParameterError, match="at least one segment, got none"):
        test(External(), stats[:0], stats[:0])
    option = {"batch": 0} if name == "wilcoxon" else {"samples": 0}
    with pytest.raises(ParameterError, match="must be >= 1, got 0"):
        test(External(), stats, stats, **option)


def test_chunks_change_nothing(monkeypatch):
    """Selections handled in small pieces give the same numbers, and so does a corpus too large for one draw."""
    rng = np.random.default_rng(1)
    first, second = values(rng, 30), values(rng, 30, 0.2)
    whole = permutation(External(), first, second, samples=200)
    monkeypatch.setattr("nbest.metrics.paired.CHUNK", 90)
    assert permutation(External(), first, second, samples=200) == whole
    monkeypatch.setattr("nbest.metrics.paired._WHOLE", 10)
    piecewise = permutation(External(), first, second, samples=200)
    assert abs(piecewise.p - whole.p) < 0.25
    assert bootstrap(External(), first, second, samples=200).samples == 200


def test_resampled_scores_have_the_spread_of_the_mean() -> None:
    values = np.random.default_rng(3).normal(size=(400, 2))
    found = resampled(External(), np.stack([values, np.ones_like(values)], axis=-1), samples=2000)
    assert found.shape == (2000, 2)
    np.testing.assert_allclose(found.mean(axis=0), values.mean(axis=0), atol=0.01)
    np.testing.assert_allclose(found.std(axis=0), values.std(axis=0) / 20, rtol=0.1)
    with pytest.raises(ParameterError, match="at least one segment"):
        resampled(External(), np.zeros((0, 2)))
