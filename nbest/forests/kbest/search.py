"""Lazy k-best search of one forest: kernels of `nbest.forests.kbest`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from nbest.base.types import Bools, Floats, Ints
from nbest.compute.compilation import kernel
from nbest.compute.growing import longer, taller
from nbest.corpus.layout import Forest
from nbest.forests.kbest.hashes import doubled, hash_record, is_new
from nbest.forests.kbest.heap import EDGE, FIELDS, LEFT, LINK, NONE, RIGHT, UNKNOWN, fill, meld, without_top

_CLOSED, _DONE = -2, -1  # instead of a record whose successors are to be made: no candidates yet, successors are there


class Query(NamedTuple):
    """What is searched: a forest with V' nodes and E' edges, as laid out."""

    forest: Forest
    scores: Floats  # [E']
    own: Ints  # [E'] the forests' edge of each edge, -1 for extra ones
    used: Bools  # [E', 2] whether the edge has the words of each of its tails
    words: Any  # tail_offsets, symbol_offsets and symbols of the forests, and room for the records of an edge's tails
    distinct: bool  # whether derivations must differ in their words


@kernel
def viterbi(forest, scores, records, values):
    """Records 0 to V' - 1: the best derivation of each node, ties to the lowest edge; value -inf if there is none."""
    starts, first, second = forest
    records[0] = 0
    records[0, LINK] = NONE
    values[0] = 0.0
    for v in range(1, len(starts) - 1):
        best, top = -1, -np.inf
        for e in range(starts[v], starts[v + 1]):
            x = scores[e] + (values[first[e]] + values[second[e]])
            if x > top:
                best, top = e, x
        if best < 0:
            records[v] = 0
            records[v, LINK] = NONE
            values[v] = -np.inf
        else:
            fill(records, values, at=v, edge=best, left=first[best], right=second[best], head=v, score=scores[best])


@kernel
def _open(v, query, records, values, count):
    """Make the candidates of a node: each of its edges but the best, with the best of each tail."""
    (starts, first, second), scores = query.forest, query.scores
    heap = -1
    for e in range(starts[v], starts[v + 1]):
        if e != records[v, EDGE] and scores[e] + (values[first[e]] + values[second[e]]) > -np.inf:
            fill(records, values, at=count, edge=e, left=first[e], right=second[e], head=v, score=scores[e])
            heap = meld(records, values, heap, count)
            count += 1
    return heap, count


@kernel
def _missing(record, nodes, query, records):
    """A tail of which the next derivation must be known before the successors of the record can be made, or -1."""
    forest, used = query.forest, query.used
    edge, left, right = records[record, EDGE], records[record, LEFT], records[record, RIGHT]
    if used[edge, 1] and records[right, LINK] == UNKNOWN:
        return forest.second[edge]
    if right < nodes and used[edge, 0] and records[left, LINK] == UNKNOWN:
        return forest.first[edge]
    return -1


@kernel
def _succeed(record, v, query, records, values, heap, count):
    """Push (e, i, j + 1), and (e, i + 1, j) where j is the best: every pair is reached once, from one no worse."""
    nodes, used = len(query.forest.starts) - 1, query.used
    edge, left, right = records[record, EDGE], records[record, LEFT], records[record, RIGHT]
    score = query.scores[edge]
    if used[edge, 1] and records[right, LINK] >= 0:
        fill(records, values, at=count, edge=edge, left=left, right=records[right, LINK], head=v, score=score)
        heap = meld(records, values, heap, count)
        count += 1
    if right < nodes and used[edge, 0] and records[left, LINK] >= 0:
        fill(records, values, at=count, edge=edge, left=records[left, LINK], right=right, head=v, score=score)
        heap = meld(records, values, heap, count)
        count += 1
    return heap, count


@kernel
def _prepare(query, store):
    """The store with the best derivation of each node, and hashes of its words."""
    records, values, hashes = store
    nodes, own, distinct = len(query.forest.starts) - 1, query.own, query.distinct
    if len(records) < nodes + 1:
        records, values = np.empty((nodes + 1, FIELDS), np.int32), np.empty(nodes + 1)
    if distinct and len(hashes) < len(records):
        hashes = np.empty((len(records), 4), np.uint64)
    viterbi(query.forest, query.scores, records, values)
    if distinct:
        for v in range(1, nodes):
            if values[v] > -np.inf and own[records[v, EDGE]] >= 0:
                hash_record(v, own[records[v, EDGE]], records, hashes, query.words)
    return records, values, hashes


@kernel
def _with_room(need, distinct, store):
    """The store with room for `need` records."""
    records, values, hashes = store
    if need > len(records):
        room = max(need, 2 * len(records))
        records, values = taller(records, room), longer(values, room)
        if distinct:
            hashes = taller(hashes, room)
    return records, values, hashes


@kernel
def _pop(v, query, store, queues, table):
    """Take the best candidate of a node; whether it has words the node had before."""
    records, values, hashes = store
    heaps, pending = queues
    top = heaps[v]
    if top < 0:
        return False
    heaps[v] = without_top(records, values, top)
    records[top, LINK] = UNKNOWN
    pending[v] = top
    edge = query.own[records[top, EDGE]]
    if not query.distinct or edge < 0:
        return False
    hash_record(top, edge, records, hashes, query.words)
    return not is_new(top, records, hashes, table)


@kernel
def search_forest(k, query, store):
    """Numbers of the records of the k best derivations of the root, and the store: records, values and hashes."""
    store = _prepare(query, store)
    starts, own, distinct = query.forest.starts, query.own, query.distinct
    nodes = len(starts) - 1
    root, count, size = nodes - 1, nodes, 0
    found = np.empty(k, np.int32)
    if nodes > 1 and store[1][root] > -np.inf:
        found[0], size = root, 1
    heaps, last, pending = np.full(nodes, -1, np.int32), np.arange(nodes), np.full(nodes, _CLOSED)
    stack = np.empty(nodes, np.int32)  # nodes of which the next derivation is wanted, falling
    table, entered, depth = np.full(1024 if distinct else 0, -1, np.int32), 0, 0
    while 0 < size < k:
        if depth == 0:
            stack[0], depth = root, 1
        v = stack[depth - 1]
        store = _with_room(count + 2 + starts[v + 1] - starts[v], distinct, store)
        records, values, hashes = store
        if distinct and 2 * (entered + 2) > len(table):
            table = doubled(table, records, hashes)
        if pending[v] == _CLOSED:
            heaps[v], count = _open(v, query, records, values, count)
            pending[v] = v
            entered += distinct and own[records[v, EDGE]] >= 0 and is_new(v, records, hashes, table)
        if pending[v] != _DONE:
            tail = _missing(pending[v], nodes, query, records)
            if tail >= 0:
                stack[depth], depth = tail, depth + 1
                continue
            heaps[v], count = _succeed(pending[v], v, query, records, values, heap=heaps[v], count=count)
            pending[v] = _DONE
        if _pop(v, query, store, (heaps, pending), table):
            continue
        entered += 1
        following = pending[v]  # the record that was taken, or _DONE: nothing is left
        records[last[v], LINK] = following if following >= 0 else NONE
        depth -= 1
        if following >= 0:
            last[v] = following
        if v == root and following < 0:
            break
        if v == root:
            found[size], size = following, size + 1
    return found[:size], store
