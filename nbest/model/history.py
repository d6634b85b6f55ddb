"""How a model was trained, step by step: rows of plain values, kept in its file for reports."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from nbest.base.errors import ParameterError, shown

MOST_ROWS = 500
"""Rows that are kept; of more, as many evenly spread ones, the last among them."""
_DIGITS = 9  # of a number

Rows = tuple[Mapping[str, Any], ...]


def history_of(rows: Iterable[Mapping[str, Any]]) -> Rows:
    """The rows of a training (`Result.history`) as a model keeps them: texts and numbers, of infinite ones nothing.

    What an optimiser needs to go on, and other values that are no single number, is left out.
    """
    found = [{str(key): _short(value) for key, value in row.items() if _is_single(value)} for row in rows]
    found = [row for row in found if row]
    if len(found) > MOST_ROWS:
        found = [found[at] for at in np.linspace(0, len(found) - 1, MOST_ROWS).round().astype(int)]
    return tuple(found)


def _is_single(value: Any) -> bool:
    return value is None or isinstance(value, str | bool | int | float | np.generic)


def _short(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if not isinstance(value, float):
        return value
    return float(f"{value:.{_DIGITS}g}") if math.isfinite(value) else None


def checked_history(content: Any) -> Rows:
    """What a model file says, checked; a `ParameterError` where it is not as it should be."""
    if not isinstance(content, Sequence) or isinstance(content, str) or len(content) > MOST_ROWS:
        raise ParameterError(f"must be a list of at most {MOST_ROWS} rows, got {shown(content)}")
    for row in content:
        if not isinstance(row, Mapping) or not row:
            raise ParameterError(f"must be rows of names and values, got {shown(row)} in it")
        odd = next((value for value in row.values() if not _is_plain(value)), None)
        if odd is not None:
            raise ParameterError(f"must have texts, finite numbers and null as values, got {shown(odd)}")
    return tuple(dict(row) for row in content)


def _is_plain(value: Any) -> bool:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return -1e300 <= value <= 1e300
    return value is None or isinstance(value, str | bool)
