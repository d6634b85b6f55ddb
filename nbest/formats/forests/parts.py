"""One forest as it stands in a file, and how it is put in order: children first, the root last."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from nbest.base.errors import FormatError
from nbest.base.types import Floats, Ints
from nbest.compute import segments
from nbest.compute.compilation import kernel

Numbers = Any
"""A list that a reader appends to, or an array."""


@dataclass
class Draft:
    """One forest as it is read: edges in the order of the file, in flat lists that readers append to, or in arrays.

    Features are either all of each edge in `values`, or those that are not 0, with their `rows` and `columns`.
    """

    heads: Numbers = field(default_factory=list)  # [E]
    tail_counts: Numbers = field(default_factory=list)  # [E]
    tails: Numbers = field(default_factory=list)
    symbol_counts: Numbers = field(default_factory=list)  # [E], or none at all for edges without words
    symbols: Numbers = field(default_factory=list)
    lines: Numbers = field(default_factory=list)  # [E], or none at all
    values: Numbers = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    columns: list[int] = field(default_factory=list)
    names: tuple[str, ...] | None = None  # of the features in `values`
    path: str | Path | None = None  # where it is from, if not the file that the builder is for
    line: int | None = None


@dataclass(frozen=True)
class Part:
    """One forest, checked and in order."""

    edge_counts: Ints  # [V]
    tail_counts: Ints  # [E]
    tails: Ints
    symbol_counts: Ints | None  # [E]
    symbols: Ints
    features: Floats | tuple[Ints, Ints, Floats]  # [E, D], or rows, columns and values
    names: tuple[str, ...] | None  # D, where all features are given


@dataclass(frozen=True)
class Place:
    """Where a draft is from, for complaints."""

    path: str | Path
    line: int | None
    draft: Draft

    def error(self, edge: int | None, message: str) -> FormatError:
        """A complaint of an edge: with its line where it has one, else with its number."""
        if edge is None:
            return FormatError(self.path, self.line, message)
        if len(self.draft.lines):
            return FormatError(self.path, int(self.draft.lines[edge]), message)
        return FormatError(self.path, self.line, f"{message} (edge {edge})")


def part_of(place: Place, draft: Draft, nodes: int, root: int | None) -> Part:
    _check_numbers(place, draft.heads, None, nodes, "leads to")
    _check_numbers(place, draft.tails, draft.tail_counts, nodes, "has tail")
    heads, tails = np.array(draft.heads, np.int64), np.array(draft.tails, np.int64)
    root = _root(place, tails, nodes) if root is None and nodes else root
    counts = np.array(draft.tail_counts, np.int64)
    edges, edge_counts, tail_counts, new_tails, looping = _arranged(heads, counts, tails, nodes, root)
    if looping >= 0:
        edge = int((heads == looping).argmax())
        raise place.error(edge, f"node {looping} is among its own descendants; a forest must not have cycles")
    symbol_counts, symbols = None, np.zeros(0, np.int64)
    if len(draft.symbol_counts):
        symbol_counts = np.array(draft.symbol_counts, np.int64)
        rows, _ = segments.rows_of(segments.offsets_of(symbol_counts), edges)
        symbol_counts, symbols = symbol_counts[edges], np.array(draft.symbols, np.int64)[rows]
    features = _feature_block(place, draft, edges, draft.names)
    return Part(
        edge_counts=edge_counts,
        tail_counts=tail_counts,
        tails=new_tails,
        symbol_counts=symbol_counts,
        symbols=symbols,
        features=features,
        names=draft.names,
    )


def _check_numbers(place: Place, numbers: Numbers, counts: Numbers | None, nodes: int, what: str) -> None:
    """Complain of the first number of a node that does not exist."""
    least, most = (np.min, np.max) if isinstance(numbers, np.ndarray) else (min, max)
    if len(numbers) and (least(numbers) < 0 or most(numbers) >= nodes):
        at = next(at for at, number in enumerate(numbers) if not 0 <= number < nodes)
        edge = at if counts is None else int(np.searchsorted(np.cumsum(counts), at, "right"))
        have = f"there are only nodes 0 to {nodes - 1}" if nodes else "there are no nodes"
        raise place.error(edge, f"an edge {what} node {numbers[at]}, and {have}")


def _root(place: Place, tails: Ints, nodes: int) -> int:
    found = np.flatnonzero(np.bincount(tails, minlength=nodes) == 0)
    if len(found) == 0:
        raise place.error(None, "every node is a tail; a forest must not have cycles")
    if len(found) > 1:
        raise place.error(None, f"two roots: nodes {found[0]} and {found[1]} are no edge's tail; say which is the root")
    return int(found[0])


def _feature_block(
    place: Place, draft: Draft, edges: Ints, names: tuple[str, ...] | None
) -> Floats | tuple[Ints, Ints, Floats]:
    values = np.array(draft.values, np.float64)
    finite = np.isfinite(values)
    if not finite.all():
        at = int(finite.argmin())
        edge = at // len(names) if names else draft.rows[at]
        raise place.error(edge, f"features must be finite numbers, got {draft.values[at]}")
    if names is not None:
        return values.reshape(len(draft.heads), len(names))[edges]
    position = np.full(len(draft.heads), -1)
    position[edges] = np.arange(len(edges))
    rows, columns = position[np.array(draft.rows, np.int64)], np.array(draft.columns, np.int64)
    kept = rows >= 0
    return rows[kept], columns[kept], values[kept]


def _arranged(
    heads: Ints, tail_counts: Ints, tails: Ints, nodes: int, root: int | None
) -> tuple[Ints, Ints, Ints, Ints, int]:
    """Edges by head (numbers as given), how many each node has, their tail counts and tails, in the new numbering of
    nodes; and a node on a cycle, -1 where there is none. O(nodes + edges log edges + tails)."""
    edges = np.argsort(heads, kind="stable")
    edge_offsets = segments.offsets_of(np.bincount(heads, minlength=nodes))
    rows, tail_offsets = segments.rows_of(segments.offsets_of(tail_counts), edges)
    tails = tails[rows]
    order, above, looping = _order(tail_offsets[edge_offsets], tails, -1 if root is None else root)
    if looping >= 0 or root is None:
        return edges, segments.lengths(edge_offsets), tail_counts[edges], tails, looping
    order = np.append(order[~above[order] & (order != root)], root)
    if len(order) == nodes and (np.diff(order) == 1).all():
        return edges, segments.lengths(edge_offsets), tail_counts[edges], tails, -1
    rank = np.full(nodes, -1)
    rank[order] = np.arange(len(order))
    kept, edge_offsets = segments.rows_of(edge_offsets, order)
    rows, _ = segments.rows_of(tail_offsets, kept)
    edges = edges[kept]
    return edges, segments.lengths(edge_offsets), tail_counts[edges], rank[tails[rows]], -1


@kernel
def _order(offsets, children, root):
    """Nodes children first, else as numbered; which have `root` among their descendants; a node on a cycle or -1."""
    nodes = len(offsets) - 1
    order = np.empty(nodes, np.int64)
    above = np.zeros(nodes, np.bool_)
    state = np.zeros(nodes, np.int8)  # 1: on the stack, 2: in the order
    following = offsets[:-1].copy()  # the next child to look at
    stack = np.empty(nodes, np.int64)
    count = 0
    for first in range(nodes):
        if state[first]:
            continue
        stack[0], state[first], depth = first, 1, 1
        while depth:
            node = stack[depth - 1]
            if following[node] == offsets[node + 1]:
                state[node], order[count] = 2, node
                count += 1
                depth -= 1
                continue
            child = children[following[node]]
            if state[child] == 0:
                stack[depth], state[child] = child, 1
                depth += 1
                continue
            if state[child] == 1:
                return order, above, child
            following[node] += 1
            if child == root or above[child]:
                above[node] = True
    return order, above, -1
