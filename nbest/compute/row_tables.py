"""Tables from rows of numbers (the edges of a derivation, the words of a string) to entries, by two 64-bit hashes.

A table is an array [size, 3] of two hashes and 1 + entry, zeros where free, its size a power of two and at least twice
what it holds (open addressing). Rows themselves are not kept: with 128 bits, two of a thousand million different rows
have the same hashes with probability 1e-21.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from nbest.compute.compilation import kernel

Table = npt.NDArray[np.uint64]

EMPTY = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)
"""Hashes of a row without numbers."""


def new_table() -> Table:
    """A table without entries."""
    return np.zeros((64, 3), np.uint64)


@kernel
def with_number(one, two, number):
    """Hashes of a row that continues with a number."""
    one = (one ^ np.uint64(number)) * np.uint64(0xFF51AFD7ED558CCD)
    two = (two + np.uint64(number)) * np.uint64(0xD6E8FEB86659FD93)
    return one ^ (one >> np.uint64(32)), two ^ (two >> np.uint64(29))


@kernel
def hashes_of(owners, offsets, numbers):
    """[K, 2] hashes of rows offsets[k]:offsets[k + 1] of numbers, each of which belongs to an owner."""
    out = np.empty((len(owners), 2), np.uint64)
    for k in range(len(owners)):
        one, two = with_number(EMPTY[0], EMPTY[1], owners[k])
        for t in range(offsets[k], offsets[k + 1]):
            one, two = with_number(one, two, numbers[t])
        out[k, 0], out[k, 1] = one, two
    return out


@kernel
def slot_of(table, one, two):
    """The row of a table with these hashes, or the free one where they belong."""
    mask = np.uint64(len(table) - 1)
    slot = one & mask
    while table[slot, 2] and not (table[slot, 0] == one and table[slot, 1] == two):
        slot = (slot + np.uint64(1)) & mask
    return slot


@kernel
def _grown(table, count):
    """The table, or a larger one with the same entries, with room for `count`."""
    size = len(table)
    while size < 2 * count:
        size *= 2
    if size == len(table):
        return table
    out = np.zeros((size, 3), np.uint64)
    for k in range(len(table)):
        if table[k, 2]:
            out[slot_of(out, table[k, 0], table[k, 1])] = table[k]
    return out


@kernel
def remember(table, count, hashes, entries):
    """A table with these entries besides the `count` that are there."""
    table = _grown(table, count + len(hashes))
    for k in range(len(hashes)):
        slot = slot_of(table, hashes[k, 0], hashes[k, 1])
        table[slot, 0], table[slot, 1], table[slot, 2] = hashes[k, 0], hashes[k, 1], np.uint64(entries[k] + 1)
    return table


@kernel
def number_rows(table, count, hashes):
    """Entries of these hashes, where those not among the `count` that are there get the next numbers: table, entries
    [K], and the first of each new entry."""
    table = _grown(table, count + len(hashes))
    entries = np.empty(len(hashes), np.int64)
    fresh = np.empty(len(hashes), np.int64)
    total = count
    for k in range(len(hashes)):
        slot = slot_of(table, hashes[k, 0], hashes[k, 1])
        if not table[slot, 2]:
            fresh[total - count] = k
            total += 1
            table[slot, 0], table[slot, 1], table[slot, 2] = hashes[k, 0], hashes[k, 1], np.uint64(total)
        entries[k] = np.int64(table[slot, 2]) - 1
    return table, entries, fresh[: total - count]
