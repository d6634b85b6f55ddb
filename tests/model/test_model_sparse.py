"""Models with many sparse weights: their files, n-grams at scoring time, and what is left beside a file."""

import hashlib
import json
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbest.base.errors import FormatError, ParameterError
from nbest.evaluation.model_inspection import inspect_model
from nbest.features import Bins, apply_recipes, fit_recipes
from nbest.model import loglinear as model_file
from nbest.model.arrays import pack_weights, unpack_weights
from nbest.model.loglinear import LogLinear, load
from nbest.testing import toy_lists
from nbest.trainers import LowDim

CORPUS = toy_lists(2)
names = st.text(st.characters(exclude_categories=("Cs",)), max_size=4)
values = st.floats(allow_nan=False, allow_infinity=False)


def many(count=12_000, seed=1):
    """A model with dense features and `count` sparse weights, a tenth of them 0."""
    rng = np.random.default_rng(seed)
    weights = {f"ngram:wörd {k}": float(w) for k, w in enumerate(rng.normal(size=count) * (rng.random(count) > 0.1))}
    return LogLinear({"first": 0.5, "second": 0.0, "third": -1.0, **weights}, dense=("first", "second", "third"))


@pytest.fixture
def saved(tmp_path):
    model = many()
    model.save(tmp_path / "m.json")
    return model, tmp_path / "m.json", next(tmp_path.glob("m.json.*.npz"))


@settings(deadline=None, max_examples=100)
@given(st.dictionaries(names, values))
def test_packing(weights):
    again = unpack_weights("m", pack_weights(weights), {})
    assert list(again) == list(weights)
    assert [np.float64(v).tobytes() for v in again.values()] == [np.float64(v).tobytes() for v in weights.values()]


@settings(deadline=None, max_examples=60)
@given(st.dictionaries(names, values, min_size=1, max_size=9), st.integers(0, 4), st.integers(0, 9))
def test_any_model_comes_back(tmp_path_factory, weights, dense, limit):
    """Whatever the limit, whatever is dense: the same but for sparse weights of 0."""
    path = tmp_path_factory.mktemp("model") / "m.json"
    model = LogLinear(weights, dense=tuple(weights)[:dense])
    before, model_file._MANY = model_file._MANY, limit
    try:
        model.save(path)
    finally:
        model_file._MANY = before
    again = load(path)
    kept = {name: weight for name, weight in weights.items() if again.weights.get(name) is not None}
    assert dict(again.weights) == kept
    assert all(weights[name] == 0 and name not in model.dense for name in weights.keys() - kept.keys())
    assert not dense or again.dense == model.dense


def test_many_weights_are_arrays(saved):
    model, path, side = saved
    content = json.loads(path.read_text())
    assert content["weights"] == {"first": 0.5, "second": 0.0, "third": -1.0}
    assert side.exists()
    assert path.stat().st_size < 2000
    again = load(path)
    assert dict(again.weights) == {n: w for n, w in model.weights.items() if w or n in model.dense}
    assert again.dense == model.dense
    assert np.array_equal(again.scores(CORPUS), model.scores(CORPUS))


def test_few_weights_stay_in_the_json(tmp_path):
    many(10_000).save(tmp_path / "m.json")
    assert [file.name for file in tmp_path.iterdir()] == ["m.json"]
    assert len(load(tmp_path / "m.json").weights) == 10_003
    many(11_000).save(tmp_path / "m.json")  # zeros left out, the rest is few enough
    assert [file.name for file in tmp_path.iterdir()] == ["m.json"]
    assert 9_000 < len(load(tmp_path / "m.json").weights) < 10_003


def test_weights_and_recipes_share_a_file(tmp_path):
    model = many()
    recipe = Bins(3).fit(CORPUS)
    both = LogLinear(model.weights, features=(recipe,), dense=model.dense)
    both.save(tmp_path / "m.json")
    again = load(tmp_path / "m.json")
    assert np.array_equal(again.features[0]["edges"], recipe["edges"])
    assert np.array_equal(again.scores(CORPUS), both.scores(CORPUS))


# n-grams --------------------------------------------------------------------------------------------------------


@pytest.fixture
def with_ngrams():
    """A model with weights for some n-grams of CORPUS, whose recipe knows all of them."""
    recipes = fit_recipes(CORPUS, [{"kind": "ngrams", "order": 2, "boundaries": True}])
    columns = apply_recipes(CORPUS, recipes).sparse_names
    rng = np.random.default_rng(1)
    chosen = {name: float(rng.normal()) for name in columns[::3]}
    return LogLinear({"first": 1.0, **chosen, columns[1]: 0.0}, features=recipes, dense=("first",))


def test_only_needed_ngrams_are_counted(with_ngrams):
    model = with_ngrams
    prepared = model.prepare(CORPUS)
    assert set(prepared.sparse_names) == {name for name, weight in model.weights.items() if weight and name != "first"}
    whole = apply_recipes(CORPUS, model.features)
    weights = np.array([model.weights.get(name, 0.0) for name in whole.sparse_names])
    np.testing.assert_allclose(model.scores(CORPUS), CORPUS.column("first") + whole.sparse @ weights, rtol=1e-12)


def test_a_model_with_ngrams_is_one_file(with_ngrams, tmp_path):
    with_ngrams.save(tmp_path / "m.json")
    assert [file.name for file in tmp_path.iterdir()] == ["m.json"]
    content = json.loads((tmp_path / "m.json").read_text())
    assert "columns" not in content["features"][0]
    again = load(tmp_path / "m.json")
    assert np.array_equal(again.scores(CORPUS), with_ngrams.scores(CORPUS))
    other = toy_lists(7)
    assert np.array_equal(again.predict(other), with_ngrams.predict(other))
    again.save(tmp_path / "n.json")
    assert (tmp_path / "m.json").read_text() == (tmp_path / "n.json").read_text()


def test_no_ngram_has_a_weight(with_ngrams, tmp_path):
    LogLinear({"first": 1.0}, features=with_ngrams.features, dense=("first",)).save(tmp_path / "m.json")
    assert np.array_equal(load(tmp_path / "m.json").scores(CORPUS), CORPUS.column("first"))


def test_a_recipe_that_is_spoilt(with_ngrams, tmp_path):
    with_ngrams.save(tmp_path / "m.json")
    content = json.loads((tmp_path / "m.json").read_text())
    for change in ({"tokens": "letters"}, {"tokens": ["words"]}, {"order": 0}, {"order": "2"}, {"name": 3}):
        spoilt = content | {"features": [content["features"][0] | change]}
        (tmp_path / "m.json").write_text(json.dumps(spoilt))
        with pytest.raises(FormatError, match=r"m\.json: a recipe of the model is not as it should be"):
            load(tmp_path / "m.json")
    (tmp_path / "m.json").write_text(json.dumps(content | {"weights": {"ngram:a b c": 1.0}}))
    with pytest.raises(ParameterError, match="has n-grams of 1 to 2 tokens here, got 'a b c'"):
        load(tmp_path / "m.json").scores(CORPUS)


# files that are not what they should be -------------------------------------------------------------------------


def forged(path, **changes):
    """Write arrays of weights with the right check sum."""
    content = json.loads(path.read_text())
    arrays = {"0.names": np.frombuffer(b"ab", np.uint8), "0.ends": np.array([1, 2]), "0.values": np.ones(2)}
    side = path.with_name(content["arrays"]["file"])
    with open(side, "wb") as file:
        np.savez(file, **(arrays | changes))
    content["arrays"]["sha256"] = hashlib.sha256(side.read_bytes()).hexdigest()
    path.write_text(json.dumps(content))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"0.ends": np.array([2, 1])}, "rising to the last byte"),
        ({"0.ends": np.array([1, 3])}, "rising to the last byte"),
        ({"0.ends": np.array([-1, 2])}, "rising to the last byte"),
        ({"0.ends": np.array([2])}, "as many ends of names as values"),
        ({"0.ends": np.array([1.0, 2.0])}, "need an array 'ends' of int64"),
        ({"0.values": np.ones((1, 2))}, "need an array 'values' of float64"),
        ({"0.values": np.array([1.0, np.nan])}, "must be finite"),
        ({"0.names": np.frombuffer(b"a\xff", np.uint8)}, "not UTF-8"),
        ({"0.names": np.frombuffer("ä".encode(), np.uint8)}, "not UTF-8: one ends within a character"),
        ({"0.names": np.frombuffer(b"aa", np.uint8)}, "given twice"),
        ({"0.names": np.frombuffer(b"firstb", np.uint8), "0.ends": np.array([5, 6])}, "given twice"),
    ],
)
def test_forged_weights(saved, changes, message):
    _, path, _ = saved
    forged(path)
    assert dict(load(path).weights) == {"first": 0.5, "second": 0.0, "third": -1.0, "a": 1.0, "b": 1.0}
    forged(path, **changes)
    with pytest.raises(FormatError, match=message):
        load(path)


def test_damaged_weights(saved):
    _, path, side = saved
    data = side.read_bytes()
    side.write_bytes(data[: len(data) // 2])
    with pytest.raises(FormatError, match="or is damaged"):
        load(path)
    side.unlink()
    with pytest.raises(FormatError, match="cannot be read"):
        load(path)
    content = json.loads(path.read_text())
    for wrong in (3, [], {"names": 1}, {"names": {"array": "0.names"}}):
        side.write_bytes(data)
        path.write_text(json.dumps(content | {"sparse_weights": wrong}))
        with pytest.raises(FormatError, match="sparse_weights"):
            load(path)
    del content["arrays"]
    path.write_text(json.dumps(content))
    with pytest.raises(FormatError, match="nowhere to be found"):
        load(path)


# what is left beside a model ------------------------------------------------------------------------------------


def test_arrays_of_an_earlier_model_go(saved, tmp_path):
    _, path, side = saved
    many(seed=2).save(tmp_path / "other.json")
    LogLinear({"first": 1.0}).save(path)
    assert not side.exists()
    assert load(path).weights == {"first": 1.0}
    assert len(load(tmp_path / "other.json").weights) > 10_000


@pytest.mark.parametrize("name", ["m.json.npz", "m.json.0123456789abcdef.npz"])
@pytest.mark.parametrize("kind", ["text", "another's arrays", "folder", "empty archive"])
def test_files_of_others_stay(tmp_path, kind, name):
    side = tmp_path / name
    if kind == "text":
        side.write_text("notes")
    elif kind == "folder":
        side.mkdir()
    else:
        with open(side, "wb") as file:
            np.savez(file, **({} if kind == "empty archive" else {"measurements": np.ones(3)}))
    LogLinear({"first": 1.0}).save(tmp_path / "m.json")
    assert side.exists()


def test_a_failure_leaves_the_old_arrays(saved, monkeypatch):
    model, path, _ = saved

    def full(*arguments):
        raise OSError("full")

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(OSError, match="full"):
        LogLinear({"first": 1.0}).save(path)
    assert len(load(path).weights) > 10_000
    assert np.array_equal(load(path).scores(CORPUS), model.scores(CORPUS))


# lists with checked names ---------------------------------------------------------------------------------------


def test_names_are_checked_once_and_again_where_they_must_be():
    corpus = toy_lists(sparse=True)
    part = corpus.select([0, 1])
    assert part.sparse_names is corpus.sparse_names
    name = corpus.sparse_names[0]
    with pytest.raises(ParameterError, match="'sparse_names' of NBest must differ"):
        corpus.with_features((name,), np.zeros((corpus.hypotheses, 1)))
    assert pickle.loads(pickle.dumps(corpus.sparse_names)) == corpus.sparse_names


def test_many_weights_go_to_standard_output_as_json(capfd) -> None:
    model = LogLinear({"lm": 1.0} | {f"n{i}": float(i) for i in range(10_050)}, dense=("lm",))
    model.save("-")
    content = json.loads(capfd.readouterr().out)
    assert content["weights"] == dict(model.weights)
    assert "arrays" not in content


def test_a_model_of_sparse_features_only_says_so(tmp_path) -> None:
    LogLinear({"n1": 1.0}, dense=()).save(tmp_path / "m.json")
    model = load(tmp_path / "m.json")
    assert model.dense == ()
    assert inspect_model(model).sparse_weights == 1
    lists = toy_lists(1)
    assert not model.scores(lists).any()  # a sparse feature that no hypothesis has counts 0


def test_a_recipe_is_shown_without_its_arrays() -> None:
    model = LowDim(k=2).fit(toy_lists(1))
    (recipe,) = inspect_model(model).recipes
    assert recipe["A"].endswith(" x 2")
    assert "input_names" not in recipe
    json.dumps(recipe)
