"""One hypothesis a row: CSV and TSV with a header, and JSON lines (or a list) of objects.

id,text,reference,am,lm
u1,a house,a house,-12.5,-3
u1,a mouse,a house,-12,-4

Rows of a segment may stand anywhere. Every column of numbers that is nothing else is a feature.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from nbest.base.errors import FormatError, FormatWarning
from nbest.base.types import Floats, Ints
from nbest.compute import segments
from nbest.corpus import NBest, Texts
from nbest.corpus.order import in_order
from nbest.formats.column_names import GROUPS, IDS, PLACES, REFERENCE, SOURCES, SYSTEMS, TEXTS
from nbest.formats.lists.base import Format, head_lines
from nbest.formats.lists.jsonl import check_keys, numbers_of
from nbest.formats.lists.rows_writer import write_csv
from nbest.formats.scores import whole_numbers_of
from nbest.formats.tabular import CellTable, mark_of, read_table

_OWN = ("id", "text", "source", "reference", "references", "group", "gain", "answer", "system", "index")


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

    `id` of the segment (id, segment, seg_id, utt, custom_id, ...), `text` (text, hypothesis, hyp or candidate),
    `references` (reference, references, ref; ref_1, ref_2, ... for several), `group` (group or doc), `gain`, what a
    hypothesis is worth (gain: a column score is a feature unless this names it). `source` (or src), `answer`, `system`,
    who made the hypothesis, and `index` (or sample, choice), the place in the list, have these names. All other columns
    of numbers are features, or those that `features` names.
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
    system: str | None
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
        own = [name for name in table.names if REFERENCE(name)] if references is None else list(references)
        return cls(
            id=own_id,
            text=named["text"] or table.first_of(*TEXTS),
            gain=named["gain"] or table.first_of("gain"),
            group=named["group"] or table.first_of(*GROUPS),
            source=table.first_of(*SOURCES),
            answer=table.first_of("answer"),
            system=_system_column(table),
            index=_place_column(table, own_id),
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
    dense = {name: _complete(table, name) for name in names} | _nested(table, "features", names)
    gains = None if columns.gain is None else _complete(table, columns.gain)
    texts = None if columns.text is None else _texts(table, columns.text)
    ids = table.strings(columns.id)
    if "" in ids:
        table.complain(ids.index(""), f"{columns.id!r} is empty")
    segment_names = in_order(dict.fromkeys(ids))
    places = {name: i for i, name in enumerate(segment_names)}
    owners = np.array([places[name] for name in ids], np.int64)
    place = np.arange(len(ids)) if columns.index is None else whole_numbers_of(table, columns.index)
    rows = np.lexsort((place, owners))
    _warn_of_gaps(table, columns.index, place[rows], segments.offsets_of(np.bincount(owners, minlength=len(places))))
    features = np.stack(list(dense.values()), axis=1) if dense else np.empty((len(ids), 0))
    sparse, sparse_names = _sparse(table, tuple(dense))
    of_segments = _Segments(table, columns, segment_names).read(owners)
    if texts is None and columns.answer is None and gains is None and not dense and not sparse_names:
        has = f"the columns are {', '.join(table.names)}"
        raise FormatError(
            table.path, None, f"no column holds texts ({TEXTS[0]}), answers or scores of hypotheses: {has}"
        )
    return NBest(
        offsets=segments.offsets_of(np.bincount(owners, minlength=len(places))),
        features=features[rows],
        feature_names=tuple(dense),
        ids=tuple(segment_names),
        texts=None if texts is None else Texts.of(texts).take(rows),
        gains=None if gains is None else gains[rows],
        answers=None if columns.answer is None else Texts.of(table.strings(columns.answer)).take(rows),
        systems=None if columns.system is None else Texts.of(table.strings(columns.system)).take(rows),
        sparse=None if sparse is None else sparse[rows],
        sparse_names=sparse_names,
        positions=None if (np.diff(rows) == 1).all() else rows,
        **of_segments,
    )


def _warn_of_gaps(table: CellTable, name: str | None, places: Ints, offsets: Ints) -> None:
    """Say where the place of a hypothesis in its list is not the number that the file has for it."""
    if name is None:
        return
    within = np.arange(len(places)) - offsets[:-1][segments.owners(offsets)]
    if not any((places - within == begin).all() for begin in (0, 1)):
        what = f"the numbers in {name!r} have gaps: hypotheses are numbered anew, from 0"
        warnings.warn(f"{table.path}: {what}; join scores to them by text or system", FormatWarning, stacklevel=2)


def _system_column(table: CellTable) -> str | None:
    """The column that says who made a hypothesis; `model` of numbers is a feature."""
    return next((n for n in SYSTEMS if n in table.names and (n == SYSTEMS[0] or not table.is_numeric(n))), None)


def _place_column(table: CellTable, id_name: str) -> str | None:
    """The column that says where a hypothesis stands in its list: whole numbers that differ within a segment."""
    for name in PLACES:
        if name not in table.names or not table.is_numeric(name):
            continue
        values = table.numbers(name)
        if name == "index" or ((values == np.floor(values)) & (values >= 0)).all():
            pairs = list(zip(table.strings(id_name), values.tolist(), strict=True))
            if len(set(pairs)) == len(pairs):
                return name
            if name == "index":
                last = {pair: at for at, pair in enumerate(pairs)}
                at = next(last[pair] for at, pair in enumerate(pairs) if last[pair] != at)
                table.complain(at, f"the {name} {values[at]:g} of segment {pairs[at][0]!r} is there twice")
    return None


def _nested(table: CellTable, key: str, known: tuple[str, ...]) -> dict[str, Floats]:
    """[R] columns of numbers that lie in objects of their own, as in the hypotheses of `jsonl`."""
    rows = _objects(table, key)
    found = {}
    for name in dict.fromkeys(name for row in rows for name in row):
        if name in known:
            raise FormatError(table.path, None, f"feature {name!r} is there twice: in {key!r}, and beside it")
        missing = next((at for at, row in enumerate(rows) if name not in row), None)
        if missing is not None:
            table.complain(missing, f"feature {name!r} is missing; every hypothesis needs it")
        found[name] = np.array([row[name] for row in rows])
    return found


def _objects(table: CellTable, key: str) -> list[dict[str, float]]:
    """R objects of numbers, or none at all where no cell of a column is one."""
    cells = table.column(key) if key in table.names else ()
    if not any(isinstance(cell, dict) for cell in cells):
        return []
    return [numbers_of(table.path, line, key, cell) for line, cell in zip(table.lines, cells, strict=True)]


def _sparse(table: CellTable, dense: tuple[str, ...]) -> tuple[Any, tuple[str, ...]]:
    """The matrix of sparse features in objects of their own, and their names."""
    objects = _objects(table, "sparse")
    names = {name: k for k, name in enumerate(dict.fromkeys(name for row in objects for name in row))}
    both = next((name for name in names if name in dense), None)
    if both is not None:
        raise FormatError(table.path, None, f"feature {both!r} is both dense and sparse")
    if not names:
        return None, ()
    from scipy.sparse import coo_array

    entries = [(at, names[name], value) for at, row in enumerate(objects) for name, value in row.items()]
    rows, own, values = zip(*entries, strict=True)
    return coo_array((np.array(values), (rows, own)), shape=(len(table), len(names))).tocsr(), tuple(names)


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


@dataclass
class _Segments:
    """What rows say of their segments: all the same, or nothing."""

    table: CellTable
    columns: _Columns
    names: list[str]

    def read(self, owners: Ints) -> dict[str, Any]:
        """Sources, groups and references, each for all segments or for none."""
        own = self.columns
        found = {name: self._values(name, owners) for name in (own.source, own.group, *own.references) if name}
        groups = [value or None for value in found[own.group]] if own.group else []
        columns = [found[name] for name in own.references]
        references = [self._joined([column[i] for column in columns]) for i in range(len(self.names))]
        return {
            "sources": self._complete(found[own.source] if own.source else [], owners, "source"),
            "groups": self._complete(groups, owners, "group"),
            "references": self._complete(references if columns else [], owners, "references"),
        }

    def _values(self, name: str, owners: Ints) -> list[Any]:
        """N cells of a column, None where there is none; an empty one says nothing where another row has one."""
        values: list[Any] = [None] * len(self.names)
        rows = [0] * len(self.names)
        for row, (i, cell) in enumerate(zip(owners.tolist(), self.table.column(name), strict=True)):
            if cell is None:
                continue
            value = self._checked(row, name, cell)
            if not values[i]:
                values[i], rows[i] = value, row
            elif value not in ("", values[i]):
                where = f"{'row' if self.table.rows_only else 'line'} {self.table.lines[rows[i]]}"
                self.table.complain(row, f"{name!r} differs from that of {where}, of the same segment")
        return values

    def _checked(self, row: int, name: str, cell: Any) -> Any:
        if not isinstance(cell, list) or name not in self.columns.references:
            return cell if type(cell) is str else self.table.text_of(row, name)
        if not all(isinstance(each, str) for each in cell):
            self.table.complain(row, f"{name!r} must be strings")
        return tuple(cell)

    def _joined(self, values: list[Any]) -> tuple[str, ...] | None:
        """The references of a segment; empty ones after the first are none."""
        flat = [each for value in values if value is not None for each in (value if type(value) is tuple else (value,))]
        return (*flat[:1], *filter(None, flat[1:])) or None

    def _complete(self, values: list[Any], owners: Ints, what: str) -> tuple[Any, ...] | None:
        if all(value is None for value in values):
            return None
        if None in values:
            i = values.index(None)
            row = int(np.argmax(owners == i))
            self.table.complain(row, f"segment {self.names[i]!r} has no {what} while others have")
        return tuple(values)


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


_KEEPS = frozenset({"ids", "features", "references", "sources", "groups", "gains", "answers", "systems", "ragged"})

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
