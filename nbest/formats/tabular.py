"""Tables in files, column by column, every cell with its line: CSV and TSV with a header, JSON lines (or a list) of
objects, Parquet and Arrow."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from operator import methodcaller
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from nbest.base.errors import FormatError, nearest, shown
from nbest.base.files import decode, read_bytes, split_lines
from nbest.base.types import Floats
from nbest.formats.json_text import entries, kind, loads, need
from nbest.formats.lists.base import is_number

_PLAIN = re.compile(r"[0-9eE+.\n-]*").fullmatch  # of these characters, `float` takes what `number` does
_MARKS = ("\t", ",", ";")
_TRUTH = {"true": 1.0, "false": 0.0, "True": 1.0, "False": 0.0, "TRUE": 1.0, "FALSE": 0.0}
_NOT_FINITE = ("inf", "infinity", "nan", "na", "n/a")
"""Words in columns of numbers, where they are refused."""
_LOOK = 1000
"""Cells that are looked at to tell numbers from texts."""
_DECIMAL_COMMA = re.compile(r"[+-]?[0-9]+,[0-9]+(?:[eE][+-]?[0-9]+)?").fullmatch
BINARY = (b"PAR1", b"ARROW1")
"""How Parquet and Arrow files begin."""

Cells = Sequence[Any]


@dataclass(frozen=True)
class CellTable:
    """Columns of cells: strings where the file is text, else what it holds; "" and None are empty cells."""

    path: str
    names: tuple[str, ...]  # C
    columns: tuple[Cells, ...]  # C of R cells
    lines: Sequence[int]  # R; numbers of rows, from 1, where there are no lines
    rows_only: bool = False  # there are no lines
    comma: bool = False  # numbers have a decimal comma

    def __len__(self) -> int:
        return len(self.lines)

    def complain(self, row: int, what: str) -> NoReturn:
        """Of one row."""
        if self.rows_only:
            raise FormatError(self.path, None, f"row {self.lines[row]}: {what}")
        raise FormatError(self.path, int(self.lines[row]), what)

    def column(self, name: str) -> Cells:
        """The cells of a column, or a `FormatError` that names those that are there."""
        if name not in self.names:
            known = f"it has {', '.join(self.names) or 'none'}{nearest(self.names, name)}"
            raise FormatError(self.path, None, f"there is no column {name!r}; {known}")
        return self.columns[self.names.index(name)]

    def first_of(self, *names: str) -> str | None:
        """The first of these names that is one of a column."""
        return next((name for name in names if name in self.names), None)

    def is_numeric(self, name: str) -> bool:
        """Whether a column holds numbers or booleans: the first cell that is not empty does, or else most of the
        first ones do, so that what is none of them is an error and no column gets lost."""
        cells = list(islice((self._pointed(cell) for cell in self.column(name) if not _is_empty(cell)), _LOOK))
        if not cells or (_is_of_number(cells[0]) and str(cells[0]).lower().lstrip("+-") not in _NOT_FINITE):
            return bool(cells)
        numbers = sum(map(_is_of_number, cells))
        return 2 * numbers >= len(cells) and any(is_number(str(cell)) for cell in cells)

    def _pointed(self, cell: Any) -> Any:
        """A cell with a decimal point for its comma, where numbers have one."""
        return cell.replace(",", ".") if self.comma and isinstance(cell, str) and _DECIMAL_COMMA(cell) else cell

    def numbers(self, name: str) -> Floats:
        """[R] the numbers of a column, NaN where a cell is empty; anything else is an error."""
        cells = [self._pointed(cell) for cell in self.column(name)] if self.comma else self.column(name)
        if all(isinstance(cell, str) for cell in cells[:1]) and _PLAIN("\n".join(map(str, cells))):
            try:
                values = np.fromiter(map(float, cells), np.float64, len(cells))
            except ValueError:
                values = np.full(len(cells), np.nan)
            if np.isfinite(values).all():
                return values
        return np.array([self._number(row, name, cell) for row, cell in enumerate(cells)], np.float64)

    def _number(self, row: int, name: str, cell: Any) -> float:
        if _is_empty(cell):
            return math.nan
        if isinstance(cell, str) and cell in _TRUTH:
            return _TRUTH[cell]
        value = math.nan
        if type(cell) in (int, float, bool) or (isinstance(cell, str) and is_number(cell)):
            value = float(cell)
        if not math.isfinite(value):
            self.complain(row, f"{name!r} must be a finite number, got {shown(cell)}")
        return value

    def strings(self, name: str) -> list[str]:
        """R texts of a column; whole numbers are turned into texts, an empty cell is one."""
        cells = self.column(name)
        if set(map(type, cells)) <= {str}:
            return list(cells)
        return [self.text_of(row, name) for row in range(len(self))]

    def text_of(self, row: int, name: str) -> str:
        """The text of one cell."""
        cell = self.column(name)[row]
        if cell is None:
            return ""
        if type(cell) not in (str, int):
            self.complain(row, f"{name!r} must be a string or an integer, got {kind(cell)}: {shown(cell)}")
        return str(cell)


def _is_empty(cell: Any) -> bool:
    return cell is None or (isinstance(cell, str) and cell == "")


def _is_of_number(cell: Any) -> bool:
    if not isinstance(cell, str):
        return type(cell) in (int, float, bool)
    return cell in _TRUTH or is_number(cell) or cell.lower().lstrip("+-") in _NOT_FINITE


def read_table(path: str | Path, data: bytes | None = None, *, header: bool = True) -> CellTable:
    """The table of a file; without a `header`, columns of CSV and TSV are called 0, 1, ..."""
    data = read_bytes(path) if data is None else data
    if data.startswith(BINARY):
        return _arrow(path, data)
    text = decode(path, data)
    start = text.lstrip()[:1]
    if not start:
        raise FormatError(path, None, "the file is empty; expected a table with a header, or JSON lines")
    if start in "{[":
        return of_objects(path, _objects(path, text, start))
    comma = mark_of(text.lstrip().partition("\n")[0]) == ";"  # where a comma is free to be a decimal one
    return _of_cells(path, *_cells(path, text), header=header, comma=comma)


# JSON -------------------------------------------------------------------------------------------------------------


def _objects(path: str | Path, text: str, start: str) -> Iterator[tuple[int, dict[str, Any]]]:
    if start == "[":
        for line, _, value in entries(path, text, "["):
            yield line, need(path, line, "a row", value, dict)
        return
    for line, row in enumerate(_without_end(split_lines(text)), 1):
        if not row.strip():
            raise FormatError(path, line, "a blank line between rows; expected one JSON object a line")
        yield line, need(path, line, "a row", loads(path, line, row), dict)


def of_objects(
    path: str | Path, objects: Iterable[tuple[int, dict[str, Any]]], *, rows_only: bool = False
) -> CellTable:
    """The table of objects, one a row, with the line (or number) of each."""
    lines, rows = [], []
    for line, row in objects:
        lines.append(line)
        rows.append(row)
    if not rows:
        raise FormatError(path, None, "no rows in it; expected one JSON object a row")
    names = tuple(dict.fromkeys(name for row in rows for name in row))
    return CellTable(str(path), names, tuple([row.get(name) for row in rows] for name in names), lines, rows_only)


# CSV and TSV ------------------------------------------------------------------------------------------------------


def _without_end(lines: list[str]) -> list[str]:
    size = len(lines)
    while size and not lines[size - 1].strip():
        size -= 1
    return lines[:size]


def _cells(path: str | Path, text: str) -> tuple[int, list[str], Sequence[int]]:
    """How many fields a row has; all fields, the header's too, row after row; and the line that each row begins on.

    Fields in quotes are what CSV says, line breaks included. In TSV, quotes stand for themselves unless they are around
    a whole field; only where lines of it have different numbers of fields, breaks inside of quotes are looked for.
    Where blanks stand after the commas of the header, they do not count.
    """
    lines = _without_end(split_lines(text))
    mark = mark_of(lines[0])
    width, flat, starts = _fields(path, text, lines, mark)
    if mark == "," and ", " in lines[0]:
        flat = [cell.strip(" ") for cell in flat]
    return width, flat, starts


def _fields(path: str | Path, text: str, lines: list[str], mark: str) -> tuple[int, list[str], Sequence[int]]:
    if '"' in text and mark != "\t":
        return _quoted(path, lines, mark or ",")
    counts = list(map(methodcaller("count", mark), lines)) if mark else [0] * len(lines)
    if counts.count(counts[0]) < len(counts):
        if '"' in text:
            return _quoted(path, lines, mark)
        at = next(at for at, count in enumerate(counts) if count != counts[0])
        _complain_of_fields(path, at + 1, counts[0] + 1, counts[at] + 1)
    flat = mark.join(lines).split(mark) if mark else lines
    if '"' in text:
        flat = [_unquoted(cell) if cell.startswith('"') else cell for cell in flat]
    return counts[0] + 1, flat, range(1, len(lines) + 1)


def _complain_of_fields(path: str | Path, line: int, wanted: int, got: int) -> NoReturn:
    raise FormatError(path, line, f"expected {wanted} fields, as the first line has, got {got}")


def mark_of(header: str) -> str:
    """What stands between the fields of a line: the first of tab, comma and semicolon that is there; else ""."""
    return next((mark for mark in _MARKS if mark in header), "")


def _unquoted(cell: str) -> str:
    if len(cell) < 2 or cell[0] != '"' or cell[-1] != '"' or '"' in cell[1:-1].replace('""', ""):
        return cell
    return cell[1:-1].replace('""', '"')


def _quoted(path: str | Path, lines: list[str], mark: str) -> tuple[int, list[str], list[int]]:
    width, flat, starts, at = 0, list[str](), list[int](), 1
    reader = csv.reader((f"{line}\n" for line in lines), delimiter=mark, strict=True, skipinitialspace=", " in lines[0])
    with _long_fields():
        try:
            for row in reader:
                width = width or len(row)
                if len(row) != width:
                    _complain_of_fields(path, at, width, len(row))
                flat += row
                starts.append(at)
                at = reader.line_num + 1
        except csv.Error as error:
            raise FormatError(path, at, f"the quotes of this row are not those of a table: {error}") from None
    return width, flat, starts


@contextmanager
def _long_fields() -> Iterator[None]:
    """Fields of any length: Python's reader of CSV takes 128 KiB."""
    before = csv.field_size_limit(2**31 - 1)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _of_cells(
    path: str | Path, width: int, flat: list[str], lines: Sequence[int], *, header: bool, comma: bool
) -> CellTable:
    names = [name.strip() for name in flat[:width]] if header else [str(at) for at in range(width)]
    twice = next((name for at, name in enumerate(names) if name and name in names[:at]), None)
    if twice is not None:
        raise FormatError(path, lines[0], f"the column {twice!r} is named twice")
    named = [at for at, name in enumerate(names) if name]  # pandas leaves the name of its index out
    return CellTable(
        str(path),
        tuple(names[at] for at in named),
        tuple(flat[at + width * header :: width] for at in named),
        lines[1:] if header else lines,
        comma=comma,
    )


# Parquet and Arrow ------------------------------------------------------------------------------------------------


def _arrow(path: str | Path, data: bytes) -> CellTable:
    from nbest.formats.lists.arrow_kinds import complaints, need_arrow

    pa = need_arrow("parquet")
    with complaints(path):
        source = pa.BufferReader(data)
        if data.startswith(b"PAR1"):
            from pyarrow import parquet

            table = parquet.read_table(source)
        else:
            table = pa.ipc.open_file(source).read_all()
        table.validate(full=True)
        columns = tuple(_cells_of(column, pa) for column in table.columns)
    names = tuple(table.column_names)
    if len(set(names)) < len(names):
        raise FormatError(path, None, "two columns have the same name")
    return CellTable(str(path), names, columns, range(1, table.num_rows + 1), rows_only=True)


def _cells_of(column: Any, pa: Any) -> list[Any]:
    cells = column.to_pylist()
    if not pa.types.is_map(column.type):
        return cells
    return [None if cell is None else dict(cell) for cell in cells]
