"""Rows of words as numbers, and the boundary words of the nodes of a forest.

A trie keeps rows of words: number g is the row `parents[g]` (-1: the empty row) with the word `words[g]` after it,
found by open addressing on (parent, word). Numbers count up from 0 in order of first appearance.

A node's context is its first and last `most` words (all of them where there are fewer), as far as something above it
can come before its words or after them; with n-grams of up to `most` + 1 words no more is ever asked for.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nbest.base.types import Ints
from nbest.compute.compilation import kernel
from nbest.compute.growing import longer
from nbest.compute.intrinsics import new

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
LEFT, RIGHT = 1, 2  # bits of what a node needs


# tries ----------------------------------------------------------------------------------------------------------


class WordTrie(NamedTuple):
    """Rows of words, with room for more."""

    table: Ints  # [a power of two] int32, numbers of rows, -1 where free
    parents: Ints  # int32
    words: Ints  # int32


@kernel
def new_trie():
    """A trie without rows."""
    return WordTrie(np.full(64, -1, np.int32), np.empty(32, np.int32), np.empty(32, np.int32))


@kernel
def trie_for(count):
    """A trie without rows that has room for so many."""
    size = 64
    while size < 2 * count:
        size *= 2
    table = new(size, np.int32)
    table[:] = -1
    return WordTrie(table, new(count, np.int32), new(count, np.int32))


@kernel
def _slot(trie, parent, word):
    """Where a row is in the table, or the free slot where it belongs."""
    table, parents, words = trie
    last = np.uint64(len(table) - 1)
    key = (np.uint64(parent + 1) << np.uint64(32)) | np.uint64(word)
    key *= _GOLDEN
    slot = (key ^ (key >> np.uint64(32))) & last
    while table[slot] >= 0 and (parents[table[slot]] != parent or words[table[slot]] != word):
        slot = (slot + np.uint64(1)) & last
    return slot


@kernel
def with_room(trie, count, more):
    """The same trie with room for `more` rows besides the `count` that it has."""
    table, parents, words = trie
    need = count + more
    if need > len(parents):
        size = 2 * need
        parents, words = longer(parents[:count], size), longer(words[:count], size)
    if 2 * need > len(table):
        size = len(table)
        while size < 4 * need:
            size *= 2
        table = np.full(size, -1, np.int32)
        for g in range(count):
            table[_slot(WordTrie(table, parents, words), parents[g], words[g])] = g
    return WordTrie(table, parents, words)


@kernel
def add_row(trie, count, parent, word):
    """The number of a row; `count` where it is new. There must be room for it."""
    slot = _slot(trie, parent, word)
    if trie.table[slot] < 0:
        trie.table[slot] = count
        trie.parents[count] = parent
        trie.words[count] = word
    return trie.table[slot]


@kernel
def find_row(trie, parent, word):
    """The number of a row, -1 where the trie does not have it."""
    return trie.table[_slot(trie, parent, word)]


@kernel
def size_of(parents, row):
    """How many words a row has."""
    size = 0
    while row >= 0:
        size += 1
        row = parents[row]
    return size


@kernel
def write_row(trie, row, out, at):
    """Write the words of a row to `out` from `at` on; where they end."""
    _, parents, words = trie
    end = at + size_of(parents, row)
    place = end
    while row >= 0:
        place -= 1
        out[place] = words[row]
        row = parents[row]
    return end


# nodes ----------------------------------------------------------------------------------------------------------


class WordEdges(NamedTuple):
    """Tails and symbols of the edges of forests."""

    tail_offsets: Ints  # [E+1]
    tails: Ints
    symbol_offsets: Ints  # [E+1]
    symbols: Ints


@kernel
def tails_of(edges, e):
    """Tails of an edge."""
    return edges.tails[edges.tail_offsets[e] : edges.tail_offsets[e + 1]]


@kernel
def symbols_of(edges, e):
    """Symbols of an edge."""
    return edges.symbols[edges.symbol_offsets[e] : edges.symbol_offsets[e + 1]]


@kernel
def needs(edge_starts, edges, useful, need):
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
            tails = tails_of(edges, e)
            if alive(tails, useful):
                useful[v] = True
                for s in symbols_of(edges, e):
                    spoken[v] |= s >= 0 or spoken[tails[-1 - s]]
    reached = np.zeros(nodes, np.bool_)
    reached[nodes - 1] = useful[nodes - 1]
    for v in range(nodes - 1, -1, -1):
        if not reached[v]:
            continue
        for e in range(edge_starts[v], edge_starts[v + 1]):
            tails = tails_of(edges, e)
            if alive(tails, useful):
                for t in tails:
                    reached[t] = True
                _ask(symbols_of(edges, e), tails, need[v], spoken, need)
    for v in range(nodes):
        useful[v] = reached[v]


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
def first_words(symbols, lefts, most, trie, count):
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
            size = write_row(trie, lefts[-1 - s], taken, size)
    return _row(taken[: min(size, most)], trie, count)


@kernel
def last_words(symbols, rights, most, trie, count):
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
            low -= size_of(trie.parents, rights[-1 - s])
            write_row(trie, rights[-1 - s], taken, low)
    return _row(taken[max(low, most) :], trie, count)


@kernel
def _row(taken, trie, count):
    row = np.int32(-1)
    for word in taken:
        row = add_row(trie, count, row, word)
        count = max(count, row + 1)
    return row, count
