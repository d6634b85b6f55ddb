"""Weights without labels: EM against plain loops, what is found on made lists, and that labels are not looked at."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.sparse import csr_array
from scipy.stats import multivariate_normal

import nbest
from nbest.base.errors import CapabilityError, ConvergenceWarning
from nbest.base.types import Floats
from nbest.corpus import NBest, Texts
from nbest.trainers.dense.weak import _right, _separating, shares_answers


def test_features_that_never_differ_do_not_count_votes_again() -> None:
    lists = voters(2)
    more = lists.with_features(("one", "two"), np.ones((lists.hypotheses, 2)))
    model = nbest.WeakSupervision().fit(more)
    assert model.weights["one"] == model.weights["two"] == 0
    plain = nbest.WeakSupervision().fit(lists).weights
    assert {name: model.weights[name] for name in plain} == pytest.approx(plain)


ACCURACIES = (0.8, 0.6, 0.6, 0.5, 0.5, 0.4, 0.4, 0.4)


def voters(seed: int = 1, count: int = 300) -> NBest:
    """Lists of one vote a voter: right, or one of six wrong answers, half of the time the same for the last three."""
    rng = np.random.default_rng(seed)
    texts, rows = [], []
    for _ in range(count):
        wrong = rng.integers(1, 7)
        for j in rng.permutation(len(ACCURACIES)).tolist():  # ties go to the first, which must tell nothing
            right = rng.random() < ACCURACIES[j]
            copied = j >= len(ACCURACIES) - 3 and rng.random() < 0.5
            texts.append("0" if right else str(wrong if copied else rng.integers(1, 7)))
            rows.append(j)
    size, width = len(texts), len(ACCURACIES)
    sparse = csr_array((np.ones(size), (np.arange(size), rows)), (size, width))
    lists = NBest(
        offsets=np.arange(count + 1) * width,
        features=np.zeros((size, 0)),
        feature_names=(),
        ids=tuple(map(str, range(count))),
        texts=Texts.of(texts),
        sparse=sparse,
        sparse_names=tuple(f"v{j}" for j in range(width)),
        gains=np.array([float(text == "0") for text in texts]),
    )
    return lists.with_metric(nbest.External())


def verifiers(seed: int = 1, count: int = 200, size: int = 8) -> NBest:
    """One good hypothesis a list; two good verifiers, noise and a copy of it, and a feature that never differs."""
    rng = np.random.default_rng(seed)
    gains = np.zeros((count, size))
    gains[np.arange(count), rng.integers(size, size=count)] = 1.0
    gains = gains.ravel()
    good = 2.0 * gains[:, None] + rng.normal(size=(len(gains), 2))
    noise = rng.normal(size=(len(gains), 1))
    again = noise + 0.01 * rng.normal(size=noise.shape)
    columns = np.concatenate([good * [1.0, 50.0], noise, again, 0 * noise], axis=1)
    offsets, ids = np.arange(count + 1) * size, tuple(map(str, range(count)))
    names = ("a", "b", "noise", "again", "same")
    texts = Texts.of([str(h) for h in range(len(gains))])
    return NBest(offsets, columns, names, ids, texts=texts, gains=gains).with_metric(nbest.External())


@pytest.mark.parametrize("none", [False, True])
def test_the_right_one_is_by_bayes(none: bool) -> None:
    offsets, scores = np.array([0, 3, 3, 5]), np.array([1.0, -2.0, 0.5, 800.0, -800.0])
    found = _right(scores, offsets, none=none)
    total = sum(math.exp(each) for each in scores[:3]) + none
    np.testing.assert_allclose(found[:3], [math.exp(each) / total for each in scores[:3]])
    np.testing.assert_allclose(found[3:], [1.0, 0.0])


def test_weights_are_the_log_likelihood_ratio_of_two_gaussians() -> None:
    rng = np.random.default_rng(2)
    columns = rng.normal(size=(400, 3)) @ [[1.0, 0.5, 0.2], [0.0, 1.0, 0.3], [0.0, 0.0, 1.0]]
    right = 1 / (1 + np.exp(-columns @ [1.0, 0.6, 0.8]))
    weights, offset = _separating(columns, right, 0.0)
    assert (weights > 0).all()
    means = [np.average(columns, axis=0, weights=each) for each in (right, 1 - right)]
    parts = [(columns - mean).T * each @ (columns - mean) for mean, each in zip(means, (right, 1 - right), strict=True)]
    covariance = sum(parts) / 400
    first, second = (multivariate_normal(mean, covariance).logpdf(columns) for mean in means)
    odds = math.log(right.sum() / (1 - right).sum())
    np.testing.assert_allclose(columns @ weights + offset, first - second + odds, atol=1e-3)


def test_no_weight_is_negative_and_the_rest_is_best() -> None:
    rng = np.random.default_rng(3)
    columns = rng.normal(size=(300, 4))
    columns[:, 3] += columns[:, 0]
    right = 1 / (1 + np.exp(-columns @ [2.0, 1.0, -1.0, -0.5]))
    weights, _ = _separating(columns, right, 0.25)

    gap = np.average(columns, axis=0, weights=right) - np.average(columns, axis=0, weights=1 - right)
    means = [np.average(columns, axis=0, weights=each) for each in (right, 1 - right)]
    covariance = columns.T @ columns - sum(
        each.sum() * np.outer(mean, mean) for mean, each in zip(means, (right, 1 - right), strict=True)
    )
    covariance = covariance / 300
    covariance = 0.75 * covariance + 0.25 * np.eye(4)

    def value(w: Floats) -> float:
        return float(w @ covariance @ w / 2 - w @ gap)

    best = minimize(value, np.ones(4), bounds=[(0, None)] * 4, options={"ftol": 1e-14, "gtol": 1e-10})
    assert weights[2] == 0.0
    np.testing.assert_allclose(weights, best.x, atol=2e-4)


def test_good_voters_are_believed() -> None:
    gained = []
    for seed in range(1, 5):
        lists = voters(seed)
        model = nbest.WeakSupervision().fit(replace(lists, stats=None, metric=None, gains=None))
        assert model.decision == {"kind": "vote", "pool": "scores"}
        assert (model.scores_, model.metric) == ({}, "")
        own = [model.weights[f"v{j}"] + model.weights["answered"] for j in range(len(ACCURACIES))]
        assert np.argmax(own) == 0
        assert max(own) < 0.5 * sum(own)  # no voter decides alone
        assert np.corrcoef(own, ACCURACIES)[0, 1] > 0.8
        gained.append(lists.score(nbest.choose(model, lists).chosen) - score_of_plurality(lists))
    assert np.mean(gained) > 0.02


def score_of_plurality(lists: NBest) -> float:
    return lists.score(nbest.choose(None, lists, "vote").chosen)


def test_little_shrinkage_may_believe_one_voter_alone() -> None:
    lists = voters(1)
    model = nbest.WeakSupervision(shrinkage=0.0).fit(lists)
    own = [model.weights[f"v{j}"] + model.weights["answered"] for j in range(len(ACCURACIES))]
    assert max(own) > 0.9 * sum(own)
    assert model.scores_["dev"] < score_of_plurality(lists)


def test_good_verifiers_are_believed_in_any_unit() -> None:
    lists = verifiers()
    trainer = nbest.WeakSupervision()
    model = trainer.fit(lists)
    assert trainer.result_ is not None
    assert trainer.result_.status == "converged"
    assert model.decision == {}
    assert model.weights["same"] == 0.0
    spread = {name: float(lists.column(name).std()) for name in lists.feature_names}
    say = {name: weight * spread[name] for name, weight in model.weights.items()}
    assert min(say["a"], say["b"]) > 3 * max(say["noise"], say["again"])
    equal = nbest.LogLinear({name: 1 / spread[name] for name in ("a", "b", "noise", "again")})
    assert model.scores_["dev"] > lists.score(equal.predict(lists)) + 0.05


def test_labels_are_not_looked_at() -> None:
    for lists in (voters(2), verifiers(2)):
        assert lists.gains is not None
        other = replace(lists, gains=1.0 - lists.gains).with_metric(nbest.External())
        models = [nbest.WeakSupervision().fit(each) for each in (lists, other, replace(lists, stats=None, metric=None))]
        assert dict(models[0].weights) == dict(models[1].weights) == dict(models[2].weights)
        assert models[0].scores_["dev"] != models[1].scores_["dev"]


def test_whether_answers_vote() -> None:
    assert shares_answers(voters())
    assert not shares_answers(verifiers())
    assert not shares_answers(replace(voters(), texts=None))
    assert nbest.WeakSupervision(votes=False).fit(voters()).decision == {}
    model = nbest.WeakSupervision(votes=True).fit(verifiers())
    assert model.decision["kind"] == "vote"
    assert "answered" in model.weights


def test_what_it_cannot_do_is_said() -> None:
    lists = verifiers()
    with pytest.raises(CapabilityError, match="needs features that differ within lists"):
        nbest.WeakSupervision().fit(lists.without_features(("a", "b", "noise", "again")))
    wide = lists.with_sparse([f"s{j}" for j in range(2500)], csr_array((lists.hypotheses, 2500)))
    with pytest.raises(CapabilityError, match="at most 2000 features, and these lists have 2505"):
        nbest.WeakSupervision().fit(wide)
    with pytest.warns(ConvergenceWarning, match="still changed by .* after 1 iterations"):
        nbest.WeakSupervision(iterations=1).fit(lists)
