"""What a reproduction writes: tables beside the paper's own numbers, pictures, and what differs."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nbest.base.files import write_text
from nbest.base.json_values import json_value
from nbest.report.markdown import escaped, row
from nbest.report.picture import Picture

Cell = str | float | int | None
"""Text, a number (shown with two decimals) or nothing yet."""


@dataclass(frozen=True)
class Table:
    """Rows of cells under named columns; the first cell of a row is its name.

    `paper` holds the paper's own rows, under `paper_columns` (the same columns unless given).
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    paper: Sequence[Sequence[Cell]] = ()
    paper_columns: Sequence[str] | None = None
    notes: Sequence[str] = ()

    def markdown(self) -> str:
        """The table, the paper's own below it, and the notes."""
        parts = [f"## {escaped(self.title)}", _grid(self.columns, self.rows)]
        if self.paper:
            parts += ["In the paper:", _grid(self.paper_columns or self.columns, self.paper)]
        return "\n\n".join([*parts, *map(escaped, self.notes)]) + "\n"

    def content(self) -> dict[str, Any]:
        """The same for JSON."""
        own = {"title": self.title, "columns": list(self.columns), "rows": [list(row) for row in self.rows]}
        heads = list(self.paper_columns or self.columns)
        return {**own, "paper": {"columns": heads, "rows": [list(row) for row in self.paper]}, "notes": [*self.notes]}


@dataclass(frozen=True)
class Figure:
    """A picture under a name (its file), and the numbers that it shows."""

    name: str
    title: str
    picture: Picture
    rows: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True)
class Report:
    """All that a reproduction found so far."""

    tables: Sequence[Table] = ()
    figures: Sequence[Figure] = ()
    differences: Sequence[str] = ()
    """What is not as in the paper: data, tokenisation, base system, settings."""

    def write(self, folder: Path, head: Mapping[str, Any]) -> None:
        """report.md, report.json and one SVG a figure; each is written beside its place and renamed."""
        for figure in self.figures:
            write_text(folder / f"{figure.name}.svg", figure.picture.svg())
        write_text(folder / "report.md", self.markdown(head))
        content = {
            **head,
            "tables": [table.content() for table in self.tables],
            "figures": [
                {"file": f"{figure.name}.svg", "title": figure.title, "rows": list(figure.rows)}
                for figure in self.figures
            ],
            "differences": list(self.differences),
        }
        text = json.dumps(json_value(content), ensure_ascii=False, indent=1, allow_nan=False)
        write_text(folder / "report.json", text + "\n")

    def markdown(self, head: Mapping[str, Any]) -> str:
        """The whole report as Markdown."""
        parts = [f"# {escaped(head['citation'])}", _ran(head)]
        parts += [table.markdown() for table in self.tables]
        titles = [(escaped(figure.title), figure.name) for figure in self.figures]
        parts += [f"## {title}\n\n![{title}]({name}.svg)\n" for title, name in titles]
        if self.differences:
            parts.append(
                "## What differs from the paper\n\n" + "".join(f"- {escaped(each)}\n" for each in self.differences)
            )
        parts.append(_steps(head))
        return "\n".join(parts)


def _ran(head: Mapping[str, Any]) -> str:
    steps = head["steps"]
    done = sum(step["seconds"] is not None for step in steps)
    size = "quick" if head["quick"] else "full"
    took = sum(step["seconds"] or 0.0 for step in steps)
    state = (
        "all steps done" if done == len(steps) else f"{done} of {len(steps)} steps done, the others are missing below"
    )
    return f"A {size} run with seed {head['seed']}: {state}; {took / 60:.1f} minutes of work.\n"


def _steps(head: Mapping[str, Any]) -> str:
    rows = [
        (step["name"], "not run" if step["seconds"] is None else f"{step['seconds']:.1f}") for step in head["steps"]
    ]
    versions = ", ".join(f"{name} {number}" for name, number in head["versions"].items())
    return f"## What was run\n\n{_grid(('step', 'seconds'), rows)}\n\n{escaped(versions)}\n"


def _grid(columns: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    lines = [list(columns), ["---"] * len(columns), *([_shown(cell) for cell in cells] for cells in rows)]
    return "\n".join(row(line) for line in lines)


def _shown(cell: Cell) -> str:
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return "-"
    return f"{cell:.2f}" if isinstance(cell, float) else str(cell)
