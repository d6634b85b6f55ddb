"""`nbest train` and `nbest decode` are made of SYSTEMS: what is added there is a command."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

import nbest
from nbest.base.parameters import parameters_of
from nbest.compute.executors import using
from nbest.systems import SYSTEMS, parts
from nbest.testing.tiny_systems import tiny_system, write_texts
from tests.cli.conftest import Run
from tests.compute.elsewhere import Elsewhere
from tests.doc_blocks import blocks_of


@pytest.fixture
def added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The system of docs/extending.md."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    (block,) = (block.text for block in blocks_of("docs/extending.md") if "check_system(" in block.text)
    Path("example.py").write_text(block)
    monkeypatch.setitem(SYSTEMS._things, "capitals", runpy.run_path("example.py")["CapitalsTraining"])


def test_a_system_that_is_added_has_its_commands(run: Run, added: None) -> None:
    for command in ("train", "decode"):
        listed = run(command, "--help")
        assert "capitals" in listed.out
        assert ("lm " in listed.out) == (command == "train")
        help = run(command, "capitals", "--help")
        assert help.code == 0
        assert ("--least" in help.out) == (command == "train")
    Path("lines").write_text("nasa flew\nto the moon\n")
    ran = run("train", "capitals", "words.txt", "--least", "2", "-o", "c")
    assert ran.code == 0, ran.err
    assert "c: 2 words" in ran.err
    ran = run("decode", "capitals", "c", "lines")
    assert ran.out.splitlines() == ["nasa flew", "to the moon"]
    ran = run("decode", "capitals", "c", "lines", "-o", "l.jsonl", "--k", "1")
    assert ran.code == 0, ran.err
    assert nbest.read("l.jsonl").lengths.tolist() == [1, 1]
    nbest.LogLinear({"known": 1.0, "capitals": 2.0}).save("loud.json")
    ran = run("decode", "capitals", "c", "lines", "--model", "loud.json")
    assert ran.out.splitlines() == ["NASA FLEW", "TO THE MOON"]
    Path("refs").write_text("NASA FLEW\nTO THE MOON\n")
    ran = run(
        "loop", "lines", "--decoder", "c", "--refs", "refs", "--metric", "exact", "--method", "mert", "--rounds", "2",
        "-o", "run",
    )  # fmt: skip
    assert ran.code == 0, ran.err
    assert nbest.load("run/model.json").scores_["dev"] == 100


def test_what_is_wrong_is_said(run: Run, added: None) -> None:
    for words, message in (
        (("train", "capitals", "words.txt"), "--output"),
        (("train", "capitals", "words.txt", "-o", "c", "--least", "0"), "--least"),
        (("train", "capitals", "words.txt", "-o", "example.py"), "is a file"),
        (("decode", "capitals", "nowhere", "words.txt"), "is no list of words"),
        (("decode", "lm", "nowhere", "words.txt"), "No such command"),
        (("train", "capital", "words.txt"), "No such command"),
    ):
        ran = run(*words)
        assert ran.code == 2, (words, ran.err)
        assert message in ran.err, ran.err


@pytest.mark.parametrize("name", [name for name in SYSTEMS if SYSTEMS[name].decoding is not None])
def test_every_option_is_shown_once(run: Run, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    kind = SYSTEMS[name]
    decoding, lists = kind.decoding, kind.lists
    assert decoding is not None
    for command, kinds in (("train", (kind.data, kind, lists)), ("decode", (decoding, kind.search))):
        shown = run(command, name, "--help").out.replace("...", " ")  # what may be several
        assert "Examples" in shown
        every = [each for one in kinds if one is not None for each in parameters_of(one).values()]
        assert len({each.name for each in every}) == len(every)
        for each in every:
            flag = (each.flags or (f"--{each.name.replace('_', '-')}",))[0].partition("/")[0]
            assert (f" {flag} " in shown) == each.public, flag


INPUTS = {
    "tagger": ("train.conllu", ("text", "conllu", "jsonl", "forests")),
    "parser": ("train.conllu", ("text", "jsonl", "forests")),
    "converter": ("kana", ("text", "jsonl", "forests")),
    "translator": ("fr", ("text", "jsonl", "forests")),
}


@pytest.mark.parametrize("name", INPUTS)
def test_decoding_on_workers(name: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(parts, "PART", 2)
    tiny_system(name).make(Path("system"))
    write_texts(Path("."))
    Path("kana").write_text("".join(f"{text}\n" for text in (*tiny_system("converter").inputs, "かき", "みる")))
    given, forms = INPUTS[name]
    refs = ("--refs", given) if name in ("converter", "translator") else ()
    others = [("--to", form, *refs) for form in forms]
    if name == "translator":
        others += [("--to", "text", "--decision", "consensus"), ("--to", "text", "--decision", "mbr")]
    for more in others:
        words = ("decode", name, "system", given, *more)
        assert run(*words, "-o", "here").code == 0
        with using(Elsewhere(2)) as executor:
            ran = run(*words, "-o", "there")
        assert ran.code == 0, ran.err
        assert executor.passes >= 1
        assert Path("there").read_bytes() == Path("here").read_bytes()
        assert Path("here").stat().st_size > 10
