"""Items of a beam: rows of words with the edge and the items of tails they come from, in pools that grow.

A store is a table of items (where their words begin, how many, edge, where the items of its tails are listed), the pool
of words and the pool of items of tails; `used` says how much of each is taken.
"""

from __future__ import annotations

import numpy as np

from nbest.compute.compilation import kernel
from nbest.compute.growing import longer, roomy, taller

WORDS, SIZE, EDGE, BELOW, FIELDS = range(5)  # columns of the table


@kernel
def empty():
    """A store without items, and how much of it is used."""
    store = np.empty((16, FIELDS), np.int64), np.empty(16, np.int32), np.empty(16, np.int64)
    return store, np.zeros(3, np.int64)


@kernel
def _reserved(store, used, words, below):
    """The store with room for one more item with so many words and tails."""
    table, pool, tails = store
    if used[0] == len(table):
        table = taller(table, 2 * len(table))
    if used[1] + words > len(pool):
        pool = longer(pool, 2 * len(pool) + words)
    if used[2] + below > len(tails):
        tails = longer(tails, 2 * len(tails) + below)
    return table, pool, tails


@kernel
def _length(edge, chosen, table, words):
    """How many words an edge has with these items of its tails."""
    symbol_offsets, symbols, starts, _ = words
    size = 0
    for s in range(symbol_offsets[edge], symbol_offsets[edge + 1]):
        symbol = symbols[s]
        size += starts[symbol + 1] - starts[symbol] if symbol >= 0 else table[chosen[-1 - symbol], SIZE]
    return size


@kernel
def _append(pool, at, source, low, high):
    """Write source[low:high] at a place of the pool; the place after it."""
    for i in range(low, high):
        pool[at] = source[i]
        at += 1
    return at


@kernel
def _put(edge, chosen, items, words, store, used):
    """Append the item of an edge with these items of its tails."""
    symbol_offsets, symbols, starts, pieces = words
    size = _length(edge, chosen, items[0], words)
    store = _reserved(store, used, size, len(chosen))
    table, pool, tails = store
    row = table[used[0]]
    row[WORDS], row[SIZE], row[EDGE], row[BELOW] = used[1], size, edge, used[2]
    at = used[1]
    for s in range(symbol_offsets[edge], symbol_offsets[edge + 1]):
        symbol = symbols[s]
        if symbol >= 0:
            at = _append(pool, at, pieces, starts[symbol], starts[symbol + 1])
        else:
            below = items[0][chosen[-1 - symbol]]
            at = _append(pool, at, items[1], below[WORDS], below[WORDS] + below[SIZE])
    _append(tails, used[2], chosen, 0, len(chosen))
    used[0], used[1], used[2] = used[0] + 1, at, used[2] + len(chosen)
    return store


@kernel
def _advance(ranks, sizes, beam):
    """The next ranks with product of (rank + 1) <= beam, as an odometer; False after the last."""
    for j in range(len(ranks) - 1, -1, -1):
        ranks[j] += 1
        product = 1
        for rank in ranks[: j + 1]:
            product *= rank + 1
        if ranks[j] < sizes[j] and product <= beam:
            return True
        ranks[j] = 0
    return False


@kernel
def add_combinations(edge, tails, bounds, beam, items, words, store, used):
    """Append the combinations of an edge with items of its tails."""
    sizes = np.empty(len(tails), np.int64)
    for j in range(len(tails)):
        sizes[j] = bounds[tails[j] + 1] - bounds[tails[j]]
        if sizes[j] == 0:
            return store
    ranks = np.zeros(len(tails), np.int64)
    chosen = np.empty(len(tails), np.int64)
    while True:
        for j in range(len(tails)):
            chosen[j] = bounds[tails[j]] + ranks[j]
        store = _put(edge, chosen, items, words, store, used=used)
        if not _advance(ranks, sizes, beam):
            return store


@kernel
def copy(number, source, arity, store, used):
    """Append item `number` of another store."""
    row = source[0][number]
    store = _reserved(store, used, row[SIZE], arity)
    table, pool, tails = store
    new = table[used[0]]
    new[WORDS], new[SIZE], new[EDGE], new[BELOW] = used[1], row[SIZE], row[EDGE], used[2]
    _append(pool, used[1], source[1], row[WORDS], row[WORDS] + row[SIZE])
    _append(tails, used[2], source[2], row[BELOW], row[BELOW] + arity)
    used[0], used[1], used[2] = used[0] + 1, used[1] + row[SIZE], used[2] + arity
    return store


@kernel
def same_words(a, b, store):
    """Whether two items have the same words."""
    first, second = store[0][a], store[0][b]
    if first[SIZE] != second[SIZE]:
        return False
    for w in range(first[SIZE]):
        if store[1][first[WORDS] + w] != store[1][second[WORDS] + w]:
            return False
    return True


@kernel
def read_out(item, store, tail_offsets, stack, edges, total):
    """Append the edges of an item's derivation from the top, left to right."""
    table, _, tails = store
    stack[0], depth = item, 1
    while depth:
        depth -= 1
        row = table[stack[depth]]
        edges = roomy(edges, total)
        edges[total] = row[EDGE]
        total += 1
        arity = tail_offsets[row[EDGE] + 1] - tail_offsets[row[EDGE]]
        for t in range(arity - 1, -1, -1):
            stack = roomy(stack, depth)
            stack[depth] = tails[row[BELOW] + t]
            depth += 1
    return stack, edges, total
