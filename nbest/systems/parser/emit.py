"""The packed forest of the trees that can be made of some labelled arcs; every tree is one derivation.

Nodes are those of `parser_eisner`, bottom-up: for the words i to j, all between hang below either end (SPLIT), the same
with an arc from i to j (RIGHT_ARC) or from j to i (LEFT_ARC), all hang below i (RIGHT) or j (LEFT); the root last.
Edges into arcs carry the label, the word `head:label` and the scores of the experts. A right arc says its word after
the words between, a left arc before them, so that words come out in the order of the sentence. Nodes over one word, and
splits of two neighbours, have nothing to say and are left out.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nbest.base.types import Floats, Ints
from nbest.compute.compilation import kernel

SPLIT, RIGHT_ARC, LEFT_ARC, RIGHT, LEFT = range(5)
_KINDS = 5
_NONE = -1


class Rows(NamedTuple):
    """Edges as they are written; empty arrays only count them."""

    counts: Ints  # [3] edges, tails and symbols so far
    arities: Ints  # [E]
    tails: Ints  # [T]
    features: Floats  # [E, X]
    sizes: Ints  # [E]
    symbols: Ints  # [S]


@kernel
def emit_trees(n, label_count, offsets, labels, keep, scores, log_z):
    """The fields of a `Part`, from which labelled arcs to `keep` [O], `scores` [X, O] and `log_z` [X] of experts."""
    can = _possible(n, offsets, keep)
    reached = _reached(n, can, offsets, keep)
    numbers, made = _numbered(n, reached)
    nothing, blank = np.empty(0, np.int64), np.empty(0, np.int32)
    rows = Rows(
        counts=np.zeros(3, np.int64),
        arities=nothing,
        tails=blank,
        features=np.empty((0, len(log_z)), np.float32),
        sizes=nothing,
        symbols=blank,
    )
    edges = np.zeros(made, np.int64)
    _write((can, numbers), (offsets, labels, keep), (scores, log_z), label_count, edges, rows=rows)
    total, tails, symbols = rows.counts
    rows = Rows(
        counts=np.zeros(3, np.int64),
        arities=np.empty(total, np.int64),
        tails=np.empty(tails, np.int32),
        features=np.zeros((total, len(log_z)), np.float32),
        sizes=np.empty(total, np.int64),
        symbols=np.empty(symbols, np.int32),
    )
    edges[:] = 0
    _write((can, numbers), (offsets, labels, keep), (scores, log_z), label_count, edges, rows=rows)
    return edges, rows.arities, rows.tails, rows.features, rows.sizes, rows.symbols


@kernel
def _any(keep, offsets, n, h, d):
    """Whether a label of the arc is kept."""
    a = h * n + d - 1
    for k in range(offsets[a], offsets[a + 1]):
        if keep[k]:
            return True
    return False


@kernel
def _possible(n, offsets, keep):
    """[5, n+1, n+1] which items have a derivation."""
    can = np.zeros((_KINDS, n + 1, n + 1), np.bool_)
    for i in range(1, n + 1):
        can[RIGHT, i, i] = can[LEFT, i, i] = True
    for width in range(1, n):
        for i in range(1, n - width + 1):
            j = i + width
            for r in range(i, j):
                can[SPLIT, i, j] |= can[RIGHT, i, r] and can[LEFT, r + 1, j]
            if can[SPLIT, i, j]:
                can[RIGHT_ARC, i, j] = _any(keep, offsets, n, i, j)
                can[LEFT_ARC, i, j] = _any(keep, offsets, n, j, i)
            for k in range(i + 1, j + 1):
                can[RIGHT, i, j] |= can[RIGHT_ARC, i, k] and can[RIGHT, k, j]
            for k in range(i, j):
                can[LEFT, i, j] |= can[LEFT, i, k] and can[LEFT_ARC, k, j]
    return can


@kernel
def _reached(n, can, offsets, keep):
    """[5, n+1, n+1] which items are part of a tree."""
    out = np.zeros((_KINDS, n + 1, n + 1), np.bool_)
    for d in range(1, n + 1):
        if can[LEFT, 1, d] and can[RIGHT, d, n] and _any(keep, offsets, n, 0, d):
            out[LEFT, 1, d] = out[RIGHT, d, n] = True
    for width in range(n - 1, 0, -1):
        for i in range(1, n - width + 1):
            j = i + width
            if out[RIGHT, i, j]:
                for k in range(i + 1, j + 1):
                    if can[RIGHT_ARC, i, k] and can[RIGHT, k, j]:
                        out[RIGHT_ARC, i, k] = out[RIGHT, k, j] = True
            if out[LEFT, i, j]:
                for k in range(i, j):
                    if can[LEFT, i, k] and can[LEFT_ARC, k, j]:
                        out[LEFT, i, k] = out[LEFT_ARC, k, j] = True
        for i in range(1, n - width + 1):
            j = i + width
            if out[RIGHT_ARC, i, j] or out[LEFT_ARC, i, j]:
                out[SPLIT, i, j] = True
                for r in range(i, j):
                    if can[RIGHT, i, r] and can[LEFT, r + 1, j]:
                        out[RIGHT, i, r] = out[LEFT, r + 1, j] = True
    return out


@kernel
def _numbered(n, reached):
    """[5, n+1, n+1] numbers of nodes, children first, -1 for what has nothing to say; and how many with the root."""
    numbers = np.full((_KINDS, n + 1, n + 1), _NONE, np.int32)
    made = 0
    for width in range(1, n):
        for i in range(1, n - width + 1):
            for kind in range(_KINDS):
                if reached[kind, i, i + width] and (kind != SPLIT or width > 1):
                    numbers[kind, i, i + width] = made
                    made += 1
    return numbers, made + 1


@kernel
def _write(items, arcs, experts, label_count, edges, rows):
    """All edges, node after node; `edges` [V] counts those into each."""
    can, numbers = items
    offsets, labels, keep = arcs
    n, scores = can.shape[1] - 1, experts[0]
    for width in range(1, n):
        for i in range(1, n - width + 1):
            j = i + width
            inner = numbers[SPLIT, i, j]
            if inner >= 0:
                for r in range(i, j):
                    if can[RIGHT, i, r] and can[LEFT, r + 1, j]:
                        edges[inner] += 1
                        _edge(numbers[RIGHT, i, r], _NONE, numbers[LEFT, r + 1, j], rows)
            for kind in (RIGHT_ARC, LEFT_ARC):
                node = numbers[kind, i, j]
                if node >= 0:
                    h, d = (i, j) if kind == RIGHT_ARC else (j, i)
                    for k in range(offsets[h * n + d - 1], offsets[h * n + d]):
                        if keep[k]:
                            edges[node] += 1
                            before, after = (inner, _NONE) if kind == RIGHT_ARC else (_NONE, inner)
                            edge = _edge(before, h * label_count + labels[k], after, rows)
                            if len(rows.features):
                                rows.features[edge] = scores[:, k]
            node = numbers[RIGHT, i, j]
            if node >= 0:
                for k in range(i + 1, j + 1):
                    if can[RIGHT_ARC, i, k] and can[RIGHT, k, j]:
                        edges[node] += 1
                        _edge(numbers[RIGHT_ARC, i, k], _NONE, numbers[RIGHT, k, j], rows)
            node = numbers[LEFT, i, j]
            if node >= 0:
                for k in range(i, j):
                    if can[LEFT, i, k] and can[LEFT_ARC, k, j]:
                        edges[node] += 1
                        _edge(numbers[LEFT, i, k], _NONE, numbers[LEFT_ARC, k, j], rows)
    _write_top(items, arcs, experts, edges, rows)


@kernel
def _write_top(items, arcs, experts, edges, rows):
    """Edges into the root: an arc to the top word, with -log Z of every expert; no words, one empty tree."""
    can, numbers = items
    offsets, labels, keep = arcs
    scores, log_z = experts
    n = can.shape[1] - 1
    if n == 0:
        edges[-1] += 1
        _edge(_NONE, _NONE, _NONE, rows)
    for d in range(1, n + 1):
        if can[LEFT, 1, d] and can[RIGHT, d, n]:
            for k in range(offsets[d - 1], offsets[d]):
                if keep[k]:
                    edges[-1] += 1
                    edge = _edge(numbers[LEFT, 1, d], labels[k], numbers[RIGHT, d, n], rows)
                    if len(rows.features):
                        rows.features[edge] = scores[:, k] - log_z


@kernel
def _edge(before, word, after, rows):
    """Write an edge that says a tail, a word and a tail, each -1 where there is none; its number."""
    edge, tail, symbol = rows.counts
    arity, size = 0, 0
    for part in range(3):
        item = before if part == 0 else word if part == 1 else after
        if item >= 0:
            if len(rows.arities):
                rows.symbols[symbol + size] = item if part == 1 else -1 - arity
                if part != 1:
                    rows.tails[tail + arity] = item
            arity += part != 1
            size += 1
    if len(rows.arities):
        rows.arities[edge] = arity
        rows.sizes[edge] = size
    rows.counts[0] += 1
    rows.counts[1] += arity
    rows.counts[2] += size
    return edge
