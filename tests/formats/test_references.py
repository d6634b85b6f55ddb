"""References and their alignment: by line, by number, by id."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbest.base.errors import FormatError, ParameterError
from nbest.formats import read_references
from nbest.formats.references import align_lines, align_references


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


def test_a_number_of_segments_is_their_ids(refs) -> None:
    assert refs(2, "1 a\n0 b\n") == (("b",), ("a",))
    assert refs(2, "2\ta\n1\tb\n") == (("b",), ("a",))  # from one
    assert refs(1, "0\ta\n") == (("a",),)


def test_numbers_with_gaps_by_id(refs) -> None:
    assert refs(["2", "0"], "2\tc\n0\ta\n1\tb\n") == (("c",), ("a",))
    assert refs(["4", "1"], "4 e\n3 d\n2 c\n0 a\n1 b\n") == (("e",), ("b",))


def test_more_references_than_segments_are_cut(refs, tmp_path: Path) -> None:
    assert refs(["0", "2"], "a\nb\nc\nd\n") == (("a",), ("c",))
    assert align_references([tmp_path / "ref0"], ["0", "2"])[1] == 2
    assert refs(["u", "v"], "u a\nw c\nv b\n") == (("a",), ("b",))
    assert refs(["v"], "u\ta\nv\tb\n") == (("b",),)
    assert refs(["1", "0"], "2\tc\n0\ta\n1\tb\n") == (("b",), ("a",))
    assert refs(["1", "0"], "0 a\n1 b\n2 c\n") == (("b",), ("a",))


def test_json_lines(refs) -> None:
    rows = '{"id": 1, "text": "b"}\n{"id": "0", "text": "a c"}\n'
    assert refs(2, rows) == (("a c",), ("b",))
    assert refs(["0", "1"], rows) == (("a c",), ("b",))


def test_mixed_ids_lose_no_row(refs) -> None:
    assert refs(["x", "1", "2"], "a\nb\nc\n") == (("a",), ("b",), ("c",))
    assert refs(["x", "1", "2"], "2\tc\nx\ta\n1\tb\n") == (("a",), ("b",), ("c",))


@pytest.mark.parametrize(
    ("segments", "contents", "message"),
    [
        (["u", "v"], "u\ta\nw\tb\n", "no segment is called 'w'"),
        (["u", "v"], "u\ta\nw\tb\n", "there is no line for 1 of 2 segments, the first is 'v'; no segment"),
        (["u", "v", "w"], "v\ta\n", "ref0: there is no line for 2 of 3 segments, the first is 'u'; add the missing"),
        (["0", "1", "2"], "0\ta\n12\tb\n", "there is no line for 2 of 3 segments, the first is '1'; no segment"),
        (["u", "v"], "x\ta\ny\tb\n", "lines carry the ids 'x', ..., which are not those of the segments ('u', ...)"),
        (["u", "v"], "x\ta\ny\tb\n", "no segment is called 'x'"),
        (["u", "v", "w"], "u a\nv b\nx c\n", "no segment is called 'x'"),
        (["0", "1", "2"], "0 a\n1 b\n3 c\n", "no segment is called '3'"),
        (["0", "1"], "utt1 a\nutt2 b\n", "lines look like 'id text' with the ids 'utt1'"),
        (2, "utt1 a\nutt2 b\n", "carry none; nbest rerank --ids"),
        (2, "u\ta\nv\tb\n", "lines carry the ids 'u', ..., while outputs"),
    ],
)
def test_ids_of_others_are_refused(refs, segments: object, contents: str, message: str) -> None:
    with pytest.raises(FormatError) as caught:
        refs(segments, contents)
    assert message in str(caught.value)


PLAIN = re.compile("0|[1-9][0-9]*").fullmatch  # 02 is a name
NAMES = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1)
IDS = st.lists(st.one_of(st.integers(0, 12).map(str), NAMES), min_size=1, max_size=6, unique=True)
WORDS = st.lists(st.sampled_from(["a", "the", "cat", "sat"]), max_size=3).map(" ".join)


@settings(max_examples=200, deadline=None)
@given(ids=IDS, data=st.data())
def test_any_ids_in_any_order(tmp_path_factory, ids: list[str], data: st.DataObject) -> None:
    """Lines `id TAB text` are found by id and plain lines by line, and every segment has its row."""
    texts = {name: data.draw(WORDS) for name in ids}
    path = tmp_path_factory.mktemp("refs") / "ref"
    shuffled = data.draw(st.permutations(ids))
    path.write_text("".join(f"{name}\t{texts[name]}\n" for name in shuffled), encoding="utf-8")
    assert read_references(path, ids) == tuple((texts[name],) for name in ids)
    numbers = [int(name) for name in ids] if all(PLAIN(name) for name in ids) else []
    from_one = sorted(numbers) == list(range(1, len(ids) + 1))
    size = max(numbers) + 1 - from_one if numbers else len(ids)
    lines = [data.draw(WORDS) for _ in range(size)]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    wanted = [lines[number - from_one] for number in numbers] if numbers else lines
    assert read_references(path, ids) == tuple((line,) for line in wanted)


def test_not_by_id(refs) -> None:
    assert refs(["u", "v"], "u a\nu b\n") == (("u a",), ("u b",))  # an id twice: these are words
    assert refs(["u", "v"], "v a\nw b\n") == (("v a",), ("w b",))
    assert refs(["0"], "0 degrees\n") == (("0 degrees",),)
    assert refs(2, "1 a\n1 b\n") == (("1 a",), ("1 b",))
    assert refs(["0", "1"], "4 a\n7 b\n") == (("4 a",), ("7 b",))


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
            ["1", "2"],  # from 0 or from 1?
            "a\nb\nc\nd\n",
            "more references than segments: 4 lines for 2 segments",
        ),
        (["3", "1"], "a\nb\nc\nd\ne\n", "more references than segments: 5 lines for 2 segments numbered up to 3"),
        (["u", "v"], "a\nb\nc\n", "more references than segments: 3 lines for 2 segments"),
        (["u"], "u a\nv b\n", "more references than segments: 2 lines for 1 segments"),
        (["1", "2"], "1\ta\n2\tb\n3\tc\n", "lines carry the ids '1', ..., more than those of the segments"),
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


def test_numbers_with_gaps_are_ids_like_others(tmp_path: Path) -> None:
    (tmp_path / "r.tsv").write_text("5\ta\n7\tb\n9\tc\n")
    assert read_references(tmp_path / "r.tsv", ["5", "9"]) == (("a",), ("c",))
    (tmp_path / "r.txt").write_text("5 a\n7 b\n9 c\n")
    with pytest.raises(FormatError):
        read_references(tmp_path / "r.txt", ["5", "9"])


LISTS = (
    '{"id": "v", "references": ["b c"], "hypotheses": [{"text": "x", "features": {"f": 1}}]}\n'
    '{"id": "u", "references": ["a", "A"], "hypotheses": []}\n'
)


def test_lists_that_carry_references_give_them_by_id(refs) -> None:
    assert refs(["u", "v"], LISTS) == (("a", "A"), ("b c",))
    assert refs(["v"], LISTS) == (("b c",),)
    assert refs(["u", "v"], LISTS, "one\ntwo\n") == (("a", "A", "one"), ("b c", "two"))
    assert refs(2, LISTS) == (("b c",), ("a", "A")), "in their order where segments have no ids"
    assert refs(["u"], '{"id": "u", "reference": "a"}\n\n') == (("a",),)
    assert refs(["0", "1"], '{"references": ["a"]}\n{"references": ["b"]}\n') == (("a",), ("b",))
    rows = '{"id": 7, "text": "x", "references": ["a"]}\n{"id": 7, "text": "y", "references": ["a"]}\n'
    assert refs(["7"], rows) == (("a",),), "a hypothesis a line"


def test_references_of_lists_that_are_left_out_are_counted(tmp_path: Path) -> None:
    (tmp_path / "dev.jsonl").write_text(LISTS)
    assert align_references(tmp_path / "dev.jsonl", ["v"]) == ((("b c",),), 1)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (LISTS.replace('"u"', '"w"'), "no line for 1 of 2 segments, the first is 'u'; no segment is called 'w'"),
        (LISTS.replace('["a", "A"]', "[]"), ':2: "references" must be a list of strings, at least one, got \\[\\]'),
        (LISTS.replace('"u"', '"v"'), ":2: segment 'v' is there twice, with other references"),
        (LISTS.replace('"references"', '"note"'), r"holds lists \(format jsonl\) without references"),
        ("0 ||| a ||| f= 1 ||| 2\n1 ||| b ||| f= 1 ||| 2\n", r"holds lists \(format moses\) without references"),
    ],
)  # fmt: skip
def test_lists_that_do_not_are_refused(refs, content: str, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        refs(["u", "v"], content)


def test_texts_that_are_json_are_texts(refs) -> None:
    texts = '{"name": "lamp", "on": true}\n[1, 2]\n'
    assert refs(2, texts) == (('{"name": "lamp", "on": true}',), ("[1, 2]",))


def test_numbers_alone_are_texts_and_no_ids_without_any():
    """Right answers of three questions, which are the numbers of the questions by chance."""
    references, left_out = align_lines([("gold.txt", ["0", "1", "2"])], 3)
    assert (references, left_out) == ((("0",), ("1",), ("2",)), 0)
    references, _ = align_lines([("gold.txt", ["0 a", "1", "2 c"])], 3)
    assert references == (("a",), ("",), ("c",))
