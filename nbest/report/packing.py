"""Arrays and texts as a short text that the script of a page unpacks, with the same bits."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from nbest.base.types import Floats, Ints

_MOST_DECIMALS = 9


def packed(columns: Mapping[str, Floats | Ints | Sequence[str]]) -> dict[str, Any]:
    """One-dimensional arrays of numbers and lists of texts, by name, for JSON.

    `arrays` says what follows in the `bytes` (zlib, then base64): numbers of one `kind` (i1, i2, i4, f8; all lowest
    bytes first, then the next ones, which packs better), divided by 10 ** `decimals`; texts as UTF-8 after their
    lengths in bytes. Numbers with few decimals are whole numbers so, if that gives the same bits.
    """
    heads, parts = [], []
    for name, column in columns.items():
        if isinstance(column, np.ndarray):
            head, content = _numbers(column)
        else:
            head, content = _texts(column)
        heads.append({"name": name, **head})
        parts.append(content)
    return {"arrays": heads, "bytes": base64.b64encode(zlib.compress(b"".join(parts), 9)).decode()}


def size_of(content: Mapping[str, Any]) -> int:
    """Characters of what was packed, but for some hundred of its head."""
    return len(content["bytes"])


def _numbers(column: Floats | Ints) -> tuple[dict[str, Any], bytes]:
    values = np.asarray(column, np.float64)
    for decimals in range(_MOST_DECIMALS + 1):
        whole = np.round(values * 10.0**decimals)
        if np.abs(whole).max(initial=0.0) >= 2**31:
            break
        if np.array_equal(whole / 10.0**decimals, values) and not np.signbit(values[values == 0]).any():
            small = next(kind for kind in ("i1", "i2", "i4") if np.iinfo(kind).max >= np.abs(whole).max(initial=0.0))
            return _head(small, len(values), decimals), _planes(whole.astype(f"<{small}"))
    return _head("f8", len(values), 0), _planes(values.astype("<f8"))


def _head(kind: str, count: int, decimals: int) -> dict[str, Any]:
    return {"kind": kind, "count": count, **({"decimals": decimals} if decimals else {})}


def _planes(values: Any) -> bytes:
    """The lowest bytes of all, then the next ones."""
    return np.ascontiguousarray(values.view(np.uint8).reshape(-1, values.dtype.itemsize).T).tobytes()


def _texts(texts: Iterable[str]) -> tuple[dict[str, Any], bytes]:
    pieces = [text.encode("utf-8", "replace") for text in texts]
    lengths = np.array([len(piece) for piece in pieces], "<i4")
    return {"kind": "text", "count": len(pieces)}, _planes(lengths) + b"".join(pieces)
