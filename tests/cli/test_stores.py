"""Every command that takes lists takes a store, and says and writes the same."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from nbest.formats import write
from nbest.testing import toy_lists
from tests.cli.conftest import Run

BLEU = ("--metric", "bleu", "--tokenize", "none")


@pytest.fixture
def stores(run: Run, folder: Path) -> Path:
    """The folder, with a store of each of the lists, references in it."""
    for name in ("dev", "test"):
        assert run("convert", f"{name}.nbest", f"{name}.store", "--refs", f"{name}.ref").code == 0
    return folder


TUNE = {
    "mert": ("--method", "mert", "--restarts", "2"),
    "folds": ("--method", "risk", "--folds", "2", "--t0", "0.1"),
    "split": ("--method", "likelihood", "--split", "0.3"),
    "added": ("--method", "mert", "--restarts", "2", "--add", "length", "--drop", "noise"),
}


@pytest.mark.parametrize("name", TUNE)
def test_tune(name: str, run: Run, stores: Path) -> None:
    assert run("tune", "dev.store", *BLEU, *TUNE[name], "-o", "a.json").code == 0
    assert run("tune", "dev.nbest", "--refs", "dev.ref", *BLEU, *TUNE[name], "-o", "b.json").code == 0
    assert (stores / "a.json").read_bytes() == (stores / "b.json").read_bytes()


def test_other_commands(run: Run, stores: Path) -> None:
    assert run("tune", "dev.store", *BLEU, "--method", "likelihood", "-o", "model.json").code == 0
    refs, given = ("--refs", "dev.ref"), {"dev.store": (), "dev.nbest": ("--refs", "dev.ref")}
    for decision in ("1best", "mbr"):
        said = [run("rerank", name, "--model", "model.json", "-d", decision).out for name in given]
        assert said[0] == said[1] != ""
    first, second = (json.loads(run("inspect", name, *more, *BLEU, "--json").out) for name, more in given.items())
    for one, other in zip(first.pop("features"), second.pop("features"), strict=True):
        assert (one.pop("name"), one.pop("origin")) == (other.pop("name"), other.pop("origin"))
        assert one == pytest.approx(other, rel=1e-12)  # means are of other blocks
    assert first == second
    said = [
        run(
            "compare", f"dev.{kind}", *more[0], "--test", f"test.{kind}", *more[1], *BLEU, "--methods", "likelihood"
        ).out
        for kind, more in {"store": ((), ()), "nbest": (refs, ("--test-refs", "test.ref"))}.items()
    ]
    assert [line.split()[:4] for line in said[0].splitlines()] == [line.split()[:4] for line in said[1].splitlines()]
    assert "likelihood" in said[0]


def test_convert_from_and_to(run: Run, stores: Path) -> None:
    for more in ((), ("--top", "3"), ("--dedupe",)):
        assert run("convert", "dev.store", "a.jsonl", *more).code == 0
        assert run("convert", "dev.nbest", "b.jsonl", "--refs", "dev.ref", *more).code == 0
        assert run("convert", "b.jsonl", "b.store").code == 0
        assert run("convert", "b.store", "c.jsonl").code == 0
        assert (
            (stores / "a.jsonl").read_bytes() == (stores / "b.jsonl").read_bytes() == (stores / "c.jsonl").read_bytes()
        )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("convert", "dev.store", "dev.store"), "is the same directory as dev.store, which is read"),
        (("convert", "dev.nbest", "-", "--to", "store"), "a store is a directory, which is neither piped nor packed"),
        (("convert", "dev.nbest", "nowhere/a.store"), "cannot be written"),
        (("inspect", "dev.store/offsets.npy"), "dev.store/offsets.npy"),
    ],
)
def test_what_is_refused(arguments: tuple[str, ...], said: str, run: Run, stores: Path) -> None:
    before = sorted(stores.iterdir())
    found = run(*arguments)
    assert (found.code, found.out) == (2, "")
    assert said in found.err
    assert found.err.count("\n") == 1
    assert sorted(stores.iterdir()) == before


def test_damage_is_one_message(run: Run, stores: Path) -> None:
    path = stores / "dev.store" / "features.npy"
    data = bytearray(path.read_bytes())
    data[-3] ^= 8
    path.write_bytes(bytes(data))
    for command in (("tune", *BLEU, "-o", "a.json"), ("inspect",), ("convert", "a.jsonl")):
        found = run(command[0], "dev.store", *command[1:])
        assert found.code == 2
        assert "features.npy: is damaged: segments 0 to 59 have another sha256; convert the lists again" in found.err
        assert not (stores / "a.jsonl").exists()


def test_scores_of_a_part_of_a_file_cannot_be_put_in_order(run: Run, stores: Path) -> None:
    lists = toy_lists(segments_=6)
    write(replace(lists, stats=None, metric=None, positions=np.arange(lists.hypotheses) + 1), "odd.store")
    Path("odd.scores").write_text("0.5\n" * lists.hypotheses)
    ended = run("inspect", "odd.store", "--metric", "external", "--scores", "odd.scores")
    assert ended.code == 2
    assert "odd.scores: cannot be matched" in ended.err
