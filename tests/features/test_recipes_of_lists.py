"""What was added to lists stays known: it belongs to the model, whoever fits it."""

import numpy as np
import pytest

import nbest
from nbest.base.errors import ParameterError
from nbest.corpus.operations import join
from nbest.corpus.recipes import same_recipe
from nbest.features import FEATURES, Bins, apply_recipes, fit_recipes
from nbest.model.loglinear import load
from nbest.testing import toy_lists
from nbest.trainers import TRAINERS

PLAIN, TEST = toy_lists(1), toy_lists(2)

ADDED = {
    "agreement": lambda corpus: nbest.features.agreement(corpus, metric="cer"),
    "bins": lambda corpus: nbest.features.bins(corpus, **options_of("bins", Bins(3).fit(PLAIN))),
    "frequency": lambda corpus: nbest.features.frequency(corpus, cap=3),
    "length": lambda corpus: nbest.features.length(corpus),
    "ngrams": lambda corpus: nbest.features.ngrams(corpus, order=2),
    "pairs": lambda corpus: nbest.features.pairs(corpus),
    "answered": lambda corpus: nbest.features.answered(corpus),
    "rank": lambda corpus: nbest.features.rank(corpus),
    "standardised": lambda corpus: nbest.features.standardised(corpus, ["first"]),
    "posterior": lambda corpus: nbest.features.posterior(corpus, ["second", "first"], [0.5, 2.0]),
    "places": lambda corpus: nbest.features.places(corpus, ["first", "second"]),
}


def options_of(kind, recipe):
    return {key: value for key, value in recipe.items() if key != "kind"}


@pytest.mark.parametrize("kind", ADDED)
def test_functions_leave_their_recipe(kind):
    corpus = ADDED[kind](PLAIN)
    (recipe,) = corpus.recipes
    again = apply_recipes(PLAIN, [recipe])
    assert again.feature_names == corpus.feature_names
    assert again.sparse_names == corpus.sparse_names
    assert np.array_equal(again.features, corpus.features)
    assert PLAIN.recipes == ()


@pytest.mark.parametrize("kind", ADDED)
def test_a_model_fitted_on_them_chooses_from_plain_lists(kind, tmp_path):
    """The instance of the issue, for every feature: fit on lists with added columns, predict on lists without."""
    dev = ADDED[kind](PLAIN)
    model = nbest.MaxLikelihood().fit(dev)
    assert [recipe["kind"] for recipe in model.features] == [kind]
    plain = model.predict(TEST)
    assert np.array_equal(plain, model.predict(apply_recipes(TEST, dev.recipes)))
    assert np.array_equal(model.predict(PLAIN), model.predict(dev))
    model.save(tmp_path / "m.json")
    loaded = load(tmp_path / "m.json")
    assert np.array_equal(loaded.predict(TEST), plain)
    assert np.array_equal(loaded.predict(dev), model.predict(dev))


@pytest.mark.parametrize("name", sorted(TRAINERS))
def test_every_trainer_keeps_them(name):
    dev = fit_and_apply(PLAIN, [{"kind": "length"}, {"kind": "rank"}])
    if name in ("softbleu", "cobleu"):
        dev = dev.with_metric(nbest.BLEU())
    options = {"inputs": "words", "outputs": "words", "k": 1} if name == "lowdim" else {}
    model = TRAINERS[name](**options).fit(dev)
    kinds = [recipe["kind"] for recipe in model.features]
    assert kinds == ["length", "rank", *{"lowdim": ["lowdim"], "vote": ["answered"]}.get(name, [])]
    assert np.array_equal(model.predict(PLAIN), model.predict(dev))


def fit_and_apply(corpus, wanted):
    return apply_recipes(corpus, fit_recipes(corpus, wanted))


def test_recipes_are_kept_by_what_keeps_columns():
    dev = nbest.features.length(PLAIN)
    for other in (
        dev.select([0, 1]), dev.keep(np.ones(dev.hypotheses, bool)), nbest.prune(dev, 2), nbest.dedupe(dev),
        *nbest.split(dev, 0.5), dev.with_metric(nbest.WER()), dev.only_features(["words"]),
        nbest.merge(dev, dev), nbest.merge(*nbest.split(dev, 0.5)), join(list(nbest.split(dev, 0.5))),
    ):  # fmt: skip
        assert other.recipes == ({"kind": "length"},)


def test_lists_of_different_recipes_are_not_merged():
    one, two = (apply_recipes(PLAIN, [Bins(bins).fit(PLAIN)]) for bins in (2, 3))
    with pytest.raises(ParameterError, match="by different recipes; put plain lists together, then add features"):
        nbest.merge(one, two)
    assert nbest.merge(one, one).recipes == one.recipes
    column = np.ones((PLAIN.hypotheses, 1))
    mixed = nbest.merge(nbest.features.rank(PLAIN), PLAIN.with_features(["rank"], column))
    assert mixed.recipes == ()


def test_columns_that_are_there_are_not_made_again(monkeypatch):
    made = []

    def count(corpus, by=1):
        made.append(by)
        return corpus.with_features([f"count{by}"], np.full(corpus.hypotheses, by))

    monkeypatch.setitem(FEATURES, "count", count)
    dev = apply_recipes(PLAIN, [{"kind": "count", "by": 2}])
    model = nbest.MaxLikelihood().fit(dev)
    assert model.features == ({"kind": "count", "by": 2},)
    made.clear()
    model.predict(dev)
    assert made == []
    model.predict(PLAIN)
    assert made == [2]


def test_n_grams_of_fewer_lists_are_made_again_or_refused():
    """Lists with n-grams of their own lack some that the model weighs: skipping them would change scores."""
    dev = nbest.features.ngrams(PLAIN, order=2)
    model = nbest.MaxLikelihood().fit(dev)
    own = nbest.features.ngrams(TEST, order=2, minimum=2)
    with pytest.raises(ParameterError, match="already have a feature"):
        model.predict(own)


def test_same_recipe():
    array = np.ones(3)
    assert same_recipe({"a": array, "b": [1, "x"]}, {"a": array.copy(), "b": (1, "x")})
    for other in ({"a": np.ones(2)}, {"a": np.ones(3, int)}, {"a": 1.0}, {"b": array}, {"a": None}):
        assert not same_recipe({"a": array}, other)
    assert not same_recipe({"a": 1}, {"a": True})
    assert not same_recipe({"a": 1}, {"a": 1.0})
