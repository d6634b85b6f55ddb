"""Tables of scores that another model gave to hypotheses or segments: numbers in columns, and what they belong to."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NoReturn

import numpy as np

from nbest.base.errors import FormatError
from nbest.base.files import read_bytes
from nbest.base.types import Floats, Ints
from nbest.formats.column_names import IDS, INDICES, NO_SCORES, SYSTEMS, TEXTS
from nbest.formats.lists.base import is_number
from nbest.formats.segment_scores import SUFFIX, read_segment_scores
from nbest.formats.tabular import CellTable, read_table


@dataclass(frozen=True)
class ScoreTable:
    """R rows of C scores, and what each row belongs to: the id of a segment, the number or text of a hypothesis."""

    table: CellTable
    names: tuple[str, ...]  # C
    values: Floats  # [R, C], NaN where a cell is empty
    ids: list[str] | None = None  # R
    indices: Ints | None = None  # [R], as in the file
    texts: list[str] | None = None  # R
    systems: list[str] | None = None  # R
    order_of_names: bool = False  # the numbers are those of systems in the order of their names

    def __len__(self) -> int:
        return len(self.values)

    @property
    def path(self) -> str:
        """The file."""
        return self.table.path

    @property
    def lines(self) -> Sequence[int]:
        """R lines of the file (rows from 1 where it has no lines)."""
        return self.table.lines

    def only(self, names: Sequence[str]) -> ScoreTable:
        """The same with these scores only."""
        return replace(self, names=tuple(names), values=self.values[:, [self.names.index(name) for name in names]])

    def refuse_ids(self, ids: Iterable[str]) -> None:
        """Complain of a column that holds these ids of segments, all or only such, where no column of ids is known."""
        known = set(ids)
        for name in self.table.names if self.ids is None and len(self.table.names) > 1 else ():
            cells = set(map(str, self.table.column(name)))
            if cells == known or (cells <= known and not self.table.is_numeric(name)):
                hint = f"name it (--id {name}; read_scores(path, id={name!r}) in Python), or say --by position"
                raise FormatError(self.path, None, f"the column {name!r} holds ids of segments; {hint}")

    def complain(self, row: int, what: str) -> NoReturn:
        """Of one row, with its line."""
        self.table.complain(row, what)


def read_scores(
    path: str | Path, columns: Sequence[str] | None = None, *, id: str | None = None, labels: bool = False
) -> ScoreTable:
    """Read a table of scores: CSV or TSV with a header, JSON lines, Parquet or Arrow; or one number a line.

    `columns` are the scores to take; without them all columns of numbers that are no key. `id` names the column with
    the ids of segments, where it is called otherwise than `IDS`. With `labels` there need not be any scores. A column
    of booleans is one of 0 and 1. Of lines `id TAB score` without a header the score, and the score of one number a
    line, is called by the name of the file. Segment scores of mt-metrics-eval (`NAME.seg.score`) are of segments with
    numbers, and of systems, which are hypotheses of these systems, or else in the order of their names.
    """
    data = read_bytes(path)
    table = _of_systems(path, data) or _without_header(path, data) or read_table(path, data)
    if not len(table):
        raise FormatError(path, None, "there are no rows in it; expected scores")
    if id is not None:
        table.column(id)  # complains where it is not there
    id_name = id or table.first_of(*IDS)
    text_name = text_column(table)
    index_name = _index_column(table, text_name)
    system_name = table.first_of(*SYSTEMS)
    keys = (id_name, index_name, text_name, system_name)
    scores = [name for name in table.names if name not in keys and table.is_numeric(name)]
    names = tuple(columns or [name for name in scores if name not in NO_SCORES] or scores)
    if not names and not labels:
        raise FormatError(path, None, f"no column of numbers in it; it has {', '.join(table.names)}")
    return ScoreTable(
        table,
        names,
        np.stack([table.numbers(name) for name in names], axis=1) if names else np.empty((len(table), 0)),
        ids=None if id_name is None else table.strings(id_name),
        indices=None if index_name is None else whole_numbers_of(table, index_name),
        texts=None if text_name is None else table.strings(text_name),
        systems=None if system_name is None else table.strings(system_name),
        order_of_names=str(path).endswith(SUFFIX),
    )


def text_column(table: CellTable) -> str | None:
    """The column that holds texts of hypotheses; `hyp` and `candidate` may hold numbers of them instead."""
    sure = ("text", "hypothesis")
    return next((n for n in TEXTS if n in table.names and (n in sure or not table.is_numeric(n))), None)


def _index_column(table: CellTable, text_name: str | None) -> str | None:
    """The column that holds numbers of hypotheses; a rank beside texts is a score like any other."""
    known = [name for name in INDICES if name in table.names and not (name == "rank" and text_name)]
    return next((name for name in known if name == "index" or table.is_numeric(name)), None)


def whole_numbers_of(table: CellTable, name: str) -> Ints:
    """[R] the numbers of hypotheses in a column."""
    values = table.numbers(name)
    wrong = ~(values == np.floor(values)) | (values < 0) | (values > 2**53)
    if wrong.any():
        row = int(np.argmax(wrong))
        table.complain(row, f"{name!r} must be a whole number, 0 or more, got {table.column(name)[row]!r}")
    return values.astype(np.int64)


def _without_header(path: str | Path, data: bytes) -> CellTable | None:
    """One number a line, or `id TAB number`, if the first line is one of them."""
    first = data.partition(b"\n")[0].decode("utf-8-sig", "replace").strip("\r ")
    cells = first.split("\t")
    if len(cells) > 2 or not is_number(cells[-1]):
        return None
    table = read_table(path, data, header=False)
    stripped = tuple(cell.strip() for cell in table.columns[-1])
    names = (*IDS[: len(cells) - 1], stem_of(path))
    return CellTable(table.path, names, (*table.columns[:-1], stripped), table.lines)


def _of_systems(path: str | Path, data: bytes) -> CellTable | None:
    """The scores of systems by the number of the segment, and of the system in the order of their names."""
    if not str(path).endswith(SUFFIX):
        return None
    known = read_segment_scores(path, data)
    systems = {name: k for k, name in enumerate(sorted(known))}
    rows = [(line, str(i), systems[name], value) for name in known for i, (line, value) in enumerate(known[name])]
    lines, ids, indices, values = zip(*sorted(rows), strict=True)
    names = (IDS[0], INDICES[0], SYSTEMS[0], Path(path).name.removesuffix(SUFFIX))
    known_as = [sorted(known)[k] for k in indices]
    return CellTable(str(path), names, (ids, indices, known_as, [None if math.isnan(v) else v for v in values]), lines)


def stem_of(path: str | Path) -> str:
    """The name of a file without suffixes."""
    return Path(path).name.split(".", 1)[0] or "score"
