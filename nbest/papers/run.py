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
from importlib import import_module
from pathlib import Path
from typing import Any

from nbest.base.errors import CapabilityError, FormatError, ParameterError
from nbest.base.files import write_text
from nbest.base.folders import is_number
from nbest.base.json_values import json_value
from nbest.base.sealed import read_object, sealed
from nbest.model.loglinear import versions
from nbest.papers.report import Report

_EXTRAS = {"sacremoses": "mt"}  # of pyproject.toml
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Step:
    """One piece of work: a name of its own, what it costs about, and what does it.

    `work()` returns what JSON can hold. It may read results of earlier steps (`Run.need`) and files in `Run.work`;
    what it writes there is complete when it returns, and it must be possible to do it again. `packages`: those that it
    imports beyond what nbest always needs; a run does not begin without them.
    """

    name: str
    work: Callable[[], dict[str, Any]]
    minutes: float = 1.0
    packages: tuple[str, ...] = ()


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
        found = self._step(name)
        return None if found is None else dict(found["result"])

    def need(self, name: str) -> dict[str, Any]:
        """What a step found that must have been run before."""
        found = self.result(name)
        if found is None:
            raise ParameterError(f"the step {name!r} has to be run first; leave --only out, or name it there too")
        return found

    def seconds(self, name: str) -> float | None:
        """How long a step took, None where it was not run yet."""
        found = self._step(name)
        return None if found is None else float(found["seconds"])

    def _step(self, name: str) -> dict[str, Any] | None:
        path = self.folder / "steps" / f"{name}.json"
        if not path.is_file():
            return None
        content = _read(path)
        if not isinstance(content.get("result"), dict) or not is_number(content.get("seconds")):
            raise FormatError(path, None, "is damaged: it has no result; remove it to have it made again")
        return content

    def reproduce(self, paper: Paper, *, resume: bool = False, only: Sequence[str] = ()) -> None:
        """Run the steps that have no result yet, in their order, and write the report after each.

        `only`: names of steps, with * and ?.
        """
        steps = paper.steps(self)
        chosen = select(steps, only)
        check_packages([step for step in chosen if self.seconds(step.name) is None])
        self._open(paper, resume)
        todo = [step for step in chosen if self.seconds(step.name) is None]
        self.say(f"{len(chosen) - len(todo)} of {len(chosen)} steps are done; about {self._left(steps, todo)} left")
        self._report(paper, steps)
        for number, step in enumerate(todo):
            left = self._left(steps, todo[number:])
            self.say(f"step {number + 1} of {len(todo)}: {step.name} (about {left} left)")
            begin = time.perf_counter()
            result = step.work()
            content = {"result": json_value(result), "seconds": round(time.perf_counter() - begin, 3)}
            text = json.dumps(sealed(content), ensure_ascii=False, allow_nan=False)
            write_text(self.folder / "steps" / f"{step.name}.json", text + "\n")
            self._report(paper, steps)

    def _left(self, steps: Sequence[Step], todo: Sequence[Step]) -> str:
        """The time that steps will take: their costs, scaled by how long those that were run took.

        A tenth of all costs counts as if it had taken as long as was said, so that a first short step tells little.
        """
        took = {step.name: self.seconds(step.name) for step in steps}
        prior = 6 * sum(step.minutes for step in steps)
        spent = prior + sum(seconds or 0.0 for seconds in took.values())
        expected = prior + 60 * sum(step.minutes for step in steps if took[step.name] is not None)
        return duration(60 * sum(step.minutes for step in todo) * spent / expected)

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
            self._compare(before)
        elif self.folder.exists() and _strange(self.folder):
            raise ParameterError(f"{self.folder} is there and holds no run; give a new directory")
        _make(self.folder, "--output")
        if not path.is_file():  # first of all, so that a run that is killed here can be resumed
            content = sealed({**kept, **self._places(), "versions": versions()})
            write_text(path, json.dumps(content, indent=1) + "\n")
        for part, option in ((self.folder / "steps", "--output"), (self.work, "--output"), (self.base, "--systems")):
            _make(part, option)

    def _places(self) -> dict[str, str]:
        return {"data": str(self.data.resolve()), "systems": str(self.base.resolve())}

    def _compare(self, before: dict[str, Any]) -> None:
        """Say what else is not as when the run was begun: its results are mixed then."""
        for key, value in {**self._places(), "versions": versions()}.items():
            if key in before and before[key] != value:
                self.say(f"warning: the run was begun with {key} {before[key]}, now it is {value}; results may differ")

    def _report(self, paper: Paper, steps: Sequence[Step]) -> None:
        took = [{"name": step.name, "seconds": self.seconds(step.name)} for step in steps]
        head = {"paper": paper.name, "citation": paper.citation, "quick": self.quick, "seed": self.seed}
        paper.report(self).write(self.folder, {**head, "versions": versions(), "steps": took})


def select(steps: Sequence[Step], only: Sequence[str]) -> list[Step]:
    """The steps with these names, in which * and ? stand for any characters and for one; all without names."""
    for pattern in only:
        if not any(fnmatch(step.name, pattern) for step in steps):
            known = ", ".join(step.name for step in steps)
            raise ParameterError(f"no step is called {pattern!r}; steps: {known}")
    return [step for step in steps if not only or any(fnmatch(step.name, pattern) for pattern in only)]


def check_packages(steps: Sequence[Step]) -> None:
    """An error that says what to install, where steps need packages that are not there."""
    for package in dict.fromkeys(package for step in steps for package in step.packages):
        if not _is_there(package):
            needing = [step.name for step in steps if package in step.packages]
            extra = f"pip install 'nbest[{_EXTRAS[package]}]'" if package in _EXTRAS else f"pip install {package}"
            raise CapabilityError(
                f"{len(needing)} of {len(steps)} steps need the package {package}, the first of them {needing[0]}; "
                f"install it ({extra}), or choose other steps with --only"
            )


def _is_there(package: str) -> bool:
    try:
        import_module(package)
    except ImportError:
        return False
    return True


def duration(seconds: float) -> str:
    """Seconds for people."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _strange(folder: Path) -> bool:
    """Whether it has anything that a run killed at its very beginning would not leave."""
    return not folder.is_dir() or any(not each.name.startswith(".run.json.") for each in folder.iterdir())


def _make(folder: Path, option: str) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = "a file is in its place" if isinstance(error, FileExistsError | NotADirectoryError) else error.strerror
        raise ParameterError(f"{option}: the directory {folder} cannot be made: {reason}") from None


def _read(path: Path) -> dict[str, Any]:
    return read_object(path, "remove it to have it made again")
