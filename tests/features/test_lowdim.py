"""The column `lowdim` and its recipe."""

from dataclasses import replace

import numpy as np
import pytest

from nbest.base.errors import CapabilityError, ParameterError
from nbest.corpus import NBest, Texts
from nbest.features import FEATURES, FITTED, apply_recipes, fit_recipes
from nbest.features.lowdim.feature import lowdim, pack_names, unpack_names
from nbest.features.lowdim.projections import fit_features
from nbest.metrics import METRICS


@pytest.fixture(autouse=True)
def _registered(monkeypatch):
    monkeypatch.setitem(FEATURES, "lowdim", lowdim)
    monkeypatch.setitem(FITTED, "lowdim", fit_features)


def lists():
    sources = ("running quickly", "the nation", "quickly running", "a station", "swiftly eating")
    right = ("V A", "D N", "A V", "D N", "A V")
    wrong = ("A V", "N D", "V A", "V N", "V V")
    texts = [text for pair in zip(wrong, right, strict=True) for text in pair]
    made = NBest(
        offsets=np.arange(6) * 2,
        features=np.zeros((10, 1)),
        feature_names=("base",),
        ids=tuple("abcde"),
        texts=Texts.of(texts),
        references=tuple((text,) for text in right),
        sources=sources,
    )
    return made.with_metric(METRICS["wer"]())


WANTED = {"kind": "lowdim", "style": "softened", "k": 3, "tau": 0.5}


def test_is_fitted_and_applied_as_a_recipe():
    (recipe,) = fit_recipes(lists(), [WANTED])
    found = apply_recipes(lists(), [recipe])
    assert found.feature_names == ("base", "lowdim")
    column = found.column("lowdim")
    assert (np.abs(column) <= 1 + 1e-12).all()
    assert column[3] > column[2]
    assert apply_recipes(found, [recipe]).feature_names == found.feature_names


def test_is_the_cosine_of_the_projections_and_0_for_what_is_unknown():
    (recipe,) = fit_recipes(lists(), [WANTED])
    names, tags = unpack_names(recipe["input_names"]), unpack_names(recipe["output_names"])
    x, y = np.zeros(len(names)), np.zeros(len(tags))
    for suffix in ("ng", "ing", "ning"):
        x[names.index(suffix)] += 1
    for tag in ("V", "A", "V A"):
        y[tags.index(tag)] += 1
    u, v = recipe["A"].T @ x, recipe["B"].T @ y
    other = replace(lists().select([0]), sources=("running",))
    other = replace(other, texts=Texts.of(["V A", "Q Q"]))
    found = apply_recipes(other, [recipe]).column("lowdim")
    np.testing.assert_allclose(found, [u @ v / np.linalg.norm(u) / np.linalg.norm(v), 0.0], atol=1e-12)


@pytest.mark.parametrize("names", [[], ["a"], ["", "é猫", "a b", ""]])
def test_names_are_packed_and_unpacked(names):
    assert unpack_names(pack_names(names)) == names


def test_damaged_recipes_are_refused():
    (recipe,) = fit_recipes(lists(), [WANTED])
    for change in (
        {"A": recipe["A"][:-1]},
        {"B": recipe["B"][:, :-1]},
        {"input_names": {}},
        {"A": recipe["A"] * np.nan},
    ):
        with pytest.raises(ParameterError, match="lowdim"):
            apply_recipes(lists(), [recipe | change])
    with pytest.raises(ParameterError, match="must be fitted first"):
        apply_recipes(lists(), [{"kind": "lowdim"}])
    with pytest.raises(ParameterError, match="has no option 'tu'"):
        fit_recipes(lists(), [WANTED | {"tu": 1}])


def test_lists_without_texts_are_refused():
    (recipe,) = fit_recipes(lists(), [WANTED])
    with pytest.raises(CapabilityError, match="input text"):
        apply_recipes(replace(lists(), sources=None), [recipe])
    with pytest.raises(CapabilityError, match="texts of the hypotheses"):
        apply_recipes(replace(lists(), texts=None), [recipe])
