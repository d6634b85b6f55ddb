"""The terminal: tables as wide as it is, plain text where the output is a file or a pipe."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Mapping, Sequence
from typing import IO, Any

from nbest.base.errors import shortened, visible
from nbest.report.lettering import told_apart
from nbest.report.page import Figure, Table

_WIDTH = 200  # of a table that is no terminal's
_LONGEST = 200  # characters of a cell
_FOLDED = 24  # columns from which a text may be folded
_GAP = 2  # columns between two
_NUMBER = re.compile(r"[-+\u2212]?[\d.,]+(e[-+]?\d+)?\s?%?")


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
    heads, *rows = _columns_told_apart(table)
    for number, block in enumerate(blocks(heads, rows, console.width)):
        stream.write("\n" if number else "")
        console.print(_grid(table, heads, rows, block))
    stream.write("".join(f"{_line_of_prose(note)}\n" for note in table.notes))


def _columns_told_apart(table: Table) -> list[list[str]]:
    """The texts of a table, too long ones shortened, but never so that two of a column look alike."""
    columns = [[_line(cell) for cell in column] for column in zip(*table.texts(), strict=True)]
    whole = list(zip(*table.texts(), strict=True))
    for at, (short, full) in enumerate(zip(columns, whole, strict=True)):
        if len(set(short)) < len(set(full)):
            columns[at] = [visible(each) for each in told_apart(full, lambda text: len(text) <= _LONGEST)]
    return [list(row) for row in zip(*columns, strict=True)]


def _grid(table: Table, heads: Sequence[str], rows: Sequence[Sequence[str]], block: Mapping[int, int]) -> Any:
    """Some columns of the table for rich, of the widths of the block: what is wider goes on in the next line."""
    from rich.table import Table as Grid
    from rich.text import Text

    grid = Grid(box=None, pad_edge=False)
    for at, width in block.items():
        side: Any = table.heads[at].align or ("right" if at else "left")
        grid.add_column(Text(heads[at]), justify=side, width=width, overflow="fold")
    for row in rows:
        grid.add_row(*(Text(row[at]) for at in block))
    return grid


def blocks(heads: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> list[dict[int, int]]:
    """The columns that stand side by side in a terminal, and their widths; several blocks where not all have room.

    Every block begins with the first column, which names the rows. Heads are folded between words if need be, then long
    texts anywhere; numbers are never folded.
    """
    from rich.cells import cell_len

    full = [max(map(cell_len, column)) for column in zip(heads, *rows, strict=True)]
    least = []
    for at, head in enumerate(heads):
        texts = [cell_len(row[at]) for row in rows] + [cell_len(word) for word in head.split()]
        numbers = [cell_len(row[at]) for row in rows if _NUMBER.fullmatch(row[at])]
        least.append(max(min(max(texts, default=0), _FOLDED), *numbers, 1))
    found: list[dict[int, int]] = []
    left = list(range(1, len(heads)))
    while left or not found:
        own = [0, left.pop(0)] if left else [0]
        while left and sum(least[at] + _GAP for at in (*own, left[0])) - _GAP <= width:
            own.append(left.pop(0))
        found.append(_widened(own, least, full, width))
    return found


def _widened(own: Sequence[int], least: Sequence[int], full: Sequence[int], width: int) -> dict[int, int]:
    """The widths of a block: all that is needed if there is room, else what is left goes to the first columns."""
    spare = max(0, width - sum(least[at] + _GAP for at in own) + _GAP)
    widths = {}
    for at in own:
        more = min(spare, full[at] - least[at])
        widths[at], spare = least[at] + more, spare - more
    return widths


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
