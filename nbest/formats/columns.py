"""Lists out of columns and of Python's own objects, one hypothesis a row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any, NoReturn

import numpy as np

from nbest.base.errors import ParameterError, _known, need_kind, shown
from nbest.base.types import Floats, Ints
from nbest.compute import segments
from nbest.corpus import NBest, Texts
from nbest.corpus.order import in_order
from nbest.formats.lists.builder import Builder
from nbest.formats.lists.jsonl import read_segment

OWN = {
    "id": ("id",),
    "text": ("text",),
    "gain": ("gain",),
    "answer": ("answer",),
    "source": ("source",),
    "references": ("references", "reference"),
    "group": ("group", "doc"),
}
"""What columns hold that are no features, and how they are called where nothing else is said."""

INDEX = "index"
"""A column of `to_pandas` that is no feature: the place in the list, which is the order of the rows."""


def from_records(
    records: Iterable[Mapping[str, Any]], *, features: Sequence[str] | None = None, **columns: str | None
) -> NBest:
    """Lists from dictionaries: one a hypothesis, or one a segment in the form of our JSON lines (with "hypotheses").

        nbest.from_records([{"id": "q1", "text": "4", "logprob": -0.5, "reward": 1.25}, ...])

    Of one a hypothesis the keys are those of `from_pandas`; numbers may also lie in a dictionary "features". Keys that
    are missing in some of them are an error. Of one a segment there are no options.
    """
    rows = list(records)
    for number, row in enumerate(rows):
        need_kind("from_records", f"records[{number}]", row, Mapping)
    if rows and "hypotheses" in rows[0]:
        if features is not None or columns:
            raise ParameterError("records with 'hypotheses' are read as they are; they take no names of columns")
        builder = Builder("records")
        for number, row in enumerate(rows, 1):
            read_segment(builder, number, dict(row))
        return builder.build()
    flat = [{**row, **row["features"]} if isinstance(row.get("features"), Mapping) else row for row in rows]
    names = list(dict.fromkeys(name for row in flat for name in row if not isinstance(row[name], Mapping)))
    for number, row in enumerate(flat):
        missing = next((name for name in names if name not in row), None)
        if missing is not None:
            raise ParameterError(
                f"records[{number}] has no {missing!r}, and others have; give None where there is none"
            )
    return lists_of({name: [row[name] for row in flat] for name in names}, features, columns)


def from_pandas(frame: Any, *, features: Sequence[str] | None = None, **columns: str | None) -> NBest:
    """Lists from a data frame, one hypothesis a row.

        nbest.from_pandas(frame, id="question", text="answer_text", gain="label", group="user")

    Columns are named by `id`, `text`, `gain` (what a hypothesis is worth), `answer`, `source`, `references` (a text or
    a list of texts) and `group`; where nothing is said, columns of these names count, if they are there. None means
    that there is none. `features` are the other columns of numbers and booleans, or those that are named. Rows of a
    segment need not stand together. Columns of other kinds are left alone.
    """
    if not hasattr(frame, "columns") or not hasattr(frame, "__getitem__"):
        raise ParameterError(f"'frame' of from_pandas must be a data frame, got {type(frame).__name__}")
    names = [str(name) for name in frame.columns]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ParameterError(f"two columns of the data frame are called {twice!r}")
    return lists_of({str(name): frame[name].to_numpy() for name in frame.columns}, features, columns)


def lists_of(
    columns: Mapping[str, Sequence[Any]], features: Sequence[str] | None = None, said: Mapping[str, str | None] = {}
) -> NBest:
    """Lists out of columns of one length; `said` are names of columns for those of `OWN`."""
    names = _names(columns, said)
    if names["id"] is None:
        raise ParameterError("there must be a column with the id of the segment of each hypothesis; say id=NAME")
    ids = [_name(row, "id", value) for row, value in enumerate(columns[names["id"]])]
    if not ids:
        raise ParameterError("there are no rows; expected at least one hypothesis")
    order = in_order(dict.fromkeys(ids))
    place = {name: i for i, name in enumerate(order)}
    owners = np.array([place[name] for name in ids], np.int64)
    rows = np.argsort(owners, kind="stable")
    offsets = segments.offsets_of(np.bincount(owners, minlength=len(order)))
    wanted = _features(columns, [name for name in names.values() if name is not None], features)
    own = {key: None if name is None else columns[name] for key, name in names.items()}
    per_segment = {
        field: _of_segments(own[key], owners, order, key)
        for field, key in (("sources", "source"), ("groups", "group"), ("references", "references"))
    }
    matrix = [_numbers(columns[name], f"feature {name!r}")[rows] for name in wanted]
    return NBest(
        offsets=offsets,
        features=np.stack(matrix, axis=1) if matrix else np.zeros((len(ids), 0)),
        feature_names=tuple(wanted),
        ids=tuple(order),
        texts=_texts(own["text"], "text", rows),
        answers=_texts(own["answer"], "answer", rows),
        gains=None if own["gain"] is None else _numbers(own["gain"], "gain")[rows],
        positions=None if (np.diff(rows) == 1).all() else rows,
        **per_segment,  # type: ignore[arg-type]
    )


def _names(columns: Mapping[str, Any], said: Mapping[str, str | None]) -> dict[str, str | None]:
    """The column of each of `OWN`, or None."""
    for key, name in said.items():
        if key not in OWN:
            raise ParameterError(f"unknown keyword {key!r}; {_known(['features', *OWN], key)}")
        if name is not None and name not in columns:
            raise ParameterError(f"there is no column {name!r}, named by {key}; {_known(list(columns), name)}")
    return {
        key: said[key] if key in said else next((name for name in usual if name in columns), None)
        for key, usual in OWN.items()
    }


def _features(columns: Mapping[str, Sequence[Any]], own: list[str], wanted: Sequence[str] | None) -> list[str]:
    if wanted is None:
        return [name for name in columns if name not in own and name != INDEX and _is_numeric(columns[name])]
    for name in wanted:
        if name not in columns:
            raise ParameterError(f"there is no column {name!r}, named by features; {_known(list(columns), name)}")
        if not _is_numeric(columns[name]):
            raise ParameterError(f"the column {name!r}, named by features, holds more than numbers and booleans")
    return list(wanted)


def _is_numeric(values: Sequence[Any]) -> bool:
    kind = getattr(getattr(values, "dtype", None), "kind", "O")
    if kind != "O":
        return kind in "biuf"
    there = [value for value in values if not _is_missing(value)]
    return bool(there) and all(isinstance(value, Real | np.bool_) for value in there)


def _numbers(values: Sequence[Any], what: str) -> Floats:
    """[R] finite numbers."""
    if not _is_numeric(values):
        _complain(0, f"{what} must be a number, got {shown(values[0])}")
    numbers = np.array([np.nan if _is_missing(value) else value for value in values], np.float64)
    wrong = ~np.isfinite(numbers)
    if wrong.any():
        row = int(np.argmax(wrong))
        _complain(row, f"{what} must be a finite number, got {values[row]}; fill in what is missing, or leave it out")
    return numbers


def _name(row: int, key: str, value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str | Integral):
        _complain(row, f"{key} must be a string or a whole number, got {shown(value)}")
    return str(value)


def _complain(row: int, what: str) -> NoReturn:
    raise ParameterError(f"row {row}: {what}")


def _texts(values: Sequence[Any] | None, what: str, rows: Ints) -> Texts | None:
    if values is None:
        return None
    absent = what == "answer"
    found = ["" if absent and _is_missing(value) else value for value in values]
    for row, value in enumerate(found):
        if not isinstance(value, str):
            _complain(row, f"{what} must be a string, got {shown(value)}")
    return Texts.of(found).take(rows)


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and value != value) or type(value).__name__ == "NAType"


def _of_segments(values: Sequence[Any] | None, owners: Ints, ids: list[str], key: str) -> tuple[Any, ...] | None:
    """What belongs to segments, the same in all of their rows."""
    if values is None:
        return None
    found: dict[int, Any] = {}
    for row, (owner, value) in enumerate(zip(owners.tolist(), values, strict=True)):
        mine = _references(row, value) if key == "references" else _name(row, key, value)
        if found.setdefault(owner, mine) != mine:
            _complain(row, f"{key} differs from that of other rows of segment {ids[owner]!r}")
    return tuple(found[i] for i in range(len(ids)))


def _references(row: int, value: Any) -> tuple[str, ...]:
    texts = (value,) if isinstance(value, str) else tuple(value) if isinstance(value, Iterable) else ()
    if not texts or not all(isinstance(text, str) for text in texts):
        _complain(row, f"references must be a text or a list of texts, got {shown(value)}")
    return texts
