"""Tokens and casing: known sentences, round trips, files."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from nbest.base.errors import CapabilityError, FormatError, ParameterError
from nbest.base.files import read_lines
from nbest.systems.translator.tokenising import Tokeniser
from nbest.systems.translator.truecasing import Truecaser, capitalised, sentence_starts


@pytest.mark.parametrize(
    ("language", "text", "tokens"),
    [
        ("en", "Mr. Smith isn't here, is he?", "Mr. Smith isn 't here , is he ?"),
        ("en", "It costs 5,300 dollars & more.", "It costs 5,300 dollars & more ."),
        ("fr", "L'homme qu'il aime, c'est lui.", "L' homme qu' il aime , c' est lui ."),
        ("de", "Das ist z.B. gut.", "Das ist z.B. gut ."),
        ("es", "¿Qué es esto?", "¿ Qué es esto ?"),
        ("zh", "我有3本书。", "我 有 3 本 书 。"),
        ("ja", "東京はGoogleだ。", "東 京 は Google だ 。"),
        ("en", "  \t ", ""),
        ("en", "", ""),
        ("en", "a\x01b \u2028 c\U0001f600", "ab c \U0001f600"),
    ],
)
def test_known_tokens(language: str, text: str, tokens: str) -> None:
    assert Tokeniser(language).tokens(text) == tokens.split()


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "The president's answer, however (see above), wasn't \"clear\" at all: 3.5% of it!"),
        ("fr", "L'Union européenne n'a pas répondu, aujourd'hui."),
        ("de", "Er sagte: Das geht nicht."),
        ("es", "¿Qué es esto? Nada, señor."),
        ("zh", "我有书。"),
        ("ja", "私は東京に住んでいます。"),
    ],
)
def test_round_trip(language: str, text: str) -> None:
    tokeniser = Tokeniser(language)
    assert tokeniser.detokenise(tokeniser.tokens(text)) == text


def test_many_sentences_with_progress() -> None:
    steps: list[tuple[int, int]] = []
    found = Tokeniser("en").tokenise(["a b.", ""] * 5000, lambda done, total: steps.append((done, total)))
    assert found[:2] == [["a", "b", "."], []]
    assert steps == [(10_000, 10_000)]


def test_500_tokens() -> None:
    text = " ".join(["word,"] * 250)
    assert len(Tokeniser("en").tokens(text)) == 500


@pytest.mark.parametrize("language", ["", "english", "EN", "../x"])
def test_bad_language(language: str) -> None:
    with pytest.raises(ParameterError, match="'language' of Tokeniser"):
        Tokeniser(language)


def test_missing_sacremoses_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sacremoses", None)
    with pytest.raises(CapabilityError, match=r"pip install 'nbest\[mt\]'"):
        Tokeniser("en")


def test_sentence_starts() -> None:
    assert sentence_starts(['"', "The", "end", ".", "-", "He", "left", ":", "Now"]) == [1, 5, 8]
    assert sentence_starts([]) == []


def test_truecaser_takes_the_casing_seen_elsewhere(tmp_path: Path) -> None:
    sentences = [s.split() for s in ("The house of Paris", "He saw the house", "Paris is near", "in Paris the end")]
    truecaser = Truecaser.train(sentences)
    assert truecaser.apply(["The", "Paris", "House"]) == ["the", "Paris", "House"]
    assert truecaser.apply(["Paris", ".", "The", "unknown"]) == ["Paris", ".", "the", "unknown"]
    assert truecaser.apply(["Unheard"]) == ["Unheard"]
    assert truecaser.apply([]) == []
    truecaser.save(tmp_path / "case.json")
    assert Truecaser.load(tmp_path / "case.json").casings == truecaser.casings


def test_truecaser_ties_go_to_the_first_seen() -> None:
    assert Truecaser.train([["x", "May", "may"]]).casings["may"] == "May"


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": "nbest-truecaser/9"}', '{"format": "nbest-truecaser/1"}'])
def test_bad_truecaser_file(tmp_path: Path, text: str) -> None:
    (tmp_path / "case.json").write_text(text)
    with pytest.raises(FormatError, match=r"case\.json"):
        Truecaser.load(tmp_path / "case.json")


def test_capitalised() -> None:
    assert capitalised('"the end') == '"The end'
    assert capitalised("...") == "..."


@pytest.mark.data
@pytest.mark.parametrize("language", ["en", "fr", "de", "es"])
def test_round_trip_of_real_text(data: Path, language: str) -> None:
    texts = read_lines(data / "mt" / "europarl" / f"dev.{language}.xz")[:500]
    tokeniser = Tokeniser(language)
    again = [tokeniser.detokenise(tokens) for tokens in tokeniser.tokenise(texts)]
    same = sum(" ".join(a.split()) == b for a, b in zip(texts, again, strict=True))
    assert same > 0.9 * len(texts)
    joined = sum("".join(a.split()) == "".join(b.split()) for a, b in zip(texts, again, strict=True))
    assert joined == len(texts)


@pytest.mark.parametrize(
    "content",
    [
        "[]",
        "{",
        '{"format": "nbest-truecaser/1"}',
        '{"format": "nbest-truecaser/1", "cased": {"a": 1}, "lower": []}',
        '{"format": "nbest-truecaser/1", "cased": {}, "lower": [["a"]]}',
        '{"format": "nbest-truecaser/1", "cased": [], "lower": []}',
        '{"format": "nbest-truecaser/1", "cased": {}, "lower": [], "sha256": "0"}',
        "[" * 100_000,
        f'{{"a": {"9" * 5000}}}',
    ],
)
def test_a_damaged_truecaser_is_our_own_error(tmp_path: Path, content: str) -> None:
    (tmp_path / "case.json").write_text(content)
    with pytest.raises(FormatError, match=r"case\.json: .*train the truecaser again") as error:
        Truecaser.load(tmp_path / "case.json")
    assert "\n" not in str(error.value)
