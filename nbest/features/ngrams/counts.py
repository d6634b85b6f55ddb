"""Kernels that find and count the n-grams of a corpus, list by list.

The hypotheses of a list share most of their n-grams, so each list gets a small trie of its own that stays in the
cache: a node is an n-gram, found by open addressing on (node of the n-gram without its last token, last token). What
the whole corpus knows of an n-gram is looked up once a list and not once an occurrence. Cost: `order` look-ups a token
in the small trie, and one in the large trie for each distinct n-gram of a list.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from nbest.base.types import Bools, Ints
from nbest.compute.compilation import kernel

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


class Trie(NamedTuple):
    """Nodes by (parent, token): open addressing in a table of 2^b slots; node 0 is the empty n-gram."""

    keys: Ints  # [2^b] parent << 32 | token, -1 where free
    values: npt.NDArray[np.int32]  # [2^b] node
    parents: npt.NDArray[np.int32]  # [nodes]
    tokens: npt.NDArray[np.int32]  # [nodes] last token


class ListCounts(NamedTuple):
    """Room for the n-grams of one list. Arrays by node, but for `row` and `text`, which are of one hypothesis."""

    trie: Trie
    slots: Ints  # where the node is in the table
    counts: npt.NDArray[np.int32]  # how often the hypothesis at hand has it; 0 between hypotheses
    holders: npt.NDArray[np.int32]  # how many hypotheses have it
    least: npt.NDArray[np.int32]  # how often those have it at least
    largest: npt.NDArray[np.int32]  # and at most
    row: npt.NDArray[np.int32]  # nodes that the hypothesis has
    text: npt.NDArray[np.int32]  # its tokens, with boundaries


class Shape(NamedTuple):
    """What is counted: n-grams of `lowest` to `order` tokens, between boundaries (negative: without)."""

    lowest: int
    order: int
    first: int
    last: int


@kernel
def bits_for(nodes):
    """Size of a table for this many nodes, as a power of two at least twice as large."""
    bits = 4
    while (1 << bits) < 2 * nodes:
        bits += 1
    return bits


@kernel
def find_slot(trie, bits, parent, token):
    """Where the child `token` of a node is, or the free slot where it belongs, in the first 2^bits slots."""
    key = np.int64(parent) << 32 | np.int64(token)
    slot = np.int64((np.uint64(key) * _GOLDEN) >> np.uint64(64 - bits))
    while trie.keys[slot] >= 0 and trie.keys[slot] != key:
        slot = (slot + 1) & ((1 << bits) - 1)
    return slot


@kernel
def put_node(trie, slot, node, parent, token):
    """Make a new node at a free slot."""
    trie.keys[slot] = np.int64(parent) << 32 | np.int64(token)
    trie.values[slot] = node
    trie.parents[node] = parent
    trie.tokens[node] = token


# one list -------------------------------------------------------------------------------------------------------


@kernel
def list_tokens(i, offsets, text_offsets, shape):
    """Number of tokens of a list, with boundaries."""
    low, high = offsets[i], offsets[i + 1]
    return text_offsets[high] - text_offsets[low] + (2 * (high - low) if shape.first >= 0 else 0)


@kernel
def room_for(low, high, offsets, text_offsets, shape):
    """Room for any one list of a range."""
    most = 1
    for i in range(low, high):
        most = max(most, list_tokens(i, offsets, text_offsets, shape))
    size, slots = most * shape.order + 1, 1 << bits_for(most * shape.order)
    trie = Trie(
        np.full(slots, -1, np.int64), np.empty(slots, np.int32), np.zeros(size, np.int32), np.zeros(size, np.int32)
    )
    return ListCounts(
        trie=trie,
        slots=np.zeros(size, np.int64),
        counts=np.zeros(size, np.int32),
        holders=np.zeros(size, np.int32),
        least=np.zeros(size, np.int32),
        largest=np.zeros(size, np.int32),
        row=np.zeros(size, np.int32),
        text=np.zeros(most + 2, np.int32),
    )


@kernel
def _copy_text(ids, low, high, shape, out):
    """The tokens of a text, between boundaries; returns how many there are."""
    size = 0
    if shape.first >= 0:
        out[0] = shape.first
        size = 1
    for at in range(low, high):
        out[size] = ids[at]
        size += 1
    if shape.first >= 0:
        out[size] = shape.last
        size += 1
    return size


@kernel
def count_text(ids, low, high, shape, bits, nodes, room):
    """Count the n-grams of one text in the trie of its list.

    Returns how many nodes the trie has then, and how many distinct n-grams the text has: those are in `row`, how often
    it has them in `counts`. Boundaries are parts of longer n-grams and do not count alone.
    """
    size, found, trie = _copy_text(ids, low, high, shape, room.text), 0, room.trie
    for start in range(size):
        node = 0
        boundary = shape.first >= 0 and (start == 0 or start == size - 1)
        for n in range(1, min(shape.order, size - start) + 1):
            token = room.text[start + n - 1]
            slot = find_slot(trie, bits, node, token)
            if trie.keys[slot] < 0:
                nodes += 1
                put_node(trie, slot, nodes, node, token)
                room.slots[nodes] = slot
                room.holders[nodes] = 0
            node = trie.values[slot]
            if n >= shape.lowest and not (n == 1 and boundary):
                if room.counts[node] == 0:
                    room.row[found] = node
                    found += 1
                room.counts[node] += 1
    return nodes, found


@kernel
def clear(nodes, room):
    """Empty the trie of a list."""
    for node in range(1, nodes + 1):
        room.trie.keys[room.slots[node]] = -1


@kernel
def _count_list(i, offsets, text_offsets, ids, shape, room):
    """Count the n-grams of a list: holders, least and largest count of each; returns how many nodes there are."""
    bits, nodes = bits_for(list_tokens(i, offsets, text_offsets, shape) * shape.order), 0
    for h in range(offsets[i], offsets[i + 1]):
        nodes, found = count_text(
            ids, low=text_offsets[h], high=text_offsets[h + 1], shape=shape, bits=bits, nodes=nodes, room=room
        )
        for k in range(found):
            node = room.row[k]
            count = room.counts[node]
            fresh = room.holders[node] == 0
            room.least[node] = count if fresh else min(room.least[node], count)
            room.largest[node] = count if fresh else max(room.largest[node], count)
            room.holders[node] += 1
            room.counts[node] = 0
    return nodes


# all lists ------------------------------------------------------------------------------------------------------


class Survey(NamedTuple):
    """Every n-gram of a corpus by node: a parent stands before its children, others in order of first appearance."""

    parents: npt.NDArray[np.int32]
    tokens: npt.NDArray[np.int32]
    lists: npt.NDArray[np.int32]  # in how many lists it is counted; 0 for what is only part of counted n-grams
    differs: Bools  # whether two hypotheses of some list have it a different number of times


@kernel
def _longer(array, size):
    out = np.zeros(size, array.dtype)
    for i in range(len(array)):
        out[i] = array[i]
    return out


@kernel
def _larger(trie, nodes, size):
    """The same trie with room for `size` nodes."""
    slots = 1 << bits_for(size)
    trie = Trie(
        np.full(slots, -1, np.int64), np.empty(slots, np.int32), _longer(trie.parents, size), _longer(trie.tokens, size)
    )
    bits = bits_for(size)
    for node in range(1, nodes):
        put_node(
            trie,
            find_slot(trie, bits, trie.parents[node], trie.tokens[node]),
            node,
            trie.parents[node],
            trie.tokens[node],
        )
    return trie


@kernel
def survey(offsets, text_offsets, ids, shape):
    """The n-grams of these lists, as the fields of a `Survey`."""
    room = room_for(0, len(offsets) - 1, offsets, text_offsets, shape)
    number = np.zeros(len(room.counts), np.int32)  # node of the corpus, by node of the list
    size, total = 1 << 11, 1
    trie = _larger(Trie(np.zeros(0, np.int64), np.zeros(0, np.int32), np.zeros(1, np.int32), np.zeros(1, np.int32)),
                   1, size)  # fmt: skip
    lists, differs = np.zeros(size, np.int32), np.zeros(size, np.bool_)
    for i in range(len(offsets) - 1):
        nodes = _count_list(i, offsets, text_offsets, ids, shape, room=room)
        if total + nodes > size:
            size = 2 * max(size, nodes)
            trie, lists, differs = _larger(trie, total, size), _longer(lists, size), _longer(differs, size)
        bits = bits_for(size)
        for node in range(1, nodes + 1):
            parent, token = number[room.trie.parents[node]], room.trie.tokens[node]
            slot = find_slot(trie, bits, parent, token)
            if trie.keys[slot] < 0:
                put_node(trie, slot, total, parent, token)
                total += 1
            number[node] = trie.values[slot]
            if room.holders[node] > 0:
                lists[number[node]] += 1
                same = room.holders[node] == offsets[i + 1] - offsets[i] and room.least[node] == room.largest[node]
                differs[number[node]] |= not same
        clear(nodes, room)
    return trie.parents[:total].copy(), trie.tokens[:total].copy(), lists[:total].copy(), differs[:total].copy()
