"""Arrays of models: through a file and back, and files that are not what they should be."""

import hashlib
import io
import json
import pickle
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as some

from nbest.base.errors import CapabilityError, FormatError
from nbest.features import Bins, GaussianKernels
from nbest.model.arrays import attach, detach, pack_arrays
from nbest.model.loglinear import LogLinear, load
from nbest.testing import toy_lists

CORPUS = toy_lists(2)


def model_with_arrays():
    recipes = (Bins(3).fit(CORPUS), GaussianKernels().fit_ml(CORPUS, 2))
    added = LogLinear({}, features=recipes).prepare(CORPUS)
    names = [*added.feature_names, *added.sparse_names]
    return LogLinear({name: 0.1 * (d + 1) for d, name in enumerate(names)}, features=recipes)


@pytest.fixture
def saved(tmp_path):
    """A saved model with arrays: the model, its file, and the file beside it."""
    model = model_with_arrays()
    path = tmp_path / "model.json"
    model.save(path)
    return model, path, tmp_path / json.loads(path.read_text())["arrays"]["file"]


def same(one, other):
    if isinstance(one, np.ndarray):
        return isinstance(other, np.ndarray) and one.dtype == other.dtype and np.array_equal(one, other)
    if isinstance(one, dict):
        return isinstance(other, dict) and one.keys() == other.keys() and all(same(one[k], other[k]) for k in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(same(a, b) for a, b in zip(one, other, strict=True))
    return one == other


# through files ---------------------------------------------------------------------------------------------------


def test_models_come_back(saved):
    model, path, side = saved
    assert side.exists()
    again = load(path)
    assert same(list(map(dict, model.features)), list(map(dict, again.features)))
    assert np.array_equal(again.scores(CORPUS), model.scores(CORPUS))
    assert dict(again.weights) == dict(model.weights)


def test_the_json_holds_no_arrays(saved):
    _, path, side = saved
    content = json.loads(path.read_text())
    assert '{"array": "0.' in json.dumps(content["features"])
    assert content["arrays"] == {"file": side.name, "sha256": hashlib.sha256(side.read_bytes()).hexdigest()}


def test_a_moved_pair_still_loads(saved, tmp_path):
    model, path, side = saved
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for file in (path, side):
        file.rename(elsewhere / file.name)
    assert np.array_equal(load(elsewhere / path.name).scores(CORPUS), model.scores(CORPUS))


@pytest.mark.parametrize("name", ["model.npz", "model", "model.v1", "model.json.gz", "a.b.c", "arrays.npz.npz"])
def test_any_name_of_a_model(tmp_path, name):
    model = model_with_arrays()
    model.save(tmp_path / name)
    assert np.array_equal(load(tmp_path / name).scores(CORPUS), model.scores(CORPUS))


def test_models_with_like_names_keep_their_own_arrays(tmp_path):
    one = model_with_arrays()
    other = LogLinear({}, features=(Bins(2).fit(CORPUS),))
    one.save(tmp_path / "model.v1")
    other.save(tmp_path / "model.v2")
    assert np.array_equal(load(tmp_path / "model.v1").scores(CORPUS), one.scores(CORPUS))
    assert load(tmp_path / "model.v2").features[0]["kind"] == "bins"


def test_saving_again_replaces_both_files(saved):
    model, path, side = saved
    model.save(path)
    assert np.array_equal(load(path).scores(CORPUS), model.scores(CORPUS))
    assert sorted(file.name for file in path.parent.iterdir()) == sorted([path.name, side.name])


def test_a_model_without_arrays_has_one_file(tmp_path):
    LogLinear({"first": 1.0}, features=({"kind": "length"},)).save(tmp_path / "m.json")
    assert [file.name for file in tmp_path.iterdir()] == ["m.json"]
    assert "arrays" not in json.loads((tmp_path / "m.json").read_text())


plain = st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3)
arrays = some.arrays(st.sampled_from([np.float64, np.float32, np.int64, np.bool_, "U3"]), some.array_shapes(max_dims=2))
words = st.text(st.characters(min_codepoint=97, max_codepoint=122), min_size=1, max_size=4).filter(
    lambda w: w != "array"
)
values = st.recursive(
    plain | arrays, lambda v: st.lists(v, max_size=3) | st.dictionaries(words, v, max_size=3), max_leaves=6
)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.dictionaries(words, values, max_size=3), max_size=3))
def test_any_recipe(tmp_path_factory, recipes):
    folder = tmp_path_factory.mktemp("arrays")
    bare, found = detach(recipes)
    text = json.dumps(bare)
    said = None
    if found:
        data, sha256 = pack_arrays(found)
        (folder / "m.npz").write_bytes(data)
        said = {"file": "m.npz", "sha256": sha256}
    again = attach(folder / "m.json", json.loads(text), said)
    for before, after in zip(recipes, again, strict=True):
        assert repr(before) == repr(after)  # also where a number is none


def test_numbers_of_numpy_become_numbers_of_python():
    bare, found = detach([{"kind": "k", "a": np.float64(1.5), "b": np.int64(2), "c": (np.bool_(True),)}])
    assert bare == [{"kind": "k", "a": 1.5, "b": 2, "c": [True]}]
    assert json.dumps(bare)
    assert not found


# refusals --------------------------------------------------------------------------------------------------------


def test_standard_output_is_refused(capsysbinary):
    with pytest.raises(CapabilityError, match="cannot go to standard output; name a file"):
        model_with_arrays().save("-")
    assert capsysbinary.readouterr().out == b""


def test_python_objects_are_not_saved(tmp_path):
    model = LogLinear({}, features=({"kind": "bins", "edges": np.array([None, {}], object)},))
    with pytest.raises(CapabilityError, match=r"must hold numbers or text, got Python objects in '0\.edges'"):
        model.save(tmp_path / "m.json")
    assert list(tmp_path.iterdir()) == []


def test_missing_arrays(saved):
    _, path, side = saved
    side.unlink()
    with pytest.raises(FormatError, match=r"model\.json\.\w{16}\.npz: the model's arrays cannot be read: No such file"):
        load(path)


def test_changed_arrays(saved):
    _, path, side = saved
    data = bytearray(side.read_bytes())
    for place in (0, len(data) // 2, len(data) - 1):
        changed = data.copy()
        changed[place] ^= 1
        side.write_bytes(changed)
        with pytest.raises(FormatError, match=r"belongs to another model than model\.json, or is damaged"):
            load(path)
    side.write_bytes(data[:-1])
    with pytest.raises(FormatError, match="or is damaged"):
        load(path)


def test_arrays_of_another_model(saved, tmp_path):
    _, path, side = saved
    other = LogLinear({}, features=(Bins(2).fit(CORPUS),))
    other.save(tmp_path / "other.json")
    next(tmp_path.glob("other.json.*.npz")).replace(side)
    with pytest.raises(FormatError, match="belongs to another model"):
        load(path)


def test_arrays_that_are_nowhere(saved):
    _, path, _ = saved
    content = json.loads(path.read_text())
    for said in (None, {"file": "model.json.npz"}):
        content["arrays"] = said
        path.write_text(json.dumps(content))
        with pytest.raises(FormatError):
            load(path)
    del content["arrays"]
    path.write_text(json.dumps(content))
    with pytest.raises(FormatError, match=r"the array '0\..*' of the model is nowhere to be found"):
        load(path)


@pytest.mark.parametrize(
    "said", [3, [], {}, {"file": 3}, {"file": "../m.npz"}, {"file": "/etc/passwd"}, {"file": ""}, {"file": ".."}]
)
def test_what_a_model_may_say_of_its_arrays(saved, said):
    _, path, _ = saved
    content = json.loads(path.read_text())
    content["arrays"] = said
    path.write_text(json.dumps(content))
    with pytest.raises(FormatError):
        load(path)


# files made on purpose, with the right check sum -------------------------------------------------------------------


def packed(**members):
    out = io.BytesIO()
    np.savez(out, **members)
    return out.getvalue()


def zipped(name, data):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        file.writestr(name, data)
    return out.getvalue()


def single():
    out = io.BytesIO()
    np.save(out, np.ones(3))
    return out.getvalue()


class Trap:
    """Says so when it is unpickled."""

    sprung = False

    def __reduce__(self):
        return setattr, (Trap, "sprung", True)


def forged(tmp_path, data, array="0.edges"):
    """A model file whose arrays are `data`."""
    path = tmp_path / "m.json"
    (tmp_path / "m.json.npz").write_bytes(data)
    content = {
        "format": "nbest-model/1",
        "kind": "loglinear",
        "weights": {"first": 1.0},
        "features": [{"kind": "bins", "edges": {"array": array}}],
        "arrays": {"file": "m.json.npz", "sha256": hashlib.sha256(data).hexdigest()},
    }
    path.write_text(json.dumps(content))
    return path


FORGED = {
    "object array": lambda: packed(**{"0.edges": np.array([Trap()], object)}),
    "object field": lambda: packed(**{"0.edges": np.array([(Trap(),)], [("x", object)])}),
    "bare pickle": lambda: pickle.dumps(Trap()),
    "pickle in a zip": lambda: zipped("0.edges.npy", pickle.dumps(Trap())),
    "pickle of another name": lambda: zipped("0.edges", pickle.dumps(Trap())),
    "nothing": lambda: b"",
    "text": lambda: b"hello",
    "one array": single,
    "cut short": lambda: packed(**{"0.edges": np.ones(3)})[:-40],
    "no array": lambda: zipped("0.edges.npy", b"raw"),
    "half an array": lambda: zipped("0.edges.npy", single()[:-4]),
}


@pytest.mark.parametrize("what", FORGED)
def test_forged_arrays_are_refused_and_never_unpickled(tmp_path, what):
    path = forged(tmp_path, FORGED[what]())
    with pytest.raises(FormatError, match=r"m\.json\.npz: is (no|damaged|packed)"):
        load(path)
    assert not Trap.sprung


def test_the_trap_works():
    """Unpickling it would have been noticed."""
    pickle.loads(pickle.dumps(Trap()))
    try:
        assert Trap.sprung
    finally:
        Trap.sprung = False


@pytest.mark.parametrize("array", ["0.other", 3, None, ["0.edges"], {"array": "0.edges"}])
def test_forged_names_of_arrays(tmp_path, array):
    path = forged(tmp_path, packed(**{"0.edges": np.ones(3)}), array)
    with pytest.raises(FormatError, match="nowhere to be found"):
        load(path)
