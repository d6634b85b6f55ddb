"""Nodes split by their boundary words, so that every n-gram is completed at one edge."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from nbest.base.errors import CapabilityError, ParameterError
from nbest.base.types import Ints
from nbest.compute import segments
from nbest.compute.compilation import kernel
from nbest.compute.growing import room
from nbest.compute.parallel import each
from nbest.corpus import Forests
from nbest.forests.ngrams import contexts
from nbest.forests.ngrams.contexts import LEFT, RIGHT, WordEdges

LIMIT = 10_000_000
"""Edges that a forest may grow to."""


def annotate(forests: Forests, order: int = 4, *, limit: int = LIMIT, threads: int | None = None) -> Forests:
    """The same derivations, in forests where each n-gram of up to `order` words is local to one edge.

    A node is split by its first and last order - 1 words (all its words where there are fewer), but only as far as
    something above it can come before or after them: a lattice read from left to right keeps last words only, a list
    and any forest that has the property already come back unchanged, and the root is never split. What is part of no
    derivation is left out of forests that change. Chiang (2007), section 5.3.2, whose nodes keep both sides.
    Cost: linear in the edges that come out; a forest with more than `limit` of them is refused.
    """
    return annotate_tracked(forests, order, limit=limit, threads=threads)[0]


def annotate_tracked(
    forests: Forests, order: int = 4, *, limit: int = LIMIT, threads: int | None = None
) -> tuple[Forests, Ints]:
    """`annotate`, and [E'] the edge of `forests` that each edge of the result is a copy of."""
    check_order(order)
    check_tails(forests)
    edges = word_edges(forests)
    nodes = forests.node_offsets

    def split(i: int) -> tuple[Ints, Ints, Ints] | None:
        starts = forests.edge_offsets[nodes[i] : nodes[i + 1] + 1]
        found, made, heads, tails, origin = _split(starts, edges, order - 1, limit)
        if found == _TOO_LARGE:
            raise CapabilityError(
                f"forest {forests.ids[i]!r} grows beyond {limit} edges when its nodes are split for n-grams of order "
                f"{order}; prune the forests first, or ask for a lower order or a higher limit"
            )
        return _by_head(heads, tails, origin, forests.tail_offsets, made) if found == _SPLIT else None

    return _joined(forests, each(split, range(len(forests)), threads))


def check_order(order: int) -> None:
    """N-grams have at least one word."""
    if order < 1:
        raise ParameterError(f"'order' of n-grams must be >= 1, got {order}")


def word_edges(forests: Forests) -> WordEdges:
    """Tails and symbols with their offsets, as the kernels want them."""
    return WordEdges(forests.tail_offsets, forests.tails, *forests.need_words("n-grams"))


def check_tails(forests: Forests) -> None:
    """Every tail stands once among the symbols of its edge, or words would be lost or doubled."""
    offsets, symbols = forests.need_words("n-grams")
    owners = segments.owners(offsets)[symbols < 0]
    used = forests.tail_offsets[owners] - 1 - symbols[symbols < 0]
    wrong = np.flatnonzero(np.bincount(used, minlength=len(forests.tails)) != 1)
    if len(wrong):
        edge = int(np.searchsorted(forests.tail_offsets, wrong[0], "right")) - 1
        raise CapabilityError(
            f"n-grams need every tail once among the symbols of its edge; edge {edge} of these forests has its tail "
            f"{wrong[0] - forests.tail_offsets[edge]} not at all or more than once"
        )


def _joined(forests: Forests, parts: list[tuple[Ints, Ints, Ints] | None]) -> tuple[Forests, Ints]:
    """The forests with some replaced by (edges of each node, tails, origin)."""
    if all(part is None for part in parts):
        return forests, np.arange(forests.edges)
    counts, tails, origin = [], [], []
    for i, part in enumerate(parts):
        if part is None:
            low, high = forests.node_offsets[i : i + 2]
            edges = np.arange(forests.edge_offsets[low], forests.edge_offsets[high])
            first, last = forests.tail_offsets[forests.forest_edges[i : i + 2]]
            part = np.diff(forests.edge_offsets[low : high + 1]), forests.tails[first:last], edges
        counts.append(part[0])
        tails.append(part[1])
        origin.append(part[2])
    edges = np.concatenate(origin)
    fields = forests.edge_fields(edges) | {"tails": np.concatenate(tails)}
    node_offsets = segments.offsets_of(np.array([len(part) for part in counts], np.int64))
    edge_offsets = segments.offsets_of(np.concatenate(counts))
    return replace(forests, **fields, node_offsets=node_offsets, edge_offsets=edge_offsets), edges


_SAME, _SPLIT, _TOO_LARGE = 0, 1, 2


@kernel
def _split(edge_starts, edges, most, limit):
    """What became of one forest; if it was split, the number of new nodes, and heads, tails and origin of new edges."""
    nodes = len(edge_starts) - 1
    heads, new_tails, origin = np.empty(64, np.int32), np.empty(64, np.int32), np.empty(64, np.int64)
    useful, need = np.empty(nodes, np.bool_), np.empty(nodes, np.int8)
    if nodes:
        contexts.needs(edge_starts, edges, useful, need)
    if not need.any():
        return _SAME, np.int64(0), heads, new_tails, origin
    trie = contexts.new_trie()
    pairs = contexts.new_trie()  # states: pairs of contexts, the second one more than its number
    latest = np.full(32, -1, np.int64)  # new node with each state
    state = np.empty(nodes, np.int32)  # of each new node
    first = np.zeros(nodes + 1, np.int64)  # new nodes of each node
    rows = states = made = done = filled = np.int64(0)  # as a type of its own a literal would compile everything twice
    for v in range(nodes):
        for e in range(edge_starts[v], edge_starts[v + 1] if useful[v] else edge_starts[v]):
            below = contexts.tails_of(edges, e)
            if not contexts.alive(below, useful):
                continue
            copies = _copies(below, first, limit - done)
            if copies < 0:
                return _TOO_LARGE, made, heads, new_tails, origin
            heads, origin = room(heads, done + copies), room(origin, done + copies)
            new_tails = room(new_tails, filled + copies * len(below))
            row = contexts.symbols_of(edges, e)
            ends = np.empty((2, len(below)), np.int32)
            for copy in range(copies):
                _choose(copy, below, (first, state, pairs), new_tails[filled:], ends)
                filled += len(below)
                trie = contexts.with_room(trie, rows, 2 * most)
                pairs = contexts.with_room(pairs, states, np.int64(1))
                left, right = np.int32(-1), np.int32(-1)
                if need[v] & LEFT:
                    left, rows = contexts.first_words(row, ends[0], most, trie, rows)
                if need[v] & RIGHT:
                    right, rows = contexts.last_words(row, ends[1], most, trie, rows)
                s = contexts.add_row(pairs, states, left, np.int32(right + 1))
                latest = room(latest, s + 1)
                if s == states:
                    states += 1
                    latest[s] = -1
                if latest[s] < first[v]:
                    state = room(state, made + 1)
                    state[made], latest[s] = s, made
                    made += 1
                heads[done], origin[done] = latest[s], e
                done += 1
        first[v + 1] = made
    found = _SAME if made == useful.sum() else _SPLIT
    return found, made, heads[:done], new_tails[:filled], origin[:done]


@kernel
def _copies(below, first, most):
    """How many edges an edge becomes, -1 where more than `most`."""
    copies = 1
    for t in below:
        copies *= first[t + 1] - first[t]
        if copies > most:
            return -1
    return copies if copies <= most else -1


@kernel
def _choose(copy, below, made, chosen, ends):
    """The new tails of a copy of an edge, and their contexts; the last tail changes fastest."""
    first, state, pairs = made
    for k in range(len(below) - 1, -1, -1):
        base = first[below[k] + 1] - first[below[k]]
        node = first[below[k]] + copy % base
        copy //= base
        chosen[k] = node
        ends[0, k] = pairs.parents[state[node]]
        ends[1, k] = pairs.words[state[node]] - 1


@kernel
def _by_head(heads, tails, origin, tail_offsets, nodes):
    """Edges sorted by head, equal ones in their order: how many each node has, their tails and their origin."""
    counts = np.zeros(nodes, np.int64)
    for head in heads:
        counts[head] += 1
    place = np.cumsum(counts) - counts
    order = np.empty(len(heads), np.int64)
    starts = np.empty(len(heads), np.int64)  # of the tails, as they came
    at = 0
    for k in range(len(heads)):
        order[place[heads[k]]] = k
        place[heads[k]] += 1
        starts[k] = at
        at += tail_offsets[origin[k] + 1] - tail_offsets[origin[k]]
    out = np.empty(len(tails), np.int32)
    new_origin = np.empty(len(heads), np.int64)
    at = 0
    for k in range(len(heads)):
        new_origin[k] = origin[order[k]]
        size = tail_offsets[new_origin[k] + 1] - tail_offsets[new_origin[k]]
        for t in range(size):
            out[at + t] = tails[starts[order[k]] + t]
        at += size
    return counts, out, new_origin
