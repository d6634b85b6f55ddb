"""Lists out of what a program has in its hands: dictionaries, and data frames."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from nbest.base.errors import ParameterError, need_kind
from nbest.corpus import NBest
from nbest.formats.lists.builder import Builder
from nbest.formats.lists.jsonl import read_segment
from nbest.formats.lists.rows import lists_of
from nbest.formats.tabular import CellTable, of_objects


def from_records(records: Iterable[Mapping[str, Any]], **columns: str | Sequence[str] | None) -> NBest:
    """Lists from dictionaries: one a hypothesis, or one a segment in the form of our JSON lines (with "hypotheses").

        nbest.from_records([{"id": "q1", "text": "4", "logprob": -0.5, "reward": 1.25}, ...])

    Of one a hypothesis, `columns` are those of `from_pandas`; numbers may also lie in a dictionary "features". Of one a
    segment there are none.
    """
    rows = list(records)
    for number, row in enumerate(rows):
        need_kind("from_records", f"records[{number}]", row, Mapping)
    if rows and "hypotheses" in rows[0]:
        if columns:
            raise ParameterError("records with 'hypotheses' are read as they are; they take no names of columns")
        builder = Builder("records")
        for number, row in enumerate(rows, 1):
            read_segment(builder, number, plain(row))
        return builder.build()
    named = [{str(name): value for name, value in plain(row).items()} for row in rows]
    return lists_of(of_objects("records", enumerate(named), rows_only=True), **columns)  # type: ignore[arg-type]


def from_pandas(frame: Any, **columns: str | Sequence[str] | None) -> NBest:
    """Lists from a data frame, one hypothesis a row.

        nbest.from_pandas(frame, id="question", text="answer_text", gain="label", group="user")

    Columns may be named by `id`, `text`, `gain` (what a hypothesis is worth), `references` (texts, or lists of texts)
    and `group`; otherwise they are found by their names, as in files of rows (docs/formats.md#rows). `features` are the
    other columns of numbers and booleans, or those that are named. Rows of a segment need not stand together. An index
    of the frame does not count.
    """
    if not hasattr(frame, "columns") or not hasattr(frame, "__getitem__"):
        raise ParameterError(f"'frame' of from_pandas must be a data frame, got {type(frame).__name__}")
    names = tuple(str(name) for name in frame.columns)
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ParameterError(f"two columns of the data frame are called {twice!r}")
    cells = tuple([plain(cell) for cell in frame[name].to_numpy().tolist()] for name in frame.columns)
    table = CellTable("data frame", names, cells, range(len(frame)), rows_only=True)
    return lists_of(table, **columns)  # type: ignore[arg-type]


def plain(value: Any) -> Any:
    """A value as JSON would hold it: None for what is missing, Python's own numbers and lists for those of NumPy."""
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {name: plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return None if (isinstance(value, float) and value != value) or type(value).__name__ == "NAType" else value
