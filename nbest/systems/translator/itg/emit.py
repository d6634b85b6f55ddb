"""From the chart of a sentence to a forest: what the goal reaches, sorted by head, with features and symbols."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nbest.base.types import Floats, Ints
from nbest.compute.compilation import kernel
from nbest.systems.translator.itg.cube import GOAL, INVERTED, MONOTONE, PHRASE

PHRASE_FEATURES = 5
LM, LENGTH, MONOTONES, INVERSIONS = 5, 6, 7, 8  # columns after those of the phrases


class ItgForest(NamedTuple):
    """One forest, to be put beside others."""

    edges: Ints  # [V] edges into each node
    arities: Ints  # [E]
    tails: Ints  # [T]
    features: Floats  # [E, 9] float32
    sizes: Ints  # [E] symbols of each edge
    symbols: Ints  # [S]


@kernel
def emit_sentence(edges, made, met, options, features):
    """The forest of `made` nodes and `met` edges, without what the goal (the last node) does not reach.

    `features` [P, 5] of the options, in their order.
    """
    numbers, counts = _reached(edges, made, met)
    order = _by_head(edges.heads, met, numbers, counts)
    total = len(order)
    arities, sizes = np.empty(total, np.int64), np.empty(total, np.int64)
    tails = np.empty(2 * total, np.int32)
    symbols = np.empty(_symbols(edges, order, options.target_offsets), np.int32)
    out = np.zeros((total, PHRASE_FEATURES + 4), np.float32)
    below = said = np.int64(0)
    for at in range(total):
        edge = order[at]
        kind, left, right = edges.kinds[edge], edges.parts[edge, 0], edges.parts[edge, 1]
        arities[at] = _arity(kind, left)
        sizes[at] = _size(kind, left, options.target_offsets)
        out[at, LM] = edges.lm[edge]
        if kind == PHRASE:
            out[at, LENGTH] = sizes[at]
            for column in range(PHRASE_FEATURES):
                out[at, column] = features[left, column]
            for t in range(sizes[at]):
                symbols[said + t] = options.targets[options.target_offsets[left] + t]
        else:
            for t in range(arities[at]):
                tails[below + t] = numbers[right if t else left]
                symbols[said + t] = -1 - t if kind != INVERTED else t - 2
            out[at, MONOTONES], out[at, INVERSIONS] = kind == MONOTONE, kind == INVERTED
        below += arities[at]
        said += sizes[at]
    return ItgForest(
        edges=counts, arities=arities, tails=tails[:below].copy(), features=out, sizes=sizes, symbols=symbols
    )


@kernel
def _arity(kind, left):
    if kind == PHRASE:
        return 0
    return 2 if kind != GOAL else (1 if left >= 0 else 0)


@kernel
def _size(kind, left, target_offsets):
    return target_offsets[left + 1] - target_offsets[left] if kind == PHRASE else _arity(kind, left)


@kernel
def _symbols(edges, order, target_offsets):
    total = np.int64(0)
    for edge in order:
        total += _size(edges.kinds[edge], edges.parts[edge, 0], target_offsets)
    return total


@kernel
def _reached(edges, made, met):
    """The new number of each node, -1 where the goal does not reach it, and the edges of each new node."""
    counts = np.zeros(made, np.int64)
    reached = np.zeros(made, np.bool_)
    if made and met and edges.kinds[met - 1] == GOAL:
        reached[made - 1] = True
    for edge in range(met - 1, -1, -1):  # edges come span by span, so heads after all that lead to their tails
        head = edges.heads[edge]
        if reached[head]:
            counts[head] += 1
            for t in range(_arity(edges.kinds[edge], edges.parts[edge, 0])):
                reached[edges.parts[edge, t]] = True
    numbers = np.full(made, -1, np.int32)
    new = 0
    for v in range(made):
        if reached[v]:
            numbers[v] = new
            counts[new] = counts[v]
            new += 1
    return numbers, counts[:new].copy()


@kernel
def _by_head(heads, met, numbers, counts):
    """Numbers of the edges that are kept, sorted by head, those of a head as they were met."""
    place = np.empty(len(counts), np.int64)
    total = np.int64(0)
    for v in range(len(counts)):
        place[v] = total
        total += counts[v]
    order = np.empty(total, np.int64)
    for edge in range(met):
        head = numbers[heads[edge]]
        if head >= 0:
            order[place[head]] = edge
            place[head] += 1
    return order
