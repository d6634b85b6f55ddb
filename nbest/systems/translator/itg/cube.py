"""One span of the ITG decoder: the best nodes over phrases, splits and orientations, by cube pruning.

A cube is a split of the span with an orientation: left part x right part, each best first. Candidates are its cells,
and the phrases of the span. The best candidate is taken from a heap and becomes an edge, of a new node or of the one
with the same boundary words; its neighbours (one further on the left, one further on the right) come on the heap.
Huang & Chiang (2007), ACL 144-151; all cubes of a span share one heap. What the language model adds is not monotone
in a cube, so that the candidates taken are not always the best ones: with a beam there are search errors.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nbest.base.types import Floats, Ints
from nbest.compute.compilation import kernel, lending_kernel
from nbest.lm.query import START
from nbest.systems.translator.itg.heap import first_time, node_slot, pop, push, table_for
from nbest.systems.translator.itg.state import DecoderLM, join_score, join_state, phrase_state, score_row

PHRASE, MONOTONE, INVERTED, GOAL = 0, 1, 2, 3


class Nodes(NamedTuple):
    """Nodes of one sentence, children first; room for more than there are."""

    words: Ints  # [V, 2K] int32 boundary words, see state.py
    sizes: Ints  # [V, 2] int32
    kinds: Ints  # [V] int32: of its edges, where derivations are in normal form; else PHRASE
    scores: Floats  # [V] of the best derivation, without what waits
    estimates: Floats  # [V] log probability of the words that wait, as far as it is known
    lists: Ints  # [V, 3] int32: nodes of a span best first; all, not MONOTONE, not INVERTED


class Edges(NamedTuple):
    """Edges of one sentence, as they were met."""

    heads: Ints  # [E] int32
    parts: Ints  # [E, 2] int32: tails in source order; of a phrase its option
    kinds: Ints  # [E] int32
    lm: Floats  # [E] log probability of the words completed


class PhraseOptions(NamedTuple):
    """Options of one sentence, sorted by span."""

    offsets: Ints  # [spans + 1]
    scores: Floats  # [P] without the language model
    target_offsets: Ints  # [P+1]
    targets: Ints  # [W] int32 symbols


class ItgSearch(NamedTuple):
    """What the search is told."""

    order: int
    beam: int  # nodes a span
    edges: int  # edges a span: where most candidates recombine, the beam alone would let it go on for long
    normal: bool  # derivations in normal form
    lm: DecoderLM
    lm_weight: float
    rewrites: Floats  # [4] score of an edge of each kind, by its kind alone


class _Heap(NamedTuple):
    """Candidates of one span; `places` are cube, row and column; of a phrase the number of cubes, its option, 0."""

    heap: Ints
    table: Ints
    places: Ints  # [C, 3]
    ranks: Floats  # [C] score with the estimate: what is compared
    values: Floats  # [C, 3] score, estimate, log probability of the words completed


@kernel
def fill_span(span, closed, cubes, starts, counts, options, search, nodes, edges, made, met):
    """Make the nodes of a span, numbered from `made`, and their edges, from `met`; how many there are then.

    `cubes` [C, 3] are (left span, right span, orientation); the nodes of span s are `nodes.lists[starts[s]:]`,
    `counts[s]` of them. There must be room for `span_room(...)` nodes and edges.
    """
    phrases = options.offsets[span + 1] - options.offsets[span]
    most, limit = span_room(cubes, counts, phrases, search)
    space = phrases + len(cubes) + 2 * limit
    heap = _Heap(
        np.empty(space, np.int32),
        table_for(space),
        np.empty((space, 3), np.int32),
        np.empty(space),
        np.empty((space, 3)),
    )
    context = np.empty(2 * search.order + 1, np.int32)
    row = np.empty(2 * search.order - 2, np.int32)
    known = table_for(most)
    made, met = _taken(
        span, closed, cubes, starts, counts,
        options=options, search=search, nodes=nodes, edges=edges, heap=heap, context=context, row=row, known=known,
        made=made, met=met, most=most, limit=limit,
    )  # fmt: skip
    first = starts[span]
    total = made - first
    _sort(first, made, search, nodes, counts[span], heap=np.empty(total, np.int32), ranks=np.empty(total))
    return made, met


@lending_kernel
def _taken(
    span, closed, cubes, starts, counts, options, search, nodes, edges, heap, context, row, known, made, met,
    most, limit,
):  # fmt: skip
    """Take candidates, best first, until there are `most` new nodes or `limit` new edges; how many there are then."""
    size, seen = _start(span, closed, cubes, starts, options, search=search, nodes=nodes, heap=heap, context=context)
    starts[span] = made
    most, limit = made + most, met + limit
    while size and made < most and met < limit:
        best = pop(heap.heap, size, heap.ranks)
        size -= 1
        made, met = _take(
            best, closed, cubes, starts, options, search=search, nodes=nodes, edges=edges, heap=heap,
            known=known, row=row, made=made, met=met,
        )  # fmt: skip
        cube, a, b = _place(heap.places, best)
        if cube < len(cubes):
            left, right, side = _lists(cubes[cube], search.normal)
            if a + 1 < counts[left, 0]:
                size, seen = _offer(
                    cube, a + 1, b, closed, cubes, starts=starts, search=search, nodes=nodes, heap=heap,
                    context=context, size=size, seen=seen,
                )  # fmt: skip
            if b + 1 < counts[right, side]:
                size, seen = _offer(
                    cube, a, b + 1, closed, cubes, starts=starts, search=search, nodes=nodes, heap=heap,
                    context=context, size=size, seen=seen,
                )  # fmt: skip
    return made, met


@lending_kernel
def span_room(cubes, counts, phrases, search):
    """How many nodes and edges a span can get."""
    total = np.int64(phrases)
    for c in range(len(cubes)):
        left, right, side = _lists(cubes[c], search.normal)
        total += np.int64(counts[left, 0]) * counts[right, side]
    return min(total, search.beam), min(total, search.edges)


@lending_kernel
def _lists(cube, normal):
    """Spans of the two parts, and which list of the right part is used: in normal form not its own orientation."""
    return cube[0], cube[1], np.int64(cube[2]) if normal else 0


@lending_kernel
def _start(span, closed, cubes, starts, options, search, nodes, heap, context):
    """Put the phrases and the corners of the cubes on the heap; how many there are, and how many candidates."""
    size = seen = zero = np.int64(0)  # literals would be types of their own and compile all that follows twice
    for option in range(options.offsets[span], options.offsets[span + 1]):
        row = options.targets[options.target_offsets[option] : options.target_offsets[option + 1]]
        context[0] = START
        complete, waiting = score_row(row, np.int64(closed), search.order - 1, search.lm, context)
        heap.places[seen, 0], heap.places[seen, 1], heap.places[seen, 2] = len(cubes), option, 0
        _put(base=options.scores[option], waiting=waiting, complete=complete, search=search, heap=heap, candidate=seen)
        push(heap.heap, size, heap.ranks, seen)
        size, seen = size + 1, seen + 1
    for cube in range(len(cubes)):
        size, seen = _offer(
            np.int64(cube),
            zero,
            zero,
            closed,
            cubes,
            starts=starts,
            search=search,
            nodes=nodes,
            heap=heap,
            context=context,
            size=size,
            seen=seen,
        )
    return size, seen


@lending_kernel
def _put(base, waiting, complete, search, heap, candidate):
    """Write the values and the rank of a candidate; `base` is its score without the words it completes."""
    score = base + search.lm_weight * complete
    heap.values[candidate, 0], heap.values[candidate, 1], heap.values[candidate, 2] = score, waiting, complete
    heap.ranks[candidate] = score + search.lm_weight * waiting


@lending_kernel
def _offer(cube, a, b, closed, cubes, starts, search, nodes, heap, context, size, seen):
    """Put a cell of a cube on the heap unless it was there; how many there are, and how many candidates."""
    if not first_time(heap.table, heap.places, cube, row=a, column=b, candidate=seen):
        return size, seen
    left, right = _parts(cube=cubes[cube], a=a, b=b, starts=starts, normal=search.normal, lists=nodes.lists)
    orientation = cubes[cube, 2]
    first, second = (left, right) if orientation == MONOTONE else (right, left)
    complete, waiting = join_score(
        nodes.words, nodes.sizes, first, second, closing=closed, most=search.order - 1, lm=search.lm, context=context
    )
    base = nodes.scores[left] + nodes.scores[right] + search.rewrites[orientation]
    estimate = 0.0 if closed else nodes.estimates[first] + waiting
    _put(base, waiting=estimate, complete=complete, search=search, heap=heap, candidate=seen)
    push(heap.heap, size, heap.ranks, seen)
    return size + 1, seen + 1


@lending_kernel
def _place(places, candidate):
    return np.int64(places[candidate, 0]), np.int64(places[candidate, 1]), np.int64(places[candidate, 2])


@lending_kernel
def _parts(cube, a, b, starts, normal, lists):
    """The nodes of a cell, in source order."""
    left, right, side = _lists(cube, normal)
    return lists[starts[left] + a, 0], lists[starts[right] + b, side]


@lending_kernel
def _take(best, closed, cubes, starts, options, search, nodes, edges, heap, known, row, made, met):
    """Make a candidate an edge, of a new node if there is none with its boundary words."""
    cube, a, b = _place(heap.places, best)
    most = search.order - 1
    edges.lm[met] = heap.values[best, 2]
    if cube == len(cubes):
        kind = PHRASE
        target = options.targets[options.target_offsets[a] : options.target_offsets[a + 1]]
        left, right = phrase_state(target, closed, most, row)
        edges.parts[met, 0], edges.parts[met, 1] = a, 0
    else:
        kind = cubes[cube, 2]
        one, other = _parts(cube=cubes[cube], a=a, b=b, starts=starts, normal=search.normal, lists=nodes.lists)
        edges.parts[met, 0], edges.parts[met, 1] = one, other
        first, second = (one, other) if kind == MONOTONE else (other, one)
        left, right = join_state(nodes.words, nodes.sizes, first, second, closing=closed, most=most, row=row)
    own = kind if search.normal else PHRASE
    slot = node_slot(known, nodes.words, nodes.kinds, row, own)
    node = known[slot]
    if node < 0:
        node = known[slot] = made
        for t in range(len(row)):
            nodes.words[node, t] = row[t]
        nodes.sizes[node, 0], nodes.sizes[node, 1] = left, right
        nodes.kinds[node] = own
        nodes.scores[node], nodes.estimates[node] = heap.values[best, 0], heap.values[best, 1]
        made += 1
    nodes.scores[node] = max(nodes.scores[node], heap.values[best, 0])
    edges.heads[met], edges.kinds[met] = node, kind
    return made, met + 1


@lending_kernel
def _sort(first, made, search, nodes, counts, heap, ranks):
    """Fill the lists of a span, best first, and how many nodes each has; `heap` and `ranks` have room for all."""
    total = made - first
    for at in range(total):
        ranks[at] = nodes.scores[first + at] + search.lm_weight * nodes.estimates[first + at]
        push(heap, at, ranks, at)
    counts[0] = counts[1] = counts[2] = 0
    for taken in range(total):
        node = first + pop(heap, total - taken, ranks)
        for side in range(3):
            if side == 0 or nodes.kinds[node] != side:
                nodes.lists[first + counts[side], side] = node
                counts[side] += 1
