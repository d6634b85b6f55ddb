"""Forests of several parts of a corpus, put one after the other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from nbest.base.errors import ParameterError
from nbest.compute import segments
from nbest.corpus.container import OF_SEGMENTS
from nbest.corpus.forests import Forests


def over_vocabulary(forests: Forests, vocabulary: Sequence[str]) -> Forests:
    """The same forests over another vocabulary that has all their words; statistics on edges are not kept."""
    if forests.symbols is None:
        return forests
    number = {word: at for at, word in enumerate(vocabulary)}
    new = np.array([number[word] for word in forests.vocabulary] or [0], np.int32)
    symbols = np.where(forests.symbols >= 0, new[np.maximum(forests.symbols, 0)], forests.symbols)
    return replace(forests, symbols=symbols, vocabulary=tuple(vocabulary), stats=None)


def join_forests(parts: Sequence[Forests], vocabulary: Iterable[str] | None = None) -> Forests:
    """All forests of all parts, one after the other; no id may be there twice.

    Words are numbered as they first appear, or as in the `vocabulary`. A feature that only some parts have is 0 in the
    others where their format says that absent features are. What was measured is not kept.
    """
    if len(parts) == 1 and vocabulary is None:
        return parts[0]
    words = list(
        dict.fromkeys(word for part in parts for word in part.vocabulary) if vocabulary is None else vocabulary
    )
    alike = [over_vocabulary(part, words) for part in _same_features(parts)]
    flat: dict[str, Any] = {
        name: np.concatenate([getattr(part, name) for part in alike]) for name in ("tails", "features")
    }
    offsets: dict[str, Any] = {name: _offsets(alike, name) for name in ("node_offsets", "edge_offsets", "tail_offsets")}
    own: dict[str, Any] = {name: _of_segments([getattr(part, name) for part in alike]) for name in OF_SEGMENTS[1:]}
    return replace(
        alike[0],
        **flat,
        **offsets,
        **_symbols([part for part in alike if part.edges] or alike[:1]),
        vocabulary=tuple(words),
        ids=tuple(name for part in alike for name in part.ids),
        **own,
        metric=None,
        stats=None,
    )


def _same_features(parts: Sequence[Forests]) -> list[Forests]:
    names = list(dict.fromkeys(name for part in parts for name in part.feature_names))
    return [_with_all(part, number, names) for number, part in enumerate(parts, 1)]


def _with_all(part: Forests, number: int, names: Sequence[str]) -> Forests:
    missing = [name for name in names if name not in part.feature_names]
    if missing and part.edges and not part.absent_is_zero:
        raise ParameterError(f"parts must have the same features; {missing[0]!r} is not in part {number}")
    whole = part.with_features(missing, np.zeros((part.edges, len(missing)))) if missing else part
    return whole if whole.feature_names == tuple(names) else whole.only_features(names)


def _offsets(parts: Sequence[Forests], name: str) -> Any:
    return segments.offsets_of(np.concatenate([segments.lengths(getattr(part, name)) for part in parts]))


def _symbols(filled: Sequence[Forests]) -> dict[str, Any]:
    """Words of edges: all parts that have edges have them, or none."""
    rows = [part.symbols for part in filled if part.symbols is not None]
    if rows and len(rows) < len(filled):
        raise ParameterError("parts must be alike; some have words on their edges, others have none")
    if not rows:
        return {"symbols": None, "symbol_offsets": None}
    return {"symbols": np.concatenate(rows), "symbol_offsets": _offsets(filled, "symbol_offsets")}


def _of_segments(values: Sequence[tuple[Any, ...] | None]) -> tuple[Any, ...] | None:
    """What belongs to segments, where all parts have it."""
    return None if any(each is None for each in values) else tuple(one for each in values for one in each or ())
