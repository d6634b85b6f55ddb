"""The terminal: tables as wide as it is, plain text where the output is a file or a pipe."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from typing import IO, Any

from nbest.base.errors import shortened, visible
from nbest.report.page import Figure, Table

_WIDTH = 200  # of a table that is no terminal's
_LONGEST = 200  # characters of a cell


def show(table: Table, stream: IO[str] | None = None) -> None:
    """Print a table, on stdout by default."""
    stream = sys.stdout if stream is None else stream
    _print(table, stream, None if stream.isatty() else _WIDTH)


def _print(table: Table, stream: IO[str], width: int | None) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(file=stream, width=width, highlight=False)
    if table.caption:
        console.print(Text(_line(table.caption)), style="table.title", soft_wrap=True)
    console.print(_grid(table))
    stream.write("".join(f"{_line_of_prose(note)}\n" for note in table.notes))


def _grid(table: Table) -> Any:
    """The table for rich: the first column may wrap, others are as wide as they need."""
    from rich.table import Table as Grid
    from rich.text import Text

    grid = Grid(box=None, pad_edge=False)
    for at, (column, text) in enumerate(zip(table.heads, table.texts()[0], strict=True)):
        side: Any = column.align or ("right" if at else "left")
        grid.add_column(Text(_line(text)), justify=side, no_wrap=at > 0)
    for row in table.texts()[1:]:
        grid.add_row(*(Text(_line(cell)) for cell in row))
    return grid


def _line(text: str) -> str:
    """A name or value: on one line, and not too long."""
    return visible(shortened(text, _LONGEST)).replace("\n", "\\n").replace("\t", " ")


class Terminal:
    """Plain text, as in a file or a pipe."""

    suffix = ".txt"

    def heading(self, text: str, level: int) -> str:
        """A title, underlined if it is that of the page."""
        return _line(text) + ("\n" + "=" * len(_line(text)) if level == 1 else "")

    def paragraph(self, text: str) -> str:
        """One line."""
        return _line_of_prose(text)

    def items(self, texts: Sequence[str]) -> str:
        """One line each."""
        return "\n".join(f"- {_line_of_prose(text)}" for text in texts)

    def table(self, table: Table) -> str:
        """As `show` prints it."""
        out = io.StringIO()
        _print(table, out, _WIDTH)
        return out.getvalue().rstrip("\n")

    def figure(self, figure: Figure) -> str:
        """Its title and its file."""
        return f"{_line(figure.title)}: {_line(figure.file)}"

    def document(self, blocks: Sequence[str]) -> str:
        """Blank lines between all parts."""
        return "\n\n".join(blocks) + "\n"


def _line_of_prose(text: str) -> str:
    return visible(" ".join(text.splitlines()).replace("\t", " "))
