"""Bins, against plain loops."""

import math
from bisect import bisect_left
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbest import LogLinear
from nbest.base.errors import CapabilityError, ParameterError
from nbest.compute import segments
from nbest.corpus import NBest
from nbest.features import Bins, apply_recipes, bins, seed_weights
from nbest.testing import toy_lists

_VALUE = st.one_of(
    st.sampled_from([0.0, 1.0, -2.5, 1e6, -1e6, 1e300, -1e300, 1e-300]), st.floats(-1e3, 1e3, allow_subnormal=False)
)


def lists(*columns, size=3):
    """Lists of `size` hypotheses with these columns."""
    features = np.stack([np.asarray(column, np.float64) for column in columns], axis=1)
    offsets = np.append(np.arange(0, len(features), size), len(features))
    names = tuple(f"f{d}" for d in range(len(columns)))
    return NBest(offsets, features, names, tuple(str(i) for i in range(len(offsets) - 1)))


def plain_columns(value, edges, soft, sharpness):
    """The columns of one value by the formulas of `Bins`."""
    size = len(edges) - 1
    place = bisect_left(edges[1:-1], value)
    if not soft:
        return [float(b == place) for b in range(size)]
    u = place + (value - edges[place]) / max(edges[place + 1] - edges[place], 2.2250738585072014e-308)
    steps = [1.0] + [
        0.0 if -sharpness * (u - b) > 700 else 1 / (1 + math.exp(-sharpness * (u - b))) for b in range(1, size)
    ]
    return [a - b for a, b in zip(steps, [*steps[1:], 0.0], strict=True)]


@settings(deadline=None, max_examples=150)
@given(st.lists(_VALUE, min_size=1, max_size=40), st.integers(1, 8), st.lists(_VALUE, max_size=5), st.booleans())
def test_columns(values, count, more, soft):
    recipe = Bins(count, soft=soft, tolerance=0.0).fit(lists(values))
    found = apply_recipes(lists(values + more), [recipe]).sparse.toarray()
    if len(set(values)) == 1:
        assert recipe["names"] == []
        assert found.shape == (len(values + more), 0)
        return
    assert recipe["sizes"][0] == min(count, len(set(values))) or len(set(values)) > count
    for row, value in zip(found, values + more, strict=True):
        assert row == pytest.approx(plain_columns(value, recipe["edges"].tolist(), soft, 10.0), abs=1e-12)
        assert row.sum() == pytest.approx(1.0, abs=1e-15)
        assert (row >= 0).all()
    hard = apply_recipes(lists(values), [{**recipe, "soft": False}]).sparse.toarray()
    for b, mean in enumerate(recipe["means"]):
        inside = [value for value, row in zip(values, hard, strict=True) if row[b]]
        assert inside
        assert mean == pytest.approx(
            math.fsum(v / len(inside) for v in inside), rel=1e-9, abs=1e-12 * max(map(abs, inside))
        )


def test_bins_have_equal_mass_up_to_repeated_values():
    rng = np.random.default_rng(1)
    values = rng.normal(size=1003)
    sizes = np.asarray(apply_recipes(lists(values), [Bins(20).fit(lists(values))]).sparse.sum(axis=0))
    assert len(sizes) == 20
    assert set(sizes) <= {50, 51}
    half = np.where(rng.random(1003) < 0.5, 7.0, values)  # one value has half of the mass: fewer bins
    recipe = Bins(20).fit(lists(half))
    sizes = np.asarray(apply_recipes(lists(half), [recipe]).sparse.sum(axis=0))
    assert 10 <= len(sizes) < 20
    assert sizes.min() > 20


def test_names_other_columns_and_empty_lists():
    corpus = toy_lists(sparse=True)
    found = apply_recipes(corpus, [Bins(3, features=["third", "first"]).fit(corpus)])
    assert found.sparse_names[-6:] == tuple(f"{name}:bin{b}" for name in ("third", "first") for b in range(3))
    assert np.array_equal(found.features, corpus.features)
    assert np.array_equal(found.sparse.toarray()[:, :8], corpus.sparse.toarray())
    assert (found.sparse.toarray()[:, 8:].sum(axis=1) == 2).all()
    empty = corpus.keep(np.zeros(corpus.hypotheses, bool))
    assert Bins().fit(empty)["names"] == []
    recipe = Bins(3, soft=True).fit(corpus)
    assert apply_recipes(empty, [recipe]).sparse.shape == (0, 8 + 9)
    single = replace(corpus, features=corpus.features.astype(np.float32))
    assert apply_recipes(single, [Bins(3).fit(single)]).sparse.shape[1] == 8 + 9


def test_soft_bins_become_hard_and_leave_out_little():
    corpus = toy_lists()
    hard = apply_recipes(corpus, [Bins(6).fit(corpus)]).sparse.toarray()
    sharp = apply_recipes(corpus, [Bins(6, soft=True, sharpness=1e9).fit(corpus)]).sparse.toarray()
    outer = np.isin(corpus.features, [corpus.features.min(axis=0), corpus.features.max(axis=0)]).any(axis=1)
    np.testing.assert_allclose(sharp[~outer], hard[~outer], atol=1e-6)
    soft = Bins(30, soft=True).fit(corpus)
    whole = apply_recipes(corpus, [{**soft, "tolerance": 0.0}]).sparse.toarray()
    part = apply_recipes(corpus, [soft]).sparse
    assert part.nnz < 0.4 * whole.size
    assert np.array_equal(part.toarray(), np.where(whole > 1e-6, whole, 0.0))


def test_seeded_weights_score_as_the_linear_model():
    rng = np.random.default_rng(1)
    weights = {"f0": 1.5, "f1": -0.7, "f2": 2.0}
    few = lists(rng.integers(0, 6, 60) * 0.1, rng.integers(0, 9, 60) - 4.0, np.full(60, 3.0))
    recipe = Bins(9).fit(few)
    seeded = seed_weights(recipe, weights)
    assert seeded["f0"] == seeded["f1"] == 0.0
    assert seeded["f2"] == 2.0  # a constant has no bins
    exact = LogLinear(weights).scores(few)
    np.testing.assert_allclose(LogLinear(seeded, features=(recipe,)).scores(few), exact, rtol=0, atol=1e-14)
    corpus = toy_lists(segments_=300)
    linear = LogLinear({"first": 1.0, "second": 0.8, "third": 0.1})
    errors, agree = [], []
    for count in (5, 20, 80, 10**6):
        recipe = Bins(count).fit(corpus)
        model = LogLinear(seed_weights(recipe, linear.weights), features=(recipe,))
        errors.append(np.abs(model.scores(corpus) - linear.scores(corpus)).mean())
        agree.append((model.predict(corpus) == linear.predict(corpus)).mean())
    assert errors[0] > 2 * errors[1] > 4 * errors[2]
    assert errors[3] < 1e-12
    assert agree[2] > 0.9
    assert agree[3] == 1.0
    assert segments.argmax(linear.scores(corpus), corpus.offsets)[1] == -1


def test_a_recipe_goes_through_npz(tmp_path):
    corpus = toy_lists()
    recipe = Bins(4, soft=True).fit(corpus)
    np.savez(tmp_path / "r.npz", **recipe)
    with np.load(tmp_path / "r.npz", allow_pickle=False) as packed:
        arrays = {key: packed[key] for key in ("edges", "means")}
    found = apply_recipes(corpus, [{**recipe, **arrays}])
    assert np.array_equal(found.sparse.toarray(), apply_recipes(corpus, [recipe]).sparse.toarray())


def test_bad_options():
    corpus = toy_lists()
    for options, message in (
        ({"bins": 0}, "'bins' of Bins must be >= 1, got 0"),
        ({"sharpness": 0.0}, "'sharpness' of Bins must be > 0 and finite, got 0.0"),
        ({"sharpness": math.nan}, "'sharpness' of Bins must be > 0"),
        ({"tolerance": 0.5}, r"'tolerance' of Bins must be in \[0, 0.1\), got 0.5"),
    ):
        with pytest.raises(ParameterError, match=message):
            Bins(**options).fit(corpus)
    with pytest.raises(CapabilityError, match=r"Bins needs the feature 'thirst' .* did you mean 'third'"):
        Bins(features=["thirst"]).fit(corpus)
    recipe = Bins().fit(corpus)
    with pytest.raises(CapabilityError, match="the feature 'bins' needs the feature 'second'"):
        apply_recipes(corpus.without_features(["second"]), [recipe])
    with pytest.raises(ParameterError, match=r"the feature 'bins' needs the option 'names': .* must be fitted first"):
        apply_recipes(corpus, [{"kind": "bins"}])
    with pytest.raises(ParameterError, match="already have a feature 'first:bin0'"):
        apply_recipes(corpus, [recipe, recipe])
    with pytest.raises(ParameterError, match="needs a size a name, size \\+ 1 edges"):
        bins(corpus, ["first"], [3], np.zeros(3), np.zeros(3))
