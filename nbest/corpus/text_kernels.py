"""Kernels on the bytes of texts: white space, words and their hashes, code points, copies."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from nbest.base.types import Ints
from nbest.compute.compilation import kernel
from nbest.compute.growing import numbered_slots
from nbest.compute.intrinsics import new
from nbest.compute.row_tables import EMPTY, slot_of

_FNV, _FNV_PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
A = TypeVar("A", bound=npt.NDArray[Any])


@kernel
def compact(buffer, starts, ends):
    """Texts in a buffer that holds nothing else."""
    total = 0
    for h in range(len(starts)):
        total += ends[h] - starts[h]
    out = new(total, np.uint8)
    new_starts, new_ends = new(len(starts), np.int64), new(len(starts), np.int64)
    at = 0
    for h in range(len(starts)):
        size = ends[h] - starts[h]
        for k in range(size):
            out[at + k] = buffer[starts[h] + k]
        new_starts[h] = at
        at += size
        new_ends[h] = at
    return out, new_starts, new_ends


@kernel
def space_width(buffer, at, end):
    """Width in bytes of the white space at this place, as `str.isspace` sees it; 0 if there is none."""
    byte = buffer[at]
    if byte <= 32:
        return 1 if byte == 32 or 9 <= byte <= 13 or 28 <= byte <= 31 else 0
    if byte < 0xC2:
        return 0
    if byte == 0xC2 and at + 1 < end:
        return 2 if buffer[at + 1] == 0x85 or buffer[at + 1] == 0xA0 else 0
    if at + 2 >= end:
        return 0
    second, third = buffer[at + 1], buffer[at + 2]
    if byte == 0xE1:
        return 3 if second == 0x9A and third == 0x80 else 0
    if byte == 0xE2:
        if second == 0x80:
            return 3 if third <= 0x8A or third == 0xA8 or third == 0xA9 or third == 0xAF else 0
        return 3 if second == 0x81 and third == 0x9F else 0
    return 3 if byte == 0xE3 and second == 0x80 and third == 0x80 else 0


@kernel
def _same(buffer, start, other, size):
    for k in range(size):
        if buffer[start + k] != buffer[other + k]:
            return False
    return True


def distinct_words(
    buffer: npt.NDArray[np.uint8], starts: Ints, ends: Ints
) -> tuple[Ints, npt.NDArray[np.int32], Ints, Ints]:
    """Offsets and numbers of all words, and the first place of each distinct word; open addressing on FNV-1a."""
    table = np.full(1 << 12, -1, np.int32)
    hashes = np.empty(1 << 11, np.uint64)
    first = np.empty(1 << 11, np.int64)
    last = np.empty(1 << 11, np.int64)
    ids = np.empty(max(16, len(buffer) // 4), np.int32)
    offsets = np.zeros(len(starts) + 1, np.int64)
    text, at, count, total = 0, int(starts[0]) if len(starts) else 0, 0, 0
    while True:
        known = (table, hashes, first, last)
        text, at, count, total = _intern_some((text, at, count, total), (buffer, starts, ends), known, ids, offsets)
        if text == len(starts):
            break
        if total == len(ids):
            ids = _twice(ids)
        if count == len(hashes):
            hashes, first, last = _twice(hashes), _twice(first), _twice(last)
            table = numbered_slots(hashes[:count], 2 * len(table))
    return offsets, ids[:total].copy(), first[:count].copy(), last[:count].copy()


def _twice(array: A) -> A:
    """The same values with room for as many more; no kernel, which would be compiled for each kind of values."""
    return np.concatenate([array, np.empty_like(array)])  # type: ignore[return-value]


@kernel
def _intern_some(place, texts, known, ids, offsets):
    """Words from a place on until all are done or an array is full; returns where it stopped.

    A kernel of its own because arrays that are replaced within a kernel are reached more slowly (1.7 times as slow).
    """
    text, at, count, total = place
    buffer, starts, ends = texts
    table, hashes, first, last = known
    while text < len(starts):
        end = ends[text]
        while at < end:
            width = space_width(buffer, at, end)
            if width:
                at += width
                continue
            if total == len(ids) or count == len(hashes):
                return text, at, count, total
            begin = at
            code = _FNV
            while at < end and (33 <= buffer[at] < 0xC2 or not space_width(buffer, at, end)):
                code = (code ^ np.uint64(buffer[at])) * _FNV_PRIME
                at += 1
            code ^= code >> np.uint64(29)
            slot = _find(known, buffer, code, begin, at - begin)
            if table[slot] < 0:
                table[slot] = count
                hashes[count], first[count], last[count] = code, begin, at
                count += 1
            ids[total] = table[slot]
            total += 1
        text += 1
        offsets[text] = total
        if text < len(starts):
            at = starts[text]
    return text, at, count, total


@kernel
def _find(known, buffer, code, begin, size):
    """The slot of a word, or the free one where it belongs."""
    table, hashes, first, last = known
    slot = code & np.uint64(len(table) - 1)
    while table[slot] >= 0:
        other = table[slot]
        if hashes[other] == code and last[other] - first[other] == size and _same(buffer, begin, first[other], size):
            break
        slot = (slot + np.uint64(1)) & np.uint64(len(table) - 1)
    return slot


@kernel
def _with_byte(one, two, byte):
    """Hashes of a word that continues with a byte."""
    return (one ^ np.uint64(byte)) * _FNV_PRIME, (two ^ np.uint64(byte)) * _GOLDEN


@kernel
def _mixed(one, two):
    return one ^ (one >> np.uint64(29)), two ^ (two >> np.uint64(32))


@kernel
def fill_index(table, buffer, starts, ends):
    for number in range(len(starts)):
        one, two = EMPTY
        for at in range(starts[number], ends[number]):
            one, two = _with_byte(one, two, buffer[at])
        one, two = _mixed(one, two)
        slot = slot_of(table, one, two)
        table[slot, 0], table[slot, 1], table[slot, 2] = one, two, np.uint64(number + 1)


@kernel
def numbers_of_words(buffer, bounds, index, other, ids, offsets):
    total = 0
    for text in range(len(offsets) - 1):
        at, end = bounds[0][text], bounds[1][text]
        while at < end:
            width = space_width(buffer, at, end)
            if width:
                at += width
                continue
            one, two = EMPTY
            while at < end and (33 <= buffer[at] < 0xC2 or not space_width(buffer, at, end)):
                one, two = _with_byte(one, two, buffer[at])
                at += 1
            one, two = _mixed(one, two)
            number = index.table[slot_of(index.table, one, two), 2]
            ids[total] = index.numbers[np.int64(number) - 1] if number else other
            total += 1
        offsets[text + 1] = total
    return total


@kernel
def code_points(buffer, starts, ends, spaces):
    size = 0
    for h in range(len(starts)):
        size += ends[h] - starts[h]
    ids = np.empty(size, np.int32)
    offsets = np.zeros(len(starts) + 1, np.int64)
    total = 0
    for h in range(len(starts)):
        at = starts[h]
        end = ends[h]
        while at < end:
            byte = np.int32(buffer[at])
            if byte < 0x80:
                width = 1
                point = byte
            elif byte < 0xE0:
                width = 2
                point = (byte & 0x1F) << 6 | (buffer[at + 1] & 0x3F)
            elif byte < 0xF0:
                width = 3
                point = (byte & 0x0F) << 12 | np.int32(buffer[at + 1] & 0x3F) << 6 | (buffer[at + 2] & 0x3F)
            else:
                width = 4
                point = (
                    (byte & 0x07) << 18
                    | np.int32(buffer[at + 1] & 0x3F) << 12
                    | np.int32(buffer[at + 2] & 0x3F) << 6
                    | (buffer[at + 3] & 0x3F)
                )
            if spaces or not space_width(buffer, at, end):
                ids[total] = point
                total += 1
            at += width
        offsets[h + 1] = total
    return offsets, ids[:total].copy()
