"""Our own format: what it takes, what it refuses, and that it gives back every bit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbest.compute import segments
from nbest.corpus import NBest, Texts
from nbest.formats.lists.jsonl import read_jsonl, write_jsonl
from nbest.testing.formats import _snapshot


def test_all_keys(reading) -> None:
    corpus = reading(
        "jsonl",
        '{"id": "u1", "source": "s", "references": ["r", "q"], "hypotheses": ['
        '{"text": "a", "features": {"am": -12.3, "lm": 2}, "sparse": {"bi:of the": 1}}, '
        '{"features": {"lm": 0, "am": 1e-3}, "text": "b"}]}\n',
    )
    assert corpus.ids == ("u1",)
    assert corpus.sources == ("s",)
    assert corpus.references == (("r", "q"),)
    assert list(corpus.texts) == ["a", "b"]
    assert corpus.feature_names == ("am", "lm")
    assert corpus.features.tolist() == [[-12.3, 2.0], [1e-3, 0.0]]
    assert corpus.sparse_names == ("bi:of the",)
    assert corpus.sparse.toarray().tolist() == [[1.0], [0.0]]
    assert corpus.positions is None


def test_optional_keys_may_be_missing_or_null(reading) -> None:
    corpus = reading("jsonl", '{"hypotheses": []}\n{"source": null, "hypotheses": [{"text": "a"}], "note": 3}\n')
    assert corpus.ids == ("0", "1")
    assert corpus.lengths.tolist() == [0, 1]
    assert corpus.sources is None
    assert corpus.references is None
    assert corpus.features.shape == (1, 0)


def test_lists_without_texts(reading) -> None:
    assert reading("jsonl", '{"hypotheses": [{"features": {"f": 1}}]}\n').texts is None


def test_integer_ids_are_names(reading) -> None:
    assert reading("jsonl", '{"id": 5, "hypotheses": []}\n').ids == ("5",)


H = '{{"hypotheses": [{{"text": "a", "features": {}}}]}}\n'
GOOD = '{"id": "good", "hypotheses": [{"text": "a", "features": {"f": 1}}]}\n'

BAD = {
    "a blank line": (GOOD + "\n" + GOOD, "2: a blank line between segments"),
    "not JSON": (GOOD + "{'id': 1}\n", "2: not valid JSON: Expecting property name"),
    "more after it": (GOOD + GOOD.strip() + "}\n", "2: more text after the end"),
    "not an object": (GOOD + "[1]\n", "2: a segment must be an object, got a list: [1]"),
    "no hypotheses": (GOOD + '{"id": "x"}\n', '2: the key "hypotheses" is missing'),
    "misspelt key": (
        GOOD + '{"id": "x", "hypothesis": []}\n',
        "2: unknown key 'hypothesis'; did you mean 'hypotheses'?",
    ),
    "misspelt inner key": ('{"hypotheses": [{"txt": "a"}]}\n', "1: unknown key 'txt'; did you mean 'text'?"),
    "hypotheses of a wrong type": ('{"hypotheses": {"text": "a"}}\n', '1: "hypotheses" must be a list, got an object'),
    "hypothesis of a wrong type": ('{"hypotheses": ["a"]}\n', "1: a hypothesis must be an object, got a string: 'a'"),
    "text of a wrong type": ('{"hypotheses": [{"text": 3}]}\n', '1: "text" must be a string, got a number: 3'),
    "source of a wrong type": ('{"source": [], "hypotheses": []}\n', '1: "source" must be a string, got a list: []'),
    "one reference": (
        '{"references": "r", "hypotheses": []}\n',
        "1: \"references\" must be a list of strings, got one string: write ['r']",
    ),
    "reference of a wrong type": (
        '{"references": [null], "hypotheses": []}\n',
        "1: a reference must be a string, got null",
    ),
    "id of a wrong type": (
        '{"id": 1.5, "hypotheses": []}\n',
        '1: "id" must be a string or an integer, got a number: 1.5',
    ),
    "id twice": (GOOD + GOOD, "2: segment 'good' is already on line 1"),
    "id that is also a line number": (
        '{"id": "1", "hypotheses": []}\n{"hypotheses": []}\n',
        "2: segment '1' is already",
    ),
    "features of a wrong type": (H.format("[1]"), '1: "features" must be an object, got a list: [1]'),
    "score of a wrong type": (
        '{"hypotheses": [{"text": "a", "score": "1"}]}\n',
        "1: \"score\" must be a finite number, got a string: '1'",
    ),
    "score at last": (
        '{"hypotheses": [{"text": "a"}, {"text": "b", "score": 1}]}\n',
        "1: a hypothesis with score; those before have none",
    ),
    "answer of a wrong type": ('{"hypotheses": [{"text": "a", "answer": 4}]}\n', '1: "answer" must be a string, got'),
    "group of a wrong type": ('{"doc": 1.5, "hypotheses": []}\n', '1: "doc" must be a string or an integer, got'),
    "two groups": ('{"doc": "a", "group": "b", "hypotheses": []}\n', '1: "group" and "doc" are the same thing'),
    "no group": ('{"doc": 1, "hypotheses": []}\n{"hypotheses": []}\n', "2: segment '1' has no group while others"),
    "string": (H.format('{"f": "1"}'), "1: feature 'f' must be a finite number, got a string: '1'"),
    "null": (H.format('{"f": null}'), "1: feature 'f' must be a finite number, got null"),
    "NaN": (H.format('{"f": NaN}'), "1: NaN is not a number in JSON"),
    "infinity": (H.format('{"f": -Infinity}'), "1: -Infinity is not a number in JSON"),
    "too large": (H.format('{"f": 1e999}'), "1: feature 'f' must be a finite number, got one too large"),
    "too long": (H.format('{"f": ' + "9" * 5000 + "}"), "1: feature 'f' must be a finite number, got one too large"),
    "underscore": (H.format('{"f": 1_000}'), "1: not valid JSON"),
    "named twice": (H.format('{"f": 1, "f": 1}'), "1: 'f' is named twice in one object"),
    "missing": (GOOD + H.format("{}"), "2: feature 'f' is missing; every hypothesis needs f"),
    "new": (GOOD + H.format('{"f": 1, "g": 1}'), "2: feature 'g' is not in the hypotheses before; they have f"),
    "dense and sparse": (
        '{"hypotheses": [{"features": {"f": 1}, "sparse": {"f": 1}}]}\n',
        "1: feature 'f' is both dense and sparse",
    ),
    "no text": (GOOD + '{"hypotheses": [{"features": {"f": 1}}]}\n', "2: a hypothesis without text; those before have"),
    "text at last": (
        '{"hypotheses": [{"features": {"f": 1}}]}\n' + GOOD,
        "2: a hypothesis with text; those before have none",
    ),
    "no reference": (
        '{"references": ["r"], "hypotheses": []}\n{"references": [], "hypotheses": []}\n',
        "2: segment '1' has no references while others have",
    ),
    "no source": ('{"source": "s", "hypotheses": []}\n{"hypotheses": []}\n', "2: segment '1' has no source while"),
    "half a surrogate": ('{"id": "\\ud83d", "hypotheses": []}\n', "1: half of a surrogate pair"),
    "too deep": ('{"hypotheses": ' + "[" * 100_000 + "\n", "1: JSON nested too deeply"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input(complaint, name: str) -> None:
    contents, message = BAD[name]
    assert complaint("jsonl", contents).startswith("input:" + message)


@pytest.mark.parametrize("depth", [*range(300, 1100, 7), 5000])
def test_nesting_of_any_depth(complaint, depth: int) -> None:
    nested = '{"hypotheses": ' + '{"a": ' * (depth // 2) + '["\\u0041"]' + "}" * (depth // 2) + "}"
    assert complaint("jsonl", nested).startswith("input:1: ")


def test_a_whole_surrogate_pair_is_a_character(reading) -> None:
    assert list(reading("jsonl", '{"hypotheses": [{"text": "\\ud83d\\ude00"}]}\n').texts) == ["\N{GRINNING FACE}"]


text = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
number = st.floats(allow_nan=False, allow_infinity=False)


@st.composite
def corpora(draw: st.DrawFn) -> NBest:
    lengths = draw(st.lists(st.integers(0, 3), min_size=1, max_size=4))
    offsets = segments.offsets_of(np.array(lengths))
    count = int(offsets[-1])
    names = draw(st.lists(text, max_size=3, unique=True)) if count else []
    ids = draw(st.lists(text, min_size=len(lengths), max_size=len(lengths), unique=True))
    some = st.lists(text, min_size=1, max_size=2)
    references = draw(st.none() | st.lists(some, min_size=len(lengths), max_size=len(lengths)))
    return NBest(
        offsets=offsets,
        features=np.array(draw(st.lists(number, min_size=count * len(names), max_size=count * len(names)))).reshape(
            count, len(names)
        ),
        feature_names=tuple(names),
        ids=tuple(ids),
        texts=Texts.of(draw(st.lists(text, min_size=count, max_size=count))),
        references=None if references is None else tuple(map(tuple, references)),
        sources=draw(st.none() | st.tuples(*[text] * len(lengths))),
    )


@settings(max_examples=100, deadline=None)
@given(corpora())
def test_round_trip_is_exact(tmp_path_factory: pytest.TempPathFactory, corpus: NBest) -> None:
    path = tmp_path_factory.mktemp("jsonl") / "x.jsonl"
    write_jsonl(corpus, path)
    assert _snapshot(read_jsonl(path)) == _snapshot(corpus)


def test_sparse_round_trip(tmp_path: Path, reading) -> None:
    corpus = reading(
        "jsonl",
        '{"hypotheses": [{"text": "a", "sparse": {"x": 1, "y": 0.1, "z": -0.0}}, {"text": "b"}, '
        '{"text": "c", "sparse": {"y": 1e300}}]}\n',
    )
    write_jsonl(corpus, tmp_path / "x.jsonl")
    again = read_jsonl(tmp_path / "x.jsonl")
    assert again.sparse_names == corpus.sparse_names
    assert again.sparse.toarray().tobytes() == corpus.sparse.toarray().tobytes()
    assert b'{"x": 1, "y": 0.1, "z": -0.0}' in (tmp_path / "x.jsonl").read_bytes()
