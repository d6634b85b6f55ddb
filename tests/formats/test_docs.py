"""The examples of docs/formats.md are read as what they are said to be."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest

from nbest.formats import FORMATS

DOCS = Path(__file__).parents[2] / "docs" / "formats.md"
SECTIONS = {part.split("\n", 1)[0]: part for part in re.split(r"^## ", DOCS.read_text("utf-8"), flags=re.M)}


def block(section: str) -> str:
    found = re.search(r"^```\w*\n(.*?)^```", SECTIONS[section], flags=re.M | re.S)
    assert found, section
    return found[1]


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_has_a_section(name: str) -> None:
    assert name in SECTIONS
    assert f"| [`{name}`](#{name}) |" in DOCS.read_text("utf-8")


@pytest.mark.parametrize(
    "name",
    [
        "jsonl",
        "fairseq",
        "wenet",
        "mlm-scoring",
        "hyporadise",
        "flat",
        "openai",
        "lm-eval",
        "openrlhf",
        "whisper",
        "csv",
        "rows",
        "ctranslate2",
    ],
)
def test_examples(reading, name: str) -> None:
    assert reading(name, block(name)).hypotheses > 0


def test_moses_examples(reading) -> None:
    lines = [re.sub(r" {3,}.*", "", line) for line in block("moses").splitlines()]
    names = [reading("moses", line).feature_names for line in lines]
    assert names == [
        ("LM0", "TM0_0", "TM0_1", "pp_a"),
        ("d_0", "d_1", "lm", "w"),
        ("lm", "tm"),
        ("F0",),
        ("f_0", "f_1", "f_2"),
    ]


def test_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("dev.nbest.gz").write_bytes(gzip.compress(b"0 ||| a ||| F= 1\n"))
    Path("dev.txt").write_text("a\n" * 10)
    Path("dev.ref0").write_text("a\n")
    Path("dev.ref1").write_text("b\n")
    exec(compile(block("What holds for all of them"), str(DOCS), "exec"), {})
    assert Path("dev.jsonl.xz").is_file()
