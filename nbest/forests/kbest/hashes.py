"""Hashes of the words of derivations, composed from those of their tails.

The hash of words w_1 ... w_n is sum_i (w_i + 1) B^(n-i) modulo the prime 2^61 - 1, for two bases B that were drawn at
random once. That of words after words is h(x y) = h(x) B^|y| + h(y), so a derivation costs as much as its edge has
symbols. Two different rows of at most n words have equal hashes with probability below (n / 2^61)^2 over the bases.
"""

from __future__ import annotations

import numpy as np

from nbest.compute.compilation import kernel
from nbest.forests.kbest.heap import HEAD, LEFT, RIGHT

_PRIME = np.uint64((1 << 61) - 1)
_BASES = (np.uint64(0x0E9D19501EA65C0B), np.uint64(0x09294655F366190E))
_MIX = np.uint64(0x9E3779B97F4A7C15)
_30, _31, _61 = np.uint64(30), np.uint64(31), np.uint64(61)
_LOW30, _LOW31 = np.uint64((1 << 30) - 1), np.uint64((1 << 31) - 1)


@kernel
def _reduced(x):
    x = (x & _PRIME) + (x >> _61)
    return x - _PRIME if x >= _PRIME else x


@kernel
def _times(a, b):
    """a b modulo the prime, by halves of 31 bits."""
    a_high, a_low, b_high, b_low = a >> _31, a & _LOW31, b >> _31, b & _LOW31
    middle = a_low * b_high + a_high * b_low
    high = a_high * b_high * np.uint64(2) + (middle >> _30)
    return _reduced(high + ((middle & _LOW30) << _31) + a_low * b_low)


@kernel
def _append(row, h0, h1, p0, p1):
    """Put words with these hashes and powers after those of `row`."""
    row[0], row[1] = _reduced(_times(row[0], p0) + h0), _reduced(_times(row[1], p1) + h1)
    row[2], row[3] = _times(row[2], p0), _times(row[3], p1)


@kernel
def hash_record(record, edge, records, hashes, words):
    """Fill hashes[record] = two hashes and two powers B^|words|; `edge` is the forests' own edge of the record.

    `words` are tail_offsets, symbol_offsets and symbols of the forests, and room for the records of an edge's tails.
    Where the edge has more than two tails, the records of its tails are found down the chain of extra nodes.
    """
    tail_offsets, symbol_offsets, symbols, below = words
    arity = tail_offsets[edge + 1] - tail_offsets[edge]
    at = record
    for t in range(arity - 1, 1, -1):
        below[t] = records[at, RIGHT]
        at = records[at, LEFT]
    if arity > 1:
        below[1] = records[at, RIGHT]
    if arity > 0:
        below[0] = records[at, LEFT]
    row = hashes[record]
    row[0], row[1], row[2], row[3] = 0, 0, 1, 1
    for s in range(symbol_offsets[edge], symbol_offsets[edge + 1]):
        symbol = symbols[s]
        if symbol >= 0:
            word = np.uint64(symbol + 1)
            _append(row, word, word, _BASES[0], _BASES[1])
        else:
            tail = hashes[below[-1 - symbol]]
            _append(row, tail[0], tail[1], tail[2], tail[3])


@kernel
def is_new(record, records, hashes, table):
    """Whether no derivation of the same node in the table has the same words; if so, it is put there."""
    mask = np.uint64(len(table) - 1)
    head = records[record, HEAD]
    slot = (hashes[record, 0] ^ (np.uint64(head) * _MIX)) & mask
    while table[slot] >= 0:
        other = table[slot]
        if (
            records[other, HEAD] == head
            and hashes[other, 0] == hashes[record, 0]
            and hashes[other, 1] == hashes[record, 1]
        ):
            return False
        slot = (slot + np.uint64(1)) & mask
    table[slot] = record
    return True


@kernel
def doubled(table, records, hashes):
    """A table of twice the size with the same records."""
    out = np.full(2 * len(table), -1, np.int32)
    for record in table:
        if record >= 0:
            is_new(record, records, hashes, out)
    return out


@kernel
def mark_used(starts, first, own, words, used):
    """Clear used [E', 2] for tails whose words the edge leaves out: they are left at their best derivation.

    `own` [E'] is the forests' edge of each edge, -1 for extra ones, whose tails are those of the edge they belong to.
    """
    tail_offsets, symbol_offsets, symbols, below = words
    seen = np.zeros(len(below), np.bool_)
    for e in range(len(own)):
        if own[e] < 0:
            continue
        arity = tail_offsets[own[e] + 1] - tail_offsets[own[e]]
        seen[:arity] = False
        for s in range(symbol_offsets[own[e]], symbol_offsets[own[e] + 1]):
            if symbols[s] < 0:
                seen[-1 - symbols[s]] = True
        at = e
        for t in range(arity - 1, 0, -1):
            used[at, 1] = seen[t]
            if t > 1:
                at = starts[first[at]]
        if arity > 0:
            used[at, 0] = seen[0]
