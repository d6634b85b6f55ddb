"""Search of a converter: from the words over a kana text to a forest whose nodes are positions with states of the
language model.

Viterbi scores forward, at each position only the best `beam` states go on; then backward, and only edges on a
derivation that is within `margin` of the best are kept. Without both every segmentation and choice of words is a
derivation.
Cost: (states kept) x (words that begin there) language-model queries a position.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nbest.base.types import Floats, Ints
from nbest.compute.compilation import kernel
from nbest.lm.mixture import both_logprobs, mixed, start_state
from nbest.lm.query import END
from nbest.systems.converter.lattice import STATIC

FEATURES = ("lm", "words", "spelling", "dictionary", "kana", "katakana")
"""Of an edge: natural log probability of its word (goal: of </s>); words; log probability of the characters of a word
that the language model does not know; whether that word is of the dictionary; kana passed through; katakana runs."""
GOAL = -1  # as the option of an edge


class ConverterForest(NamedTuple):
    """One forest, to be put beside others."""

    edges: Ints  # [V] edges into each node
    tails: Ints  # [E] the tail, -1 where there is none
    symbols: Ints  # [E] word of the edge, -1 for the goal's
    features: Floats  # [E, 6] float32


class _Nodes(NamedTuple):
    """Nodes as they are made: position, two states, forward score, next node of its position; and a hash table."""

    table: Ints  # numbers of nodes by hash, -1 where free
    rows: Ints  # [room, 4] position, states, next
    scores: Floats  # [room]


class _Edges(NamedTuple):
    rows: Ints  # [room, 3] head, tail, option
    lm: Floats  # [room]


@kernel
def search_lattice(options, sides, weights, beam, margin):
    """The forest of the `options` of a text, as a `ConverterForest`; weights [6] of `FEATURES`."""
    size = len(options.offsets) - 1
    static = options.features @ weights[1:]
    nodes = _Nodes(np.full(1024, -1, np.int64), np.empty((512, 4), np.int64), np.empty(512))
    edges = _Edges(np.empty((1024, 3), np.int64), np.empty(1024))
    last = np.full(size + 2, -1, np.int64)  # the newest node of each position; position size + 1 is the goal
    chain = np.empty(max(len(sides.first.arrays[0]), len(sides.second.arrays[0])), np.int64)
    out = np.empty(2)
    made = met = 0
    for at in range(size + 1):
        kept = _best(nodes, last[at], beam)
        for k in range(max(len(kept), 1) if at == 0 else len(kept)):
            tail = np.int64(-1) if at == 0 else kept[k]
            before = 0.0 if at == 0 else nodes.scores[tail]
            states = (start_state(sides.first), start_state(sides.second))
            if at:
                states = (nodes.rows[tail, 1], nodes.rows[tail, 2])
            if at == size:
                both_logprobs(sides, states, (np.int64(END), np.int64(END)), chain, out)
                lm = mixed(sides.weight, out)
                nodes, head, made = _node(nodes, made, last, position=size + 1, one=np.int64(-1), two=np.int64(-1))
                edges = _push(edges, met, head, tail, option=np.int64(GOAL), lm=lm)
                met += 1
                nodes.scores[head] = max(nodes.scores[head], before + weights[0] * lm)
                continue
            word = (np.int64(-1), np.int64(-1))
            after, lm = word, 0.0
            for option in range(options.offsets[at], options.offsets[at + 1]):
                new = (options.numbers[option, 0], options.numbers[option, 1])
                if new != word:  # words that the model does not know all have one probability
                    word = new
                    after = both_logprobs(sides, states, word, chain, out)
                    lm = mixed(sides.weight, out)
                nodes, head, made = _node(nodes, made, last, position=options.ends[option], one=after[0], two=after[1])
                edges = _push(edges, met, head, tail, option=np.int64(option), lm=lm)
                met += 1
                nodes.scores[head] = max(nodes.scores[head], before + weights[0] * lm + static[option])
    return _emit(options, (weights[0], static), (nodes, made), (edges, met), last[size + 1], margin=margin)


@kernel
def _best(nodes, newest, beam):
    """The `beam` best nodes of a position by forward score (0: all), ties to the older."""
    count = 0
    node = newest
    while node >= 0:
        count += 1
        node = nodes.rows[node, 3]
    found = np.empty(count, np.int64)
    node = newest
    for k in range(count - 1, -1, -1):
        found[k] = node
        node = nodes.rows[node, 3]
    if beam == 0 or count <= beam:
        return found
    order = np.argsort(-nodes.scores[found], kind="mergesort")[:beam]
    return found[order]


@kernel
def _slot(table, position, one, two):
    """Where the search for a node begins."""
    code = np.uint64(one + 2) * np.uint64(0x9E3779B97F4A7C15)
    code = (code ^ np.uint64(two + 2)) * np.uint64(0xBF58476D1CE4E5B9)
    code = (code ^ (code >> np.uint64(29)) ^ np.uint64(position)) * np.uint64(0x94D049BB133111EB)
    return (code ^ (code >> np.uint64(32))) & np.uint64(len(table) - 1)


@kernel
def _node(nodes, made, last, position, one, two):
    """The node of a position and two states, made if there is none."""
    mask = np.uint64(len(nodes.table) - 1)
    slot = _slot(nodes.table, position, one, two)
    while nodes.table[slot] >= 0:
        row = nodes.rows[nodes.table[slot]]
        if row[0] == position and row[1] == one and row[2] == two:
            return nodes, nodes.table[slot], made
        slot = (slot + np.uint64(1)) & mask
    if made == len(nodes.rows):
        nodes = _roomier(nodes)
    _put(nodes.table, position, one, two, made)
    row = nodes.rows[made]
    row[0], row[1], row[2], row[3] = position, one, two, last[position]
    nodes.scores[made] = -np.inf
    last[position] = made
    return nodes, np.int64(made), made + 1


@kernel
def _put(table, position, one, two, number):
    slot = _slot(table, position, one, two)
    while table[slot] >= 0:
        slot = (slot + np.uint64(1)) & np.uint64(len(table) - 1)
    table[slot] = number


@kernel
def _roomier(nodes):
    """Twice the room, with the same nodes."""
    count = len(nodes.rows)
    table = np.full(4 * count, -1, np.int64)
    rows = np.empty((2 * count, 4), np.int64)
    scores = np.empty(2 * count)
    rows[:count] = nodes.rows
    scores[:count] = nodes.scores
    for number in range(count):
        _put(table, rows[number, 0], rows[number, 1], rows[number, 2], number)
    return _Nodes(table, rows, scores)


@kernel
def _push(edges, met, head, tail, option, lm):
    """Append an edge."""
    if met == len(edges.rows):
        rows = np.empty((2 * met, 3), np.int64)
        rows[:met] = edges.rows
        logs = np.empty(2 * met)
        logs[:met] = edges.lm
        edges = _Edges(rows, logs)
    row = edges.rows[met]
    row[0], row[1], row[2] = head, tail, option
    edges.lm[met] = lm
    return edges


@kernel
def _emit(options, scores, reached, passed, goal, margin):
    """The edges on derivations within `margin` of the best, sorted by head; nodes sorted by position."""
    lm_weight, static = scores
    nodes, made = reached
    edges, met = passed
    backward = np.full(made, -np.inf)
    backward[goal] = 0.0
    keep = np.zeros(met, np.bool_)
    counts = np.zeros(made, np.int64)
    least = nodes.scores[goal] - margin - 1e-9 * abs(nodes.scores[goal])
    for edge in range(met - 1, -1, -1):  # edges come by the position of their tails: all out of a head come after it
        head, tail, option = edges.rows[edge]
        score = lm_weight * edges.lm[edge] + (static[option] if option >= 0 else 0.0) + backward[head]
        before = nodes.scores[tail] if tail >= 0 else 0.0
        if score == -np.inf or before + score < least:
            continue
        keep[edge] = True
        counts[head] += 1
        if tail >= 0:
            backward[tail] = max(backward[tail], score)
    numbers, sizes = _numbered(nodes.rows, made, counts)
    place = np.cumsum(sizes) - sizes
    total = sizes.sum()
    tails, symbols = np.empty(total, np.int64), np.empty(total, np.int64)
    features = np.zeros((total, STATIC + 1), np.float32)
    for edge in range(met):
        if keep[edge]:
            head, tail, option = edges.rows[edge]
            at = place[numbers[head]]
            place[numbers[head]] += 1
            tails[at] = numbers[tail] if tail >= 0 else -1
            symbols[at] = options.symbols[option] if option >= 0 else -1
            features[at, 0] = edges.lm[edge]
            if option >= 0:
                features[at, 1:] = options.features[option]
    return ConverterForest(sizes, tails, symbols, features)


@kernel
def _numbered(rows, made, counts):
    """The new number of each node that has edges, by position, and the edges of each new node."""
    used = np.flatnonzero(counts)
    order = used[np.argsort(rows[used, 0], kind="mergesort")]
    numbers = np.full(made, -1, np.int64)
    for new in range(len(order)):
        numbers[order[new]] = new
    return numbers, counts[order]
