"""`RunFolder`: a directory in which steps leave their results, for one process at a time or for several.

    run.json          what is run, and with which versions; a run is resumed only with the same
    steps/NAME.json   the result of a step, the seconds it took, when it ended and the sums of the files that it wrote
    lock              held by who works here: the system takes it back from a process that ended, however it did

Files and folders are made beside their places and renamed. So whenever a run is stopped, what is there is complete, and
resuming does what is missing.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nbest.base.errors import FormatError, ParameterError
from nbest.base.folders import is_number, replacing_directory
from nbest.base.json_values import json_value
from nbest.compute.executors import current
from nbest.runs.lock import Lock
from nbest.runs.records import (
    ENDED,
    FILES,
    MADE_FROM,
    SECONDS,
    Rules,
    check_sums,
    is_table,
    mark_of,
    read_record,
    sums_of,
    write_record,
)
from nbest.runs.side_by_side import Elsewhere, SideBySide
from nbest.runs.steps import Say, Step, time_left

_PATIENCE = 30.0  # seconds
_DATE = "%Y-%m-%d %H:%M:%S %z"


@dataclass(frozen=True)
class RunFolder:
    """The directory of a run.

    path     where it is
    about    file that says what is run
    records  file of a step, by its name
    holds    folders that it always has; until anything is in them, the run may be begun anew with other settings
    lock     the lock file
    shared   several processes may work here, each at a step of its own
    """

    path: Path
    about: str = "run.json"
    records: str = "steps/{}.json"
    holds: tuple[str, ...] = ("steps",)
    lock: str = "lock"
    shared: bool = False

    # what is there -----------------------------------------------------------------------------------------------

    def rules(self, name: str) -> tuple[Rules, Rules]:
        """What the records of this file name need, and what else must be true of them."""
        return {}, {}

    def remedy(self, path: Path) -> str:
        """What to do where a file is damaged."""
        return "remove it to have it made again"

    def read(self, path: Path) -> dict[str, Any] | None:
        """A record, None where there is none."""
        needed, optional = self.rules(path.name)
        optional = {FILES: is_table, **optional}
        return read_record(path, needed, optional, self.remedy(path)) if path.is_file() else None

    def record(self, name: str) -> Path:
        """The file of a step."""
        return self.path / self.records.format(name)

    def found(self, step: Step) -> dict[str, Any] | None:
        """What a step left, None where it has to be done."""
        if step.made_from is None:
            return self.read(self.record(step.name))
        try:
            content = self.read(self.record(step.name)) or {}
            self.check(step)
        except FormatError:
            return None
        return content if content.get(MADE_FROM) == mark_of(step.made_from) else None

    def check(self, step: Step) -> None:
        """The files that a step wrote are as they were, or an error names one."""
        path = self.record(step.name)
        check_sums(self.path / step.place, self.read(path) or {}, self.remedy(path))

    def seconds(self, steps: Sequence[Step]) -> dict[str, float]:
        """How long those of the steps that were done took."""
        found: dict[str, Any] = {step.name: (self.found(step) or {}).get(SECONDS) for step in steps}
        return {name: float(took) for name, took in found.items() if is_number(took)}

    # opening -----------------------------------------------------------------------------------------------------

    @contextmanager
    def opened(
        self, settings: Mapping[str, Any], noted: Mapping[str, Any], *, resume: bool, say: Say
    ) -> Iterator[None]:
        """The directory, made or checked, to work in.

        `settings` have to be the same for a run to be resumed, what else is `noted` is only said where it differs.
        """
        wanted, also = (json.loads(json.dumps(json_value(each))) for each in (settings, noted))
        if self.path.exists() and self._is_strange():
            raise ParameterError(f"{self.path} is there and holds no run; name a new directory")
        with self.working() as lock:
            begun = self._begun()
            if begun is not None and not resume:
                raise ParameterError(f"{self.path} holds a run; resume it (--resume), or name another directory")
            if begun is None:
                write_record(self.path / self.about, {**wanted, **also, "begun": time.strftime(_DATE)})
            else:
                self._compare(begun, wanted, also, say)
            if self.shared:
                lock.share()
            yield

    @contextmanager
    def working(self) -> Iterator[Lock]:
        """The directory, made, locked, and rid of what a process that was killed left half-made."""
        for name in ("", *self.holds, str(Path(self.lock).parent)):
            make_folder(self.path / name, "--output")
        with Lock(self.path / self.lock) as lock:
            if lock.take():
                self._tidy()
            elif self.shared:
                lock.share()  # where another process is just opening it, when that is done
            else:
                who = lock.holder()
                raise ParameterError(f"another process is working in {self.path}: {who}; wait for it, or end it")
            yield lock
            if self.shared and lock.take():
                self._tidy()

    def _is_strange(self) -> bool:
        """Whether it is no run, and has anything that a run killed at its very beginning would not leave."""
        if not self.path.is_dir():
            return True
        names = {each.name for each in self.path.iterdir() if not each.name.startswith(f".{self.about}.")}
        return self.about not in names and (bool(names - {*self.holds, self.lock}) or self._holds_any())

    def _holds_any(self) -> bool:
        return any(any((self.path / name).iterdir()) for name in self.holds if (self.path / name).is_dir())

    def _begun(self) -> dict[str, Any] | None:
        """What a run was begun with; before a step is done there is nothing to lose, so it may change, unless another
        process may be at its first one."""
        content = self.read(self.path / self.about)
        return content if self.shared or self._holds_any() else None

    def _compare(self, begun: dict[str, Any], wanted: dict[str, Any], also: dict[str, Any], say: Say) -> None:
        for key in wanted:
            if begun.get(key) != wanted[key]:
                was = f"{key} {_short(begun.get(key))}, now it is {_short(wanted[key])}"
                raise ParameterError(
                    f"the run in {self.path} was begun with {was}; resume with the same, or name another directory"
                )
        for key, now in also.items():
            if begun.get(key, now) != now:
                say(f"warning: the run was begun with {key} {begun[key]}, now it is {now}; results may differ")

    def _tidy(self) -> None:
        """Remove what is half-made; a folder that was moved away for its successor is put back."""
        folders = [self.path / name for name in self.holds]
        inner = [path for folder in folders for path in folder.iterdir() if path.is_dir()]
        for folder in (self.path, *folders, *inner):
            for moved in folder.glob(".*.old"):
                goal = moved.with_name(moved.name.split(".")[1])
                if not goal.exists():
                    moved.rename(goal)
            for half in [path for kind in ("part", "old", "lock") for path in folder.glob(f".*.{kind}")]:
                shutil.rmtree(half) if half.is_dir() else half.unlink()

    # working -----------------------------------------------------------------------------------------------------

    def do(self, step: Step, patience: float = 0.0) -> dict[str, Any]:
        """What a step leaves, which is done unless it was; so many seconds are waited for who is at it."""
        with self._at(step, patience):
            found = self.found(step)
            if found is None:
                self._do(step)
                found = self.found(step)
        assert found is not None
        return found

    def do_for_another(self, step: Step) -> dict[str, Any]:
        """`do` in a process that works for the one that opened the run.

        It has a part in the lock of the run, so nobody tidies away what it makes, even where the other one is gone.
        Who was killed at this step may have children that hold its lock for another moment.
        """
        with Lock(self.path / self.lock) as lock:
            lock.share()
            return self.do(step, _PATIENCE)

    def do_all(
        self,
        steps: Sequence[Step],
        every: Sequence[Step],
        *,
        say: Say,
        after: Callable[[], None],
        elsewhere: Elsewhere | None = None,
    ) -> None:
        """Those of the steps that were not done, each announced with the time left; `after` each.

        They are done in their order, one after the other. `elsewhere` does the step of a name in any process
        (`do_for_another`): where the current executor has processes of its own, these do steps that do not need each
        other side by side.
        """
        took = self.seconds(every)
        todo = [step for step in steps if step.name not in took]
        executor = current()
        at_once = executor.workers if elsewhere is not None and executor.apart else 1
        left = time_left(every, todo, took, at_once)
        say(f"{len(steps) - len(todo)} of {len(steps)} steps are done; about {left} left")
        after()
        if elsewhere is not None and executor.apart:
            SideBySide(self.seconds, todo, every, say=say, after=after).run(executor, elsewhere)
            return
        for number, step in enumerate(todo):
            left = time_left(every, todo[number:], self.seconds(every))
            say(f"step {number + 1} of {len(todo)}: {step.name} (about {left} left)")
            self.do(step)
            after()

    @contextmanager
    def _at(self, step: Step, patience: float) -> Iterator[None]:
        """No two processes are at one step."""
        if not self.shared:
            yield
            return
        record = self.record(step.name)
        with Lock(record.with_name(f".{step.name}.lock")) as lock:
            if not lock.wait(patience):
                raise ParameterError(
                    f"another process is at the step {step.name!r} in {self.path}: {lock.holder()}; wait for it, or "
                    "choose other steps with --only"
                )
            yield

    def _do(self, step: Step) -> None:
        begin, record = time.perf_counter(), self.record(step.name)
        record.unlink(missing_ok=True)
        if step.whole:
            with replacing_directory(self.path / step.place) as beside:
                content = step.work(beside)
                self._note(step, beside / record.name, content, sums_of(beside, ("*",)), begin)
        else:
            content = step.work()
            self._note(step, record, content, sums_of(self.path / step.place, step.makes), begin)

    def _note(self, step: Step, record: Path, content: dict[str, Any], files: dict[str, Any], begin: float) -> None:
        own = dict(content)
        if step.minutes:
            own |= {SECONDS: round(time.perf_counter() - begin, 3), ENDED: time.strftime(_DATE)}
        if step.made_from is not None:
            own[MADE_FROM] = mark_of(step.made_from)
        write_record(record, {**own, FILES: files} if files else own)


def make_folder(folder: Path, option: str) -> None:
    """A folder that the option names, or an error that says why not."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = "a file is in its place" if isinstance(error, FileExistsError | NotADirectoryError) else error.strerror
        raise ParameterError(f"{option}: the directory {folder} cannot be made: {reason}") from None


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 200 else f"{text[:200]} ..."
