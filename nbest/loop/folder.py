"""The directory of a loop: what was done, one folder a round, each complete before the next begins.

    loop.json                      what is run: decoder, method, metric, start, sizes, versions
    rounds/01/decoded.json         weights decoded with, scores of the decoder's answers, sizes, seconds
    rounds/01/dev/, heldout/       candidates that are new in this round (nbest/loop/pool.py), or forests
    rounds/01/model.json           the model trained on the candidates of all rounds up to this one
    rounds/01/trained.json         its scores and seconds: the round is complete
    decoder/                       what an external decoder was run with, and its standard error
    curve.jsonl, curve.svg, report.md      all rounds so far
    result.json, model.json        how it ended, and the model that was chosen

Each JSON file here holds a sum of its own contents, and those of a round and of the end the sums of the files that were
written with them: resuming refuses, by name, what was changed since.

A round's folder is made beside its place and renamed when all that was decoded is in it; the model is written beside
its place and renamed. So whenever a run is stopped, what is there is complete, and resuming does what is missing.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nbest.base.errors import ParameterError
from nbest.base.files import write_text
from nbest.base.folders import check_files, replacing_directory
from nbest.base.json_values import json_value
from nbest.base.sealed import read_object, sealed
from nbest.loop.records import check_record
from nbest.model.loglinear import LogLinear, load, versions

try:
    import fcntl
except ImportError:  # pragma: no cover
    fcntl = None  # type: ignore[assignment]


_REMEDIES = {"loop.json": "name another directory", "result.json": "remove this file and resume"}


def _remedy(path: Path) -> str:
    return _REMEDIES.get(path.name, "remove the folder of this round and resume")


@dataclass(frozen=True)
class Folder:
    """The files of one run."""

    path: Path

    def round(self, number: int) -> Path:
        """The folder of a round, counted from 1."""
        return self.path / "rounds" / f"{number:02d}"

    def decoded(self, number: int) -> dict[str, Any] | None:
        """What was decoded in a round, None if it was not."""
        return self._content(self.round(number) / "decoded.json")

    def trained(self, number: int) -> dict[str, Any] | None:
        """What was trained in a round, None if nothing was."""
        return self._content(self.round(number) / "trained.json")

    def model(self, number: int) -> LogLinear:
        """The model of a round."""
        return load(self.round(number) / "model.json")

    def config(self) -> dict[str, Any]:
        """What is run; empty before anything is."""
        return self._content(self.path / "loop.json") or {}

    @property
    def metric(self) -> str:
        """The name of the metric."""
        return str(self.config()["metric"]).partition("|")[0]

    def result(self) -> dict[str, Any] | None:
        """How the run ended, None if it did not."""
        found = self._content(self.path / "result.json")
        return None if found is None else {key: value for key, value in found.items() if key != "files"}

    @contextmanager
    def decoding(self, number: int) -> Iterator[Path]:
        """A folder that becomes the round's when the block ends well."""
        with replacing_directory(self.round(number)) as beside:
            yield beside

    def write(self, path: Path, content: Mapping[str, Any]) -> None:
        """JSON with a sum of its own, written beside its place and renamed."""
        whole = sealed(json_value(content))
        write_text(path, json.dumps(whole, ensure_ascii=False, indent=1, allow_nan=False) + "\n")

    def _content(self, path: Path) -> dict[str, Any] | None:
        if not path.is_file():
            return None
        remedy = _remedy(path)
        content = read_object(path, remedy)
        check_record(path, content, remedy)
        return content

    def check_sums(self) -> None:
        """Every file that is still read is as it was written, or an error names it: of an ended run only the model."""
        if self.result() is None:
            rounds = sorted(path for path in (self.path / "rounds").iterdir() if path.name.isdigit())
            for path in (folder / name for folder in rounds for name in ("decoded.json", "trained.json")):
                self._check_files(path, _remedy(path))
        self._check_files(self.path / "result.json", "remove result.json and resume")

    def _check_files(self, record: Path, remedy: str) -> None:
        """The files that one record lists; earlier versions listed none."""
        files = (self._content(record) or {}).get("files", {})
        check_files(record.parent, list(files), files, remedy=remedy)

    # opening -------------------------------------------------------------------------------------------------

    @contextmanager
    def opened(self, config: Mapping[str, Any], *, resume: bool) -> Iterator[list[str]]:
        """The directory, made or checked, for this process alone; messages about what changed since it was begun."""
        wanted = json.loads(json.dumps(json_value(config)))
        if self.path.exists() and _strange(self.path):
            raise ParameterError(f"{self.path} is there and holds no run; name a new directory")
        (self.path / "rounds").mkdir(parents=True, exist_ok=True)
        with _lock(self.path):
            before = self._begun()
            if before is not None and not resume:
                raise ParameterError(f"{self.path} holds a run; resume it (--resume), or name another directory")
            self._clean()
            if before is None:
                begun = time.strftime("%Y-%m-%d %H:%M:%S %z")
                self.write(self.path / "loop.json", {**wanted, "versions": versions(), "begun": begun})
                yield []
            else:
                changes = _compare(self.path, before, wanted)
                self.check_sums()
                yield changes

    def _begun(self) -> dict[str, Any] | None:
        """What a run with something decoded was begun with; before that there is nothing to lose, so it may change."""
        content = self.config() or None
        return content if any((self.path / "rounds").iterdir()) else None

    def _clean(self) -> None:
        """Remove what a run that was killed left half-made; a round that was moved away is put back."""
        for moved in (self.path / "rounds").glob(".*.old"):
            goal = moved.with_name(moved.name.split(".")[1])
            if not goal.exists():
                moved.rename(goal)
        for half in [*(self.path / "rounds").glob(".*"), *self.path.glob(".*.part")]:
            shutil.rmtree(half) if half.is_dir() else half.unlink()
        for half in (self.path / "rounds").glob("*/.*.part"):
            half.unlink()


def _strange(path: Path) -> bool:
    """Whether it is no run, and has anything that a run killed at its very beginning would not leave."""
    if not path.is_dir():
        return True
    names = {each.name for each in path.iterdir() if not each.name.startswith(".loop.json.")}
    if "loop.json" in names:
        return False
    return bool(names - {"rounds", "lock"}) or ("rounds" in names and any((path / "rounds").iterdir()))


@contextmanager
def _lock(path: Path) -> Iterator[None]:
    """No two processes work in one directory; the lock goes with the process, however it ends."""
    if fcntl is None:  # pragma: no cover
        yield
        return
    with open(path / "lock", "w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise ParameterError(f"another process is working in {path}; wait for it, or end it") from None
        yield


def _compare(path: Path, before: dict[str, Any], wanted: dict[str, Any]) -> list[str]:
    """What a resumed run was begun with must be what it is asked for now; other versions are only said."""
    for key in wanted:
        if before.get(key) != wanted[key]:
            was = f"{key} {_short(before.get(key))}, now it is {_short(wanted[key])}"
            raise ParameterError(
                f"the run in {path} was begun with {was}; resume with the same, or name another directory"
            )
    then, now = before.get("versions"), versions()
    return [] if then == now else [f"the run was begun with versions {then}, now they are {now}; weights may differ"]


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 200 else f"{text[:200]} ..."
