"""Models: scores, choices, and the files they are kept in."""

import json
import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from strategies import lists

import nbest
from nbest.base.errors import CapabilityError, FormatError, ParameterError
from nbest.formats.moses_weights import parse_moses_weights, write_moses_weights
from nbest.model.loglinear import MODEL_FORMAT, LogLinear, load
from nbest.testing import toy_lists


@settings(deadline=None, max_examples=100)
@given(lists(), st.lists(st.integers(-2, 2), min_size=2, max_size=2), st.integers(0, 3))
def test_against_loops(corpus, weights, gamma):
    model = LogLinear({"f0": weights[0], "f1": weights[1]})
    scores, choice, posterior = model.scores(corpus), model.predict(corpus), model.posterior(corpus, gamma)
    assert choice.dtype == np.int64
    for i, (low, high) in enumerate(zip(corpus.offsets[:-1], corpus.offsets[1:], strict=True)):
        expected = [weights[0] * row[0] + weights[1] * row[1] for row in corpus.features[low:high]]
        assert scores[low:high].tolist() == expected
        assert choice[i] == (low + expected.index(max(expected)) if expected else -1)
        mass = np.exp(gamma * (np.array(expected) - max(expected, default=0)))
        np.testing.assert_allclose(posterior[low:high], mass / mass.sum() if len(mass) else [], rtol=1e-12)


def test_posteriors_sum_to_one_whatever_their_sharpness():
    corpus = toy_lists()
    model = LogLinear({"first": 1.0})
    for gamma in (0.0, 1e-9, 1.0, 1e6, 1e18):
        posterior = model.posterior(corpus, gamma)
        sums = [posterior[a:b].sum() for a, b in zip(corpus.offsets, corpus.offsets[1:], strict=False) if b > a]
        np.testing.assert_allclose(sums, 1.0, rtol=1e-12)


def test_sparse_features_count():
    corpus = toy_lists(sparse=True)
    weights = {"first": 2.0, "w_cat": -1.5, "w_fox": 0.25}
    column = {name: corpus.sparse.toarray()[:, j] for j, name in enumerate(corpus.sparse_names)}
    expected = 2 * corpus.features[:, 0] - 1.5 * column["w_cat"] + 0.25 * column["w_fox"]
    np.testing.assert_allclose(LogLinear(weights).scores(corpus), expected, rtol=1e-12)
    # a sparse feature that no hypothesis here has is not an error
    np.testing.assert_allclose(LogLinear({**weights, "w_yak": 9.0}).scores(corpus), expected, rtol=1e-12)


def test_missing_features_are_named():
    with pytest.raises(
        ParameterError, match="a weight for 'tm' and these lists do not; they have first, second, third"
    ):
        LogLinear({"first": 1.0, "tm": 2.0}).predict(toy_lists())


def test_features_without_a_weight_count_nothing():
    corpus = toy_lists()
    assert np.array_equal(LogLinear({"first": 1.0}).scores(corpus), corpus.column("first"))


@pytest.mark.parametrize("weight", [float("nan"), float("inf")])
def test_weights_must_be_finite(weight):
    with pytest.raises(ParameterError, match=f"weights of LogLinear must be finite, got {weight} for 'a'"):
        LogLinear({"a": weight})


def test_scores_that_overflow_are_refused():
    corpus = toy_lists()
    with pytest.raises(ParameterError, match="some scores are not finite"):
        LogLinear({"first": 1.7e308, "second": 1.7e308, "third": 1.7e308}).predict(
            corpus.only_features(("first", "second")).with_features(("third",), 10 * corpus.column("third"))
        )


def test_recipes_are_applied():
    corpus = toy_lists()
    model = LogLinear({"words": 1.0, "rank": 0.5}, features=({"kind": "length"}, {"kind": "rank"}))
    expected = [len(text.split()) for text in corpus.texts]
    place = np.arange(corpus.hypotheses) - np.repeat(corpus.offsets[:-1], corpus.lengths)
    np.testing.assert_allclose(model.scores(corpus), expected - 0.5 * np.log1p(place))
    with pytest.raises(ParameterError, match="the feature 'rank' has no option 'cap'"):
        LogLinear({"rank": 1.0}, features=({"kind": "rank", "cap": 3},)).scores(corpus)


# files ----------------------------------------------------------------------------------------------------------


def test_round_trip(tmp_path):
    model = LogLinear(
        weights={"größe": 0.1 + 0.2, "b=c": -1e-300},
        features=({"kind": "agreement", "metric": "wer"}, {"kind": "rank"}),
        metric="BLEU|nrefs:1",
        trainer={"name": "MERT", "variance": float("inf"), "frozen": ("a",), "start": {"a": np.float32(1.5)}},
        scores_={"dev": 12.5},
        seed=np.int64(3),
    )
    for name in ("m.json", "m.json.gz", "m.json.xz"):
        model.save(tmp_path / name)
        again = load(tmp_path / name)
        assert dict(again.weights) == dict(model.weights)
        assert again.features == model.features
        assert (again.metric, again.seed) == ("BLEU|nrefs:1", 3)
        assert again.trainer == {"name": "MERT", "variance": "inf", "frozen": ["a"], "start": {"a": 1.5}}
        assert again.scores_ == {"dev": 12.5}
        assert again.versions == model.versions
    content = json.loads((tmp_path / "m.json").read_text("utf-8"))
    assert (content["format"], content["kind"]) == (MODEL_FORMAT, "loglinear")
    assert set(content["versions"]) >= {"nbest", "numpy", "numba", "scipy", "python"}
    assert nbest.load(str(tmp_path / "m.json")).weights == model.weights


@settings(deadline=None, max_examples=50)
@given(st.dictionaries(st.text(max_size=4), st.floats(allow_nan=False, allow_infinity=False)))
def test_weights_are_kept_to_the_last_bit(tmp_path_factory, weights):
    weights = {name: value for name, value in weights.items() if name.encode("utf-8", "replace").decode() == name}
    path = tmp_path_factory.mktemp("model") / "m.json"
    LogLinear(weights).save(path)
    assert {n: np.float64(v).tobytes() for n, v in load(path).weights.items()} == {
        n: np.float64(v).tobytes() for n, v in weights.items()
    }


def content(**changes):
    return {"format": MODEL_FORMAT, "kind": "loglinear", "weights": {"a": 1.0}} | changes


BAD = [
    (
        json.dumps(content(format="nbest-model/9")),
        "expected a model with 'format': 'nbest-model/1', got 'nbest-model/9'",
    ),
    (json.dumps({}), "got None"),
    (
        json.dumps(content(kind="loglinaer")),
        "unknown model kind 'loglinaer'; known: loglinear; did you mean 'loglinear'",
    ),
    (json.dumps(content(kind=None)), "unknown model kind"),
    (json.dumps(content(kind=[1])), "unknown model kind"),
    (json.dumps(content(weights={"a": float("nan")})), "NaN is not a number in JSON; values must be finite"),
    (json.dumps(content(weights={"a": float("-inf")})), "-Infinity is not a number in JSON; values must be finite"),
    (json.dumps(content(weights={"a": 10**400})), "the weight of 'a' must be a finite number"),
    (json.dumps(content(weights={"a": "1"})), "the weight of 'a' must be a finite number, got 1"),
    (json.dumps(content(weights={"a": True})), "the weight of 'a' must be a finite number, got True"),
    (json.dumps(content(weights={"a": None})), "the weight of 'a' must be a finite number, got None"),
    (json.dumps(content(weights=[1])), "needs 'weights': {name: value}"),
    (json.dumps({"format": MODEL_FORMAT, "kind": "loglinear"}), "needs 'weights'"),
    (json.dumps(content(features={"kind": "rank"})), "'features' must be a list of recipes with a known 'kind'"),
    (json.dumps(content(features=[{"kind": "rnak"}])), "'features' must be a list of recipes with a known 'kind'"),
    (json.dumps(content(features=[{"kind": ["rank"]}])), "'features' must be a list of recipes"),
    (json.dumps(content(features=["rank"])), "'features' must be a list of recipes"),
    (json.dumps(content(trainer="MERT")), "'trainer' must be an object, got 'MERT'"),
    (json.dumps(content(scores=[1])), "'scores' must be an object"),
    (json.dumps(content(versions=1)), "'versions' must be an object"),
    (json.dumps(content(seed=[1])), "'seed' must be a whole number or null"),
    ('{"format": "nbest-model/1",\n"kind": }', "m:2: not valid JSON"),
    ('{"a": 1' + "0" * 5000 + "}", "got None"),
    ("{" + '"a":{' * 100000, "JSON nested too deeply"),
    ("", "no weights in it"),
    ("[weight]\n", "no weights in it"),
    ("weights\n", "m:1: expected 'Name= value value', got 'weights'"),
]


@pytest.mark.parametrize(("text", "message"), BAD)
def test_bad_models(tmp_path, text, message):
    (tmp_path / "m").write_text(text)
    with pytest.raises(FormatError) as caught:
        load(tmp_path / "m")
    assert message in str(caught.value)
    assert str(tmp_path / "m") in str(caught.value)


def test_a_failure_leaves_the_old_model(tmp_path, monkeypatch):
    path = tmp_path / "m.json"
    LogLinear({"a": 1.0}).save(path)
    monkeypatch.setattr(os, "replace", lambda *names: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(OSError, match="full"):
        LogLinear({"a": 2.0}).save(path)
    assert os.listdir(tmp_path) == ["m.json"]
    assert load(path).weights == {"a": 1.0}


# Moses ----------------------------------------------------------------------------------------------------------

INI = """# a comment
[input-factors]
0

[feature]
LM name=LM0 factor=0
[weight]
LM0= 0.5   # of the language model
TM0= 0.1 -0.2 3e-1

Distortion0=1
[threads]
4
"""


def test_moses_ini():
    expected = {"LM0": 0.5, "TM0_0": 0.1, "TM0_1": -0.2, "TM0_2": 0.3, "Distortion0": 1.0}
    assert parse_moses_weights("ini", INI) == expected
    assert parse_moses_weights("ini", INI.replace("\n", "\r\n")) == expected
    assert parse_moses_weights("weights", "LM0= 0.5\nTM0= 1 2\n") == {"LM0": 0.5, "TM0_0": 1.0, "TM0_1": 2.0}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("LM= 1\nLM= 2\n", "w:2: the weight of 'LM' is given twice"),
        ("LM= 1 2\nLM_0= 2\n", "w:2: the weight of 'LM_0' is given twice"),
        ("LM= 1\nTM= x\n", "w:2: the weight of 'TM' must be a finite number, got"),
        ("LM= nan\n", "w:1: the weight of 'LM' must be a finite number"),
        ("LM= 1e999\n", "w:1: the weight of 'LM' must be a finite number"),
        ("LM=\n", "w:1: expected 'Name= value value', got 'LM='"),
        ("= 1\n", "w:1: expected 'Name= value value'"),
        ("LM 1\n", "w:1: expected 'Name= value value'"),
        ("[other]\nLM= 1\n", "no weights in it"),
    ],
)
def test_bad_moses_weights(text, message):
    with pytest.raises(FormatError) as caught:
        parse_moses_weights("w", text)
    assert message in str(caught.value)


names = st.lists(st.sampled_from(["A", "_0", "_1", "_2", "_", "0"]), min_size=1, max_size=3).map("".join)


@settings(deadline=None, max_examples=300)
@given(st.dictionaries(names, st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=8))
def test_moses_weights_round_trip(tmp_path_factory, weights):
    path = tmp_path_factory.getbasetemp() / "weights"
    write_moses_weights(path, weights)
    assert dict(load(path).weights) == weights


def test_several_values_share_a_line(tmp_path):
    write_moses_weights(tmp_path / "w", {"TM_1": 2.0, "LM": 1.0, "TM_0": -1.0, "X_0": 4.0, "Y_1": 5.0})
    assert (tmp_path / "w").read_text().splitlines() == ["[weight]", "TM= -1.0 2.0", "LM= 1.0", "X_0= 4.0", "Y_1= 5.0"]


@pytest.mark.parametrize("name", ["", "a b", "a=b", "a#b", "[a", " a"])
def test_names_that_moses_cannot_hold(tmp_path, name):
    with pytest.raises(CapabilityError, match="cannot hold a weight of the name"):
        write_moses_weights(tmp_path / "w", {name: 1.0})
    assert not (tmp_path / "w").exists()


def test_sparse_matrices_with_no_columns():
    corpus = toy_lists()
    from dataclasses import replace

    none = replace(corpus, sparse=csr_array((corpus.hypotheses, 0)), sparse_names=())
    model = LogLinear({"first": 1.0})
    assert np.array_equal(model.scores(none), model.scores(corpus))


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("threads", [1, 3])
def test_many_features_are_weighed_by_a_kernel_with_the_same_bits(kind, threads, monkeypatch):
    from nbest.compute import parallel
    from nbest.compute.executors import Threads, using
    from nbest.model import loglinear

    monkeypatch.setattr(parallel, "_GRAIN", 10.0)
    rng = np.random.default_rng(1)
    for lengths in ([], [0], [3, 0, 1], [5, 2, 6, 0, 4], [40] * 20):
        size = sum(lengths)
        corpus = nbest.NBest(
            offsets=np.append(0, np.cumsum(lengths)).astype(np.int64),
            features=rng.normal(size=(size, 7)).astype(kind) * 10.0 ** rng.integers(-9, 9, 7).astype(kind),
            feature_names=tuple("abcdefg"),
            ids=tuple(map(str, range(len(lengths)))),
        )
        for zeros in (0, 3, 7):
            weights = np.where(np.arange(7) < zeros, 0.0, rng.normal(size=7))[rng.permutation(7)]
            expected = np.zeros(size)
            for d in range(7):
                for h in range(size):
                    expected[h] += weights[d] * np.float64(corpus.features[h, d])
            for many in (10**9, 0):
                monkeypatch.setattr(loglinear, "KERNEL", many)
                with using(Threads(threads)):
                    found = LogLinear(dict(zip(corpus.feature_names, weights.tolist(), strict=True))).scores(corpus)
                assert found.tobytes() == expected.tobytes()
