"""How hypotheses stand within their lists: against plain Python, in any units."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import rankdata, zscore

import nbest
from nbest.base.errors import CapabilityError, ParameterError
from nbest.features import apply_recipes, fit_recipes, within_scale
from nbest.features.wanted import wanted

SIZES = (3, 0, 1, 5, 2, 0)
RNG = np.random.default_rng(3)
VALUES = np.round(RNG.normal(size=(sum(SIZES), 2)), 1)
VALUES[:3, 0] = 2.0  # a list of equal values
VALUES[5:7, 1] = VALUES[4, 1]  # ties


def lists(values):
    return nbest.NBest(
        offsets=np.append(0, np.cumsum(SIZES)), features=values, feature_names=("a", "b"),
        ids=tuple(map(str, range(len(SIZES)))),
    )  # fmt: skip


def added(values, kind, **options):
    corpus = lists(values)
    return apply_recipes(corpus, fit_recipes(corpus, [{"kind": kind, **options}]))


def by_list(column):
    return np.split(column, np.cumsum(SIZES)[:-1])


def probabilities(part, scale):
    each = [math.exp(value / scale) for value in part]
    return np.array([value / sum(each) for value in each])


def test_standardised():
    found = added(VALUES, "standardised")
    assert found.feature_names[2:] == ("standardised:a", "standardised:b")
    for name, d in (("standardised:a", 0), ("standardised:b", 1)):
        for part, got in zip(by_list(VALUES[:, d]), by_list(found.column(name)), strict=True):
            same = len(set(part)) < 2
            assert got == pytest.approx(np.zeros(len(part)) if same else zscore(part))


def test_posterior():
    found = added(VALUES, "posterior", features=["b"])
    assert found.feature_names[2:] == ("posterior:b",)
    scale = within_scale(lists(VALUES))[1]
    for part, got in zip(by_list(VALUES[:, 1]), by_list(found.column("posterior:b")), strict=True):
        assert got == pytest.approx(probabilities(part, scale))


def test_places():
    found = added(VALUES, "places")
    for name, d in (("place:a", 0), ("place:b", 1)):
        for part, got in zip(by_list(VALUES[:, d]), by_list(found.column(name)), strict=True):
            assert got == pytest.approx(-np.log(rankdata(-part, method="min")) if len(part) else [])


@pytest.mark.parametrize("kind", ["standardised", "posterior", "places"])
@pytest.mark.parametrize("unit", [1e-280, 1e280])
def test_units_do_not_matter(kind, unit):
    plain, other = (added(values, kind).features[:, 2:] for values in (VALUES, VALUES * unit))
    assert other == pytest.approx(plain, rel=1e-9)


@pytest.mark.parametrize("kind", ["standardised", "places"])
def test_what_is_added_to_a_list_does_not_matter(kind):
    shift = np.repeat(RNG.normal(size=len(SIZES)).round(1), SIZES)[:, None]
    plain, other = (added(np.round(values, 1), kind).features[:, 2:] for values in (VALUES, VALUES + shift))
    assert other == pytest.approx(plain, abs=1e-9)


def test_features_that_never_differ_are_left_out():
    values = VALUES.copy()
    values[:, 0] = 1.5
    for kind in ("standardised", "posterior", "places"):
        (recipe,) = fit_recipes(lists(values), wanted(kind))
        assert recipe["features"] == ["b"]


def test_wrong_recipes():
    corpus = lists(VALUES)
    with pytest.raises(CapabilityError, match="needs the feature 'c' and these lists have none"):
        fit_recipes(corpus, [{"kind": "places", "features": ["c"]}])
    with pytest.raises(ParameterError, match="must be 2 positive numbers"):
        apply_recipes(corpus, [{"kind": "posterior", "features": ["a", "b"], "scales": [1.0, 0.0]}])
    with pytest.raises(CapabilityError, match="needs the feature 'a'"):
        apply_recipes(replace(corpus, feature_names=("x", "b")), [{"kind": "standardised", "features": ["a"]}])
