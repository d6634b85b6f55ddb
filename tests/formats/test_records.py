"""Lists from records and data frames, and back."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nbest
from nbest.base.errors import FormatError, ParameterError
from nbest.corpus import Texts
from nbest.testing import toy_lists

ROWS: list[dict[str, Any]] = [
    {"id": "q2", "text": "a", "lm": -1.5, "ok": True, "gain": 1, "answer": None, "doc": 7, "references": "r"},
    {"id": "q1", "text": "b", "lm": 2, "ok": False, "gain": 0.5, "answer": "x", "doc": 8, "references": "s"},
    {"id": "q2", "text": "c", "lm": 0, "ok": False, "gain": 0, "answer": "y", "doc": 7, "references": "r"},
]


def test_one_record_a_hypothesis():
    lists = nbest.from_records(ROWS)
    assert lists.ids == ("q2", "q1")
    assert lists.feature_names == ("lm", "ok")
    assert list(lists.texts or ()) == ["a", "c", "b"]
    assert lists.features.tolist() == [[-1.5, 1], [0, 0], [2, 0]]
    assert lists.gains is not None
    assert lists.gains.tolist() == [1, 0, 0.5]
    assert list(lists.answers or ()) == ["", "y", "x"]
    assert lists.groups == ("7", "8")
    assert lists.references == (("r",), ("s",))
    assert lists.positions is not None
    assert lists.positions.tolist() == [0, 2, 1]


def test_features_may_lie_apart_and_names_may_be_said():
    rows = [
        {"q": 1, "hyp": "a", "features": {"x": 1.0, "y": 2}, "label": np.bool_(True), "z": np.float32(0.5), "note": "n"}
    ]
    lists = nbest.from_records(rows, id="q", text="hyp", gain="label")
    assert (lists.ids, lists[0][0].features) == (("1",), {"z": 0.5, "x": 1.0, "y": 2.0})
    assert nbest.from_records(rows, id="q", features=["z"])[0][0].features == {"z": 0.5, "x": 1.0, "y": 2.0}
    assert lists[0][0].gain == 1.0


def test_one_record_a_segment_is_as_json_lines():
    record = {"id": "u", "references": ["r"], "hypotheses": [{"text": "a", "features": {"f": 1}, "score": 2}]}
    lists = nbest.from_records([record])
    assert (lists.ids, lists.feature_names, lists[0][0].gain) == (("u",), ("f",), 2.0)
    with pytest.raises(FormatError, match="records:2: segment 'u' is already on line 1"):
        nbest.from_records([record, record])


BAD = {
    "no id": ([{"text": "a"}], {}, "no column holds the ids of segments"),
    "no text": ([{"id": 1, "hyps": ["a"]}], {}, r"no column holds texts \(text\), answers or scores .* are id, hyps"),
    "id": ([{"id": 1.5, "text": "a"}], {}, "row 0: 'id' must be a string or an integer, got a number: 1.5"),
    "nothing": ([], {}, "no rows in it"),
    "text": ([{"id": 1, "text": "a"}, {"id": 1, "text": None}], {}, "row 1: 'text' is missing"),
    "nan": ([{"id": 1, "f": 1.0}, {"id": 2, "f": float("nan")}], {}, "row 1: feature 'f' is missing"),
    "infinite": (
        [{"id": 1, "f": 1.0}, {"id": 2, "f": float("inf")}],
        {},
        "row 1: 'f' must be a finite number, got inf",
    ),
    "none": ([{"id": 1, "f": 1.0}, {"id": 2, "f": None}], {}, "row 1: feature 'f' is missing"),
    "gain": ([{"id": 1, "gain": "good"}], {}, "row 0: 'gain' must be a finite number, got 'good'"),
    "missing": ([{"id": 1, "f": 1.0}, {"id": 2}], {}, "row 1: feature 'f' is missing"),
    "column": ([{"id": 1, "hyp": "a"}], {"text": "hypo"}, "no column 'hypo'.*hyp"),
    "feature": ([{"id": 1, "a": 1}], {"features": ["b"]}, "no column 'b'"),
    "words": ([{"id": 1, "a": "x"}], {"features": ["a"]}, "row 0: 'a' must be a finite number, got 'x'"),
    "source": ([{"id": 1, "source": "a"}, {"id": 1, "source": "b"}], {}, "row 1: 'source' differs"),
    "reference": ([{"id": 1, "references": 3.5}], {}, "row 0: 'references' must be a string"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_wrong_is_said(name: str):
    rows, options, message = BAD[name]
    with pytest.raises(FormatError, match=message):
        nbest.from_records(rows, **options)


def test_a_keyword_that_is_none():
    with pytest.raises(TypeError, match="txt"):
        nbest.from_records(ROWS, txt="x")


def test_there_and_back():
    pytest.importorskip("pandas")
    lists = replace(toy_lists().keep(np.ones(toy_lists().hypotheses, bool)), stats=None, metric=None)
    lists = lists.select(np.flatnonzero(lists.lengths > 0))
    count = lists.hypotheses
    lists = replace(
        lists,
        gains=np.arange(count) / 3,
        answers=Texts.of(str(h % 2) for h in range(count)),
        groups=tuple("ab"[i % 2] for i in range(len(lists))),
        features=np.ascontiguousarray(lists.features),
    )
    frame = lists.to_pandas()
    assert list(frame.columns[:2]) == ["id", "index"]
    assert nbest.from_pandas(frame) == lists
    shuffled = frame.sample(frac=1.0, random_state=1).sort_values("index", kind="stable")
    again = nbest.from_pandas(shuffled)
    assert again["s0"][0].text == lists["s0"][0].text


def test_a_frame_with_columns_of_many_kinds():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(ROWS)
    frame["when"] = pd.Timestamp("2020-01-01")
    frame["many"] = pd.array([1, 2, 3], "Int64")
    frame["kind"] = pd.Categorical(["u", "v", "u"])
    lists = nbest.from_pandas(frame)
    assert lists.feature_names == ("lm", "ok", "many")
    frame["many"] = pd.array([1, None, 3], "Int64")
    for kind in ("Int64", object):
        with pytest.raises(FormatError, match="row 1: feature 'many' is missing"):
            nbest.from_pandas(frame.astype({"many": kind}))


def test_names_that_are_taken_and_names_twice():
    pd = pytest.importorskip("pandas")
    lists = replace(toy_lists(), feature_names=("text", "b", "index"), stats=None, metric=None)
    assert list(lists.to_pandas().columns[:6]) == ["id", "index", "text", "feature:text", "b", "feature:index"]
    with pytest.raises(ParameterError, match="two columns of the data frame are called 'a'"):
        nbest.from_pandas(pd.DataFrame([[1, 2]], columns=["a", "a"]))
    with pytest.raises(ParameterError, match="must be a data frame, got list"):
        nbest.from_pandas([1])


def test_what_was_chosen_as_a_frame():
    pytest.importorskip("pandas")
    lists = toy_lists()
    model = nbest.MaxLikelihood().fit(lists)
    found = nbest.choose(model, lists)
    frame = found.to_pandas()
    assert list(frame["text"]) == [text for text, size in zip(found.texts, lists.lengths, strict=True) if size]
    assert np.allclose(frame["model_score"], found.scores()[found.chosen[found.chosen >= 0]])


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_frame_in_a_file_is_the_same_lists(several: bool, suffix: str, tmp_path: Path):
    pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    lists = replace(toy_lists(), stats=None, metric=None)
    lists = lists.select(np.flatnonzero(lists.lengths > 0))
    if several:
        lists = lists.with_references(
            [(refs[0], "other")[: 1 + i % 2] for i, refs in enumerate(lists.references or ())]
        )
    path, frame = tmp_path / f"x.{suffix}", lists.to_pandas()
    for given in (frame, frame.sample(frac=1.0, random_state=3).sort_values("id", kind="stable")):
        given.to_csv(path, index=False) if suffix == "csv" else given.to_parquet(path, index=False)
        found = nbest.read(path)
        assert found.feature_names == lists.feature_names
        assert replace(found.select([found.ids.index(name) for name in lists.ids]), positions=None) == lists


def test_values_of_numpy_all_the_way_down():
    made = {"text": "x", "features": {"lm": np.float64(1), "n": np.int64(2)}, "score": np.bool_(True)}
    lists = nbest.from_records([{"id": "a", "references": ("r", "s"), "hypotheses": (made,)}])
    assert lists[0][0].features == {"lm": 1.0, "n": 2.0}
    assert lists[0].references == ("r", "s")
    assert lists[0][0].gain == 1.0
    flat = nbest.from_records([{"id": "a", "text": "x", "references": ("r", "s"), "v": np.array([1, 2]), "f": 1}])
    assert (flat[0].references, flat.feature_names) == (("r", "s"), ("f",))
    with pytest.raises(FormatError, match=r"must be a finite number, got a set"):
        nbest.from_records([{"id": "a", "hypotheses": [{"text": "x", "features": {"f": {1}}}]}])


@pytest.mark.parametrize("scores", [["a", "b"], {"q": 5}, {"q": ["a", "b"]}])
def test_scores_that_are_none(scores: Any):
    lists = nbest.from_records([{"id": "q", "text": "x"}, {"id": "q", "text": "y"}])
    with pytest.raises(ParameterError, match="'scores'"):
        lists.with_scores("z", scores)
