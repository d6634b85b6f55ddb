"""One list out of dictionaries, one a hypothesis: for programs that have one list at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Real
from operator import itemgetter
from typing import Any

import numpy as np

from nbest.base.types import Floats
from nbest.corpus import NBest, Texts
from nbest.formats.column_names import GROUPS, IDS, PLACES, SOURCES, SYSTEMS, TEXTS

NO_FEATURES = frozenset((*IDS, *TEXTS, *PLACES, *SYSTEMS, *SOURCES, *GROUPS, "gain", "answer"))
"""What a number beside the text of a hypothesis may be called without being a feature."""

Candidate = Mapping[str, Any]
_ID = "0"  # of the one segment


def lists_of_one(candidates: Sequence[Candidate]) -> NBest:
    """Lists of one segment, whose hypotheses are in the form of our JSON lines; where the first has neither "features"
    nor "sparse", the numbers beside the text are features."""
    if not len(candidates):
        return NBest(np.zeros(2, np.int64), np.zeros((0, 0)), (), (_ID,), texts=Texts.of([]))
    regular = _regular(candidates)
    if regular is not None:
        return regular
    return _checked(candidates)


def _checked(candidates: Sequence[Candidate]) -> NBest:
    """Whatever they hold, or an error that says what is wrong with which."""
    from nbest.formats.lists.builder import Builder
    from nbest.formats.lists.jsonl import read_hypothesis
    from nbest.formats.records import plain

    builder, beside = Builder("candidates"), features_beside(candidates[0])
    for number, candidate in enumerate(candidates, 1):
        hypothesis = plain(candidate)
        if beside:
            hypothesis["features"] = {name: hypothesis[name] for name in _numbers(hypothesis)}
        read_hypothesis(builder, number, _ID, hypothesis)
    return builder.build()


def features_beside(candidate: Candidate) -> bool:
    """Whether the features of a hypothesis lie beside its text."""
    return "features" not in candidate and "sparse" not in candidate


def _numbers(candidate: Candidate) -> list[str]:
    return [name for name, value in candidate.items() if isinstance(value, Real) and name not in NO_FEATURES]


def _regular(candidates: Sequence[Candidate]) -> NBest | None:
    """Where all hypotheses have the same features, and no sparse ones."""
    first, rows = candidates[0], rows_of(candidates)
    texts: list[Any] = [each.get("text") for each in candidates]
    answers = [each.get("answer") for each in candidates]
    if rows is None or set(map(type, texts)) != {str} or any("sparse" in each for each in candidates):
        return None
    if not {str, type(None)}.issuperset(map(type, answers)) or any(rows[0].keys() != row.keys() for row in rows):
        return None
    names = tuple(_numbers(first) if rows is candidates else first["features"])
    table = table_of(rows, names)
    if table is None or not np.isfinite(table).all():
        return None
    said = Texts.of(answer or "" for answer in answers) if any(each is not None for each in answers) else None
    offsets = np.array([0, len(candidates)])
    return NBest(offsets, table, names, (_ID,), texts=Texts.of(texts), answers=said)


def rows_of(candidates: Sequence[Candidate]) -> Sequence[Candidate] | None:
    """Where the dense features of each hypothesis lie; None where some have them elsewhere."""
    if features_beside(candidates[0]):
        return candidates
    rows = [candidate.get("features") for candidate in candidates]
    return rows if set(map(type, rows)) == {dict} else None  # type: ignore[return-value]


def table_of(rows: Iterable[Candidate], names: Sequence[str], get: Callable[..., Any] | None = None) -> Floats | None:
    """[H, D] these features of each hypothesis; None where one lacks them, or has something else than numbers. `get` is
    what takes them out, if it is known."""
    if not names:
        return np.zeros((sum(1 for _ in rows), 0))
    get = get or itemgetter(*names)
    try:
        table = np.array([get(row) for row in rows])
    except (KeyError, ValueError, TypeError):
        return None
    if table.dtype.kind not in "biuf" or table.ndim != 1 + (len(names) > 1):
        return None
    return table.astype(np.float64, copy=False).reshape(len(table), len(names))
