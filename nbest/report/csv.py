"""CSV: numbers with all their digits, texts that no spreadsheet takes for a formula."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence

from nbest.report.page import Cell, Figure, Table
from nbest.report.texts import one_line

_FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠")  # noqa: RUF001


def escaped(text: str) -> str:
    """Text on one line, with an apostrophe before what a spreadsheet would compute."""
    line = one_line(text)
    return f"'{line}" if line.lstrip().startswith(_FORMULA) and not _is_number(line) else line


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text)) and "_" not in text
    except ValueError:
        return False


def _value(cell: Cell) -> str:
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return ""
    return escaped(cell) if isinstance(cell, str) else str(cell)


class CSV:
    """The tables of a page, and the numbers of its figures; each after its caption, sections after their titles."""

    suffix = ".csv"

    def heading(self, text: str, level: int) -> str:
        """A line of its own."""
        return _lines([[escaped(text)]])

    def paragraph(self, text: str) -> str:
        """Left out."""
        return ""

    def items(self, texts: Sequence[str]) -> str:
        """Left out."""
        return ""

    def table(self, table: Table) -> str:
        """Names of columns, then the values."""
        caption = [[escaped(table.caption)]] if table.caption else []
        heads = [escaped(column.head) for column in table.heads]
        return _lines([*caption, heads, *([_value(cell) for cell in row] for row in table.rows)])

    def figure(self, figure: Figure) -> str:
        """The numbers that it shows."""
        return self.table(figure.table()) if figure.rows else ""

    def document(self, blocks: Sequence[str]) -> str:
        """Blank lines between the tables."""
        return "\n".join(blocks)


def _lines(rows: Sequence[Sequence[str]]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()
