"""What `nbest score` prints: the systems by their metrics, how many outputs they give, and tests of their pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nbest.evaluation.pooling import POOLED
from nbest.report import Cell, Column, Table
from nbest.report.page import probability

Row = dict[str, Any]


@dataclass(frozen=True)
class Scored:
    """The systems by one metric, the format of its scores, and the test of their differences."""

    rows: list[Row]
    form: str
    test: str

    @property
    def metric(self) -> str:
        """The name of the metric."""
        return str(self.rows[0]["name"])


@dataclass(frozen=True)
class Covered:
    """Of how many of all segments each system gives an output, in each of its runs; scores are of `scored` segments."""

    counts: Mapping[str, Sequence[int]]
    segments: int
    scored: int

    @property
    def is_partial(self) -> bool:
        """Whether any system leaves a segment without an output."""
        return any(count < self.segments for runs in self.counts.values() for count in runs)

    def of(self, name: str) -> Row:
        """The counts of a system for JSON."""
        first, *others = runs = self.counts[name]
        return {"covered": list(runs) if others else first, "segments": self.segments, "scored": self.scored}

    def cell(self, name: str) -> str:
        """The counts of a system: 168/361."""
        least, most = min(self.counts[name]), max(self.counts[name])
        return f"{least}/{self.segments}" if least == most else f"{least} to {most}/{self.segments}"

    @property
    def note(self) -> str:
        """Of which segments scores are."""
        return f"scores are of {self.scored} of {self.segments} segments, those that no system leaves out"

    @property
    def alone(self) -> str:
        """What a score alone is of."""
        return "alone: of all segments that the system covers"


def scores_table(found: Sequence[Scored], covered: Covered, note: str) -> Table:
    """The systems by one metric or several; of several systems, how they differ from the first."""
    sets = [(each, _columns(each, alone=len(found) == 1)) for each in found]
    values: list[list[Cell]] = []
    for at, row in enumerate(found[0].rows):
        mine = [_cell(each.rows[at], key) for each, columns in sets for _, key in columns]
        counts = [covered.cell(row["system"])] if covered.is_partial else []
        values.append([row["system"], *counts, *mine])
    notes = [covered.note] if covered.scored < covered.segments else []
    notes += [covered.alone] if "alone" in found[0].rows[0] else []
    notes += [f"signature: {each.metric}|{each.rows[0]['signature']}" for each in found]
    if "spread" in found[0].rows[0]:
        notes.append(f"means over runs; spread: standard deviation over runs; {POOLED}")
    if len(found) > 1 and "p" in found[0].rows[0]:
        notes.append(f"p: {found[0].test} test against the first system")
    heads = [Column("system"), *([Column("covered")] if covered.is_partial else [])]
    heads += [column for _, columns in sets for column, _ in columns]
    return Table(heads, values, notes=[*notes, *([note] if note else [])], missing="")


def pairs_table(found: Sequence[Scored]) -> Table:
    """How each system differs from each of those before it, by one metric or several."""
    alone = len(found) == 1
    values: list[list[Cell]] = []
    for at, row in enumerate(found[0].rows):
        for number, pair in enumerate(row["pairs"]):
            cells = [
                _cell(each.rows[at]["pairs"][number], key) for each in found for key in _tested(each, alone).values()
            ]
            values.append([row["system"], pair["against"], *cells])
    heads = [column for each in found for column in _tested(each, alone)]
    notes = [] if alone else [f"p: {found[0].test} test of each pair"]
    notes.append(f"each p is of one of {len(values) * len(found)} tests, not corrected for their number")
    return Table([Column("system"), Column("against", align="left"), *heads], values, notes=notes)


def _columns(found: Scored, *, alone: bool) -> list[tuple[Column, str]]:
    """The columns of one metric with their keys; beside those of other metrics their names tell whose they are."""
    first = found.rows[0]
    columns = [(Column(found.metric, found.form), "score")]
    if "alone" in first:
        columns.append((Column(f"{_of(found, alone)}alone", found.form), "alone"))
    if "spread" in first:
        columns.append((Column(f"{_of(found, alone)}spread", found.form), "spread"))
    if "p" in first:
        columns += _tested(found, alone).items()
    return columns


def _tested(found: Scored, alone: bool) -> dict[Column, str]:
    """The columns of a difference, of its interval where the test gives one, and of its p, with their keys."""
    of = _of(found, alone)
    columns = {Column(f"{of}difference", f"+{found.form}"): "difference"}
    if any(row.get("interval") for row in found.rows):
        columns |= {Column(f"{of}95 % from", f"+{found.form}"): "low", Column(f"{of}to", f"+{found.form}"): "high"}
    return columns | {Column(f"p ({found.test})" if alone else f"{of}p", probability): "p"}


def _cell(row: Row, key: str) -> Cell:
    """A value of a row; nothing of what is not tested."""
    if key in ("low", "high"):
        return row["interval"][key == "high"] if row.get("interval") else None
    value: Cell = row[key]
    return None if key == "difference" and row["p"] is None else value


def _of(found: Scored, alone: bool) -> str:
    return "" if alone else f"{found.metric} "
