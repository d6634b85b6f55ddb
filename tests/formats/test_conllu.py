"""CoNLL-U: what is read, that it is written back as it was, and what is refused with its place."""

from __future__ import annotations

import lzma
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbest.base.errors import FormatError, ParameterError
from nbest.base.files import read_bytes
from nbest.formats.conllu import NO_HEAD, Sentence, conllu_of, looks_like_conllu, read_conllu, sentence_of, write_conllu


def row(number: str, form: str, upos: str = "_", xpos: str = "_", head: str = "_", deprel: str = "_") -> str:
    return "\t".join([number, form, "_", upos, xpos, "_", head, deprel, "_", "_"])


TEXT = "\n".join(
    [
        "# sent_id = 1",
        "# text = Du vin 10 000",
        row("1-2", "Du"),
        row("1", "de", "ADP", "P", "3", "case"),
        row("2", "le", "DET", "D", "3", "det"),
        row("3", "vin", "NOUN", "N", "0", "root"),
        row("3.1", "ghost", "NOUN"),
        row("4", "10 000", "NUM", "Nu", "3", "nummod"),
        "",
        "",
        row("0.1", "before"),
        row("1", "Oui", "INTJ"),
        "",
        "# a comment alone",
        "",
    ]
)


def test_words_without_ranges_and_empty_nodes() -> None:
    first, second, third = conllu_of("x", TEXT)
    assert first.forms == ("de", "le", "vin", "10 000")
    assert first.upos == ("ADP", "DET", "NOUN", "NUM")
    assert first.xpos == ("P", "D", "N", "Nu")
    assert first.heads == (3, 3, 0, 3)
    assert first.deprels == ("case", "det", "root", "nummod")
    assert first.line_of(3) == 8
    assert first.column("form") == first.forms
    assert (second.forms, second.heads, second.xpos) == (("Oui",), (NO_HEAD,), ("_",))
    assert (second.line, second.line_of(0)) == (11, 12)
    assert len(third) == 0


def test_what_is_not_changed_is_written_as_it_was(tmp_path: Path) -> None:
    sentences = conllu_of("x", TEXT)
    write_conllu(sentences, tmp_path / "a.conllu.xz")
    again = read_conllu(tmp_path / "a.conllu.xz")
    assert [s.rows for s in again] == [s.rows for s in sentences]
    assert lzma.decompress((tmp_path / "a.conllu.xz").read_bytes()).startswith(b"# sent_id = 1\n")


def test_changed_columns() -> None:
    sentence = conllu_of("x", TEXT)[0]
    changed = sentence.with_column("xpos", ["A", "B", "C", "D"]).with_column("head", [2, 0, 2, 2])
    assert changed.xpos == changed.column("xpos") == ("A", "B", "C", "D")
    assert changed.heads == (2, 0, 2, 2)
    assert changed.column("head") == ("2", "0", "2", "2")
    assert changed.rows[2] == sentence.rows[2]
    assert sentence.with_column("misc", ["_"] * 4) == sentence
    with pytest.raises(ParameterError, match="4 entries, got 1"):
        sentence.with_column("xpos", ["A"])
    with pytest.raises(ParameterError, match="known: "):
        sentence.column("pos")


@given(st.lists(st.text(st.characters(codec="ascii", categories=["L", "N", "P"]), min_size=1), max_size=5))
def test_sentences_of_words_are_read_back(words: list[str]) -> None:
    made = sentence_of(words)
    text = "\n".join([*made.rows, "", ""])
    if words:
        (read,) = conllu_of("x", text)
        assert read == Sentence(**{**vars(made), "line": 1})
        assert looks_like_conllu(text)


@pytest.mark.parametrize("text", ["", "\n\n", "# only\n\n", "the cat sat\n", "1\tthe\n", "x" + "\t_" * 9])
def test_what_does_not_look_like_conllu(text: str) -> None:
    assert not looks_like_conllu(text)


@pytest.mark.parametrize(
    ("lines", "line", "message"),
    [
        (["1\tthe\t_"], 1, "10 fields separated by tabs, got 3"),
        (["the cat"], 1, "got 1"),
        ([row("x", "a")], 1, "the number of a word"),
        ([row("01", "a")], 1, "the number of a word"),
        (["# c", row("1", "a"), row("3", "b")], 3, "expected word 2, got 3"),
        ([row("1", "a"), "", row("2", "b")], 3, "expected word 1, got 2"),
        ([row("2-3", "a")], 1, "must begin with the next word, 1"),
        ([row("1", "a"), row("2-1", "b")], 2, "must begin with"),
        ([row("2.1", "a")], 1, "must follow word 2"),
        ([row("1", " ")], 1, "has no form"),
        ([row("1", "a", xpos="")], 1, "XPOS must be one word"),
        ([row("1", "a", upos="A B")], 1, "UPOS must be one word"),
        ([row("1", "a", head="2")], 1, "HEAD must be a word of the sentence, 0 to 1"),
        ([row("1", "a", head="-1")], 1, "HEAD must be"),
        ([row("1", "a", head="x")], 1, "HEAD must be"),
    ],
)
def test_malformed_lines_are_named(tmp_path: Path, lines: list[str], line: int, message: str) -> None:
    path = tmp_path / "bad.conllu"
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(FormatError, match=message) as caught:
        read_conllu(path)
    assert caught.value.line == line
    assert str(caught.value).startswith(f"{path}:{line}: ")


def test_files_that_are_no_text(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"1\t\xff\n")
    with pytest.raises(FormatError, match="UTF-8"):
        read_conllu(tmp_path / "a")
    (tmp_path / "b").write_text("\n\n")
    with pytest.raises(FormatError, match="no sentences"):
        read_conllu(tmp_path / "b")
    with pytest.raises(FormatError, match="cannot be read"):
        read_conllu(tmp_path / "c")


def test_line_ends_and_no_blank_line_at_the_end() -> None:
    (sentence,) = conllu_of("x", row("1", "a") + "\r\n" + row("2", "b"))
    assert sentence.forms == ("a", "b")
    assert all(not line.endswith("\r") for line in sentence.rows)


@pytest.mark.data
@pytest.mark.parametrize("name", ["en_ewt", "fr_sequoia_r2.16", "nl_lassysmall_r1.4", "bg_btb_devtest"])
def test_real_treebanks(data: Path, name: str, tmp_path: Path) -> None:
    path = data / "treebanks" / name / "dev.conllu.xz"
    sentences = read_conllu(path)
    write_conllu(sentences, tmp_path / "again")
    text = read_bytes(path).decode("utf-8")
    assert (tmp_path / "again").read_text(encoding="utf-8").strip() == text.strip()
    assert all(head != NO_HEAD for sentence in sentences for head in sentence.heads)


def test_a_range_beyond_the_last_word_is_refused(tmp_path):
    row = "\t".join(["a", "a", "X", "X", "_", "0", "root", "_", "_"])
    (tmp_path / "x.conllu").write_text(f"1-2\t{chr(9).join(['aa'] + ['_'] * 8)}\n1\t{row}\n\n")
    with pytest.raises(FormatError, match=r"x.conllu:1: the range 1-2 goes beyond the last word, 1"):
        read_conllu(tmp_path / "x.conllu")


@pytest.mark.parametrize("number", ["1" * 4301, f"1-{'9' * 4301}", f"{'9' * 4301}.1", f"0.{'1' * 4301}"])
def test_numbers_of_thousands_of_digits_are_refused(number: str) -> None:
    with pytest.raises(FormatError, match="x:2: expected the number of a word"):
        conllu_of("x", "\n".join(["# text", row(number, "a"), row("1", "a"), ""]))


def test_a_head_of_thousands_of_digits_is_refused() -> None:
    with pytest.raises(FormatError, match="x:1: HEAD must be a word of the sentence"):
        conllu_of("x", row("1", "a", head="1" * 4301) + "\n")
