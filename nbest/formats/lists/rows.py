"""One hypothesis a row: CSV and TSV with a header, and JSON lines (or a list) of objects.

id,text,reference,am,lm
u1,a house,a house,-12.5,-3
u1,a mouse,a house,-12,-4

Rows of a segment may stand anywhere. Every column of numbers that is nothing else is a feature.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from nbest.base.errors import FormatError
from nbest.base.types import Floats, Ints
from nbest.corpus import NBest
from nbest.formats.lists.base import Format, head_lines
from nbest.formats.lists.builder import Builder
from nbest.formats.lists.jsonl import check_keys, numbers_of
from nbest.formats.lists.rows_writer import write_csv
from nbest.formats.scores import IDS, TEXTS, text_column
from nbest.formats.tabular import CellTable, mark_of, read_table

_SOURCES, _GROUPS = ("source", "src"), ("group", "doc")
_REFERENCE = re.compile(r"(ref|reference)s?_?[0-9]*").fullmatch
_OWN = ("id", "text", "source", "reference", "references", "group", "gain", "answer", "index")


def read_rows(
    path: str | Path,
    *,
    data: bytes | None = None,
    id: str | None = None,
    text: str | None = None,
    gain: str | None = None,
    references: Sequence[str] | None = None,
    group: str | None = None,
    features: Sequence[str] | None = None,
) -> NBest:
    """Read a table with one hypothesis a row. The options name columns that are called otherwise than here:

    `id` of the segment (id, segment, segment_id, seg_id, utt or utt_id), `text` (text, hypothesis, hyp or candidate),
    `references` (reference, references, ref; ref_1, ref_2, ... for several), `group` (group or doc), `gain`, what a
    hypothesis is worth (gain: a column score is a feature unless this names it). `source` (or src), `answer` and
    `index`, the place in the list, have these names. All other columns of numbers are features, or those that
    `features` names.
    """
    named = {"id": id, "text": text, "gain": gain, "group": group}
    return lists_of(read_table(path, data), **named, references=references, features=features)


def lists_of(
    table: CellTable,
    *,
    id: str | None = None,
    text: str | None = None,
    gain: str | None = None,
    references: Sequence[str] | None = None,
    group: str | None = None,
    features: Sequence[str] | None = None,
) -> NBest:
    """The lists of a table, with the options of `read_rows`."""
    several = [references] if isinstance(references, str) else references
    names = {"id": id, "text": text, "gain": gain, "group": group}
    named = {role: None if name is None else str(name) for role, name in names.items()}
    columns = _Columns.of(table, named, several)
    if not len(table):
        raise FormatError(table.path, None, "no hypotheses in it; expected a row for each")
    return _lists(table, columns, columns.features(table, features))


@dataclass(frozen=True)
class _Columns:
    """Which column of a table holds what; None where there is none."""

    id: str
    text: str | None
    gain: str | None
    group: str | None
    source: str | None
    answer: str | None
    index: str | None
    references: tuple[str, ...]

    @classmethod
    def of(cls, table: CellTable, named: dict[str, str | None], references: Sequence[str] | None) -> _Columns:
        for name in (*named.values(), *(references or ())):
            if name is not None:
                table.column(name)  # complains where it is not there
        own_id = named["id"] or table.first_of(*IDS)
        if own_id is None:
            hint = "name it with id=COLUMN (--option id=COLUMN)"
            has = f"the columns are {', '.join(table.names)}"
            raise FormatError(table.path, None, f"no column holds the ids of segments ({IDS[0]}): {has}; {hint}")
        own = [name for name in table.names if _REFERENCE(name)] if references is None else list(references)
        return cls(
            id=own_id,
            text=named["text"] or text_column(table),
            gain=named["gain"] or table.first_of("gain"),
            group=named["group"] or table.first_of(*_GROUPS),
            source=table.first_of(*_SOURCES),
            answer=table.first_of("answer"),
            index=table.first_of("index"),
            references=tuple(own),
        )

    def features(self, table: CellTable, wanted: Sequence[str] | None) -> tuple[str, ...]:
        """The names of the features."""
        own = {*(getattr(self, role) for role in self.__dataclass_fields__ if role != "references"), *self.references}
        if wanted is not None:
            return (wanted,) if isinstance(wanted, str) else tuple(map(str, wanted))
        left = [name for name in table.names if name not in own]
        found = tuple(name for name in left if table.is_numeric(name))
        known = tuple(role for role in _OWN if getattr(self, role, None) in (None, role))
        check_keys(table.path, None, dict.fromkeys(name for name in left if name not in (*found, "features")), known)
        return found


def _lists(table: CellTable, columns: _Columns, names: tuple[str, ...]) -> NBest:
    features = np.stack([_complete(table, name) for name in names], axis=1) if names else np.empty((len(table), 0))
    gains = None if columns.gain is None else _complete(table, columns.gain)
    texts = None if columns.text is None else _texts(table, columns.text)
    answers = [None] * len(table) if columns.answer is None else table.column(columns.answer)
    ids = table.strings(columns.id)
    if "" in ids:
        table.complain(ids.index(""), f"{columns.id!r} is empty")
    builder, segments, more = Builder(table.path), _Segments(table, columns), _Nested(table)
    order = _order(table, columns, ids)
    for row in order.tolist():
        line, name = table.lines[row], ids[row]
        segments.add(row, name)
        builder.segment(name, line=line)
        own, sparse = more.of(row)
        builder.hypothesis(
            name,
            None if texts is None else texts[row],
            dict(zip(names, features[row].tolist(), strict=True)) | own,
            line,
            sparse,
            gain=None if gains is None else float(gains[row]),
            answer=None if answers[row] is None else str(answers[row]),
        )
    segments.tell(builder)
    corpus = builder.build()
    if columns.index is None:
        return corpus
    rows = order if corpus.positions is None else order[corpus.positions]
    return replace(corpus, positions=None if (np.diff(rows) == 1).all() else rows)


def _complete(table: CellTable, name: str) -> Floats:
    """[R] a column of numbers, none of which is missing."""
    values = table.numbers(name)
    empty = np.isnan(values)
    if empty.any():
        hint = "every hypothesis needs it; take other features with features=NAME,NAME"
        table.complain(int(np.argmax(empty)), f"feature {name!r} is missing; {hint}")
    return values


def _texts(table: CellTable, name: str) -> list[str]:
    cells = table.column(name)
    if None in cells:
        table.complain(list(cells).index(None), f"{name!r} is missing")
    return table.strings(name)


def _order(table: CellTable, columns: _Columns, ids: list[str]) -> Ints:
    """The rows as they are, or those of each segment by their index."""
    if columns.index is None:
        return np.arange(len(table))
    places = {name: i for i, name in enumerate(dict.fromkeys(ids))}
    return np.lexsort((_complete(table, columns.index), np.array([places[name] for name in ids])))


@dataclass
class _Segments:
    """What rows say of their segments: all the same, or nothing."""

    table: CellTable
    columns: _Columns
    known: dict[str, dict[str, tuple[str, int]]] = field(default_factory=dict)  # by segment and column: text and row
    lists: dict[str, Sequence[str]] = field(default_factory=dict)  # references that are lists

    def __post_init__(self) -> None:
        given = (self.columns.source, self.columns.group, *self.columns.references)
        self._cells = {name: self.table.column(name) for name in given if name is not None}

    def add(self, row: int, segment: str) -> None:
        """Those of a row."""
        own = self.known.setdefault(segment, {})
        for name, cells in self._cells.items():
            cell = cells[row]
            if cell is None:
                continue
            if isinstance(cell, list) and name in self.columns.references:
                self._add_list(row, segment, cell)
                continue
            value = self.table.text_of(row, name)
            before = own.get(name)
            if before is None or before[0] == "":  # an empty cell says nothing
                own[name] = value, row
            elif value not in ("", before[0]):
                self._differs(row, name, before[1])

    def _add_list(self, row: int, segment: str, cell: list[Any]) -> None:
        if not all(isinstance(each, str) for each in cell):
            self.table.complain(row, "references must be strings")
        if self.lists.setdefault(segment, cell) != cell:
            self.table.complain(row, "references differ from those of the segment's rows before")

    def _differs(self, row: int, name: str, before: int) -> None:
        what = f"{name!r} differs from that of line {self.table.lines[before]}, of the same segment"
        self.table.complain(row, what)

    def tell(self, builder: Builder) -> None:
        """Give it to the builder."""
        for segment, own in self.known.items():
            values = {name: value for name, (value, _) in own.items()}
            found = [values[name] for name in self.columns.references if name in values]
            references = [*found[:1], *filter(None, found[1:]), *self.lists.get(segment, ())]
            source = None if self.columns.source is None else values.get(self.columns.source)
            group = None if self.columns.group is None else values.get(self.columns.group) or None
            builder.segment(segment, references, source, group=group)


class _Nested:
    """Features in objects of their own, as in the hypotheses of `jsonl`."""

    def __init__(self, table: CellTable) -> None:
        self.table = table
        self.cells = {name: table.column(name) for name in ("features", "sparse") if name in table.names}

    def of(self, row: int) -> tuple[dict[str, float], dict[str, float]]:
        """Dense and sparse ones of a row."""
        found = {}
        for name, cells in self.cells.items():
            cell, line = cells[row], self.table.lines[row]
            found[name] = numbers_of(self.table.path, line, name, cell) if isinstance(cell, dict) else {}
        return found.get("features", {}), found.get("sparse", {})


def _names_of_header(head: bytes) -> list[str]:
    line = next(iter(head_lines(head)), "")
    mark = mark_of(line)
    return [cell.strip().strip('"') for cell in line.split(mark)] if mark else []


def _sniff_csv(path: Path, head: bytes) -> bool:
    names = _names_of_header(head)
    return len(set(names)) == len(names) > 1 and bool(set(names) & set(IDS))


def _sniff_json(path: Path, head: bytes) -> bool:
    start = head.decode("utf-8-sig", "replace").lstrip().removeprefix("[").lstrip()
    try:
        first, _ = json.JSONDecoder().raw_decode(start)
    except (ValueError, RecursionError):
        return False
    return (
        isinstance(first, dict)
        and "hypotheses" not in first
        and bool(first.keys() & set(IDS) and first.keys() & set(TEXTS))
    )


_KEEPS = frozenset({"ids", "features", "references", "sources", "groups", "gains", "answers", "ragged"})

CSV_FORMAT = Format(
    name="csv",
    read=read_rows,
    write=write_csv,
    sniff=_sniff_csv,
    suffixes=(".csv",),
    read_suffixes=(".tsv",),
    summary="CSV or TSV with a header, one hypothesis a row",
    keeps=_KEEPS,
    example={
        "dev.csv": "id,text,reference,source,doc,gain,am,lm,right\n"
        'u1,"a house, ""old""",a house,Haus,d1,1,-12.5,-3,True\n'
        'u2,"two\nlines",x,,d1,0,-1,.5,False\nu1,größer,,Haus,d1,0.5,-12,-4e0,False\n'
    },
)
FORMAT = Format(
    name="rows",
    read=read_rows,
    write=None,
    sniff=_sniff_json,
    suffixes=(".rows.jsonl",),
    summary="JSON lines, one hypothesis each",
    example={
        "dev.rows.jsonl": '{"id": "u1", "text": "a house", "references": ["a house", "x"], "am": -12, "right": true}\n'
        '{"id": 7, "text": "größer", "references": ["y"], "am": -1, "right": false, "note": null}\n'
        '{"id": "u1", "text": "", "references": ["a house", "x"], "am": 0.5e-1, "right": false}\n'
    },
)
