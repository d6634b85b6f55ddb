"""The directory of a loop: what was done, one folder a round, each complete before the next begins.

    loop.json                      what is run: decoder, method, metric, start, sizes, versions
    rounds/01/decoded.json         weights decoded with, scores of the decoder's answers, sizes, seconds
    rounds/01/dev/, heldout/       candidates that are new in this round (nbest/loop/pool.py), or forests
    rounds/01/model.json           the model trained on the candidates of all rounds up to this one
    rounds/01/trained.json         its scores and seconds: the round is complete
    decoder/                       what an external decoder was run with, and its standard error
    curve.jsonl, curve.svg, report.md      all rounds so far
    result.json, model.json        how it ended, and the model that was chosen

Decoding and training of a round and the end are the steps of the run (nbest/runs): resuming refuses, by name, what was
changed since, and does what is missing.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nbest.base.folders import is_number
from nbest.corpus import NBest
from nbest.corpus.metric import Metric
from nbest.loop.pool import assemble
from nbest.model.loglinear import LogLinear, load
from nbest.runs import RunFolder
from nbest.runs.records import Rule, Rules, check_sums, is_object

_REMEDIES = {"loop.json": "name another directory", "result.json": "remove this file and resume"}


@dataclass(frozen=True)
class Folder(RunFolder):
    """The files of one run."""

    about: str = "loop.json"
    records: str = "{}.json"
    holds: tuple[str, ...] = ("rounds",)

    def rules(self, name: str) -> tuple[Rules, Rules]:
        """What a record of this name holds."""
        return _NEEDED[name], {} if name == self.about else {"heldout": _row}

    def remedy(self, path: Path) -> str:
        """What to do where a file is damaged."""
        return _REMEDIES.get(path.name, "remove the folder of this round and resume")

    def round(self, number: int) -> Path:
        """The folder of a round, counted from 1."""
        return self.path / "rounds" / f"{number:02d}"

    def decoded(self, number: int) -> dict[str, Any] | None:
        """What was decoded in a round, None if it was not."""
        return self.read(self.round(number) / "decoded.json")

    def trained(self, number: int) -> dict[str, Any] | None:
        """What was trained in a round, None if nothing was."""
        return self.read(self.round(number) / "trained.json")

    def model(self, number: int) -> LogLinear:
        """The model of a round."""
        return load(self.round(number) / "model.json")

    def config(self) -> dict[str, Any]:
        """What is run; empty before anything is."""
        return self.read(self.path / self.about) or {}

    @property
    def metric(self) -> str:
        """The name of the metric."""
        return str(self.config()["metric"]).partition("|")[0]

    def result(self) -> dict[str, Any] | None:
        """How the run ended, None if it did not."""
        found = self.read(self.path / "result.json")
        return None if found is None else {key: found[key] for key in _NEEDED["result.json"]}

    def pool(self, number: int, metric: Metric, *, texts: bool = False, part: str = "dev") -> NBest:
        """The candidates of all rounds up to this one."""
        return assemble([self.round(each) / part for each in range(1, number + 1)], metric, texts=texts)

    def forget(self) -> None:
        """Remove the candidates of a run that has ended; what is said of them stays."""
        for part in [*self.path.glob("rounds/*/dev"), *self.path.glob("rounds/*/heldout")]:
            shutil.rmtree(part)

    def check_all(self) -> None:
        """Every file that is still read is as it was written, or an error names it: of an ended run only the model."""
        if self.result() is None:
            rounds = sorted(path for path in (self.path / "rounds").iterdir() if path.name.isdigit())
            for path in (folder / name for folder in rounds for name in ("decoded.json", "trained.json")):
                check_sums(path.parent, self.read(path) or {}, self.remedy(path))
        ended = self.path / "result.json"
        check_sums(self.path, self.read(ended) or {}, "remove result.json and resume")


# what the records hold ----------------------------------------------------------------------------------------------


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**62


def _each(rule: Rule) -> Rule:
    return lambda value: isinstance(value, dict) and all(rule(item) for item in value.values())


def _row(value: Any) -> bool:
    """Of a set of segments that was decoded."""
    counts = ("new", "segments", "empty")
    if not isinstance(value, dict) or not all(_count(value.get(key)) for key in counts):
        return False
    optional = all(_count(value[key]) for key in ("missed", "hypotheses", "nodes", "edges") if key in value)
    return optional and is_number(value.get("score")) and is_number(value.get("seconds"))


_NEEDED: dict[str, Rules] = {
    "loop.json": {"decoder": is_object, "trainer": is_object, "metric": _text, "versions": is_object},
    "decoded.json": {"weights": _each(is_number), "dev": _row, "new": _count},
    "trained.json": {"scores": _each(is_number), "pool": _each(_count), "seconds": _each(is_number)},
    "result.json": {"reason": _text, "rounds": _count, "chosen": _count, "scores": _each(is_number)},
}
