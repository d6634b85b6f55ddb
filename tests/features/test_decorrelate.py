"""Combinations of features that do not vary together: against NumPy's covariance, and for what they are made."""

from dataclasses import replace

import numpy as np
import pytest

from nbest.features import within_scale
from nbest.features.decorrelate import decorrelated, within_covariance
from nbest.forests.derivations import forests_of
from nbest.forests.kbest import kbest
from nbest.testing import toy_forests, toy_lists
from nbest.trainers import MERT


def mixed(corpus, seed=1):
    """The lists with features that are mixtures of theirs and vary together."""
    rng = np.random.default_rng(seed)
    width = len(corpus.feature_names)
    mixture = rng.normal(size=(width, width)) + 3.0 * rng.normal(size=(width, 1))
    return replace(corpus, features=corpus.features @ mixture.T)


def centred(corpus, columns):
    scaled = corpus.features[:, columns] / within_scale(corpus)[columns]
    pairs = zip(corpus.offsets[:-1], corpus.offsets[1:], strict=True)
    return np.concatenate([scaled[low:high] - scaled[low:high].mean(axis=0) for low, high in pairs if high > low])


def test_covariance_within_lists():
    corpus, columns = mixed(toy_lists(7)), np.array([2, 0])
    rows = centred(corpus, columns)
    found = within_covariance(corpus, within_scale(corpus), columns)
    np.testing.assert_allclose(found, rows.T @ rows / len(rows), rtol=1e-10)
    np.testing.assert_allclose(np.diag(found), 1.0)


def test_covariance_over_derivations_of_forests():
    forests, columns = toy_forests(), np.array([1, 0])
    every = kbest(forests, np.zeros(forests.edges), 10**5)  # all of them
    assert np.diff(every.offsets).max() < 10**5
    scale, sums = within_scale(forests), np.zeros((2, 2))
    features = np.stack([every.sums(forests.features[:, d]) / scale[d] for d in columns], axis=1)
    for low, high in zip(every.offsets[:-1], every.offsets[1:], strict=True):
        if high > low:
            sums += np.cov(features[low:high], rowvar=False, bias=True)
    np.testing.assert_allclose(within_covariance(forests, scale, columns), sums / len(forests), atol=1e-9)


def test_lists_as_forests():
    corpus, columns = mixed(toy_lists(9)), np.arange(3)
    corpus = corpus.select(np.flatnonzero(corpus.lengths == corpus.lengths.max()))
    ours, theirs = (within_covariance(each, within_scale(corpus), columns) for each in (forests_of(corpus), corpus))
    np.testing.assert_allclose(ours, theirs, atol=1e-9)


def test_combinations_are_uncorrelated_and_nearest_to_the_features():
    corpus, columns = mixed(toy_lists(9)), np.arange(3)
    combined = decorrelated(corpus, within_scale(corpus), columns)
    rows = centred(corpus, columns) @ combined
    np.testing.assert_allclose(rows.T @ rows / len(rows), np.eye(3), atol=1e-8)
    np.testing.assert_allclose(combined, combined.T)
    assert np.linalg.eigvalsh(combined).min() > 0  # each points where its feature does


def test_a_feature_twice_is_no_trouble():
    corpus = toy_lists(5)
    twice = replace(corpus, features=np.hstack([corpus.features, corpus.features[:, :1]]), feature_names=tuple("abcd"))
    assert np.isfinite(decorrelated(twice, within_scale(twice), np.arange(4))).all()


@pytest.mark.filterwarnings("ignore:MERT. the weights collapsed")
def test_climbs_get_further_where_features_vary_together():
    corpus = mixed(toy_lists(60, noise=0.5))
    reached = {}
    for axes in ("both", "features"):
        reached[axes] = 0.0
        for seed in range(8):
            trainer = MERT(restarts=1, hops=0, axes=axes, seed=seed, threads=1)
            trainer.fit(corpus)
            reached[axes] += trainer.result_.value / 8
    assert reached["both"] < reached["features"] - 0.1  # WER
