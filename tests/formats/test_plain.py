"""Formats without features of their own, and mlm-scoring: flat, HyPoradise, mlm-scoring."""

from __future__ import annotations

from pathlib import Path

import pytest

from nbest.base.errors import CapabilityError, ParameterError
from nbest.formats import read, write

# flat -----------------------------------------------------------------------------------------------------------


def test_flat_n(reading) -> None:
    corpus = reading("flat", "a\n b \n\nc\n", n=2)
    assert corpus.ids == ("0", "1")
    assert list(corpus.texts) == ["a", " b ", "", "c"]
    assert corpus.column("rank").tolist() == [-1, -2, -1, -2]
    assert reading("flat", "a\nb\n\n", n=2).hypotheses == 2


def test_flat_blocks(reading) -> None:
    corpus = reading("flat", "NC=2\na\nNC=1\nNC=0\nNC=1\nb\n\n")
    assert corpus.lengths.tolist() == [2, 0, 1]
    assert list(corpus.texts) == ["a", "NC=1", "b"]


@pytest.mark.parametrize(
    ("contents", "options", "message"),
    [
        ("a\nb\nc\n", {"n": 2}, ": 3 lines cannot be lists of 2; expected a multiple of 2"),
        ("a\nb\n", {}, ":1: expected 'NC=' and a number, got 'a'; for lists of one length say n="),
        ("NC=1\na\nb\n", {}, ":3: expected 'NC=' and a number, got 'b'"),
        ("NC=1\na\nNC=3\nb\n", {}, ":3: expected 3 lines after NC=3, got 1"),
        ("NC=99999999999999\n", {}, ":1: expected 'NC=' and a number"),
        ("", {"n": 2}, ": the file is empty"),
    ],
)
def test_flat_bad_input(complaint, contents: str, options: dict, message: str) -> None:
    assert complaint("flat", contents, **options).startswith("input" + message)


def test_flat_writing(reading, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="'n' of read_flat must be >= 1, got 0"):
        reading("flat", "a\n", n=0)
    corpus = reading("flat", "a\nb\n", n=2)
    write(corpus, tmp_path / "x.flat", n=2)
    assert (tmp_path / "x.flat").read_text() == "a\nb\n"
    with pytest.raises(CapabilityError, match="flat with n=3 needs 3 hypotheses each; segment '0' has 2"):
        write(corpus, tmp_path / "x.flat", n=3)


# HyPoradise -----------------------------------------------------------------------------------------------------


def test_hyporadise(reading) -> None:
    corpus = reading(
        "hyporadise", '[{"input": ["a", "b", "a", "c", "b"], "output": "r"},\n {"input": [], "output": "q"}]'
    )
    assert corpus.ids == ("0", "1")
    assert list(corpus.texts) == ["a", "b", "c"]  # the padding is dropped
    assert corpus.column("rank").tolist() == [-1, -2, -3]
    assert corpus.references == (("r",), ("q",))
    assert corpus.lengths.tolist() == [3, 0]


def test_hyporadise_as_published(reading, complaint) -> None:
    """Some files of HyPoradise-v0 say the list again as `input1` and `input2`; those of WSJ have scores."""
    again = '[{"input": ["a", "b", "a"], "output": "r", "input1": "a.", "input2": "b. a. "}]'
    assert list(reading("hyporadise", again).texts) == ["a", "b"]
    scored = '[{"input": ["a", "b", "a"], "output": "r", "score": [-0.25, -0.5, %s]}]'
    corpus = reading("hyporadise", scored % -1)
    assert corpus.feature_names == ("rank", "score")
    assert corpus.features.tolist() == [[-1, -0.25], [-2, -0.5]]
    assert complaint("hyporadise", scored % "-1, -2") == "input:1: 3 texts and 4 scores; every text needs its own"
    assert complaint("hyporadise", scored % '"x"').startswith("input:1: a score must be a finite number")


def test_hyporadise_numbered_inputs(reading) -> None:
    contents = '[{"input2": "b. c", "input1": "a", "input10": ["d"]}]'
    assert list(reading("hyporadise", contents).texts) == ["a", "b. c", "d"]
    assert list(reading("hyporadise", contents, separator=". ").texts) == ["a", "b", "c", "d"]


@pytest.mark.parametrize(
    ("contents", "message"),
    [
        ("", ": the file is empty; expected a JSON list"),
        ('{"input": []}', ":1: expected a JSON list, got "),
        ('[\n{"input": ["a"]},\n{"output": "r"}]', ':3: the key "input" is missing'),
        ('[\n{"input": ["a"]},\n\n["a"]]', ":4: an entry of the list must be an object, got a list"),
        ('[{"input": [1]}]', ':1: a text of "input" must be a string, got a number: 1'),
        ('[{"input": ["a"], "output": ["r"]}]', ':1: "output" must be a string, got a list'),
        ('[{"input": ["a"],\n "output": }]', ":2: not valid JSON: Expecting value"),
        ('[\n{"input": ["a"]}\n{"input": ["a"]}]', ":3: expected ',' or ']', got "),
        ('[{"input": ["a"]},\n]', ":2: not valid JSON"),
        ('[{"input": ["a"]}', ":1: expected ',' or ']', got ''"),
        ('[{"input": ["a"]}]\n\n]', ":3: more text after the end of the JSON value"),
        ('[{"input": ["a"], "output": "r"},\n{"input": ["a"]}]', ":2: segment '1' has no references while others have"),
        ('[{"input": [], "input": []}]', ":1: 'input' is named twice in one object"),
    ],
)
def test_hyporadise_bad_input(complaint, contents: str, message: str) -> None:
    assert complaint("hyporadise", contents).startswith("input" + message)


# mlm-scoring ----------------------------------------------------------------------------------------------------


def test_mlm_scoring(reading) -> None:
    corpus = reading(
        "mlm-scoring",
        '{"u": {"hyp_10": {"score": -3, "text": "c"}, "hyp_2": {"score": -1.5, "text": "b"}, "ref": "r"}, '
        '"v": {"ref": "q"}}',
    )
    assert corpus.ids == ("u", "v")
    assert list(corpus.texts) == ["b", "c"]
    assert corpus.column("score").tolist() == [-1.5, -3]
    assert corpus.references == (("r",), ("q",))


@pytest.mark.parametrize(
    ("contents", "message"),
    [
        ("[]", ":1: expected a JSON object, got "),
        ("{}", ": no hypotheses in it"),
        ('{\n"u": []}', ":2: utterance 'u' must be an object, got a list"),
        ('{\n"u": {"hyp": {}}}', ":2: expected the keys hyp_1, hyp_2, ... and ref, got 'hyp'"),
        ('{\n"u": {"hyp_1": {"score": 1}}}', ':2: the key "text" is missing in "hyp_1"'),
        ('{\n"u": {"hyp_1": {"score": "1", "text": ""}}}', ":2: feature 'score' must be a finite number, got a string"),
        (
            '{\n"u": {"hyp_1": {"score": 1, "text": ""}, "hyp_01": {"score": 1, "text": ""}}}',
            ":2: 'hyp_01' and 'hyp_1' are",
        ),
        ('{"u": {},\n"u": {}}', ":2: 'u' is named twice in one object"),
        (
            '{"u": {"hyp_1": {"text": "a", "score": 1}},\n"v": {"hyp_1": {"text": "a"}}}',
            ":2: feature 'score' is missing",
        ),
        ('{"u" {}}', ":1: expected a key in quotes and a colon"),
        ("{3: {}}", ":1: expected a key in quotes and a colon"),
    ],
)
def test_mlm_scoring_bad_input(complaint, contents: str, message: str) -> None:
    assert complaint("mlm-scoring", contents).startswith("input" + message)


def test_mlm_scoring_keeps_all_dense_features(reading, tmp_path: Path) -> None:
    write(reading("moses", "u ||| a ||| F= 1 G= -2.5\n"), tmp_path / "x.mlm.json")
    assert read(tmp_path / "x.mlm.json").features.tolist() == [[1, -2.5]]
    with pytest.raises(CapabilityError, match="cannot hold a feature called 'text'"):
        write(reading("moses", "u ||| a ||| text= 1\n"), tmp_path / "x.mlm.json")
