"""A reproduction in steps: each result is on disk before the next step begins, so that a run can be taken up again.

run.json          paper, size, seed, data, versions
steps/NAME.json   the result of a step and the seconds it took
work/             what steps leave for later ones: lists, models
report.md, report.json, *.svg   written anew after every step
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from nbest.errors import FormatError, ParameterError
from nbest.files import decode, read_bytes, write_text
from nbest.model import versions
from nbest.reproduce.report import Report
from nbest.studies.base import plain

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Step:
    """One piece of work: a name of its own, what it costs about, and what does it.

    `work()` returns what JSON can hold. It may read results of earlier steps (`Run.need`) and files in `Run.work`;
    what it writes there is complete when it returns, and it must be possible to do it again.
    """

    name: str
    work: Callable[[], dict[str, Any]]
    minutes: float = 1.0


@dataclass(frozen=True)
class Paper:
    """A paper that can be reproduced."""

    name: str
    citation: str
    needs: str  # which data, in a line
    steps: Callable[[Run], list[Step]]
    report: Callable[[Run], Report]  # of what was done so far: must work when steps are missing


@dataclass
class Run:
    """A directory in which a paper is reproduced."""

    folder: Path
    data: Path
    quick: bool = False
    seed: int = 1
    threads: int | None = None
    systems: Path | None = None  # where base systems are found and kept; by default in the folder
    say: Callable[[str], None] = lambda message: None
    progress: Progress = lambda done, total: None
    skipped: list[str] = field(default_factory=list)

    @property
    def work(self) -> Path:
        """Where steps leave files for later steps."""
        return self.folder / "work"

    @property
    def base(self) -> Path:
        """Where base systems are found and kept."""
        return self.systems or self.folder / "systems"

    def size(self, full: int, quick: int) -> int:
        """A number that depends on whether the run is quick."""
        return quick if self.quick else full

    def result(self, name: str) -> dict[str, Any] | None:
        """What a step found, None where it was not run yet."""
        path = self.folder / "steps" / f"{name}.json"
        return _read(path)["result"] if path.is_file() else None

    def need(self, name: str) -> dict[str, Any]:
        """What a step found that must have been run before."""
        found = self.result(name)
        if found is None:
            raise ParameterError(f"the step {name!r} has to be run first; leave --only out, or name it there too")
        return found

    def reproduce(self, paper: Paper, *, resume: bool = False, only: Sequence[str] = ()) -> None:
        """Run the steps that have no result yet, in their order, and write the report after each.

        `only`: names of steps, with * and ?. The estimate of what is left scales the steps' costs by how long those
        of this run took.
        """
        self._open(paper, resume)
        steps = paper.steps(self)
        chosen = _chosen(steps, only)
        todo = [step for step in chosen if self.result(step.name) is None]
        self.say(f"{len(chosen) - len(todo)} of {len(chosen)} steps are done; about {_time(60 * _cost(todo))} left")
        self._report(paper, steps)
        spent, expected = 0.0, 0.0
        for number, step in enumerate(todo):
            left = 60 * _cost(todo[number:]) * (spent / (60 * expected) if expected else 1.0)
            self.say(f"step {number + 1} of {len(todo)}: {step.name} (about {_time(left)} left)")
            begin = time.perf_counter()
            result = step.work()
            seconds = time.perf_counter() - begin
            content = {"result": plain(result), "seconds": round(seconds, 3)}
            text = json.dumps(content, ensure_ascii=False, allow_nan=False)
            write_text(self.folder / "steps" / f"{step.name}.json", text + "\n")
            spent, expected = spent + seconds, expected + step.minutes
            self._report(paper, steps)

    def _open(self, paper: Paper, resume: bool) -> None:
        """Make the directory, or check that it is of this run."""
        kept = {"paper": paper.name, "quick": self.quick, "seed": self.seed}
        path = self.folder / "run.json"
        if path.is_file():
            if not resume:
                raise ParameterError(f"{self.folder} holds a run; give --resume to go on with it, or another directory")
            before = _read(path)
            odd = next((key for key, value in kept.items() if before.get(key) != value), None)
            if odd is not None:
                was = f"{odd} {before.get(odd)!r}, and this one has {kept[odd]!r}"
                raise ParameterError(f"the run in {self.folder} has {was}; give another directory")
        elif self.folder.exists() and (not self.folder.is_dir() or any(self.folder.iterdir())):
            raise ParameterError(f"{self.folder} is there and holds no run; give a new directory")
        for part in (self.folder / "steps", self.work, self.base):
            part.mkdir(parents=True, exist_ok=True)
        if not path.is_file():
            write_text(path, json.dumps({**kept, "data": str(self.data), "versions": versions()}, indent=1) + "\n")

    def _report(self, paper: Paper, steps: Sequence[Step]) -> None:
        took = []
        for step in steps:
            path = self.folder / "steps" / f"{step.name}.json"
            took.append({"name": step.name, "seconds": _read(path)["seconds"] if path.is_file() else None})
        head = {"paper": paper.name, "citation": paper.citation, "quick": self.quick, "seed": self.seed}
        paper.report(self).write(self.folder, {**head, "versions": versions(), "steps": took})


def _chosen(steps: Sequence[Step], only: Sequence[str]) -> list[Step]:
    for pattern in only:
        if not any(fnmatch(step.name, pattern) for step in steps):
            known = ", ".join(step.name for step in steps)
            raise ParameterError(f"no step is called {pattern!r}; steps: {known}")
    return [step for step in steps if not only or any(fnmatch(step.name, pattern) for pattern in only)]


def _cost(steps: Sequence[Step]) -> float:
    return sum(step.minutes for step in steps)


def _time(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _read(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(decode(path, read_bytes(path)))
    except (ValueError, RecursionError) as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(path, None, f"is damaged: {error}; remove it to have it made again") from None
    if not isinstance(content, dict):
        raise FormatError(path, None, "is damaged: expected an object; remove it to have it made again")
    return content
