"""Finding the format of a file, reading and writing by name, standard input."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from nbest.base.errors import CapabilityError, FormatError, ParameterError
from nbest.formats import FORMATS, read, read_any, sniff, write
from nbest.formats.streams import in_blocks

MOSES = "0 ||| a ||| F= 1 ||| 1\n"


def test_found_by_contents_whatever_the_suffix(tmp_path: Path) -> None:
    path = tmp_path / "lists.jsonl"
    path.write_text(MOSES)
    assert read(path).feature_names == ("F",)
    assert sniff("x.tsv", b'{"id": "u", "hypotheses": []}') == "jsonl"


def test_found_by_suffix_when_the_contents_do_not_tell(tmp_path: Path) -> None:
    assert sniff("lists.nbest.gz", b"0 || a || F= 1\n") == "moses"
    path = tmp_path / "lists.jsonl"
    path.write_text('{"hypothesis": []}\n')
    with pytest.raises(FormatError, match=r"lists.jsonl:1: unknown key 'hypothesis'; did you mean 'hypotheses'\?"):
        read(path)


def test_unknown_contents_list_the_formats(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("Some words.\n")
    with pytest.raises(FormatError) as caught:
        read(path)
    said = str(caught.value)
    assert said.startswith(f"{path}: not in a known format; it is most like wenet (line 1: expected 'wav <id>' or")
    assert said.endswith(f"; say which with format= (--format, of convert --from), one of {', '.join(FORMATS)}")
    assert "\n" not in said
    with pytest.raises(FormatError, match=r"a directory without any file of a known format"):
        read(tmp_path)  # a directory of nothing


LIKE = {
    '{"custom_id": "a", "answers": ["x"]}\n': r'most like openai \(line 1: no "choices" in the response\) or ',
    '[{"inputs": ["a"], "output": "b"}]\n': r'most like hyporadise \(line 1: the key "input" is missing\) or ',
    "a ||| b\n": r"most like moses \(line 1: expected at least 3 fields separated by ' \|\|\| ', got 2\) or ",
    "so\n" * 60_000: r"flat \(line 1: expected 'NC=' and a number, got 'so'; for lists of one length say n=\)",
}


@pytest.mark.parametrize("contents", LIKE)
def test_unknown_contents_are_most_like_something(tmp_path: Path, contents: str) -> None:
    path = tmp_path / "notes.txt"
    path.write_text(contents)
    with pytest.raises(FormatError, match=LIKE[contents]):
        read(path)


def test_what_only_the_suffix_says_is_explained(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    path.write_text('{"custom_id": "a", "answers": ["x"]}\n')
    said = (
        r':1: the key "hypotheses" is missing \(format jsonl, by the suffix; otherwise it is most like openai \(line 1:'
    )
    for reading in (read, read_any, lambda path: in_blocks(path, list)):
        with pytest.raises(FormatError, match=said):
            reading(path)
    with pytest.raises(FormatError, match=r'"hypotheses" is missing$'):
        read(path, "jsonl")


def test_noise_is_like_nothing(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes(b"\xff\x00\x01")
    with pytest.raises(FormatError, match="not in a known format; say which with format="):
        read(path)


def test_format_can_be_named(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text("a\nb\n")
    assert read(path, "flat", n=2).hypotheses == 2
    with pytest.raises(ParameterError, match=r"unknown format 'mose'; known: .*; did you mean 'moses'\?"):
        read(path, "mose")


def test_unknown_options_are_named(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text(MOSES)
    with pytest.raises(
        ParameterError, match=r"format moses has no option 'totals'; known: absent, sparse, total; did you mean"
    ):
        read(path, totals=True)
    with pytest.raises(ParameterError, match=r"format jsonl has no option 'n'; it has none"):
        write(read(path), tmp_path / "y.jsonl", n=3)


@pytest.mark.parametrize(
    ("name", "start"), [("a.nbest", b"0 |||"), ("a.jsonl", b"{"), ("a.txt", b"{"), ("a.flat", b"NC=")]
)
def test_written_by_suffix_and_jsonl_without(tmp_path: Path, name: str, start: bytes) -> None:
    write(read_text(tmp_path, MOSES), tmp_path / name)
    assert (tmp_path / name).read_bytes().startswith(start)


def read_text(tmp_path: Path, text: str):  # type: ignore[no-untyped-def]
    (tmp_path / "in").write_text(text)
    return read(tmp_path / "in")


@pytest.mark.parametrize("packed", [".gz", ".xz"])
@pytest.mark.parametrize("name", ["a.nbest", "a.jsonl", "a.mlm.json"])
def test_packed_files_round_trip(tmp_path: Path, packed: str, name: str) -> None:
    corpus = read_text(tmp_path, MOSES)
    write(corpus, tmp_path / (name + packed))
    assert (tmp_path / (name + packed)).read_bytes()[:2] in (b"\x1f\x8b", b"\xfd7")
    assert read(tmp_path / (name + packed)).feature_names == ("F",)


def test_read_only_formats_say_so(tmp_path: Path) -> None:
    with pytest.raises(CapabilityError, match=r"format fairseq can only be read; formats that can be written: jsonl, "):
        write(read_text(tmp_path, MOSES), tmp_path / "x", "fairseq")


def test_standard_input_and_output(monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(MOSES.encode())))
    corpus = read("-")
    assert corpus.feature_names == ("F",)
    write(corpus, "-", "moses")
    assert capfdbinary.readouterr().out == b"0 ||| a ||| F= 1.0 ||| 0\n"


def test_missing_and_empty_files(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"none: cannot be read: No such file"):
        read(tmp_path / "none")
    (tmp_path / "empty").touch()
    with pytest.raises(FormatError, match=r"empty: the file is empty; expected n-best lists"):
        read(tmp_path / "empty")
    with pytest.raises(FormatError, match=r"cannot be read: Is a directory"):
        read(tmp_path, "moses")


def test_nothing_half_written(tmp_path: Path) -> None:
    corpus = read_text(tmp_path, '{"hypotheses": [{"text": "a"}, {"text": "b\\nc"}]}\n')
    goal = tmp_path / "out.nbest"
    goal.write_text("old")
    with pytest.raises(CapabilityError, match="cannot hold a line break"):
        write(corpus, goal)
    assert goal.read_text() == "old"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in", "out.nbest"]
