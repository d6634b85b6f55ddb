"""Groups of segments from a file of their own: by id, from a table, or a group a line; anything else is refused."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from nbest.base.errors import FormatError
from nbest.formats.groups import read_groups

IDS = ["u1", "u2", "u3"]
JSON = "".join(json.dumps({"id": f"u{i}", "doc": d, "mqm": 0.5}) + "\n" for i, d in ((3, "b"), (2, "a"), (1, "a")))


@pytest.fixture
def groups(tmp_path: Path):
    def read(text: str, segments: Sequence[str] | int = IDS) -> list[str]:
        path = tmp_path / "groups"
        path.write_text(text)
        return read_groups(str(path), segments)

    return read


@pytest.mark.parametrize(
    "text",
    [
        "u3\tb\nu1\ta\nu2\ta\n",
        "u3\tb\nu1\ta\nu9\tc\nu2\ta\n",  # and of others
        "u1 a\nu2 a\nu3 b\n",  # Kaldi's utt2spk
        "a\na\nb\n",
        "a\na\nb\n\n",
        "id,doc\nu2,a\nu1,a\nu3,b\nu4,b\n",
        "speaker;utt\na;u2\na;u1\nb;u3\n",  # the only other column
        'id\tgroup\nu2\t"a"\nu1\ta\nu3\tb\n',
        "system,id,doc,mqm\ns,u1,a,1\nt,u1,a,2\ns,u2,a,1\nt,u2,a,2\ns,u3,b,0\nt,u3,b,0\n",
        JSON,
        "[" + ",".join(JSON.splitlines()) + "]",
    ],
)
def test_the_group_of_each_segment(groups, text: str) -> None:
    assert groups(text) == ["a", "a", "b"]


def test_numbers(groups) -> None:
    assert groups("2\tb\n0\ta\n1\ta\n", 3) == ["a", "a", "b"]
    assert groups("3\tb\n1\ta\n2\ta\n", 3) == ["a", "a", "b"]  # from one
    assert groups("7\tb\n0\ta\n12\ta\n", ["0", "7"]) == ["a", "b"]
    assert groups("id,doc\n0,a\n1,a\n2,b\n", 3) == ["a", "a", "b"]


def test_a_segment_may_be_called_as_a_column_is(groups) -> None:
    assert groups("id\ta\nutt\ta\nx\tb\n", ["id", "utt", "x"]) == ["a", "a", "b"]


def test_parquet(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(pa.table({"id": IDS[::-1], "speaker": ["b", "a", "a"]}), tmp_path / "groups")
    assert read_groups(str(tmp_path / "groups"), IDS) == ["a", "a", "b"]


@pytest.mark.parametrize(
    ("text", "segments", "message"),
    [
        ("u1\ta\nu2\ta\n", IDS, "there is no group for 1 of 3 segments, the first is 'u3'"),
        ("u1\ta\nu2\t\nu3\ta\n", IDS, "there is no group for 1 of 3 segments, the first is 'u2'"),
        ("0\ta\n12\tb\n", ["0", "1", "2"], "there is no group for 2 of 3 segments, the first is '1'"),
        ("id,doc\n1,a\n", ["1", "2"], "there is no group for 1 of 2 segments, the first is '2'"),
        ("a\nb\n", IDS, "a group for each of 3 segments, one a line; got 2 lines"),
        ("0.5\n0.5\n0.7\n0.1\n", IDS, "a group for each of 3 segments, one a line; got 4 lines"),
        ("seg,doc\nu1,a\nu2,a\nu3,b\n", IDS, "a group for each of 3 segments, one a line; got 4 lines"),
        ("u1,a\nu2,a\nu3,b\n", IDS, "3 lines that are all different are no groups of 3 segments"),
        ("id,doc,speaker\nu1,a,x\nu1,b,x\n", IDS, ":3: segment 'u1' is of 'a' before, and here of 'b'"),
        ("id,set,speaker\nu1,a,x\n", IDS, "which column holds the groups? it has id, set, speaker"),
        ("u1\ta\nu2\tb\n", 3, "2 segments have a group ('u1', ...), while 3 outputs have no ids"),
        ("0\ta\n1\ta\n2\tb\n3\tb\n", 3, "4 segments have a group ('0', ...), while 3 outputs have no ids"),
        ('{"doc": "a"}\n', IDS, "there is no column of ids"),
        ("", IDS, "the file is empty"),
    ],
)
def test_no_other_file_is_taken_for_groups(groups, text: str, segments: Sequence[str] | int, message: str) -> None:
    with pytest.raises(FormatError) as caught:
        groups(text, segments)
    assert message in str(caught.value)
