"""Loops whose decoders run on workers, some of which are lost: the same files as on one machine."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from nbest.compute.executors import Threads, using
from nbest.decoders import CommandDecoder
from nbest.loop import Inputs, Loop
from nbest.metrics import METRICS
from nbest.systems import parts
from nbest.systems.decoder import SystemDecoder
from nbest.testing.tiny_systems import tiny_system
from nbest.trainers.dense.mert import MERT
from tests.compute.elsewhere import Elsewhere
from tests.loop import toy_program
from tests.loop.killing import outcome
from tests.loop.toy import DEV, HELD, loop

START = dict.fromkeys(toy_program.FEATURES, 0.1)


def files(folder: Path) -> dict[str, Any]:
    """All that a run left but seconds and logs of programs."""
    kept = outcome(folder)
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and not name.startswith("decoder/") and name not in kept and name != "lock":
            kept[name] = _without_seconds(path)
    return kept


def _without_seconds(path: Path) -> Any:
    if path.suffix in (".npy", ".gz", ".svg"):
        return path.read_bytes()
    if path.suffix == ".md":
        return [line.split("|")[:-3] for line in path.read_text().splitlines()]  # the last columns of its table
    rows = [json.loads(path.read_text())] if path.suffix == ".json" else map(json.loads, path.read_text().splitlines())
    return [{key: row[key] for key in row if "seconds" not in key and key not in ("sha256", "begun")} for row in rows]


def alike(one: Path, two: Path, but: tuple[str, ...] = ()) -> bool:
    first, second = files(one), files(two)
    assert len(first) > 10
    assert first.keys() == second.keys()
    odd = [name for name in first if first[name] != second[name] and name not in but]
    assert not odd
    return True


def command(before: str = "") -> CommandDecoder:
    """The toy, by a command that begins with something else."""
    program = shlex.join([sys.executable, toy_program.__file__])
    template = f"{before}{program} {{weights}} {{input}} {{k}} {{output}} 0 alone"
    return CommandDecoder(template, k=3, part_lines=5, start=START)


def tagger_loop(path: Path, folder: Path, *, forests: bool = False) -> Loop:
    decoder = SystemDecoder(path, 4, forests)
    metric = METRICS["accuracy"]()
    return Loop(decoder, MERT(restarts=2, threads=1), metric, folder, rounds=3, early=False, forests=forests)


@pytest.mark.parametrize("forests", [False, True])
def test_a_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forests: bool) -> None:
    monkeypatch.setattr(parts, "PART", 3)
    tiny_system("tagger").make(tmp_path / "tagger")
    inputs = Inputs([each for each in tiny_system("tagger").inputs if not isinstance(each, tuple)] * 3)
    for name, executor in (("here", Threads(2)), ("there", Elsewhere(2, loses=0.5))):
        with using(executor):
            tagger_loop(tmp_path / "tagger", tmp_path / name, forests=forests).run(inputs, inputs)
    assert alike(tmp_path / "there", tmp_path / "here")


def test_a_command(tmp_path: Path) -> None:
    dev, held = (Inputs(tuple(each.segments), each.references) for each in (DEV, HELD))
    for name, executor in (("here", Threads(2)), ("there", Elsewhere(2, loses=0.5))):
        with using(executor):
            loop(tmp_path / name, command(), rounds=2).run(dev, held)
    assert alike(tmp_path / "there", tmp_path / "here")
    whole = command()
    whole.part_lines = None
    loop(tmp_path / "whole", whole, rounds=2).run(dev, held)
    assert outcome(tmp_path / "whole") == outcome(tmp_path / "here")
