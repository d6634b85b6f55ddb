"""Model files of which every value may be wrong: only nbest's own errors come out, when loading and when scoring."""

import copy
import hashlib
import io
import json
import zipfile

import numpy as np
import pytest

from nbest.base.errors import FormatError, NbestError, ParameterError
from nbest.evaluation.model_inspection import inspect_model
from nbest.features import FEATURES, apply_recipes, fit_recipes
from nbest.model.abstention import by_coverage
from nbest.model.confidence import confidence_of
from nbest.model.loglinear import LogLinear, load
from nbest.testing import toy_lists

CORPUS = toy_lists()
WANTED = (
    {"kind": "agreement", "metric": "cer", "evidence": 5},
    {"kind": "bins", "bins": 3, "soft": True},
    {"kind": "frequency", "cap": 3},
    {"kind": "gaussians", "kernels": 3},
    {"kind": "length"},
    {"kind": "lowdim", "k": 1, "inputs": "words", "outputs": "words"},
    {"kind": "ngrams", "order": 2},
    {"kind": "answered"},
    {"kind": "pairs"},
    {"kind": "rank"},
    {"kind": "standardised", "features": ["first"]},
    {"kind": "posterior", "features": ["first"]},
    {"kind": "places", "features": ["first", "second"]},
)
CONFIDENCE = {
    "decision": {"kind": "vote", "gamma": 2.0},
    "map": {"kind": "isotonic", "raw": [0.1, 0.5], "probability": [0.2, 0.9]},
    "curve": {"raw": [0.4, 0.0], "kept": [3, 20], "right": [2, 9]},
    "right": 1.0, "metric": "WER|x", "how": "5 folds", "groups": 3, "design": 1.5,
    "errors": {"before": {"ece": 0.2, "log_loss": "inf"}, "after": {"ece": 0.1}},
}  # fmt: skip
SETTLED = {
    "how": "5 folds", "segments": 30,
    "tried": [{"kind": "1best", "score": 30.5}, {"kind": "mbr", "score": 29.5, "gamma": 2.0, "p": 0.2}],
}  # fmt: skip
EVIDENCE = {
    "how": "5 folds", "segments": 60, "groups": 6, "tuned": 20.5, "low": 18.0, "high": 23.0, "oracle": 9.5,
    "higher_is_better": False, "first": 25.0, "p": 0.01, "equal": 22.0, "p_equal": 0.2,
}  # fmt: skip
DEEP = json.loads("[" * 600 + "]" * 600)
ODD = (
    None, True, -1, 0, 2.5, -1e308, 10**18, 10**30, "", "x", "\0", "\x1b[31m", "../../x", [], {}, [1], [["a"]],
    {"a": 1}, {"array": "0.edges"}, {"array": 3}, DEEP,
)  # fmt: skip


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A model with every kind of recipe that the toy lists allow: content, arrays, and where to write others."""
    recipes = fit_recipes(CORPUS, WANTED)
    added = apply_recipes(CORPUS, recipes)
    names = [*added.feature_names, *added.sparse_names]
    folder = tmp_path_factory.mktemp("hostile")
    LogLinear(
        {name: 0.1 * (d % 7) for d, name in enumerate(names)}, features=recipes, dense=added.feature_names,
        metric="WER|x", trainer={"name": "MERT", "start": {"a": 1}}, scores_={"dev": 1.0}, seed=1, gamma=2.0,
        confidence=CONFIDENCE, evidence=EVIDENCE, settled=SETTLED,
        history=({"round": 1, "dev": 2.5}, {"round": 2, "fit": "x", "dev": None}),
    ).save(folder / "m.json")  # fmt: skip
    content = json.loads((folder / "m.json").read_text())
    with np.load(folder / content["arrays"]["file"], allow_pickle=False) as packed:
        arrays = {name: packed[name] for name in packed.files}
    return content, arrays, folder


def test_every_kind_is_there(saved):
    kinds = {recipe["kind"] for recipe in saved[0]["features"]}
    assert kinds == set(FEATURES) - {"lm"}  # lm: tests/test_model_paths.py
    model = load(saved[2] / "m.json")
    assert np.isfinite(model.scores(CORPUS)).all()


def outcome(folder, content, data):
    """What a model of this content and these packed arrays does: "" or the message of its error."""
    content = {**content}
    if isinstance(content.get("arrays"), dict) and data is not None:
        (folder / "other.npz").write_bytes(data)
        content["arrays"] = {"file": "other.npz", "sha256": hashlib.sha256(data).hexdigest()}
    (folder / "other.json").write_text(json.dumps(content))
    try:
        model = load(folder / "other.json")
        inspect_model(model)
        repr(model)
        model.predict(CORPUS)
    except NbestError as error:
        message = str(error)
    else:
        return ""
    assert 0 < len(message) <= 2000
    return message


def places(value, at=()):
    """Paths to everything in a JSON value."""
    yield at
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from places(item, (*at, key))


def changed(content, at, value):
    if not at:
        return value
    out = copy.deepcopy(content)
    inner = out
    for key in at[:-1]:
        inner = inner[key]
    inner[at[-1]] = value
    return out


def packed(arrays):
    out = io.BytesIO()
    np.savez(out, **arrays)
    return out.getvalue()


@pytest.mark.parametrize("kind", ["isotonic", "logistic"])
def test_wrong_values_of_confidence(kind):
    """Errors of our own alone, and what is accepted can be used."""
    logistic = {"kind": "logistic", "slope": 1.0, "offset": 0.5, "floor": 1e-3}
    content = CONFIDENCE if kind == "isotonic" else {**CONFIDENCE, "map": logistic}
    refused, raw = 0, np.linspace(0, 1, 11)
    for at in places(content):
        for value in ODD:
            wrong = changed(content, at, value)
            try:
                known = confidence_of(wrong) if isinstance(wrong, dict) else None
            except ParameterError:
                refused += 1
                continue
            if known is not None:
                p = known.calibrated(raw)
                assert ((p >= 0) & (p <= 1)).all()
                assert (np.diff(p) >= 0).all()
                by_coverage(known, 0.5)
                json.dumps([known.content(), known.summary(), known.words()])
    assert refused > 10 * len(list(places(content)))


@pytest.mark.slow
def test_wrong_values_everywhere(saved):
    content, arrays, folder = saved
    data = packed(arrays)
    assert outcome(folder, content, data) == ""
    where = [at for at in places(content) if at and at[0] not in ("weights", "dense", "versions")]
    where += [("weights",), ("weights", "first"), ("dense",), ("dense", 0), ("versions",), ("versions", "nbest")]
    refused = 0
    for at in where:
        for value in ODD:
            refused += outcome(folder, changed(content, at, value), data) != ""
    assert refused > len(where)  # most of them


def test_missing_and_further_keys(saved):
    content, arrays, folder = saved
    data = packed(arrays)
    for at in places(content):
        if at and isinstance(at[-1], str) and at[0] not in ("weights", "versions"):
            other = copy.deepcopy(content)
            inner = other
            for key in at[:-1]:
                inner = inner[key]
            inner["unknown"] = inner.pop(at[-1])
            outcome(folder, other, data)


def odd_arrays(array):
    """Arrays that are not what a recipe had."""
    yield from (array[:0], array[:-1], np.concatenate([array, array]), array[None], array.astype("S3"), array[::-1])
    yield from (np.zeros(0), np.zeros((0, 3)), np.array(1.0), np.array(["x"]), np.array([True]), array.T)
    if array.dtype.kind in "fiu":
        yield from (array * 0, np.full(array.shape, 255, np.uint8), array.astype(np.float16), array.astype(complex))
        yield from (np.full(array.shape, -(2**62)), np.full(array.shape, 2**62), array.astype(np.int8))
    if array.dtype.kind == "f":
        yield from (array * np.nan, np.full(array.shape, 1e308), np.full(array.shape, np.inf), -np.abs(array))


def test_wrong_arrays_everywhere(saved):
    content, arrays, folder = saved
    with np.errstate(all="ignore"):
        for name, array in arrays.items():
            for other in odd_arrays(array):
                outcome(folder, content, packed(arrays | {name: other}))
        for name in arrays:
            others = {key: value for key, value in arrays.items() if key != name}
            assert "nowhere to be found" in outcome(folder, content, packed(others))


# headers of arrays -------------------------------------------------------------------------------------------------


def npy(header):
    """An .npy file of this header and 24 bytes."""
    text = header.encode("latin-1") + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + bytes(24)


HEADERS = {
    "claims 10^11 numbers": "{'descr': '<f8', 'fortran_order': False, 'shape': (100000000000,), }",
    "claims a huge matrix": "{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999, 99999999999, 9), }",
    "claims none of very many": "{'descr': '<f8', 'fortran_order': False, 'shape': (0, 99999999999), }",
    "is no Python": "{'descr': '<f8', 'fortran_order': False, 'shape': (3,), ",
    "ends in a string": "{'descr': '<f8",
    "has a bracket too few": "{'descr': '<f8', 'fortran_order': False, 'shape': (((((((((((3,), }",
    "is nested": "(" * 5000,
    "is a call": "__import__('os').abort()",
    "has negative sizes": "{'descr': '<f8', 'fortran_order': False, 'shape': (-3,), }",
    "has a long number": "{'descr': '<f8', 'fortran_order': False, 'shape': (" + "9" * 5000 + ",), }",
    "has an odd kind": "{'descr': 'O8', 'fortran_order': False, 'shape': (3,), }",
    "has a NUL": "{'descr': '<f8', \0'fortran_order': False, 'shape': (3,), }",
    "is indented": "  {'descr': '<f8',\n     'fortran_order': False,\n'shape': (3,), }",
}


def zipped(how, *members):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", how) as file:
        for name, data in members:
            file.writestr(name, data)
    return out.getvalue()


@pytest.mark.parametrize("what", HEADERS)
def test_headers(saved, what):
    content, arrays, folder = saved
    name = next(iter(arrays))
    for how in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        assert "other.npz: is " in outcome(folder, content, zipped(how, (f"{name}.npy", npy(HEADERS[what]))))


@pytest.mark.parametrize("how", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_members_packed_in_other_ways(saved, how):
    content, arrays, folder = saved
    bare = io.BytesIO()
    np.save(bare, np.ones(3))
    data = zipped(how, *((f"{name}.npy", bare.getvalue()) for name in arrays))
    assert "other.npz: is packed in a way that NumPy does not write" in outcome(folder, content, data)
    for at in range(30, 120):  # and damaged: the errors of the decoder are not ours
        outcome(folder, content, data[:at] + bytes([data[at] ^ 255]) + data[at + 1 :])


def test_archives_that_unpack_to_too_much(saved, monkeypatch):
    content, _, folder = saved
    data = zipped(zipfile.ZIP_DEFLATED, ("0.a.npy", npy(HEADERS["is nested"]) + bytes(10**7)))
    monkeypatch.setenv("NBEST_MAX_INPUT", "1M")
    assert "would unpack to" in outcome(folder, content, data)


def test_cut_and_flipped_archives(saved):
    content, arrays, folder = saved
    data = packed(arrays)
    draw = np.random.default_rng(1)
    for _ in range(150):
        other = bytearray(data)
        other[int(draw.integers(len(data)))] ^= 1 << int(draw.integers(8))
        outcome(folder, content, bytes(other))
        outcome(folder, content, data[: int(draw.integers(len(data)))])


# JSON ----------------------------------------------------------------------------------------------------------

PLAIN = '{"format": "nbest-model/1", "kind": "loglinear", "weights": {"first": 1.0}'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (PLAIN + ', "weights": {}}', "'weights' is named twice"),
        (PLAIN[:-1] + ', "first": 2}}', "'first' is named twice"),
        (PLAIN + ', "gamma": NaN}', "NaN is not a number"),
        (PLAIN + ', "trainer": {"variance": Infinity}}', "Infinity is not a number"),
        (PLAIN + ', "gamma": 1e400}', "'gamma' must be a number"),
        (PLAIN + ', "seed": 1e400}', "'seed' must be a whole number"),
        (PLAIN + ', "seed": ' + "9" * 5000 + "}", "'seed' must be a whole number"),
        (PLAIN + ', "trainer": ' + "[" * 600 + "]" * 600 + "}", "may be 20 deep, and these are deeper"),
        (PLAIN + ', "trainer": {"a": ' + "[" * 600 + "]" * 600 + "}}", "may be 20 deep, and these are deeper"),
        (PLAIN + ', "features": ' + "[" * 5000 + "]" * 5000 + "}", "nested too deeply"),
        (PLAIN + ', "metric": {"a": 1}}', "'metric' must be text, got {'a': 1}"),
        (PLAIN + ', "metric": "\\ud800"}', "half of a surrogate pair"),
        (PLAIN + ', "scores": {"dev": "good"}}', "the score 'dev' must be a number, got 'good'"),
        (PLAIN + ', "dense": [' + "3," * 5000 + "3]}", "'dense' must be a list of feature names, got"),
        (PLAIN + ', "features": [{"kind": "agreement", "evidence": "all"}]}', "'evidence' of the feature 'agreement'"),
        (PLAIN + ', "features": [{"kind": "frequency", "cap": 1e30}]}', "'cap' of the feature 'frequency' must be a"),
        (PLAIN + ', "features": [{"kind": "ngrams", "order": 1000000000}]}', "'ngrams' must be <= 100, got 1000000000"),
        (PLAIN + ', "features": [{"kind": "length", "by": 1}]}', "the feature 'length' has no option 'by'"),
        (PLAIN + ', "features": [{"kind": "bins"}]}', "the feature 'bins' needs the option 'names'"),
        (PLAIN + ', "arrays": {"file": "a\\u0000b", "sha256": ""}}', "'arrays' must name a file beside the model"),
        (PLAIN + ', "arrays": {"file": ' + "[" * 15 + "]" * 15 + "}}", "'arrays' must name a file beside the model"),
    ],
)
def test_content(tmp_path, text, message):
    (tmp_path / "m.json").write_text(text)
    with pytest.raises(FormatError) as caught:
        load(tmp_path / "m.json")
    assert message in str(caught.value), str(caught.value)
    assert len(str(caught.value)) < 600
