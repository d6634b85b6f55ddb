"""What steps of a paper read of each other, as the interpreter sees it, against what they say that they need."""

from __future__ import annotations

import json
import os
import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from nbest.compute.executors import Serial, using
from nbest.papers.run import Paper, Run, RunCopy
from nbest.runs.folder import make_folder
from nbest.runs.steps import all_needs

_OF_LOOPS = ("decoded.json", "trained.json", "curve.jsonl", "loop.json", "report.md")
"""Files with seconds in them."""
_seen: list[str] | None = None


def _hook(event: str, given: tuple[Any, ...]) -> None:
    if _seen is not None and event == "open" and isinstance(given[0], str | bytes | os.PathLike):
        _seen.append(os.fsdecode(given[0]))


sys.addaudithook(_hook)


@contextmanager
def files_opened() -> Iterator[list[str]]:
    """The paths of all files that this process opens inside, by whatever call."""
    global _seen
    _seen = found = []
    try:
        yield found
    finally:
        _seen = None


def made(run: Run) -> dict[str, tuple[int, int]]:
    """The files of a run, with what tells that they were written."""
    files = [path for folder in (run.folder, run.base) for path in folder.rglob("*") if path.is_file()]
    return {str(path): (path.stat().st_ino, path.stat().st_mtime_ns) for path in files if "lock" not in path.name}


def any_order(needs: dict[str, frozenset[str]], seed: int) -> Iterator[str]:
    """The names of all steps in an order that their needs allow."""
    rng, left = random.Random(seed), dict(needs)
    while left:
        name = rng.choice([name for name, needed in left.items() if not needed & left.keys()])
        del left[name]
        yield name


def done_in_any_order(run: Run, paper: Paper, seed: int) -> list[str]:
    """Do all steps, each as a worker does that has nothing in memory; what was read without need, in words."""
    needs = all_needs(paper.steps(run))
    makers: dict[str, str] = {}
    wrong = []
    make_folder(run.base, "--systems")
    with run.place.working() as lock, using(Serial()):
        lock.share()
        for name in any_order(needs, seed):
            before = made(run)
            with files_opened() as opened:
                RunCopy.of(run, paper)(name)
            for path in {path: None for path in opened if path in makers}:
                if makers[path] not in needs[name]:
                    wrong.append(f"{name} reads {Path(path).name} of {makers[path]}")
            makers |= {path: name for path, mark in made(run).items() if before.get(path) != mark}
    return wrong


def timeless(value: Any) -> Any:
    """A result without the seconds that anything took."""
    if isinstance(value, dict):
        return {key: timeless(each) for key, each in value.items() if not key.endswith("seconds")}
    return [timeless(each) for each in value] if isinstance(value, list) else value


def records(run: Run) -> dict[str, Any]:
    """What the steps of a run found, and the files that they left with their sums, unless seconds are in them."""
    found = {path.stem: json.loads(path.read_text()) for path in sorted((run.folder / "steps").glob("*.json"))}
    return {name: (timeless(each["result"]), _sums(each.get("files", {}))) for name, each in found.items()}


def _sums(files: dict[str, Any]) -> dict[str, Any]:
    return {name: None if Path(name).name in _OF_LOOPS else sums for name, sums in files.items()}


def check_needs(done: Run, paper: Paper, folder: Path, seed: int = 1) -> None:
    """Steps read nothing that they do not say they need, and find the same in any order that their needs allow."""
    run = replace(done, folder=folder / "any-order", systems=None, threads=None)
    assert done_in_any_order(run, paper, seed) == []
    assert records(run) == records(done)
