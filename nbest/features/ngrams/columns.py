"""Kernels that make the sparse columns of given n-grams, and spell their names."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from nbest.base.types import Floats, Ints
from nbest.compute.compilation import kernel
from nbest.compute.parallel import over_ranges
from nbest.compute.segments import offsets_of
from nbest.compute.vectors import most
from nbest.features.ngrams.counts import (
    Shape,
    Trie,
    bits_for,
    clear,
    count_text,
    find_slot,
    list_tokens,
    put_node,
    room_for,
)


@kernel
def known_ngrams(offsets, ids):
    """A trie of n-grams, the column of each node (-1: only a part of others), and the first n-gram given twice or -1.

    N-gram c is `ids[offsets[c]:offsets[c + 1]]`; it is column c.
    """
    size = len(ids) + 1
    bits = bits_for(size)
    keys, values = np.full(1 << bits, -1, np.int64), np.empty(1 << bits, np.int32)
    trie = Trie(keys, values, np.zeros(size, np.int32), np.zeros(size, np.int32))
    columns = np.full(size, -1, np.int32)
    nodes = 0
    for c in range(len(offsets) - 1):
        node = 0
        for at in range(offsets[c], offsets[c + 1]):
            slot = find_slot(trie, bits, node, ids[at])
            if trie.keys[slot] < 0:
                nodes += 1
                put_node(trie, slot, nodes, node, ids[at])
            node = trie.values[slot]
        if columns[node] >= 0:
            return trie, columns, c
        columns[node] = c
    return trie, columns, -1


def count_columns(
    offsets: Ints, text_offsets: Ints, ids: Ints, shape: Shape, trie: Trie, columns: Ints, threads: int | None = None
) -> tuple[Floats, Ints, Ints]:
    """Data, indices and row offsets of the matrix [H, C] of how often each hypothesis has each known n-gram.

    Indices of a row rise. Every range of lists writes to its own part of arrays with room for all n-grams, of which
    only what is written takes memory; the parts are then moved together.
    """
    sizes = np.diff(text_offsets) + (2 if shape.first >= 0 else 0)
    possible = np.zeros(len(sizes), np.int64)
    for n in range(shape.lowest, shape.order + 1):
        possible += np.maximum(sizes - n + 1, 0)
    starts = offsets_of(possible)[offsets]  # [N+1] where a list may begin to write
    indices, data = np.empty(starts[-1], np.int32), np.empty(starts[-1], np.float32)
    lengths = np.zeros(len(sizes), np.int64)
    ends: dict[int, int] = {}
    texts, out = (offsets, text_offsets, ids), (indices, data, lengths)

    def fill(low: int, high: int) -> None:
        ends[low] = _fill(low, high, texts, shape, (trie, columns), start=starts[low], out=out)

    over_ranges(fill, offsets, threads)
    total = 0
    for low in sorted(ends):
        size = ends[low] - int(starts[low])
        for array in (indices, data):
            _move(array, int(starts[low]), total, size)
        total += size
    for array in (indices, data):
        array.resize(total, refcheck=False)
    return data, indices, offsets_of(lengths)


@kernel
def _move(array, source, goal, size):
    if source != goal:
        for k in range(size):
            array[goal + k] = array[source + k]


class _Entries(NamedTuple):
    """Entries of one list: as found, in order of hypotheses, and sorted by column."""

    nodes: npt.NDArray[np.int32]
    counts: npt.NDArray[np.int32]
    sorted_rows: npt.NDArray[np.int32]
    sorted_columns: npt.NDArray[np.int32]
    sorted_counts: npt.NDArray[np.int32]


@kernel
def _fill(low, high, texts, shape, known, start, out):
    """Rows of a range of lists, written one after the other from `start`; returns where they end."""
    offsets, text_offsets, ids = texts
    room = room_for(low, high, offsets, text_offsets, shape)
    size = len(room.counts)
    entries = _Entries(np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size, np.int32),
                       np.empty(size, np.int32), np.empty(size, np.int32))  # fmt: skip
    column = np.empty(size, np.int32)  # of each node of the list at hand
    row_ends = np.zeros(most(low, high, offsets) + 1, np.int64)
    for i in range(low, high):
        bits, nodes, found = bits_for(list_tokens(i, offsets, text_offsets, shape) * shape.order), 0, 0
        for h in range(offsets[i], offsets[i + 1]):
            nodes, own = count_text(
                ids, low=text_offsets[h], high=text_offsets[h + 1], shape=shape, bits=bits, nodes=nodes, room=room
            )
            for k in range(own):
                node = room.row[k]
                entries.nodes[found + k] = node
                entries.counts[found + k] = room.counts[node]
                room.counts[node] = 0
                room.holders[node] += 1
            found += own
            row_ends[h - offsets[i]] = found
        _find_columns(nodes, room, known, column)
        start = _write(
            (offsets[i], offsets[i + 1]), nodes, (room.holders, column), row_ends, entries, start=start, out=out
        )
        clear(nodes, room)
    return start


@kernel
def _find_columns(nodes, room, known, column):
    """Column of each node of a list, -1 for none. `least` is used for the node of the large trie, -1 for none."""
    trie, columns = known
    bits = bits_for(len(columns))
    room.least[0] = 0
    for node in range(1, nodes + 1):
        room.least[node] = column[node] = -1
        parent = room.least[room.trie.parents[node]]
        if parent >= 0:
            slot = find_slot(trie, bits, parent, room.trie.tokens[node])
            if trie.keys[slot] >= 0:
                room.least[node] = trie.values[slot]
                column[node] = columns[trie.values[slot]]


@kernel
def _write(rows, nodes, of_nodes, row_ends, entries, start, out):
    """Write the rows of a list with rising columns, by sorting the entries by column and dealing them out to rows."""
    first, last = rows
    holders, column = of_nodes
    indices, data, lengths = out
    chosen = np.flatnonzero(column[1 : nodes + 1] >= 0) + 1
    places = np.zeros(nodes + 1, np.int64)
    total = 0
    for node in chosen[np.argsort(column[chosen])]:
        places[node] = total
        total += holders[node]
    at = 0
    for h in range(first, last):
        while at < row_ends[h - first]:
            node = entries.nodes[at]
            if column[node] >= 0:
                place = places[node]
                places[node] += 1
                entries.sorted_rows[place] = h - first
                entries.sorted_columns[place] = column[node]
                entries.sorted_counts[place] = entries.counts[at]
                lengths[h] += 1
            at += 1
        row_ends[h - first] = start  # from here on: where the next entry of the row goes
        start += lengths[h]
    for place in range(total):
        row = entries.sorted_rows[place]
        indices[row_ends[row]] = entries.sorted_columns[place]
        data[row_ends[row]] = entries.sorted_counts[place]
        row_ends[row] += 1
    return start


@kernel
def spell(parents, tokens, chosen, order, buffer, starts, ends):
    """The chosen nodes as one UTF-8 text: tokens (`buffer[starts[t]:ends[t]]`) with spaces between, a line a node."""
    path = np.zeros(order, np.int32)
    size = 0
    for node in chosen:
        while node:
            size += ends[tokens[node]] - starts[tokens[node]] + 1
            node = parents[node]
    out = np.empty(size, np.uint8)
    at = 0
    for node in chosen:
        length = 0
        while node:
            path[length] = tokens[node]
            length += 1
            node = parents[node]
        for k in range(length - 1, -1, -1):
            for byte in range(starts[path[k]], ends[path[k]]):
                out[at] = buffer[byte]
                at += 1
            out[at] = 32 if k else 10
            at += 1
    return out
