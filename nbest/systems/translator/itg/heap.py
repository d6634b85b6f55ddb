"""What a span of the ITG decoder is searched with: a heap of candidates, the cells met, the nodes made."""

from __future__ import annotations

import numpy as np

from nbest.compute.compilation import kernel, lending_kernel

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@kernel
def table_for(count):
    """An empty table with room for `count` entries: a power of two of slots, at most half of them used."""
    size = 16
    while size < 2 * count:
        size *= 2
    return np.full(size, -1, np.int32)


@lending_kernel
def mixed(value, more):
    """A hash of what `value` is the hash of and one number more."""
    value = (value ^ np.uint64(more)) * _GOLDEN
    return value ^ (value >> np.uint64(29))


@lending_kernel
def push(heap, size, ranks, candidate):
    """Put a candidate on the heap of `size` candidates; the best rank, then the lowest number, is on top."""
    at = size
    while at:
        parent = (at - 1) >> 1
        if not _before(ranks, candidate, heap[parent]):
            break
        heap[at] = heap[parent]
        at = parent
    heap[at] = candidate


@lending_kernel
def pop(heap, size, ranks):
    """Take the best candidate from a heap of `size`."""
    top, last = heap[0], heap[size - 1]
    size -= 1
    at = 0
    while 2 * at + 1 < size:
        below = 2 * at + 1
        if below + 1 < size and _before(ranks, heap[below + 1], heap[below]):
            below += 1
        if not _before(ranks, heap[below], last):
            break
        heap[at] = heap[below]
        at = below
    heap[at] = last
    return top


@lending_kernel
def _before(ranks, one, other):
    return ranks[one] > ranks[other] or (ranks[one] == ranks[other] and one < other)


@lending_kernel
def first_time(table, places, cube, row, column, candidate):
    """Whether this cell of a cube was not met before; if so it is noted as `places[candidate]`."""
    last = np.uint64(len(table) - 1)
    slot = mixed(mixed(mixed(np.uint64(0), cube), row), column) & last
    while table[slot] >= 0:
        at = table[slot]
        if places[at, 0] == cube and places[at, 1] == row and places[at, 2] == column:
            return False
        slot = (slot + np.uint64(1)) & last
    table[slot] = candidate
    places[candidate, 0], places[candidate, 1], places[candidate, 2] = cube, row, column
    return True


@lending_kernel
def node_slot(table, words, kinds, row, kind):
    """Where the node with these boundary words and this kind is in the table, or the free slot where it belongs."""
    last = np.uint64(len(table) - 1)
    key = mixed(np.uint64(0), kind)
    for word in row:
        key = mixed(key, word + 1)
    slot = key & last
    while table[slot] >= 0 and not _same(words[table[slot]], kinds[table[slot]], row, kind):
        slot = (slot + np.uint64(1)) & last
    return slot


@lending_kernel
def _same(words, own, row, kind):
    if own != kind:
        return False
    for t in range(len(row)):
        if words[t] != row[t]:
            return False
    return True
