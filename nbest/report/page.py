"""What a report is made of: tables of values, figures, lists of sentences, and pages that hold them.

They say what is shown; `nbest.report.renderers` says how. Texts are plain: every renderer escapes them by itself.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nbest.base.errors import ParameterError

if TYPE_CHECKING:
    from nbest.report.picture import Picture

Cell = str | float | int | None
"""Text, a number, or nothing (None and NaN)."""
SCORE = ".2f"
"""Format of a metric."""


def telling(values: Iterable[float | None], least: int = 2, most: int = 6) -> str:
    """The format with as many decimals, at least and at most so many, that values which differ look different."""
    known = {format(value, f".{most}f") for value in values if value is not None and math.isfinite(value)}
    wanted = (n for n in range(least, most) if len({format(float(value), f".{n}f") for value in known}) == len(known))
    return f".{next(wanted, most)}f"


def probability(p: float) -> str:
    """A p-value as it is shown: four decimals; the least one of 10,000 samples (1 of 10,001), and below, is a bound."""
    return f"{p:.4f}" if p > 0.0001 else "≤ 0.0001"


def _unsigned(text: str) -> str:
    """Without the sign of a number that is shown as 0."""
    return text[1:] if re.fullmatch(r"[+-]0(\.0*)?", text) else text


@dataclass(frozen=True)
class Column:
    """The head of a column, and how it shows its values.

    `form` is the format of numbers with a fraction (text or a function), `whole` that of whole numbers. `align` is left
    or right; by default the first column of a table is to the left and others are to the right, but Markdown leaves it
    to what shows it.
    """

    name: str
    form: str | Callable[[float], str] = SCORE
    unit: str = ""
    whole: str = ""
    align: str | None = None

    @property
    def head(self) -> str:
        """The name, and the unit in brackets."""
        return f"{self.name} ({self.unit})" if self.unit else self.name

    def shown(self, cell: Cell, missing: str) -> str:
        """A value as text."""
        if cell is None or (isinstance(cell, float) and math.isnan(cell)):
            return missing
        if not isinstance(cell, float):
            return format(cell, self.whole) if isinstance(cell, int) else cell
        return _unsigned(self.form(cell) if callable(self.form) else format(cell, self.form))


@dataclass(frozen=True)
class Table:
    """Rows of values under named columns; `missing` is shown where there is none."""

    columns: Sequence[Column | str]
    rows: Sequence[Sequence[Cell]]
    caption: str = ""
    notes: Sequence[str] = ()
    missing: str = "-"

    @property
    def heads(self) -> list[Column]:
        """The columns, those that are only named with what is usual."""
        return [Column(each) if isinstance(each, str) else each for each in self.columns]

    def texts(self) -> list[list[str]]:
        """The names of the columns, then each row, as they are shown."""
        heads = self.heads
        shown = ([c.shown(cell, self.missing) for c, cell in zip(heads, row, strict=True)] for row in self.rows)
        return [[column.head for column in heads], *shown]

    def render(self, kind: str = "markdown") -> str:
        """The table alone in one of the forms of `RENDERERS`."""
        from nbest.report.renderers import RENDERERS

        return RENDERERS.look_up(kind).table(self)

    def content(self) -> dict[str, Any]:
        """The columns and the values for JSON."""
        return {"columns": [column.head for column in self.heads], "rows": [list(row) for row in self.rows]}


@dataclass(frozen=True)
class Figure:
    """A picture, the name of its file (without an ending), a title, and the numbers that it shows."""

    name: str
    title: str
    picture: Picture
    rows: Sequence[Mapping[str, Any]] = ()

    def __post_init__(self) -> None:
        if not re.fullmatch(r"\w[\w.-]*", self.name):
            raise ParameterError(f"'name' of a Figure must be letters, digits, '.', '-' and '_', got {self.name!r}")

    @property
    def file(self) -> str:
        """Where pages find it."""
        return f"{self.name}.svg"

    def table(self) -> Table:
        """The numbers, one column a key."""
        keys = list(dict.fromkeys(key for row in self.rows for key in row))
        return Table(keys, [[row.get(key) for key in keys] for row in self.rows], self.title)


@dataclass(frozen=True)
class Items:
    """Sentences in a list."""

    texts: Sequence[str]


@dataclass(frozen=True)
class Live:
    """What the script of a web page makes of data: `kind` names it. Renderers that have no script show the text."""

    kind: str
    data: Mapping[str, Any]
    text: str


@dataclass(frozen=True)
class Page:
    """A title and what stands below it: paragraphs (text), tables, figures, lists, what a script makes, and pages,
    which are sections."""

    title: str
    parts: Sequence[str | Table | Figure | Items | Live | Page] = ()

    def figures(self) -> list[Figure]:
        """All figures, those of sections too."""
        inner = [part.figures() if isinstance(part, Page) else [part] for part in self.parts]
        return [part for parts in inner for part in parts if isinstance(part, Figure)]

    def with_figures(self, before: str) -> Page:
        """The page with names of figures that begin so: pages of one folder do not take each other's."""
        return Page(self.title, [_named(part, before) for part in self.parts])

    def render(self, kind: str = "markdown") -> str:
        """The text of the page in one of the forms of `RENDERERS`."""
        from nbest.report.renderers import RENDERERS, render

        return render(self, RENDERERS.look_up(kind))

    def write(self, folder: str | Path, name: str = "report", kinds: Sequence[str] = ("markdown",)) -> list[Path]:
        """Write the figures, then the page in each of the forms, each beside its place and renamed; their paths."""
        from nbest.base.files import write_text
        from nbest.report.renderers import RENDERERS

        texts = {figure.file: figure.picture.svg() for figure in self.figures()}
        texts |= {f"{name}{RENDERERS.look_up(kind).suffix}": self.render(kind) for kind in kinds}
        for file, text in texts.items():  # all are ready before any is written
            write_text(Path(folder) / file, text)
        return [Path(folder) / file for file in texts]


def _named(part: Any, before: str) -> Any:
    """A part of a page, its figures with names that begin so."""
    if isinstance(part, Figure):
        return replace(part, name=f"{before}{part.name}")
    return part.with_figures(before) if isinstance(part, Page) else part
