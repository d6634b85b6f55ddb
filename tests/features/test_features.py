"""Columns made from texts and order, against plain loops."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from rapidfuzz.distance import Levenshtein
from strategies import text_lists

from nbest.base.errors import CapabilityError, ParameterError
from nbest.features import FEATURES, FITTED, agreement, apply_recipes, length, rank, texts, within_scale
from nbest.testing import toy_lists, with_scaled


@settings(deadline=None, max_examples=60)
@given(text_lists(longest=5))
def test_length_and_rank(corpus):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(texts, "_FEW", 0)
        by_kernel = length(corpus)
    found = rank(length(corpus))
    assert found.features[:, :-1].tolist() == by_kernel.features.tolist()
    assert found.feature_names[-3:] == ("words", "chars", "rank")
    h = 0
    for size in corpus.lengths:
        for place in range(size):
            text = corpus.texts[h]
            words, chars, log_place = found.features[h, -3:]
            assert (words, chars) == (len(text.split()), len("".join(text.split())))
            assert log_place == pytest.approx(-math.log(1 + place), abs=1e-15)
            h += 1


@settings(deadline=None, max_examples=60)
@given(text_lists(longest=5))
def test_agreement(corpus):
    found = agreement(corpus).column("agreement")
    for low, high in zip(corpus.offsets[:-1], corpus.offsets[1:], strict=True):
        weights = [1 / (1 + place) for place in range(high - low)]
        for h in range(low, high):
            losses = [Levenshtein.distance(corpus.texts[h].split(), corpus.texts[r].split()) for r in range(low, high)]
            mean = sum(w * loss for w, loss in zip(weights, losses, strict=True)) / sum(weights)
            assert found[h] == pytest.approx(-mean, abs=1e-9)


def test_agreement_with_little_evidence():
    corpus = toy_lists()
    first = agreement(corpus, evidence=1).column("agreement")
    assert (first <= 0).all()
    assert not np.array_equal(first, agreement(corpus).column("agreement"))
    for metric in ("bleu", "chrf", "cer"):
        assert np.isfinite(agreement(corpus, metric=metric).column("agreement")).all()


def test_recipes():
    corpus = toy_lists()
    found = apply_recipes(corpus, [{"kind": "rank"}, {"kind": "agreement", "metric": "cer", "evidence": 3}])
    assert np.array_equal(found.features, agreement(rank(corpus), metric="cer", evidence=3).features)
    with pytest.raises(ParameterError, match=r"unknown feature 'lenght'; known: .*; did you mean 'length'"):
        apply_recipes(corpus, [{"kind": "lenght"}])
    with pytest.raises(
        ParameterError, match=r"the feature 'agreement' has no option 'metrics'; .*did you mean 'metric'"
    ):
        apply_recipes(corpus, [{"kind": "agreement", "metrics": "wer"}])


@pytest.mark.parametrize("name", sorted(set(FEATURES) - set(FITTED)))
def test_every_recipe(name):
    """Columns are finite, others stay, empty lists pass, and only `rank` does without texts."""
    corpus = toy_lists()
    found = FEATURES[name](corpus)
    assert found.feature_names[:3] == corpus.feature_names
    assert np.array_equal(found.features[:, :3], corpus.features)
    assert len(found.feature_names) > 3
    empty = corpus.keep(np.zeros(corpus.hypotheses, bool))
    assert FEATURES[name](empty).feature_names == found.feature_names
    if name != "rank":
        with pytest.raises(CapabilityError, match=f"the feature '{name}' needs the texts"):
            FEATURES[name](replace(corpus, texts=None))


# the scale that trainers divide by ------------------------------------------------------------------------------


@settings(deadline=None, max_examples=60)
@given(text_lists(features=3, longest=5))
def test_scale_within_lists(corpus):
    squares, count = np.zeros(3), 0
    for low, high in zip(corpus.offsets[:-1], corpus.offsets[1:], strict=True):
        rows = corpus.features[low:high]
        squares += ((rows - rows.mean(axis=0)) ** 2).sum(axis=0) if len(rows) else 0
        count += len(rows)
    np.testing.assert_allclose(within_scale(corpus), np.sqrt(squares / max(count, 1)), rtol=1e-9, atol=1e-12)


def test_scale_follows_units_and_finds_what_never_differs():
    corpus = toy_lists()
    factors = np.array([1e-300, 1e300, -3.0])
    np.testing.assert_allclose(within_scale(with_scaled(corpus, factors)), np.abs(factors) * within_scale(corpus))
    constant = np.repeat(np.linspace(-0.1, 1e6, len(corpus)), corpus.lengths)
    assert within_scale(corpus.with_features(("c", "z"), np.stack([constant, 0 * constant], axis=1)))[3:].tolist() == [
        0,
        0,
    ]
