"""Rows of words as numbers, and the boundary words of the nodes of a forest.

A trie keeps rows of words: number g is the row `parents[g]` (-1: the empty row) with the word `words[g]` after it,
found by open addressing on (parent, word). Numbers count up from 0 in order of first appearance.

A node's context is its first and last `most` words (all of them where there are fewer), as far as something above it
can come before its words or after them; with n-grams of up to `most` + 1 words no more is ever asked for.
"""

from __future__ import annotations

import numpy as np

from nbest.compute.compilation import kernel

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
LEFT, RIGHT = 1, 2  # bits of what a node needs


# tries ----------------------------------------------------------------------------------------------------------


@kernel
def new_trie():
    """The table, the parents and the words of a trie without rows."""
    return np.full(64, -1, np.int32), np.empty(32, np.int32), np.empty(32, np.int32)


@kernel
def _slot(table, parents, words, parent, word):
    """Where a row is in the table, or the free slot where it belongs."""
    last = np.uint64(len(table) - 1)
    key = (np.uint64(parent + 1) << np.uint64(32)) | np.uint64(word)
    key *= _GOLDEN
    slot = (key ^ (key >> np.uint64(32))) & last
    while table[slot] >= 0 and (parents[table[slot]] != parent or words[table[slot]] != word):
        slot = (slot + np.uint64(1)) & last
    return slot


@kernel
def with_room(table, parents, words, count, more):
    """The same trie with room for `more` rows."""
    need = count + more
    if need > len(parents):
        size = 2 * need
        grown = np.empty(size, np.int32), np.empty(size, np.int32)
        grown[0][:count] = parents[:count]
        grown[1][:count] = words[:count]
        parents, words = grown
    if 2 * need > len(table):
        size = len(table)
        while size < 4 * need:
            size *= 2
        table = np.full(size, -1, np.int32)
        for g in range(count):
            table[_slot(table, parents, words, parents[g], words[g])] = g
    return table, parents, words


@kernel
def add(table, parents, words, count, parent, word):
    """The number of a row; `count` where it is new. There must be room for it."""
    slot = _slot(table, parents, words, parent, word)
    if table[slot] < 0:
        table[slot] = count
        parents[count] = parent
        words[count] = word
    return table[slot]


@kernel
def find(table, parents, words, parent, word):
    """The number of a row, -1 where the trie does not have it."""
    return table[_slot(table, parents, words, parent, word)]


@kernel
def size_of(parents, row):
    """How many words a row has."""
    size = 0
    while row >= 0:
        size += 1
        row = parents[row]
    return size


@kernel
def write(parents, words, row, out, at):
    """Write the words of a row to `out` from `at` on; where they end."""
    end = at + size_of(parents, row)
    place = end
    while row >= 0:
        place -= 1
        out[place] = words[row]
        row = parents[row]
    return end


# nodes ----------------------------------------------------------------------------------------------------------


@kernel
def needs(edge_starts, tail_offsets, tails, symbol_offsets, symbols, useful, need):
    """Fill for each node of one forest whether it is part of a derivation, and what it needs (LEFT, RIGHT).

    `edge_starts` [V+1] are numbers over all forests. Useful edges are those whose head is useful and whose tails all
    have derivations.
    """
    nodes = len(edge_starts) - 1
    spoken = np.zeros(nodes, np.bool_)  # has a derivation with words
    for v in range(nodes):
        useful[v] = False  # has a derivation
        need[v] = 0
        for e in range(edge_starts[v], edge_starts[v + 1]):
            if alive(tails[tail_offsets[e] : tail_offsets[e + 1]], useful):
                useful[v] = True
                for s in symbols[symbol_offsets[e] : symbol_offsets[e + 1]]:
                    spoken[v] |= s >= 0 or spoken[tails[tail_offsets[e] - 1 - s]]
    reached = np.zeros(nodes, np.bool_)
    reached[nodes - 1] = useful[nodes - 1]
    for v in range(nodes - 1, -1, -1):
        if not reached[v]:
            continue
        for e in range(edge_starts[v], edge_starts[v + 1]):
            row = tails[tail_offsets[e] : tail_offsets[e + 1]]
            if alive(row, useful):
                for t in row:
                    reached[t] = True
                _ask(symbols[symbol_offsets[e] : symbol_offsets[e + 1]], row, need[v], spoken, need)
    useful[:] = reached


@kernel
def alive(tails, useful):
    """Whether all tails are useful."""
    for t in tails:
        if not useful[t]:
            return False
    return True


@kernel
def _ask(symbols, tails, asked, spoken, need):
    """What an edge needs of its tails: words can stand before or after them here, or further up."""
    before = (asked & LEFT) != 0
    for s in symbols:
        if s < 0 and before:
            need[tails[-1 - s]] |= LEFT
        before |= s >= 0 or spoken[tails[-1 - s]]
    after = (asked & RIGHT) != 0
    for s in symbols[::-1]:
        if s < 0 and after:
            need[tails[-1 - s]] |= RIGHT
        after |= s >= 0 or spoken[tails[-1 - s]]


@kernel
def first_words(symbols, lefts, most, table, parents, words, count):
    """The row of the first `most` words of an edge, and how many rows there are now.

    `lefts` are the contexts of the tails by position. There must be room for `most` rows.
    """
    taken = np.empty(2 * most, np.int32)
    size = 0
    for s in symbols:
        if size >= most:
            break
        if s >= 0:
            taken[size] = s
            size += 1
        else:
            size = write(parents, words, lefts[-1 - s], taken, size)
    return _row(taken[: min(size, most)], table, parents, words, count)


@kernel
def last_words(symbols, rights, most, table, parents, words, count):
    """The row of the last `most` words of an edge, and how many rows there are now."""
    taken = np.empty(2 * most, np.int32)  # from the end on
    low = 2 * most
    for s in symbols[::-1]:
        if 2 * most - low >= most:
            break
        if s >= 0:
            low -= 1
            taken[low] = s
        else:
            low -= size_of(parents, rights[-1 - s])
            write(parents, words, rights[-1 - s], taken, low)
    return _row(taken[max(low, most) :], table, parents, words, count)


@kernel
def _row(taken, table, parents, words, count):
    row = np.int32(-1)
    for word in taken:
        row = add(table, parents, words, count, row, word)
        count = max(count, row + 1)
    return row, count
