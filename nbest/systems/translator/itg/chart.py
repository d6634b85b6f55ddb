"""The chart of one sentence: all spans in order, the goal, and the nodes that it reaches."""

from __future__ import annotations

import numpy as np

from nbest.compute.compilation import kernel, lending_kernel
from nbest.compute.growing import longer, taller
from nbest.lm.query import END, START
from nbest.systems.translator.itg.cube import GOAL, INVERTED, MONOTONE, Edges, Nodes, fill_span, span_room
from nbest.systems.translator.itg.state import end_score, follow


@lending_kernel
def span_number(start, end, limit, words):
    """The number of a span: those of up to `limit` words first, then the longer ones from the sentence start."""
    if end - start <= limit:
        return start * limit + end - start - 1
    return words * limit + end - limit - 1


@lending_kernel
def span_total(limit, words):
    """How many numbers of spans there are."""
    return words * limit + words - limit


@kernel
def decode_sentence(words, limit, options, search):
    """Nodes, edges and their numbers for a sentence of `words` words; the goal is the last node, if it was reached."""
    nodes, edges = _new(search.order - 1)
    context = np.empty(2 * search.order + 1, np.int32)
    if words == 0:
        return _empty(nodes, edges, search, context)
    limit = min(limit, words)
    spans = span_total(limit, words)
    starts = np.zeros(spans, np.int64)
    counts = np.zeros((spans, 3), np.int32)
    made = met = np.int64(0)
    for size in range(1, words + 1):
        for start in range(words - size + 1 if size <= limit else 1):
            span = span_number(start, start + size, limit, words)
            cubes = _cubes(start, end=start + size, limit=limit, words=words, counts=counts, normal=search.normal)
            phrases = options.offsets[span + 1] - options.offsets[span]
            most, new = span_room(cubes, counts, phrases, search)
            nodes, edges = _with_room(nodes, edges, made, more_nodes=most + 1, met=met, more_edges=new + most + 1)
            closed = start == 0 and size >= limit
            made, met = fill_span(
                span, closed, cubes, starts, counts,
                options=options, search=search, nodes=nodes, edges=edges, made=made, met=met,
            )  # fmt: skip
    top = span_number(0, words, limit, words)
    for at in range(starts[top], starts[top] + counts[top, 0]):
        edges.lm[met] = end_score(
            nodes.words, nodes.sizes, node=at, most=search.order - 1, lm=search.lm, context=context
        )
        edges.heads[met], edges.kinds[met] = made, GOAL
        edges.parts[met, 0], edges.parts[met, 1] = at, 0
        met += 1
    if counts[top, 0]:
        made += 1
    return nodes, edges, made, met


@kernel
def _empty(nodes, edges, search, context):
    """The forest of the empty string, which is what no words translate to: one edge without tails."""
    context[0] = START
    edges.lm[0] = follow(search.lm, context, 1, search.order - 1, END)
    edges.heads[0], edges.kinds[0] = 0, GOAL
    edges.parts[0, 0], edges.parts[0, 1] = -1, 0
    return nodes, edges, np.int64(1), np.int64(1)


@kernel
def _cubes(start, end, limit, words, counts, normal):
    """[C, 3] left span, right span and orientation of every split; beyond the limit only monotone ones (glue)."""
    cubes = np.empty((2 * (end - start), 3), np.int32)
    made = 0
    for orientation in range(MONOTONE, INVERTED + 1 if end - start <= limit else MONOTONE + 1):
        for cut in range(max(start + 1, end - limit), end):
            left, right = span_number(start, cut, limit, words), span_number(cut, end, limit, words)
            if counts[left, 0] and counts[right, orientation if normal else 0]:
                cubes[made, 0], cubes[made, 1], cubes[made, 2] = left, right, orientation
                made += 1
    return cubes[:made]


@kernel
def _new(most):
    """Nodes and edges of a sentence, with room for a few."""
    size = 64
    nodes = Nodes(
        words=np.empty((size, 2 * most), np.int32),
        sizes=np.empty((size, 2), np.int32),
        kinds=np.empty(size, np.int32),
        scores=np.empty(size),
        estimates=np.empty(size),
        lists=np.empty((size, 3), np.int32),
    )
    return nodes, Edges(
        np.empty(size, np.int32), np.empty((size, 2), np.int32), np.empty(size, np.int32), np.empty(size)
    )


@kernel
def _with_room(nodes, edges, made, more_nodes, met, more_edges):
    """The same nodes and edges with room for more."""
    if made + more_nodes > len(nodes.scores):
        size = 2 * (made + more_nodes)
        nodes = Nodes(
            words=taller(nodes.words, size),
            sizes=taller(nodes.sizes, size),
            kinds=longer(nodes.kinds, size),
            scores=longer(nodes.scores, size),
            estimates=longer(nodes.estimates, size),
            lists=taller(nodes.lists, size),
        )
    if met + more_edges > len(edges.lm):
        size = 2 * (met + more_edges)
        edges = Edges(
            longer(edges.heads, size), taller(edges.parts, size), longer(edges.kinds, size),
            longer(edges.lm, size),
        )  # fmt: skip
    return nodes, edges
