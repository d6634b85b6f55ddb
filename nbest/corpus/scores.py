"""Scores that Python has of hypotheses, by id, in the order of the lists."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from nbest.base.errors import ParameterError, listed
from nbest.base.types import Floats, Ints

Scores = npt.ArrayLike | Mapping[tuple[str, int], float] | Mapping[str, Sequence[float]]
"""One number a hypothesis in the order of the lists; by id and index; or the numbers of each list by id."""


def aligned(ids: Sequence[str], offsets: Ints, scores: Scores) -> Floats:
    """[H] the numbers in the order of the hypotheses; all must be there, finite, and none other."""
    given = _in_order(ids, offsets, scores) if isinstance(scores, Mapping) else scores
    try:
        values = np.asarray(given, np.float64)
    except (TypeError, ValueError):
        raise ParameterError("'scores' must be numbers, and some of them are none") from None
    if values.shape != (int(offsets[-1]),):
        raise ParameterError(f"'scores' must be one number for each of {offsets[-1]} hypotheses, got {values.shape}")
    if not np.isfinite(values).all():
        h = int(np.argmax(~np.isfinite(values)))
        raise ParameterError(f"'scores' must be finite numbers, got {values[h]} for hypothesis {h}")
    return values


def _in_order(ids: Sequence[str], offsets: Ints, scores: Mapping[Any, Any]) -> list[Any]:
    lengths = np.diff(offsets).tolist()
    if isinstance(next(iter(scores), None), tuple):
        wanted = [(name, k) for name, size in zip(ids, lengths, strict=True) for k in range(size)]
        _need_keys(wanted, scores)
        return [scores[key] for key in wanted]
    _need_keys([name for name, size in zip(ids, lengths, strict=True) if size or name in scores], scores)
    for name, size in zip(ids, lengths, strict=True):
        if not hasattr(scores.get(name, ()), "__len__"):
            raise ParameterError(f"'scores' must have the numbers of all hypotheses of segment {name!r}, not one")
        if len(scores.get(name, ())) != size:
            got = len(scores[name])
            raise ParameterError(f"'scores' has {got} numbers for segment {name!r}, which has {size} hypotheses")
    return [value for name in ids for value in scores.get(name, ())]


def _need_keys(wanted: Sequence[Any], scores: Mapping[Any, Any]) -> None:
    missing = [key for key in wanted if key not in scores]
    known = set(wanted)
    strange = [key for key in scores if key not in known]
    for keys, what in ((missing, "has no entry for"), (strange, "has entries for what the lists do not have:")):
        if keys:
            raise ParameterError(f"'scores' {what} {listed(map(str, keys[:3]))} ({len(keys)} in all)")
