"""Steps that leave small files, and what workers call to do them: a module that they can import."""

from __future__ import annotations

import hashlib
import json
import os
import random
import time
from functools import partial
from pathlib import Path
from typing import Any

from nbest.base.errors import FormatError
from nbest.compute.executors import using
from nbest.runs import RunFolder, Step


def place_of(path: Path) -> RunFolder:
    return RunFolder(path, holds=("steps", "work"), shared=True)


def graph(seed: int, count: int = 14) -> dict[str, tuple[str, ...]]:
    """Names of steps, each with some before it that it needs."""
    rng, names = random.Random(seed), [f"s{i:02}" for i in range(count)]
    return {name: tuple(rng.sample(names[:i], min(i, rng.randrange(3)))) for i, name in enumerate(names)}


def steps_of(path: Path, seed: int, calls: list[str] | None = None) -> list[Step]:
    """Each leaves a file made of the files of those that it needs, which must be there."""

    def work(name: str, needs: tuple[str, ...]) -> dict[str, Any]:
        if calls is not None:
            calls.append(name)
        time.sleep(random.random() / 200)
        if (path / "fail").exists() and (path / "fail").read_text() == name:
            raise FormatError(path, None, "is no good")
        text = name + "".join((path / "work" / f"{each}.txt").read_text() for each in needs)
        (path / "work" / f"{name}.txt").write_text(hashlib.sha256(text.encode()).hexdigest())
        return {"length": len(text)}

    def step(name: str, needs: tuple[str, ...]) -> Step:
        return Step(name, partial(work, name, needs), 0.1, place="work", makes=(f"{name}.txt",), needs=needs)

    return [step(name, needs) for name, needs in graph(seed).items()]


def there(path: Path, seed: int, name: str) -> None:
    """What a worker does."""
    place_of(path).do_for_another(next(step for step in steps_of(path, seed) if step.name == name))


def do_all(path: Path, seed: int, executor: Any, said: list[str] | None = None) -> None:
    place, steps = place_of(path), steps_of(path, seed)
    with using(executor), place.opened({}, {}, resume=True, say=print):
        say = print if said is None else said.append
        place.do_all(steps, steps, say=say, after=lambda: None, elsewhere=partial(there, path, seed))


def left(path: Path) -> dict[str, Any]:
    """All files of a run, records without their seconds and sums of themselves."""
    found: dict[str, Any] = {file.name: file.read_text() for file in (path / "work").iterdir()}
    for file in (path / "steps").iterdir():
        content = json.loads(file.read_text())
        found[file.name] = content["length"], content["files"]
    return found


def do_marked(path: Path, name: str) -> None:
    """A step that says which process is at it, and takes a while where that one is to be killed."""

    def work() -> dict[str, Any]:
        tries = len(list(path.glob(f"{name}.*")))
        (path / "work" / f".{name}.part").write_text("half")
        (path / f"{name}.{tries}").write_text(str(os.getpid()))
        time.sleep(60 if tries < 2 and name == "killed" else 0)
        (path / "work" / f".{name}.part").rename(path / "work" / f"{name}.txt")
        return {"tries": tries}

    place_of(path).do_for_another(Step(name, work, 1.0, place="work", makes=(f"{name}.txt",), needs=()))
