"""The examples of forests in docs/formats.md are read as what they are said to be."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest

from nbest.formats import FOREST_FORMATS, FORMATS, sniff_forests
from nbest.testing.forests import enumerate_derivations

DOCS = Path(__file__).parents[2] / "docs" / "formats.md"
TEXT = DOCS.read_text("utf-8")
SECTIONS = {part.split("\n", 1)[0].split(" (")[0]: part for part in re.split(r"^### ", TEXT, flags=re.M)[1:]}


def block(section: str) -> str:
    found = re.search(r"^```\w*\n(.*?)^```", section, flags=re.M | re.S)
    assert found, section
    return found[1]


EXPECTED = {
    "forests": ["a house", "a home", "the house", "the home"],
    "cdec": ["a house"],
    "moses-hypergraph": ["a house", "the house"],
    "travatar": ["a house"],
    "slf": ["house", "a house"],
}


@pytest.mark.parametrize("name", FOREST_FORMATS)
def test_examples(name: str) -> None:
    data = block(SECTIONS[name]).encode()
    assert sniff_forests("-", data) == name
    forests = FOREST_FORMATS[name].read("x", data=data)
    assert [" ".join(each.words) for each in enumerate_derivations(forests, 0)] == EXPECTED[name]
    assert f"| [`{name}`](#{name}" in TEXT


def test_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("dev.forests.jsonl.gz").write_bytes(gzip.compress(block(SECTIONS["forests"]).encode()))
    Path("lattices").mkdir()
    Path("lattices/1.slf").write_text(block(SECTIONS["slf"]))
    exec(compile(block(TEXT[TEXT.index("## Forests\n") :]), str(DOCS), "exec"), {})
    assert Path("dev.jsonl").is_file()


def test_no_name_of_lists_is_shadowed() -> None:
    headings = re.findall(r"^##+ (.*)$", TEXT, flags=re.M)
    assert len(headings) == len(set(headings))
    assert all(name in headings for name in FORMATS)
