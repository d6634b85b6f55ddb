"""Numbers for phrases and counts for pairs of them: hash tables over flat arrays, grown between runs of sentences.

A phrase is known by its first occurrence in the corpus, and compared with it word by word, so equal hashes do no harm.
Numbers count up in order of first occurrence.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nbest.base.types import Floats, Ints
from nbest.compute.compilation import kernel
from nbest.compute.growing import numbered_slots


class Numbers:
    """Numbers of the distinct phrases of a corpus with these words."""

    def __init__(self, ids: Ints) -> None:
        self._ids = ids
        self._table = np.full(1 << 12, -1, np.int32)
        self._hashes = np.empty(0, np.uint64)
        self._starts, self._sizes = np.empty(0, np.int32), np.empty(0, np.int32)
        self._count = 0

    def of(self, starts: Ints, sizes: Ints) -> Ints:
        """[K] numbers of these phrases, new ones where they were not seen before."""
        most = self._count + len(starts)
        self._hashes, self._starts, self._sizes = (
            _roomy(array, most) for array in (self._hashes, self._starts, self._sizes)
        )
        if 2 * most > len(self._table):
            self._table = numbered_slots(self._hashes[: self._count], _power(2 * most))
        out = np.empty(len(starts), np.int32)
        known = self._table, self._hashes, self._starts, self._sizes
        self._count = _number(self._ids, (starts, sizes), known, self._count, out)
        return out

    def phrases(self) -> tuple[Ints, Ints]:
        """Start of the first occurrence, and size, of each distinct phrase."""
        return self._starts[: self._count].copy(), self._sizes[: self._count].copy()


class PairCounts:
    """Counts and best lexical weights of pairs of phrase numbers."""

    def __init__(self) -> None:
        self._table = np.full(1 << 12, -1, np.int32)
        self._keys, self._counts = np.empty(0, np.uint64), np.empty(0, np.int32)
        self._first, self._second = np.empty(0, np.float32), np.empty(0, np.float32)
        self._count = 0

    def add(self, sources: Ints, targets: Ints, first: Floats, second: Floats) -> None:
        """Count these occurrences; `first` and `second` are their log lex(e|f) and log lex(f|e)."""
        most = self._count + len(sources)
        self._keys, self._counts, self._first, self._second = (
            _roomy(array, most) for array in (self._keys, self._counts, self._first, self._second)
        )
        if 2 * most > len(self._table):
            self._table = numbered_slots(_mixed_all(self._keys[: self._count]), _power(2 * most))
        known = self._table, self._keys, self._counts, (self._first, self._second)
        self._count = _count(sources, targets, (first, second), known, self._count)

    def all(self) -> dict[str, Any]:
        """Source number, target number, count and [P, 2] lexical weights of each distinct pair."""
        keys = self._keys[: self._count]
        sources, targets = (keys >> np.uint64(32)).astype(np.int32), keys.astype(np.uint32).astype(np.int32)
        lexical = np.stack([self._first[: self._count], self._second[: self._count]], axis=1)
        counts = self._counts[: self._count].copy()
        return {"sources": sources, "targets": targets, "counts": counts, "lexical": lexical}


def _power(size: int) -> int:
    return 1 << (size - 1).bit_length()


def _roomy(array: Any, size: int) -> Any:
    """The array with room for `size` items, half as many again when it has to grow."""
    if size <= len(array):
        return array
    out = np.empty(size + size // 2, array.dtype)
    out[: len(array)] = array
    return out


@kernel
def _mixed(value):
    """A 64-bit hash of a 64-bit number (the finaliser of MurmurHash3)."""
    value ^= value >> np.uint64(33)
    value *= np.uint64(0xFF51AFD7ED558CCD)
    value ^= value >> np.uint64(33)
    value *= np.uint64(0xC4CEB9FE1A85EC53)
    return value ^ (value >> np.uint64(33))


@kernel
def _mixed_all(keys):
    out = np.empty(len(keys), np.uint64)
    for k in range(len(keys)):
        out[k] = _mixed(keys[k])
    return out


@kernel
def _same(ids, start, other, size):
    for k in range(size):
        if ids[start + k] != ids[other + k]:
            return False
    return True


@kernel
def _number(ids, phrases, known, count, out):
    starts, sizes = phrases
    table, hashes, firsts, lengths = known
    for k in range(len(starts)):
        code = np.uint64(sizes[k])
        for word in range(starts[k], starts[k] + sizes[k]):
            code = _mixed(code * np.uint64(31) + np.uint64(ids[word]))
        slot = code & np.uint64(len(table) - 1)
        number = table[slot]
        while number >= 0 and not (
            hashes[number] == code and lengths[number] == sizes[k] and _same(ids, starts[k], firsts[number], sizes[k])
        ):
            slot = (slot + np.uint64(1)) & np.uint64(len(table) - 1)
            number = table[slot]
        if number < 0:
            number = count
            table[slot] = number
            hashes[number], firsts[number], lengths[number] = code, starts[k], sizes[k]
            count += 1
        out[k] = number
    return count


@kernel
def _count(sources, targets, lexical, known, count):
    first, second = lexical
    table, keys, counts, (best_first, best_second) = known
    for k in range(len(sources)):
        key = np.uint64(sources[k]) << np.uint64(32) | np.uint64(targets[k])
        slot = _mixed(key) & np.uint64(len(table) - 1)
        number = table[slot]
        while number >= 0 and keys[number] != key:
            slot = (slot + np.uint64(1)) & np.uint64(len(table) - 1)
            number = table[slot]
        if number < 0:
            number = count
            table[slot] = number
            keys[number], counts[number] = key, 0
            best_first[number], best_second[number] = first[k], second[k]
            count += 1
        counts[number] += 1
        best_first[number] = max(best_first[number], first[k])
        best_second[number] = max(best_second[number], second[k])
    return count
