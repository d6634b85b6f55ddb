"""Scores of other files become columns of lists: which row belongs to which hypothesis, and what where there is none.

| key | the row of a hypothesis |
| --- | --- |
| `index` | has the id of its segment and its number in the list |
| `text` | has the id of its segment and its text |
| `system` | has the id of its segment and the name of the system that made it |
| `order` | is the k-th of its segment's id, as it is the k-th hypothesis |
| `position` | stands where the hypothesis stood in the file the lists were read from |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from nbest.base.errors import CapabilityError, FormatError, look_up
from nbest.base.types import Floats, Ints
from nbest.compute import segments
from nbest.corpus import NBest
from nbest.formats.column_names import INDICES
from nbest.formats.scores import ScoreTable, read_scores

KEYS = ("index", "text", "system", "order", "position")
MISSING = {
    "error": "refuse",
    "0": "put 0",
    "mean": "put the mean of the others",
    "flag": "put 0, and 1 in NAME_missing",
}


def join_scores(
    corpus: NBest,
    scores: str | Path | ScoreTable,
    *,
    by: str | None = None,
    columns: Sequence[str] | None = None,
    name: str | None = None,
    missing: str = "error",
    first: int = 0,
) -> NBest:
    """The lists with the scores of a file as further dense features.

    `by` is one of `KEYS`; without it the first that the file has columns for. `columns` are those to take (default: all
    of numbers); `name` is what a single one is called, and stands before the names of several. Where a hypothesis has
    no score, `missing` says what to do: "error", "0", "mean", or "flag" (0, and a further column NAME_missing that is
    1 there). `first` is the index of the first hypothesis of a list in the file.
    """
    look_up(MISSING, missing, "way with missing scores")
    table = scores if isinstance(scores, ScoreTable) else read_scores(scores, columns)
    names = _names(table, name)
    known = {*corpus.feature_names, *corpus.sparse_names}
    wanted = [*names, *(f"{each}_missing" for each in names if missing == "flag")]
    twice = next((each for each in wanted if each in known), None)
    if twice is not None:
        hint = "give another name (--name NAME, name= in Python), or take other columns"
        raise FormatError(table.path, None, f"the lists already have a feature {twice!r}; {hint}")
    rows = matched(corpus, table, by, first=first)
    return corpus.with_features(wanted, _filled(corpus, table, rows, missing))


def join_labels(
    corpus: NBest,
    table: ScoreTable,
    *,
    by: str | None = None,
    first: int = 0,
    gain: str | None = None,
    group: str | None = None,
) -> NBest:
    """The lists with what hypotheses are worth (`gain`) and what segments belong to (`group`) from columns of a table,
    whose rows are matched as by `join_scores`."""
    if gain is not None:
        if corpus.gains is not None:
            raise FormatError(table.path, None, "the lists know already what hypotheses are worth ('score', gain)")
        rows = matched(corpus, table, by, first=first)
        column = replace(table, names=(gain,), values=table.table.numbers(gain)[:, None])
        lacking = (rows < 0) | np.isnan(column.values[rows, 0])
        if lacking.any():
            h = int(np.argmax(lacking))
            raise FormatError(table.path, None, f"there is no {gain!r} for {_called(corpus, h)}; each needs one")
        corpus = replace(corpus, gains=column.values[rows, 0])
    if group is not None:
        corpus = replace(corpus, groups=_groups(corpus, table, group))
    return corpus


def _groups(corpus: NBest, table: ScoreTable, name: str) -> tuple[str, ...]:
    """N the group of each segment, the same in all of its rows; there may be one row a segment."""
    cells, found = table.table.strings(name), dict[int, str]()
    if table.ids is None:
        rows = _by_position(corpus, table)
        pairs = zip(segments.owners(corpus.offsets).tolist(), rows.tolist(), strict=True)
    else:
        pairs = zip(_owners(corpus, table, others=True).tolist(), range(len(table)), strict=True)
    for i, row in pairs:
        if i >= 0 and found.setdefault(i, cells[row]) != cells[row]:
            table.complain(row, f"{name!r} differs from that of other rows of segment {corpus.ids[i]!r}")
    lacks = next((i for i in range(len(corpus)) if not found.get(i)), None)
    if lacks is not None:
        raise FormatError(table.path, None, f"there is no {name!r} for segment {corpus.ids[lacks]!r}")
    return tuple(found[i] for i in range(len(corpus)))


def scores_of(corpus: NBest, path: str | Path, column: str | None = None) -> tuple[Floats, int | None]:
    """[H] the one score of each hypothesis, for a metric; and how many rows are of segments that the lists do not have
    (those of held-out lists, say), which are left alone; None where rows have no ids."""
    table = read_scores(path, None if column is None else [column])
    if len(table.names) > 1:
        raise FormatError(table.path, None, f"several columns of numbers; say which: {', '.join(table.names)}")
    known = set(corpus.ids)
    others = None if table.ids is None else sum(name not in known for name in table.ids)
    return _filled(corpus, table, matched(corpus, table, others=True), "error")[:, 0], others


def key_of(table: ScoreTable, by: str | None = None, *, systems: bool = False) -> str:
    """What the rows of a table are matched by: `by`, or the first key that it has columns for. That of systems counts
    where the lists have `systems`."""
    if by is None and table.ids is None and (table.indices is not None or table.texts is not None):
        what = "numbers" if table.indices is not None else "texts"
        hint = "name it (--id COLUMN; read_scores(path, id=...) in Python), or say --by position"
        has = ", ".join(table.table.names)
        raise FormatError(
            table.path, None, f"it has {what} of hypotheses, but no column of ids that is known: {has}; {hint}"
        )
    if by is None:
        by = "position" if table.ids is None else "order"
        if table.ids is not None and table.texts is not None:
            by = "text"
        if table.ids is not None and table.indices is not None:
            by = "index"
        named = systems and table.systems is not None and table.ids is not None
        return "system" if named and (by == "order" or table.order_of_names) else by
    look_up(dict.fromkeys(KEYS), by, "key")
    lacks = {"index": table.indices, "text": table.texts, "system": table.systems}.get(by, table.ids)
    if by != "position" and (table.ids is None or lacks is None):
        what = "id" if table.ids is None else f"{by} ({', '.join(INDICES)})" if by == "index" else by
        has = ", ".join(table.table.names)
        raise FormatError(table.path, None, f"to be matched by {by} it needs a column {what}; it has {has}")
    return by


def matched(corpus: NBest, table: ScoreTable, by: str | None = None, *, first: int = 0, others: bool = False) -> Ints:
    """[H] the row of each hypothesis, -1 where there is none. A row without a hypothesis is an error, but for those of
    segments that are not in the lists where `others` may be there."""
    key = key_of(table, by, systems=corpus.systems is not None)
    if key == "position":
        if by is None:
            table.refuse_ids(corpus.ids)
        return _by_position(corpus, table)
    owners = _owners(corpus, table, others=others or (key == "system" and table.order_of_names))
    if key in ("text", "system"):
        return _by_name(corpus, table, owners, key)
    if key == "order" and by is None:
        _refuse_names(table, owners)
    numbers = _by_order(corpus, table, owners) if key == "order" else _numbers(table, first)
    kept = np.flatnonzero(owners >= 0)
    lengths, within = corpus.lengths[owners[kept]], numbers[kept]
    wrong = (within < 0) | (within >= lengths)
    if wrong.any():
        at = int(np.argmax(wrong))
        row, name = int(kept[at]), corpus.ids[owners[kept[at]]]
        has = f"segment {name!r} has {lengths[at]} hypotheses"
        if key == "order":
            table.complain(row, f"one row too many: {has}")
        table.complain(row, f"there is no hypothesis {within[at] + first}: {has}, counted from {first}")
    goals = corpus.offsets[owners[kept]] + within
    _refuse_twice(corpus, table, kept, goals)
    rows = np.full(corpus.hypotheses, -1)
    rows[goals] = kept
    if key == "index" and by is None:
        _refuse_others(corpus, table, rows)
    return rows


def _refuse_others(corpus: NBest, table: ScoreTable, rows: Ints) -> None:
    """Complain of a row that says of itself another text or system than the hypothesis of its number has."""
    for what, own, theirs in (("text", corpus.texts, table.texts), ("system", corpus.systems, table.systems)):
        if own is None or theirs is None:
            continue
        for h, (name, row) in enumerate(zip(own, rows.tolist(), strict=True)):
            if row >= 0 and theirs[row] != name:
                says = f"the row has the {what} {theirs[row][:60]!r}, and {_called(corpus, h)} has {name[:60]!r}"
                table.complain(row, f"{says}; match by what is right: --by {what}, or --by index")


def _names(table: ScoreTable, name: str | None) -> list[str]:
    if name is None:
        return list(table.names)
    return [name] if len(table.names) == 1 else [f"{name}_{each}" for each in table.names]


def _owners(corpus: NBest, table: ScoreTable, *, others: bool) -> Ints:
    """[R] the segment of each row, -1 for one that the lists do not have."""
    assert table.ids is not None
    places = {name: i for i, name in enumerate(corpus.ids)}
    owners = np.array([places.get(name, -1) for name in table.ids], np.int64)
    strange = owners < 0
    if strange.any() and not (others and not strange.all()):
        row = int(np.argmax(strange))
        known = f"there is no segment {table.ids[row]!r} in the lists, whose first is {corpus.ids[0]!r}"
        numbered = "; their ids are numbers in order, which the table needs, too (a column named by --id)"
        table.complain(row, known + (numbered if list(corpus.ids) == [str(i) for i in range(len(corpus))] else ""))
    return owners


def _numbers(table: ScoreTable, first: int) -> Ints:
    assert table.indices is not None
    return table.indices - first


def _by_order(corpus: NBest, table: ScoreTable, owners: Ints) -> Ints:
    """[R] how many rows of the same segment stand before; a segment with rows must have one a hypothesis."""
    rows = np.argsort(owners, kind="stable")
    sizes = np.bincount(owners + 1, minlength=len(corpus) + 1)
    within = np.arange(len(rows)) - np.repeat(segments.offsets_of(sizes)[:-1], sizes)
    numbers = np.empty(len(rows), np.int64)
    numbers[rows] = within
    short = (sizes[1:] > 0) & (sizes[1:] < corpus.lengths)
    if short.any():
        i = int(np.argmax(short))
        row = int(np.flatnonzero(owners == i)[-1])
        table.complain(
            row,
            f"{sizes[i + 1]} rows for segment {corpus.ids[i]!r}, which has {corpus.lengths[i]} hypotheses; without a "
            "column index or text there must be a row for each, in their order",
        )
    return numbers


def _refuse_twice(corpus: NBest, table: ScoreTable, kept: Ints, goals: Ints) -> None:
    order = np.argsort(goals, kind="stable")
    again = np.flatnonzero(np.diff(goals[order]) == 0)
    if len(again):
        at = int(again[np.argmin(kept[order[again + 1]])])
        h, before = int(goals[order[at]]), table.lines[int(kept[order[at]])]
        what = "row" if table.table.rows_only else "line"
        table.complain(int(kept[order[at + 1]]), f"{_called(corpus, h)} is there twice, first on {what} {before}")


def _by_name(corpus: NBest, table: ScoreTable, owners: Ints, key: str) -> Ints:
    """[H] the row of each hypothesis by its text, or by the name of its system."""
    texts, theirs = (corpus.texts, table.texts) if key == "text" else (corpus.systems, table.systems)
    if texts is None or theirs is None:
        raise CapabilityError(f"scores cannot be matched by {key}: these lists carry none")
    own, rows = list(texts), np.full(corpus.hypotheses, -1)
    order = np.argsort(owners, kind="stable").tolist()
    bounds = segments.offsets_of(np.bincount(owners + 1, minlength=len(corpus) + 1))[1:].tolist()
    for i, (low, high) in enumerate(pairwise(corpus.offsets.tolist())):
        mine = own[low:high]
        if key == "system" and len(set(mine)) < len(mine):
            what = f"segment {corpus.ids[i]!r} has several hypotheses of one system"
            raise FormatError(table.path, None, f"cannot be matched by system: {what}; give an index, or --by order")
        known = _rows_by_name(corpus.ids[i], table, theirs, order[bounds[i] : bounds[i + 1]], key=key)
        rows[low:high] = [known.get(name, -1) for name in mine]
        if known.keys() - mine and not table.order_of_names:  # such files have references and others, too
            row = min(known[name] for name in known.keys() - mine)
            table.complain(row, f"no hypothesis of segment {corpus.ids[i]!r} has the {key} {theirs[row][:60]!r}")
    return rows


def _rows_by_name(segment: str, table: ScoreTable, names: list[str], rows: list[int], *, key: str) -> dict[str, int]:
    """The row of each name among those of a segment."""
    known: dict[str, int] = {}
    for row in rows:
        before = known.setdefault(names[row], row)
        if before != row and not np.array_equal(table.values[row], table.values[before], equal_nan=True):
            where = f"{'row' if table.table.rows_only else 'line'} {table.lines[before]}"
            table.complain(row, f"the same {key} of segment {segment!r} has other scores on {where}")
    return known


def _refuse_names(table: ScoreTable, owners: Ints) -> None:
    """Complain of a column that tells the rows of a segment apart, where they would be matched by their order alone:
    names that come again in every segment, or numbers of hypotheses in another order."""
    order = np.argsort(owners, kind="stable")
    order = order[owners[order] >= 0]
    sizes = np.bincount(owners[order]) if len(order) else np.zeros(0, np.int64)
    offsets = segments.offsets_of(sizes)
    for name in table.table.names:
        numeric = table.table.is_numeric(name)
        if numeric and _out_of_order(table.table.numbers(name)[order], offsets):
            hint = "call the column index, or say --by order (by= in Python)"
            why = f"the numbers in {name!r} are those of hypotheses, and do not stand in their order"
            raise FormatError(table.path, None, f"{why}; {hint}")
        if not numeric and _are_names(
            [str(table.table.column(name)[row]) for row in order[: offsets[:3][-1]]], offsets
        ):
            why = f"the column {name!r} tells the rows of a segment apart, and the lists know no such names"
            hint = "if they stand in the order of the hypotheses say --by order (by= in Python)"
            raise FormatError(table.path, None, f"{why}; {hint}, or read lists that have a column 'system'")


def _out_of_order(values: Floats, offsets: Ints) -> bool:
    """Whether values are 0, 1, ... or 1, 2, ... in every segment, but not in this order everywhere."""
    places = np.arange(len(values)) - offsets[:-1][segments.owners(offsets)]
    ranks = segments.ranks(-values, offsets)
    first = values[:1] - ranks[:1]
    same = len(values) > 0 and first[0] in (0.0, 1.0) and bool((values - ranks == first[0]).all())
    return same and bool((values - first[0] != places).any())


def _are_names(cells: list[str], offsets: Ints) -> bool:
    """Whether the first two segments, of several rows each, have the same cells, each once."""
    if len(offsets) < 3 or min(offsets[1], offsets[2] - offsets[1]) < 2:
        return False
    first, second = cells[: offsets[1]], cells[offsets[1] :]
    return set(first) == set(second) and len(set(first)) == len(first) == len(second)


def _by_position(corpus: NBest, table: ScoreTable) -> Ints:
    size = corpus.hypotheses
    if len(table) != size:
        raise FormatError(table.path, None, f"expected a score for each of {size} hypotheses, got {len(table)}")
    if corpus.positions is None:
        return np.arange(size)
    if not np.array_equal(np.sort(corpus.positions), np.arange(size)):
        why = "the lists are only a part of the file that has their order"
        raise FormatError(table.path, None, f"cannot be matched: {why}")
    return corpus.positions


def _filled(corpus: NBest, table: ScoreTable, rows: Ints, missing: str) -> Floats:
    """[H, C] the scores, and as many columns that flag what is missing where these are asked for."""
    values = np.where(rows[:, None] >= 0, table.values[rows], np.nan)
    lacks = np.isnan(values)
    if lacks.any() and missing == "error":
        h, c = map(int, np.argwhere(lacks)[0])
        hint = "give one, or say what to put there (--missing 0, mean or flag; missing= in Python)"
        if rows[h] >= 0:
            table.complain(int(rows[h]), f"{table.names[c]!r} is empty; {hint}")
        raise FormatError(table.path, None, f"there is no row for {_called(corpus, h)}; {hint}")
    if missing == "mean":
        counts = (~lacks).sum(axis=0)
        if (counts == 0).any():
            none = table.names[int(np.argmin(counts))]
            raise FormatError(table.path, None, f"{none!r} is empty for all hypotheses, so that there is no mean")
        means = np.where(lacks, 0.0, values).sum(axis=0) / np.maximum(counts, 1)
        return np.where(lacks, means, values)
    values = np.where(lacks, 0.0, values)
    return np.concatenate([values, lacks.astype(np.float64)], axis=1) if missing == "flag" else values


def _called(corpus: NBest, h: int) -> str:
    i = int(segments.owners(corpus.offsets)[h])
    return f"hypothesis {h - int(corpus.offsets[i])} of segment {corpus.ids[i]!r}"
