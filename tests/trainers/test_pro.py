"""PRO: pairs against enumeration, the regression by finite differences and against scikit-learn, what it refuses."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from nbest.base.errors import CapabilityError, ConvergenceWarning, ParameterError
from nbest.base.types import Floats
from nbest.compute import segments
from nbest.compute.executors import Threads, using
from nbest.corpus import NBest
from nbest.metrics import BLEU
from nbest.testing import check_trainer, toy_forests, toy_lists
from nbest.trainers.online.base import informative
from nbest.trainers.online.pro import PRO, logistic, pair_shards
from nbest.trainers.online.pro_pairs import Pairs, sample_pairs
from nbest.trainers.sparse.base import SparseLists, sparse_lists
from tests.trainers.test_perceptron import planted, share_left
from tests.trainers.test_sparse import mixed


def drawn(lists: SparseLists, **options: Any) -> Pairs:
    """Pairs of all informative lists."""
    settings: dict[str, Any] = {"least": 0.0, "draws": 5000, "kept": 50, "seed": (1,)} | options
    return sample_pairs(lists.losses, lists.offsets, informative(lists), **settings)


@pytest.mark.parametrize("kept", [1, 4, 50])
@pytest.mark.parametrize("least", [0.0, 1.0])
@pytest.mark.parametrize("seed", [1, 2])
def test_pairs_of_short_lists_are_those_of_the_largest_difference(kept: int, least: float, seed: int) -> None:
    lists = sparse_lists(toy_lists(seed), "the test")
    pairs = drawn(lists, kept=kept, least=least, seed=(seed,))
    losses = lists.losses
    for i in range(len(lists.corpus)):
        own = slice(pairs.offsets[i], pairs.offsets[i + 1])
        found = list(zip(pairs.better[own], pairs.worse[own], strict=True))
        every = [
            (a, b) if losses[a] < losses[b] else (b, a)
            for a, b in combinations(range(lists.offsets[i], lists.offsets[i + 1]), 2)
            if abs(losses[a] - losses[b]) > least
        ]
        assert len(set(found)) == len(found) == min(kept, len(every))
        assert set(found) <= set(every)
        gaps = sorted((losses[b] - losses[a] for a, b in every), reverse=True)
        assert [losses[b] - losses[a] for a, b in found] == gaps[:kept]


def test_equal_differences_are_taken_at_random() -> None:
    """Of 900 lists alike with 9 pairs that differ by 1, each pair is the one kept about 100 times."""
    losses = np.tile([0.0, 0.0, 0.0, 1.0, 1.0, 1.0], 900)
    offsets = np.arange(0, len(losses) + 1, 6)
    pairs = sample_pairs(losses, offsets, np.arange(900), 0.0, 5000, 1, (3,))
    counts = np.bincount(3 * (pairs.better % 6) + pairs.worse % 6 - 3, minlength=9)
    assert counts.sum() == 900
    assert (np.abs(counts - 100) < 60).all()


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_long_lists_are_sampled(seed: int) -> None:
    rng = np.random.default_rng(seed)
    losses, offsets = rng.permutation(400).astype(np.float64), np.array([0, 0, 200, 400])
    pairs = sample_pairs(losses, offsets, np.array([1, 2]), 5.0, 3000, 3000, (seed,))
    assert (losses[pairs.worse] - losses[pairs.better] > 5.0).all()
    assert (segments.owners(offsets)[pairs.better] == segments.owners(offsets)[pairs.worse]).all()
    assert (segments.owners(offsets)[pairs.better] == segments.owners(pairs.offsets)).all()
    assert 0.9 * 6000 < len(pairs.better) <= 6000  # of 400 losses some differ by no more than 5
    uses = np.bincount(np.concatenate([pairs.better, pairs.worse]), minlength=400)
    assert uses.min() > 0
    assert uses.max() < 3 * uses.mean()
    other = sample_pairs(losses, offsets, np.array([1, 2]), 5.0, 3000, 3000, (seed, 1))
    assert not np.array_equal(pairs.better[:100], other.better[:100])
    for threads in (1, 2, 3):
        with using(Threads(threads)):
            same = sample_pairs(losses, offsets, np.array([1, 2]), 5.0, 3000, 3000, (seed,))
        assert np.array_equal(same.better, pairs.better)
        assert np.array_equal(same.worse, pairs.worse)


def plain(lists: SparseLists, pairs: Pairs, values: Floats) -> float:
    """The sum of log(1 + exp(-margin))."""
    scores = lists.scores(values)
    return float(np.logaddexp(0.0, scores[pairs.worse] - scores[pairs.better]).sum())


@pytest.mark.parametrize("size", [0.1, 1.0, 300.0])
@pytest.mark.parametrize("seed", [1, 2])
def test_the_regression_by_finite_differences(size: float, seed: int) -> None:
    lists = sparse_lists(mixed(seed), "the test", dense=True)
    pairs = drawn(lists)
    values = size * np.random.default_rng(seed).normal(size=len(lists.names))
    shards = pair_shards(lists.matrix, lists.base, lists.offsets, pairs)
    value, gradient = logistic(shards, values)
    gradient = gradient.copy()  # the next call writes over it
    assert value == pytest.approx(plain(lists, pairs, values), rel=1e-12)
    for c in range(len(values)):
        shift = np.zeros(len(values))
        shift[c] = 1e-5
        slope = (plain(lists, pairs, values + shift) - plain(lists, pairs, values - shift)) / 2e-5
        assert gradient[c] == pytest.approx(slope, rel=1e-6, abs=1e-6 * max(1.0, abs(value)))
    for threads in (1, 2, 3):
        with using(Threads(threads)):
            again = logistic(shards, values)
        assert again[0] == value
        assert np.array_equal(again[1], gradient)


@pytest.mark.parametrize("variance", [0.01, 1.0])
def test_the_weights_are_those_of_scikit_learn(variance: float) -> None:
    """LogisticRegression without intercept on differences, every other one mirrored."""
    linear = pytest.importorskip("sklearn.linear_model", reason="scikit-learn is not installed")
    corpus = toy_lists(2, noise=0.5, sparse=True)
    trainer = PRO(variance=variance, start={}, alpha=0.0, iterations=500, tolerance=1e-10)
    trainer.fit(corpus)
    lists = sparse_lists(corpus, "the test", start={}, dense=True)
    pairs = drawn(lists)
    rows = lists.matrix.toarray()
    sides = np.where(np.arange(len(pairs.better)) % 2, 1.0, -1.0)
    differences = (rows[pairs.better] - rows[pairs.worse]) * sides[:, None]
    other = linear.LogisticRegression(C=variance, fit_intercept=False, tol=1e-10, max_iter=10000)
    other.fit(differences, sides)
    assert trainer.result_ is not None
    np.testing.assert_allclose(trainer.result_.weights, other.coef_[0], atol=2e-3 * np.abs(other.coef_).max())


def test_squares_of_differences() -> None:
    lists = sparse_lists(mixed(3), "the test", dense=True)
    pairs = drawn(lists)
    rows = lists.matrix.toarray()
    expected = ((rows[pairs.better] - rows[pairs.worse]) ** 2).sum(axis=0)
    np.testing.assert_allclose(pairs.squares(lists.matrix), expected)


def test_rounds_are_averaged() -> None:
    corpus = toy_lists(4, noise=0.5)
    trainer = PRO(xi=3, rounds=3, iterations=500, tolerance=1e-10)
    trainer.fit(corpus)
    lists = sparse_lists(corpus, "the test")
    least = 0.05 * float(np.mean([np.ptp(part) for part in _parts(lists) if len(part) and np.ptp(part) > 0]))
    found = []
    for number in range(3):
        pairs = drawn(lists, kept=3, least=least, seed=(1, number))
        found.append(_regression(lists, pairs))
    assert not np.allclose(found[0], found[1], atol=1e-3)
    assert trainer.result_ is not None
    np.testing.assert_allclose(trainer.result_.weights, np.mean(found, axis=0), atol=2e-3)


def _parts(lists: SparseLists) -> list[Floats]:
    return np.split(lists.losses, lists.offsets[1:-1])


def _regression(lists: SparseLists, pairs: Pairs) -> Floats:
    from scipy.optimize import minimize

    start = np.zeros(len(lists.names))
    return np.asarray(minimize(lambda w: plain(lists, pairs, w) + w @ w / 2, start, method="Nelder-Mead", tol=1e-9).x)


def test_contract() -> None:
    check_trainer(PRO)
    check_trainer(PRO, rounds=2, xi=100, variance=0.5)


@pytest.mark.parametrize("heldout", [planted(8), None])
def test_sparse_features_are_learnt_and_those_of_no_use_are_not(heldout: NBest | None) -> None:
    corpus, test = planted(7), planted(9)
    calls: list[tuple[int, int]] = []
    trainer = PRO(progress=lambda done, total: calls.append((done, total)))
    model = trainer.fit(corpus, heldout)
    assert share_left(test, model) < 0.1
    assert "nowhere" not in model.weights
    assert calls[-1][0] == calls[-1][1]
    assert trainer.result_ is not None
    assert ("heldout" if heldout else "left_out") in trainer.result_.history[0]
    assert dict(PRO(threads=1).fit(corpus, heldout).weights) == dict(model.weights)
    fixed = PRO(dense=False).fit(corpus, heldout)
    assert fixed.weights["third"] == 1.0
    assert PRO(variance=1e-9).fit(corpus).weights["third"] == pytest.approx(1.0, abs=1e-4)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"gamma": 0}, "'gamma' of PRO must be >= 1, got 0"),
        ({"xi": 0}, "'xi' of PRO must be >= 1"),
        ({"rounds": 0}, "'rounds' of PRO must be >= 1"),
        ({"iterations": 0}, "'iterations' of PRO must be >= 1"),
        ({"patience": 0}, "'patience' of PRO must be >= 1"),
        ({"alpha": -0.1}, "'alpha' of PRO must be >= 0"),
        ({"tolerance": 0.0}, "'tolerance' of PRO must be > 0"),
        ({"variance": 0.0}, "'variance' of PRO must be > 0, got 0.0"),
        ({"variance": float("nan")}, "'variance' of PRO must be > 0"),
        ({"seed": -1}, "'seed' must be >= 0"),
    ],
)
def test_bad_settings(options: dict[str, Any], reason: str) -> None:
    with pytest.raises(ParameterError, match=reason):
        PRO(**options).fit(toy_lists())


def test_lists_that_teach_nothing_are_refused() -> None:
    corpus = toy_lists()
    assert corpus.stats is not None
    with pytest.raises(CapabilityError, match="in every list all hypotheses have the same loss by WER"):
        PRO().fit(replace(corpus, stats=np.ones_like(corpus.stats)))
    with pytest.raises(CapabilityError, match="give a smaller 'alpha'"):
        PRO(alpha=100.0).fit(corpus)


def test_too_few_iterations_are_reported() -> None:
    trainer = PRO(iterations=1)
    with pytest.warns(ConvergenceWarning, match="its regression was stopped by its limit of iterations"):
        trainer.fit(toy_lists(noise=0.5))
    assert trainer.result_ is not None
    assert trainer.result_.status == "limit"


def test_forests() -> None:
    forests = toy_forests(1).with_metric(BLEU(tokenize="none", max_ngram_order=2))
    model = PRO().fit(forests)
    assert set(model.weights) == set(forests.feature_names)
