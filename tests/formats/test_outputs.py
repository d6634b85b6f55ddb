"""Outputs with their references: by id where lines carry ids, else by line."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from nbest.base.errors import FormatError
from nbest.formats.outputs import Outputs, read_outputs


@pytest.fixture
def aligned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)

    def read(references: str, *outputs: str) -> Outputs:
        Path("refs").write_text(references)
        paths = [f"out{i}" for i in range(len(outputs))]
        for path, text in zip(paths, outputs, strict=True):
            Path(path).write_text(text)
        return read_outputs(paths, ["refs"])

    return read


def pairs(found: Outputs) -> set[tuple[str, str]]:
    texts = next(iter(found.systems.values()))
    return {(text, refs[0]) for text, refs in zip(texts, found.references, strict=True)}


SAME = {("a x", "A"), ("b", "B"), ("c", "C")}


@pytest.mark.parametrize(
    "references",
    [
        "A\nB\nC\n",
        "2\tC\n0\tA\n1\tB\n",
        "2 C\n0 A\n1 B\n",
        '{"id": 2, "text": "C"}\n{"id": 0, "text": "A"}\n{"id": 1, "text": "B"}\n',
    ],
)
@pytest.mark.parametrize(
    "outputs",
    [
        "a x\nb\nc\n",
        "2\tc\n0\ta x\n1\tb\n",
        '{"id": "2", "text": "c", "index": 4, "score": 1.5}\n{"id": "0", "text": "a x"}\n{"id": "1", "text": "b"}\n',
    ],
)
def test_numbers_are_lines(aligned, references: str, outputs: str) -> None:
    assert pairs(aligned(references, outputs)) == SAME


def test_numbers_from_one(aligned) -> None:
    assert pairs(aligned("1 A\n3 C\n2 B\n", "a x\nb\nc\n")) == SAME
    assert pairs(aligned("A\nB\nC\n", "3\tc\n1\ta x\n2\tb\n")) == SAME


@pytest.mark.parametrize("references", ["u-3\tC\nu-1\tA\nu-2\tB\n", "u-3 C\nu-1  A\nu-2 B\n"])
@pytest.mark.parametrize("outputs", ["u-1\ta x\nu-2\tb\nu-3\tc\n", "u-2 b\nu-3 c\nu-1 a x\n"])
def test_names_are_names(aligned, references: str, outputs: str) -> None:
    assert pairs(aligned(references, outputs)) == SAME


def test_names_take_plain_references_in_order(aligned) -> None:
    assert pairs(aligned("A\nB\nC\n", "v\ta x\nu\tb\nw\tc\n")) == SAME


def test_several_systems_in_one_order(aligned) -> None:
    found = aligned("A\nB\n", "a\nb\n", "1\tb2\n0\ta2\n")
    assert found.systems == {"out0": ["a", "b"], "out1": ["a2", "b2"]}
    found = aligned("v\tB\nu\tA\n", "u\ta\nv\tb\n", "v\tb2\nu\ta2\n")
    assert found.systems == {"out0": ["a", "b"], "out1": ["a2", "b2"]}


def test_absent_segments_are_left_out(aligned) -> None:
    found = aligned("A\nB\nC\n", "2\tc\n0\ta x\n")
    assert pairs(found) == {("a x", "A"), ("c", "C")}
    assert found.left_out == 1


def test_what_was_not_chosen_is_left_out(aligned) -> None:
    rows = '{"id": "0", "text": "", "index": 0, "score": 0}\n{"id": "1", "text": "", "index": null, "score": null}\n'
    for references in ("A\nB\n", "1\tB\n0\tA\n"):
        found = aligned(references, rows)
        assert pairs(found) == {("", "A")}
        assert found.left_out == 1
    found = aligned("A\nB\n", rows, "0\ta\n1\tb\n")  # another system has something: counted as empty
    assert found.systems == {"out0": ["", ""], "out1": ["a", "b"]}


@pytest.mark.parametrize(
    ("references", "outputs", "message"),
    [
        ("u1 a\nu2 b\n", ["a\nb\n"], "refs: lines look like 'id text' with the ids 'u1'"),
        ("a\nb\n", ["u1 a\nu2 b\n"], "out0: lines look like 'id text' with the ids 'u1'"),
        ("A\nB\n", ["a\nb\n", "a\n"], "out1: has 1 lines while out0 has 2"),
        ("A\nB\n", ["a\nb\n", "u\ta\nv\tb\n"], "out0: has 2 lines without ids while out1 has 2 with ids"),
        ("A\nB\n", ["u\ta\nv\tb\n", "u\ta\nw\tb\n"], "out1: has no output for segment 'v', which out0 has"),
        ("A\nB\n", ["a\nb\n", ""], "out1: the file is empty"),
        ("A\n", ['{"id": "0", "text": "", "index": null}\n'], "nothing was chosen for any segment"),
        ("A\nB\n", ['{"id": "0", "text": "a"}\n{"id": 0, "text": "b"}\n'], "out0:2: segment '0' is there twice"),
    ],
)
def test_what_cannot_be_matched_is_refused(aligned, references: str, outputs: list[str], message: str) -> None:
    with pytest.raises(FormatError) as caught:
        aligned(references, *outputs)
    assert message in str(caught.value)


def test_references_are_read_once(tmp_path: Path) -> None:
    """A pipe cannot be read twice."""
    (tmp_path / "out").write_text("u1 a b\nu2 c d\n")
    os.mkfifo(tmp_path / "refs")
    writer = threading.Thread(target=(tmp_path / "refs").write_text, args=("u2 c d\nu1 a b\n",))
    writer.start()
    found = read_outputs([str(tmp_path / "out")], [str(tmp_path / "refs")])
    writer.join()
    assert pairs(found) == {("a b", "a b"), ("c d", "c d")}


@pytest.mark.parametrize(
    "lines",
    ["ni3 hao3\nwo3 men5\nta1 shi4\n", "F-16 flies\nB-52 bombs\n", "3-1 won\n2-0 lost\n", "2nd place\n3rd place\n"],
)
def test_words_with_digits_are_words(aligned, lines: str) -> None:
    found = aligned(lines, lines)
    assert list(found.systems["out0"]) == lines.splitlines()
    assert [refs[0] for refs in found.references] == lines.splitlines()


def test_the_same_first_words_in_another_order_are_no_ids(aligned) -> None:
    assert pairs(aligned("d4 f5\ne4 c5\n", "e4 c5\nd4 f5\n")) == {("e4 c5", "d4 f5"), ("d4 f5", "e4 c5")}
