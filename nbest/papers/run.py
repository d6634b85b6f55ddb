"""A reproduction in steps: each result is on disk before the next step begins, so that a run can be taken up again.

run.json          paper, size, seed, data, versions
steps/NAME.json   the result of a step, the seconds it took and when it ended
work/             what steps leave for later ones: lists, models
report.md, report.json, *.svg   written anew after every step, by the process that began the run
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from nbest.base.errors import FormatError, ParameterError
from nbest.base.folders import is_number
from nbest.compute.executors import current, new_key
from nbest.model.loglinear import versions
from nbest.papers import PAPERS
from nbest.papers import paper as find_paper
from nbest.papers.report import Report
from nbest.report import Page
from nbest.runs import RunFolder, Step
from nbest.runs.folder import make_folder
from nbest.runs.records import ENDED, SECONDS, Rules, check_sums, is_object
from nbest.runs.steps import check_packages, select

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Paper:
    """A paper that can be reproduced."""

    name: str
    citation: str
    needs: str  # which data, in a line
    steps: Callable[[Run], list[Step]]
    report: Callable[[Run], Report]  # of what was done so far: must work when steps are missing
    without_data: tuple[str, ...] = ()  # steps that need no other step and read no data

    def reading(self, steps: Sequence[Step]) -> list[str]:
        """The names of those of the steps that begin with the data."""
        return [step.name for step in steps if step.needs == () and step.name not in self.without_data]

    def minutes(self, *, quick: bool) -> float:
        """About how long all steps take."""
        return sum(step.minutes for step in self.steps(Run(Path(self.name), None, quick)))


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


_ABOUT = {"paper": _is_text, "quick": lambda value: isinstance(value, bool), "seed": lambda value: type(value) is int}
_ABOUT |= {"data": _is_text, "systems": _is_text, "versions": is_object}
_STEP = {"result": is_object, SECONDS: is_number}


class _Folder(RunFolder):
    """The directory of a reproduction; processes with other `--only` may share it."""

    def rules(self, name: str) -> tuple[Rules, Rules]:
        """Steps have a result and a time."""
        return ({}, _ABOUT) if name == self.about else (_STEP, {})


@dataclass
class Run:
    """A directory in which a paper is reproduced."""

    folder: Path
    data: Path | None  # None for steps that read none
    quick: bool = False
    seed: int = 1
    threads: int | None = None
    systems: Path | None = None  # where base systems are found and kept; by default in the folder
    say: Callable[[str], None] = lambda message: None
    progress: Progress = lambda done, total: None

    def __post_init__(self) -> None:
        self.place = _Folder(self.folder, holds=("steps", "work"), shared=True)
        self._sound: set[str] = set()  # steps whose files were compared

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
        found = self.place.read(self.place.record(name))
        return None if found is None else dict(found["result"])

    def value(self, name: str, *keys: str) -> Any:
        """A value within what a step found, None where it is missing."""
        found: Any = self.result(name)
        for key in keys:
            found = None if found is None else found.get(key)
        return found

    def need(self, name: str) -> dict[str, Any]:
        """What a step found that must have been run before; the files that it left are as they were."""
        found = self.place.read(self.place.record(name))
        if found is None:
            raise ParameterError(f"the step {name!r} has to be run first; leave --only out, or name it there too")
        if name not in self._sound:
            check_sums(self.work, found, f"remove steps/{name}.json to have it made again")
            self._sound.add(name)
        return dict(found["result"])

    def seconds(self, name: str) -> float | None:
        """How long a step took, None where it was not run yet."""
        found = self.place.read(self.place.record(name))
        return None if found is None else float(found[SECONDS])

    def _ended(self, name: str) -> str | None:
        """When a step ended, None where it was not run yet or nobody noted it."""
        found = self.place.read(self.place.record(name)) or {}
        return found.get(ENDED)

    def reproduce(self, paper: Paper, *, resume: bool = False, only: Sequence[str] = ()) -> None:
        """Run the steps that have no result yet, in their order, and write the report after each.

        `only`: names of steps, with * and ?. Where the current executor has processes of its own, they run steps that
        do not need each other side by side, if the paper is one of `PAPERS`.
        """
        steps = [_in_work(step) for step in paper.steps(self)]
        chosen = select(steps, only)
        check_packages([step for step in chosen if self.seconds(step.name) is None])
        settings = {"paper": paper.name, "quick": self.quick, "seed": self.seed}
        data = {} if self.data is None else {"data": str(self.data.resolve())}
        noted = {**data, "systems": str(self.base.resolve()), "versions": versions()}
        with self.place.opened(settings, noted, resume=resume, say=self.say):
            make_folder(self.base, "--systems")

            def after() -> None:
                self._report(paper, steps)
                if current().apart:  # else steps tell of themselves
                    self.progress(sum(self.seconds(step.name) is not None for step in chosen), len(chosen))

            is_known = paper.name in PAPERS and find_paper(paper.name) is paper  # so workers find it, too
            elsewhere = RunCopy.of(self, paper) if is_known else None
            self.place.do_all(chosen, steps, say=self.say, after=after, elsewhere=elsewhere)

    def _report(self, paper: Paper, steps: Sequence[Step]) -> None:
        paper.report(self).write(self.folder, self._head(paper, steps, versions()))

    def _head(self, paper: Paper, steps: Sequence[Step], known: Mapping[str, str]) -> dict[str, Any]:
        """What was run, for a report."""
        took = [
            {"name": step.name, "seconds": self.seconds(step.name), ENDED: self._ended(step.name)} for step in steps
        ]
        head = {"paper": paper.name, "citation": paper.citation, "quick": self.quick, "seed": self.seed}
        return {**head, "versions": known, "steps": took}


def run_page(folder: Path) -> Page:
    """The report of what was done so far in the directory of a run, whoever works in it, made again from its steps."""
    place = Run(folder, folder).place
    about = place.read(place.path / place.about)
    if about is None or "paper" not in about:
        raise FormatError(folder, None, f"is no directory of nbest reproduce: its {place.about} names no paper")
    data, systems = (Path(about.get(key, folder)) for key in ("data", "systems"))
    run = Run(folder, data, about.get("quick", False), about.get("seed", 1), systems=systems)
    paper = find_paper(about["paper"])
    head = run._head(paper, paper.steps(run), about.get("versions", {}))
    return paper.report(run).page(head)


@dataclass(frozen=True)
class RunCopy:
    """A run in a process that works for the one that began it: what makes it again there, and nothing that is open.

    Steps that one process does share what they hold in memory, as they do where all are done by one.
    """

    paper: str
    folder: Path
    data: Path | None
    systems: Path
    quick: bool
    seed: int
    key: str  # of its own: what an earlier run held in memory is not that of this one

    @classmethod
    def of(cls, run: Run, paper: Paper) -> RunCopy:
        """That of a run, whose workers may stand in other folders."""
        data = None if run.data is None else run.data.absolute()
        places = (run.folder.absolute(), data, run.base.absolute())
        return cls(paper.name, *places, quick=run.quick, seed=run.seed, key=new_key())

    def __call__(self, name: str) -> None:
        """Do the step of this name."""
        run, steps = _made_again(self)
        run.place.do_for_another(steps[name])


@lru_cache(maxsize=1)
def _made_again(copy: RunCopy) -> tuple[Run, dict[str, Step]]:
    run = Run(copy.folder, copy.data, copy.quick, copy.seed, systems=copy.systems)
    return run, {step.name: _in_work(step) for step in find_paper(copy.paper).steps(run)}


def _in_work(step: Step) -> Step:
    """A step of a paper, whose work returns its result and leaves files and folders of its name, or others it says."""
    makes = step.makes or (step.name, f"{step.name}.*")
    return replace(step, work=lambda: {"result": step.work()}, place="work", makes=makes)
