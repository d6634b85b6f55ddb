"""`--option NAME=VALUE` of a reader works on every command that reads lists."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

import nbest
from nbest.cli.main import app
from tests.cli.conftest import Run

OPTIONS = ("--option", "id=utterance", "--option", "text=said", "--option", "features=am,lm")


def commands(made: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """All commands with the words that call them."""
    if not hasattr(made, "list_commands"):
        yield path, made
        return
    for name in made.list_commands(None):
        yield from commands(made.get_command(None, name), (*path, name))


READ = [
    " ".join(path)
    for path, each in commands(typer.main.get_command(app))
    if {"format", "source_format"} & {param.name for param in each.params}
]


@pytest.fixture
def tables(folder: Path) -> Path:
    """The lists as tables whose columns have other names."""
    for name in ("dev", "test"):
        nbest.write(nbest.read(folder / f"{name}.nbest"), folder / f"{name}.csv")
        text = (folder / f"{name}.csv").read_text().replace("id,text,", "utterance,said,", 1)
        (folder / f"{name}.csv").write_text(text)
    (folder / "some.arpa").write_text("\\data\\\nngram 1=3\n\n\\1-grams:\n-1 <unk>\n-1 the\n-1 </s>\n\n\\end\\\n")
    (folder / "qe.txt").write_text("1\n" * 480)
    (folder / "w.ini").write_text("am= 1\nlm= 1\n")
    (folder / "write.py").write_text("import shutil, sys\nshutil.copy('dev.csv', sys.argv[1])\n")
    return folder


LISTS = ("dev.csv", "--refs", "dev.ref", "--metric", "wer", *OPTIONS)
CALLS: dict[str, tuple[str, ...]] = {
    "tune": ("tune", *LISTS, "--method", "mert", "--heldout", "test.csv", "--heldout-refs", "test.ref", "-o", "m.json"),
    "rerank": ("rerank", "test.csv", *OPTIONS, "--decision", "first", "-o", "out.txt"),
    "calibrate": ("calibrate", *LISTS, "--right", "20", "-o", "votes.json"),
    "compare": ("compare", *LISTS, "--test", "test.csv", "--test-refs", "test.ref", "--methods", "mert"),
    "inspect": ("inspect", *LISTS, "--against", "test.csv"),
    "report": ("report", *LISTS, "--model", "w.ini", "--draws", "0", "-o", "r.html"),
    "convert": ("convert", "dev.csv", "out.jsonl", *OPTIONS),
    "features add-lm": ("features", "add-lm", "dev.csv", "out.jsonl", "--lm", "some.arpa", *OPTIONS),
    "features join": ("features", "join", "dev.csv", "qe.txt", "-o", "out.jsonl", *OPTIONS),
    "study surface": ("study", "surface", *LISTS, "--x", "am", "--y", "lm", "--points", "3", "-o", "s"),
    "loop": (
        "loop", "dev.ref", "--decoder", f"{sys.executable} write.py {{output}} {{weights}}", "--start", "am=1,lm=1",
        "--format", "csv",
        "--refs", "dev.ref", "--metric", "wer", "--method", "mert", "--rounds", "1", *OPTIONS, "-o", "run",
    ),
}  # fmt: skip


def test_every_command_that_reads_lists_is_here() -> None:
    assert set(CALLS) - set(READ) == {"study surface"}  # studies are made when they are called, all alike
    known = {" ".join(path): each for path, each in commands(typer.main.get_command(app))}
    assert set(READ) <= set(CALLS)
    for name in READ:
        assert "option" in [param.name for param in known[name].params], name


@pytest.mark.parametrize("name", CALLS)
def test_options_reach_the_reader(run: Run, tables: Path, name: str) -> None:
    done = run(*CALLS[name])
    assert done.code == 0, done.err
    without = [word for word in CALLS[name] if word != "--option" and word not in OPTIONS]
    if name == "loop":
        without[-1] = "run2"
    done = run(*without)
    assert done.code == 2
    assert "no column holds the ids of segments" in done.err


def test_wrong_options(run: Run, tables: Path) -> None:
    for given, message in (
        ("id", "--option must be NAME=VALUE, got 'id'"),
        ("=x", "--option must be NAME=VALUE, got '=x'"),
        ("idd=utterance", "format csv has no option 'idd'; known:"),
    ):
        done = run("inspect", "dev.csv", "--option", given)
        assert done.code == 2
        assert message in done.err
    assert "--option names 'id' twice" in run("inspect", "dev.csv", "--option", "id=a", "--option", "id=b").err
    (tables / "sources.json").write_text("{}")
    done = run("tune", *LISTS, "--option", "text=sources.json", "-o", "sources.json")
    assert done.code == 2
