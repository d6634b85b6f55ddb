"""Regular JSON lines, parsed from bytes by a kernel.

Regular means: the same keys in the same order in every line and hypothesis, texts, dense features, scores and answers,
no sparse features, ids that stand in order. For anything else, and for anything wrong, `parse` gives nothing and the
reader in `jsonl.py`, which is the judge, takes over; lists that `parse` does give are bit for bit those of the plain
reader.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import numpy as np

from nbest.base.types import Floats, Ints
from nbest.compute import segments
from nbest.compute.parallel import over_ranges
from nbest.corpus import NBest, Texts
from nbest.corpus.order import whole_numbers
from nbest.formats.lists.jsonl_kernels import (
    ANSWER,
    DOC,
    GROUP,
    ID,
    KEYS,
    PARTS,
    SCORE,
    SOURCE,
    SYSTEM,
    parse_lines,
)  # fmt: skip
from nbest.formats.lists.lines import Piece
from nbest.formats.lists.moses_fast import POWERS, find_lines

_LOOK = 100  # lines in which the first hypothesis is looked for


class _Plan(NamedTuple):
    """What every line looks like."""

    keys: Ints  # of a segment, in order
    parts: Ints  # of a hypothesis
    names: Any  # bytes of all the names of features, as they are written
    bounds: Ints  # where each begins
    words: Any  # bytes of the keys
    word_bounds: Ints
    powers: Floats


class _Places(NamedTuple):
    """Where strings begin and end, and whether there are escapes in them (2), none (1), or it is a number (0)."""

    ids: Ints  # [N, 3]
    sources: Ints  # [N, 3]
    references: Ints  # [R, 3]
    texts: Ints  # [H, 3]
    groups: Ints  # [N, 3]
    answers: Ints  # [H, 3]
    systems: Ints  # [H, 3]


def parse(piece: Piece) -> NBest | None:
    """The lists, or None where they are not regular."""
    data = piece.data
    if not _is_text(data) or not data.strip():
        return None
    buffer = np.frombuffer(data.rstrip(b" \t\r\n"), np.uint8)
    starts, ends = find_lines(buffer)
    regular = _plan(data, starts, ends)
    if regular is None:
        return None
    plan, names = regular
    scored = SCORE in plan.parts
    lines, width = (buffer, starts, ends), len(names) + scored  # scores stand in a column behind the features
    counts, failed = np.zeros((len(starts), 2), np.int64), np.full(len(starts), False)

    def over_lines(found: tuple[_Places, Floats, Ints], firsts: Ints) -> None:
        def part(low: int, high: int) -> None:
            parse_lines(low, high, lines, plan, found, counts=counts, firsts=firsts, failed=failed)

        over_ranges(part, np.append(starts, len(buffer)))

    over_lines(_room(0, 0, 0, width), counts)
    if failed.any():
        return None
    firsts = np.stack([segments.offsets_of(counts[:, 0]), segments.offsets_of(counts[:, 1])], axis=1)
    hypotheses, references = firsts[-1].tolist()
    places, features, hard = found = _room(len(starts), references, hypotheses, width)
    over_lines(found, firsts)
    for row, column in np.argwhere(hard > 0):
        begin = hard[row, column] - 1
        features[row, column] = _exactly(data[begin : begin + 400])
    if not np.isfinite(features).all():
        return None
    try:
        return _lists(piece, plan, names, features=features, places=places, firsts=firsts)
    except ValueError:
        return None


def _room(lines: int, references: int, hypotheses: int, width: int) -> tuple[_Places, Floats, Ints]:
    """Where the kernel puts what it finds: strings, numbers, and where numbers are that it cannot turn exactly."""
    sizes = (lines, lines, references, hypotheses, lines, hypotheses, hypotheses)
    places = _Places(*(np.zeros((size, 3), np.int64) for size in sizes))
    return places, np.empty((hypotheses, width)), np.zeros((hypotheses, width), np.int64)


def _is_text(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _exactly(data: bytes) -> float:
    """The number that data begins with, if it is no longer than that."""
    size = next((i for i, byte in enumerate(data) if byte not in b"+-.0123456789eE"), len(data))
    return float(data[:size]) if size < len(data) else np.nan


def _plan(data: bytes, starts: Ints, ends: Ints) -> tuple[_Plan, tuple[str, ...]] | None:
    """What the first line that has a hypothesis looks like; None where it is not regular."""
    for low, high in zip(starts[:_LOOK], ends[:_LOOK], strict=True):
        line = data[low:high]
        try:
            segment = json.loads(line)
            rows = segment["hypotheses"]
            if not rows:
                continue
            first, keys = rows[0], list(segment)
            features = first.get("features", {})
            parts = [PARTS.index(key) for key in first]
            if "text" not in first or not set(keys) <= set(KEYS) or {"group", "doc"} <= set(keys):
                return None
            names = tuple(features)
            written = [_as_written(name, line) for name in names]
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return None
        words = [f'"{key}"'.encode() for key in (*KEYS, *PARTS)]
        order = np.array([KEYS.index(key) for key in keys], np.int64)
        return _Plan(order, np.array(parts, np.int64), *_packed(written), *_packed(words), POWERS), names
    return None


def _as_written(name: str, line: bytes) -> bytes:
    plain = json.dumps(name, ensure_ascii=False).encode("utf-8")
    return plain if plain in line else json.dumps(name).encode()


def _packed(pieces: list[bytes]) -> tuple[Any, Ints]:
    sizes = np.array([len(piece) for piece in pieces], np.int64)
    return np.frombuffer(b"".join(pieces) or b" ", np.uint8), segments.offsets_of(sizes)


def _lists(
    piece: Piece, plan: _Plan, names: tuple[str, ...], places: _Places, features: Floats, firsts: Ints
) -> NBest | None:
    """The lists of what was found; None where the order of ids, or a segment without references, asks for more."""
    data = piece.data
    count = len(places.ids)
    ids = tuple(_strings(data, places.ids)) if ID in plan.keys else tuple(str(piece.before + i) for i in range(count))
    numbers = whole_numbers(ids)
    rising = numbers is None or all(a < b for a, b in zip(numbers, numbers[1:], strict=False))
    sizes = np.diff(firsts[:, 1])
    if not rising or len(set(ids)) < len(ids) or (sizes.any() and not sizes.all()):
        return None
    given = _strings(data, places.references)
    references = tuple(tuple(given[a:b]) for a, b in zip(firsts[:-1, 1], firsts[1:, 1], strict=True))
    return NBest(
        offsets=np.ascontiguousarray(firsts[:, 0]),
        features=np.ascontiguousarray(features[:, : len(names)]),
        feature_names=names,
        ids=ids,
        texts=_texts(data, places.texts),
        references=references if given else None,
        sources=tuple(_strings(data, places.sources)) if SOURCE in plan.keys else None,
        groups=tuple(_strings(data, places.groups)) if GROUP in plan.keys or DOC in plan.keys else None,
        gains=features[:, -1].copy() if SCORE in plan.parts else None,
        answers=_texts(data, places.answers) if ANSWER in plan.parts else None,
        systems=_texts(data, places.systems) if SYSTEM in plan.parts else None,
    )


def _strings(data: bytes, places: Ints) -> list[str]:
    """The strings at these places; a `ValueError` for an escape that is none, or half of a pair."""
    found = [
        json.loads(data[low - 1 : high + 1]) if kind == 2 else data[low:high].decode("utf-8")
        for low, high, kind in places.tolist()
    ]
    "".join(found).encode("utf-8")
    return found


def _texts(data: bytes, places: Ints) -> Texts:
    """Texts out of the data; those with escapes out of what is made of them, behind it."""
    starts, ends = places[:, 0].copy(), places[:, 1].copy()
    rows = np.flatnonzero(places[:, 2] == 2)
    made = [text.encode("utf-8") for text in _strings(data, places[rows])]
    if made:
        bounds = len(data) + segments.offsets_of(np.array([len(piece) for piece in made]))
        starts[rows], ends[rows] = bounds[:-1], bounds[1:]
        data = data + b"".join(made)
    return Texts(np.frombuffer(data, np.uint8), starts, ends).compact()
