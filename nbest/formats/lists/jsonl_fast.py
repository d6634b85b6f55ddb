"""Regular JSON lines, parsed from bytes by a kernel.

Regular means: the same keys in the same order in every line and hypothesis, texts and dense features, no sparse ones,
ids that stand in order. For anything else, and for anything wrong, `parse` gives nothing and the reader in `jsonl.py`,
which is the judge, takes over; the lists that `parse` does give are bit for bit those of the plain reader.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import numpy as np

from nbest.base.types import Floats, Ints
from nbest.compute import segments
from nbest.compute.compilation import kernel
from nbest.compute.parallel import over_ranges
from nbest.corpus import NBest, Texts
from nbest.corpus.order import whole_numbers
from nbest.formats.lists.lines import Piece
from nbest.formats.lists.moses_fast import POWERS, find_lines, read_number

_KEYS = ("id", "source", "references", "hypotheses")
_ID, _SOURCE, _REFERENCES, _HYPOTHESES = range(4)
_TEXT, _FEATURES = range(2)
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
    lines, width = (buffer, starts, ends), len(names)
    counts, failed = np.zeros((len(starts), 2), np.int64), np.full(len(starts), False)

    def over_lines(found: tuple[_Places, Floats, Ints], firsts: Ints) -> None:
        def part(low: int, high: int) -> None:
            _parse(low, high, lines, plan, found, counts=counts, firsts=firsts, failed=failed)

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
    places = _Places(*(np.zeros((size, 3), np.int64) for size in (lines, lines, references, hypotheses)))
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
            parts = [("text", "features").index(key) for key in first]
            if "text" not in first or not set(keys) <= set(_KEYS):
                return None
            names = tuple(features)
            written = [_as_written(name, line) for name in names]
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return None
        words = [f'"{key}"'.encode() for key in (*_KEYS, "text", "features")]
        order = np.array([_KEYS.index(key) for key in keys], np.int64)
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
    ids = tuple(_strings(data, places.ids)) if _ID in plan.keys else tuple(str(piece.before + i) for i in range(count))
    numbers = whole_numbers(ids)
    rising = numbers is None or all(a < b for a, b in zip(numbers, numbers[1:], strict=False))
    sizes = np.diff(firsts[:, 1])
    if not rising or len(set(ids)) < len(ids) or (sizes.any() and not sizes.all()):
        return None
    given = _strings(data, places.references)
    references = tuple(tuple(given[a:b]) for a, b in zip(firsts[:-1, 1], firsts[1:, 1], strict=True))
    return NBest(
        offsets=np.ascontiguousarray(firsts[:, 0]),
        features=features,
        feature_names=names,
        ids=ids,
        texts=_texts(data, places.texts),
        references=references if given else None,
        sources=tuple(_strings(data, places.sources)) if _SOURCE in plan.keys else None,
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


# kernels --------------------------------------------------------------------------------------------------------


@kernel
def _after(buffer, at, end):
    """The next place that is no white space."""
    while at < end and (buffer[at] == 32 or buffer[at] == 9 or buffer[at] == 13):
        at += 1
    return at


@kernel
def _expect(buffer, at, end, byte):
    """The place after this byte, which stands next but for white space; -1 where it does not."""
    at = _after(buffer, at, end)
    return at + 1 if at < end and buffer[at] == byte else -1


@kernel
def _match(buffer, at, end, words, low, high):
    """The place after these words and a colon; -1 where something else stands there."""
    at = _after(buffer, at, end)
    if at + (high - low) > end:
        return -1
    for k in range(high - low):
        if buffer[at + k] != words[low + k]:
            return -1
    return _expect(buffer, at + (high - low), end, 58)


@kernel
def _string(buffer, at, end):
    """Of a string that stands next: where it begins and ends, without quotes, and 2 where it has escapes, else 1;
    -1 where there is none."""
    at = _after(buffer, at, end)
    if at >= end or buffer[at] != 34:
        return -1, -1, 0
    begin = at + 1
    kind = 1
    at = begin
    while at < end and buffer[at] != 34:
        if buffer[at] < 32:
            return -1, -1, 0
        if buffer[at] == 92:
            kind = 2
            at += 1
        at += 1
    return (begin, at, kind) if at < end else (-1, -1, 0)


@kernel
def _json_number(buffer, at, end, powers):
    """As `read_number`, of numbers as JSON writes them: no +, digits on both sides of a point, no zeros in front."""
    first = at + 1 if at < end and buffer[at] == 45 else at
    if first >= end or not 48 <= buffer[first] <= 57:
        return -1, 0.0, True
    if buffer[first] == 48 and first + 1 < end and 48 <= buffer[first + 1] <= 57:
        return -1, 0.0, True
    stop, value, exact = read_number(buffer, at, end, powers)
    whole = True
    for k in range(first, stop):
        if buffer[k] == 46 and not (k + 1 < stop and 48 <= buffer[k + 1] <= 57):
            return -1, 0.0, True
        if buffer[k] == 46 or buffer[k] == 101 or buffer[k] == 69:
            whole = False
    if whole and exact and value == 0.0:  # -0 is a whole number, and these have no sign of zero
        value = 0.0
    return stop, value, exact


@kernel
def _row(buffer, at, end, plan, features, hard, h):
    """The features of a hypothesis, an object; the place after it, -1 where it is not regular."""
    at = _expect(buffer, at, end, 123)
    for d in range(len(plan.bounds) - 1):
        if at >= 0 and d > 0:
            at = _expect(buffer, at, end, 44)
        if at < 0:
            return -1
        at = _match(buffer, at, end, plan.names, low=plan.bounds[d], high=plan.bounds[d + 1])
        if at < 0:
            return -1
        at = _after(buffer, at, end)
        begin = at
        at, value, exact = _json_number(buffer, at, end, plan.powers)
        if at < 0:
            return -1
        if h < len(features):
            features[h, d] = value
            hard[h, d] = 0 if exact else begin + 1
    return _expect(buffer, at, end, 125) if at >= 0 else -1


@kernel
def _hypothesis(buffer, at, end, plan, found, h):
    """The place after a hypothesis; -1 where it is not regular."""
    places, features, hard = found
    at = _expect(buffer, at, end, 123)
    for k in range(len(plan.parts)):
        if at >= 0 and k > 0:
            at = _expect(buffer, at, end, 44)
        if at < 0:
            return -1
        word = 4 + plan.parts[k]
        at = _match(buffer, at, end, plan.words, low=plan.word_bounds[word], high=plan.word_bounds[word + 1])
        if at < 0:
            return -1
        if plan.parts[k] == 1:
            at = _row(buffer, at, end, plan, features, hard=hard, h=h)
            continue
        begin, stop, kind = _string(buffer, at, end)
        if h < len(places.texts):
            places.texts[h, 0], places.texts[h, 1], places.texts[h, 2] = begin, stop, kind
        at = stop + 1 if stop >= 0 else -1
    return _expect(buffer, at, end, 125) if at >= 0 else -1


@kernel
def _many(buffer, at, end, plan, found, first, rows):
    """An array of hypotheses (`rows`), or of references: the place after it and how many there are; -1 if irregular."""
    places = found[0]
    at = _expect(buffer, at, end, 91)
    if at < 0:
        return -1, 0
    empty = _expect(buffer, at, end, 93)
    if empty >= 0:
        return empty, 0
    count = 0
    while True:
        if rows:
            at = _hypothesis(buffer, at, end, plan, found, h=first + count)
            if at < 0:
                return -1, 0
        else:
            begin, stop, kind = _string(buffer, at, end)
            if stop < 0:
                return -1, 0
            if first + count < len(places.references):
                row = places.references[first + count]
                row[0], row[1], row[2] = begin, stop, kind
            at = stop + 1
        count += 1
        close = _expect(buffer, at, end, 93)
        if close >= 0:
            return close, count
        at = _expect(buffer, at, end, 44)
        if at < 0:
            return -1, 0


@kernel
def _name(buffer, at, end, into, line):
    """A string, or for an id a whole number, and where it is; the place after it, -1 where it is neither."""
    begin, stop, kind = _string(buffer, at, end)
    if stop < 0:
        begin = _after(buffer, at, end)
        stop = begin
        while stop < end and 48 <= buffer[stop] <= 57 and stop - begin < 18:
            stop += 1
        if stop == begin or (buffer[begin] == 48 and stop > begin + 1):
            return -1
        kind = 0
    if line < len(into):
        into[line, 0], into[line, 1], into[line, 2] = begin, stop, kind
    return stop if kind == 0 else stop + 1


@kernel
def _segment(buffer, at, end, plan, found, line, first, counts):
    """One line; whether it is regular. `first`: the places of its hypotheses and references."""
    places = found[0]
    at = _expect(buffer, at, end, 123)
    for k in range(len(plan.keys)):
        if at >= 0 and k > 0:
            at = _expect(buffer, at, end, 44)
        if at < 0:
            return False
        word = plan.keys[k]
        at = _match(buffer, at, end, plan.words, low=plan.word_bounds[word], high=plan.word_bounds[word + 1])
        if at < 0:
            return False
        if word == 3:
            at, counts[0] = _many(buffer, at, end, plan, found, first=first[0], rows=True)
        elif word == 2:
            at, counts[1] = _many(buffer, at, end, plan, found, first=first[1], rows=False)
        elif word == 0:
            at = _name(buffer, at, end, places.ids, line)
        else:
            begin, stop, kind = _string(buffer, at, end)
            if line < len(places.sources):
                places.sources[line, 0], places.sources[line, 1], places.sources[line, 2] = begin, stop, kind
            at = stop + 1 if stop >= 0 else -1
    at = _expect(buffer, at, end, 125) if at >= 0 else -1
    return at >= 0 and _after(buffer, at, end) == end


@kernel
def _parse(low, high, lines, plan, found, counts, firsts, failed):
    """Lines low:high: how many hypotheses and references they have, or with room for them what they are."""
    buffer, starts, ends = lines
    for line in range(low, high):
        if not _segment(
            buffer, starts[line], ends[line], plan, found, line=line, first=firsts[line], counts=counts[line]
        ):
            failed[line] = True
            return
