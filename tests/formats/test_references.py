"""References and their alignment: by line, by number, by id."""

from __future__ import annotations

from pathlib import Path

import pytest

from nbest.errors import FormatError, ParameterError
from nbest.formats import read_references


@pytest.fixture
def refs(tmp_path: Path):
    def read(segments: object, *contents: str) -> object:
        paths = []
        for i, text in enumerate(contents):
            paths.append(tmp_path / f"ref{i}")
            paths[-1].write_bytes(text.encode())
        return read_references(paths, segments)

    return read


def test_one_text_a_line(refs) -> None:
    assert refs(2, "a b\nc\n") == (("a b",), ("c",))
    assert refs(2, "a\n\n") == (("a",), ("",))
    assert refs(2, "a\r\nb") == (("a",), ("b",))
    assert refs(["u", "v"], "a b\nc\n") == (("a b",), ("c",))


def test_several_files(refs) -> None:
    assert refs(2, "a\nb\n", "c\nd\n", "e\nf\n") == (("a", "c", "e"), ("b", "d", "f"))


def test_one_path(tmp_path: Path) -> None:
    (tmp_path / "r").write_text("a\n")
    assert read_references(tmp_path / "r", 1) == (("a",),)
    assert read_references(str(tmp_path / "r"), 1) == (("a",),)
    with pytest.raises(ParameterError, match="at least one file"):
        read_references([], 1)


def test_blank_lines_too_many_are_ignored(refs) -> None:
    assert refs(1, "a\n\n \n") == (("a",),)
    assert refs(["0", "2"], "a\nb\nc\n\n") == (("a",), ("c",))


def test_numbers_pick_lines(refs) -> None:
    assert refs(["2", "0", "1"], "a\nb\nc\n") == (("c",), ("a",), ("b",))
    assert refs(["0", "2"], "a\nb\nc\n") == (("a",), ("c",))
    assert refs(["2", "1"], "a\nb\n") == (("b",), ("a",))  # lists that count from one


def test_by_id(refs) -> None:
    assert refs(["u", "v"], "v\tc d\nu\ta\n") == (("a",), ("c d",))
    assert refs(["u", "v"], "v c d\nu a\n") == (("a",), ("c d",))
    assert refs(["u", "v"], "v\nu  a\n") == (("a",), ("",))
    assert refs(["1", "0"], "0 a\n1 b\n") == (("b",), ("a",))
    assert refs(["u", "v"], "v a\nu b\n", "x\ny\n") == (("b", "x"), ("a", "y"))
    assert refs(["a b", "c"], "c\tx\na b\ty\n") == (("y",), ("x",))


def test_not_by_id(refs) -> None:
    assert refs(["u", "v"], "u a\nu b\n") == (("u a",), ("u b",))  # an id twice: these are words
    assert refs(["u", "v"], "v a\nw b\n") == (("v a",), ("w b",))
    assert refs(["0"], "0 degrees\n") == (("0 degrees",),)
    assert refs(2, "1 a\n0 b\n") == (("1 a",), ("0 b",))


@pytest.mark.parametrize(
    ("segments", "contents", "message"),
    [
        (3, "a\nb\n", "fewer references than segments: 2 lines for 3 segments"),
        (1, "a\nb\n", "more references than segments: 2 lines for 1 segments"),
        (["u", "v"], "a\n", "fewer references than segments: 1 lines for 2 segments"),
        (
            ["0", "5"],
            "a\nb\n",
            "fewer references than segments: 2 lines for 2 segments numbered up to 5, which need 6 lines",
        ),
        (
            ["0", "2"],
            "a\nb\nc\nd\n",
            "more references than segments: 4 lines for 2 segments numbered up to 2, which need 3",
        ),
        (["u", "v"], "u a\nv b\nw c\n", "3 lines for 2 segments; no segment is called 'w'"),
        (["u", "v", "w"], "u a\nv b\n", "2 lines for 3 segments; there is no line for segment 'w'"),
        (["999999999999999999"], "a\n", "fewer references than segments: 1 lines for 1 segments numbered up to"),
        (2, "", "fewer references than segments: 0 lines for 2 segments"),
    ],
)
def test_counts_that_differ(refs, tmp_path: Path, segments: object, contents: str, message: str) -> None:
    with pytest.raises(FormatError) as caught:
        refs(segments, contents)
    assert str(caught.value).startswith(f"{tmp_path}/ref0: ")
    assert message in str(caught.value)


def test_the_second_file_is_named(refs) -> None:
    with pytest.raises(FormatError, match="ref1: fewer references"):
        refs(2, "a\nb\n", "c\n")
