"""What a reproduction writes: tables beside the paper's own numbers, pictures, and what differs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nbest.base.files import write_text
from nbest.base.json_values import json_value
from nbest.report import Cell, Column, Figure, Items, Page, Table


@dataclass(frozen=True)
class PaperTable:
    """Our rows of values and, in `paper`, the paper's own; the first cell of a row is its name.

    The paper's are under `paper_columns`, the same columns unless given.
    """

    title: str
    columns: Sequence[Column | str]
    rows: Sequence[Sequence[Cell]]
    paper: Sequence[Sequence[Cell]] = ()
    paper_columns: Sequence[Column | str] | None = None
    notes: Sequence[str] = ()

    def tables(self) -> tuple[Table, Table]:
        """Ours and the paper's."""
        return Table(self.columns, self.rows), Table(self.paper_columns or self.columns, self.paper)

    def page(self) -> Page:
        """Our table, the paper's own below it, and the notes."""
        ours, theirs = self.tables()
        beside: list[str | Table] = ["In the paper:", theirs] if self.paper else []
        return Page(self.title, [ours, *beside, *self.notes])

    def content(self) -> dict[str, Any]:
        """The same for JSON."""
        ours, theirs = self.tables()
        return {"title": self.title, **ours.content(), "paper": theirs.content(), "notes": [*self.notes]}


@dataclass(frozen=True)
class Report:
    """All that a reproduction found so far."""

    tables: Sequence[PaperTable] = ()
    figures: Sequence[Figure] = ()
    differences: Sequence[str] = ()
    """What is not as in the paper: data, tokenisation, base system, settings."""

    def write(self, folder: Path, head: Mapping[str, Any]) -> None:
        """report.md, report.json and one SVG a figure; each is written beside its place and renamed."""
        self.page(head).write(folder)
        content = {
            **head,
            "tables": [table.content() for table in self.tables],
            "figures": [{"file": each.file, "title": each.title, "rows": list(each.rows)} for each in self.figures],
            "differences": list(self.differences),
        }
        text = json.dumps(json_value(content), ensure_ascii=False, indent=1, allow_nan=False)
        write_text(folder / "report.json", text + "\n")

    def page(self, head: Mapping[str, Any]) -> Page:
        """The whole report; `head` says what was run."""
        parts = [table.page() for table in self.tables]
        parts += [Page(figure.title, [figure]) for figure in self.figures]
        if self.differences:
            parts.append(Page("What differs from the paper", [Items(self.differences)]))
        return Page(head["citation"], [_ran(head), *parts, _steps(head)])


def _ran(head: Mapping[str, Any]) -> str:
    steps = head["steps"]
    done = sum(step["seconds"] is not None for step in steps)
    size = "quick" if head["quick"] else "full"
    took = sum(step["seconds"] or 0.0 for step in steps)
    state = (
        "all steps done" if done == len(steps) else f"{done} of {len(steps)} steps done, the others are missing below"
    )
    begun = f", begun {head['begun']}" if head.get("begun") else ""
    return f"A {size} run with seed {head['seed']}{begun}: {state}; {took / 60:.1f} minutes of work."


def _steps(head: Mapping[str, Any]) -> Page:
    rows = [(step["name"], step["seconds"]) for step in head["steps"]]
    table = Table(("step", Column("seconds", ".1f")), rows, missing="not run")
    return Page("What was run", [table, ", ".join(f"{name} {number}" for name, number in head["versions"].items())])
