"""Forests as the kernels read them: every edge with two tails.

Each forest gets a node 0 without edges that stands for "nothing": its inside value is one, and it is the tail of edges
that have fewer than two. An edge with more than two tails is split: extra nodes, each with one edge of score 0, join
its tails two at a time. Nothing else changes: extra edges have probability 1 given their node, so posteriors,
expectations and derivations of the forest's own edges are the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nbest.base.types import Floats, Ints
from nbest.compute import segments
from nbest.compute.compilation import kernel

if TYPE_CHECKING:
    from nbest.corpus import Forests


class Structure(NamedTuple):
    """Nodes, edges and tails of forests, as they are."""

    node_offsets: Ints  # [N+1]: nodes of forest i
    edge_offsets: Ints  # [V+1]: edges into node v
    tail_offsets: Ints  # [E+1]: tails of edge e
    tails: Ints  # [T] node numbers, counted within the forest


class Graph(NamedTuple):
    """Nodes and edges of laid out forests, as kernels take them."""

    node_offsets: Ints  # [N+1] nodes of forest i
    edge_offsets: Ints  # [N+1] edges of forest i
    starts: Ints  # [V'+N] int32: edges into node v of forest i begin at starts[node_offsets[i] + i + v], within it
    first: Ints  # [E'] int32, first tail, within the forest
    second: Ints  # [E'] int32


class Forest(NamedTuple):
    """One forest of a graph."""

    starts: Ints  # [V'_i + 1] int32: edges into node v
    first: Ints  # [E'_i] int32, first tail
    second: Ints  # [E'_i] int32


@dataclass(frozen=True)
class Layout:
    """N forests with V' nodes and E' edges of two tails; V' = V + N and E' = E where no edge has more than two."""

    graph: Graph
    edges: Ints | None  # [E'] edge of the forests, -1 for an extra one; None: E' = E in the same order
    nodes: Ints | None  # [V'] node of the forests (over all of them), -1 for an extra one; None: only nodes 0 are extra

    @classmethod
    def of(cls, forests: Forests) -> Layout:
        """Lay out; O(E) time and 8 bytes an edge."""
        counts = segments.lengths(forests.node_offsets)
        plain = bool((forests.arities <= 2).all())
        extra = np.maximum(forests.arities - 2, 0)
        added = segments.sums(extra.astype(np.float64), forests.forest_edges).astype(np.int64)
        node_offsets = segments.offsets_of(counts + 1 + added)
        edge_offsets = segments.offsets_of(segments.lengths(forests.forest_edges) + added)
        starts = np.zeros(node_offsets[-1] + len(forests), np.int32)
        graph = Graph(node_offsets, edge_offsets, starts, *np.zeros((2, edge_offsets[-1]), np.int32))
        edges = np.full(0 if plain else edge_offsets[-1], -1, np.int64)
        nodes = np.full(0 if plain else node_offsets[-1], -1, np.int64)
        _lay_out(forests.structure, graph, edges, nodes)
        return cls(graph, None if plain else edges, None if plain else nodes)

    def __len__(self) -> int:
        return len(self.node_offsets) - 1

    @property
    def node_offsets(self) -> Ints:
        """[N+1] nodes of forest i."""
        return self.graph.node_offsets

    @property
    def edge_offsets(self) -> Ints:
        """[N+1] edges of forest i."""
        return self.graph.edge_offsets

    def spread(self, values: Floats, fill: float = 0.0) -> Floats:
        """[E'] values of edges [E], `fill` for extra ones; a copy that may be written to."""
        values = np.asarray(values, np.float64)
        if self.edges is None:
            return values.copy()
        return np.where(self.edges >= 0, values[np.maximum(self.edges, 0)], fill)

    def gather(self, values: Floats) -> Floats:
        """[E] the values [E'] of the forests' own edges."""
        if self.edges is None:
            return values
        own = self.edges >= 0
        out = np.empty(int(own.sum()), values.dtype)
        out[self.edges[own]] = values[own]
        return out

    def gather_nodes(self, values: Floats) -> Floats:
        """[V] the values [V'] of the forests' own nodes."""
        if self.nodes is None:
            own = np.ones(len(values), bool)
            own[self.node_offsets[:-1]] = False
            return values[own]
        return values[self.nodes >= 0]


@kernel
def forest_of(graph, i):
    """Forest i alone, and where its nodes and edges begin and end."""
    a, b = graph.node_offsets[i], graph.node_offsets[i + 1]
    c, d = graph.edge_offsets[i], graph.edge_offsets[i + 1]
    return Forest(graph.starts[a + i : b + i + 1], graph.first[c:d], graph.second[c:d]), (a, b), (c, d)


@kernel
def _lay_out(old, graph, edges, nodes):
    old_nodes, old_edges, old_tails, tails = old
    node_offsets, edge_offsets, starts, first, second = graph
    for forest in range(len(old_nodes) - 1):
        base = old_nodes[forest]
        size = old_nodes[forest + 1] - base
        number = np.zeros(size, np.int32)  # of the forest's own nodes in the new numbering
        begin = node_offsets[forest] + forest
        new_base = node_offsets[forest]
        edge_base = edge_offsets[forest]
        node = 0  # the last node that was finished
        edge = 0
        starts[begin] = 0
        for v in range(size):
            for e in range(old_edges[base + v], old_edges[base + v + 1]):
                low, high = old_tails[e], old_tails[e + 1]
                if high - low > 2:
                    left = number[tails[low]]
                    for t in range(low + 1, high - 1):
                        node += 1
                        starts[begin + node] = edge
                        first[edge_base + edge] = left
                        second[edge_base + edge] = number[tails[t]]
                        left = node
                        edge += 1
            done = node  # extra nodes of this head's edges are numbered in order, up to here
            extra = done
            for e in range(old_edges[base + v], old_edges[base + v + 1]):
                extra -= max(old_tails[e + 1] - old_tails[e] - 2, 0)
            node += 1
            starts[begin + node] = edge
            number[v] = node
            if len(nodes):
                nodes[new_base + node] = base + v
            for e in range(old_edges[base + v], old_edges[base + v + 1]):
                low, high = old_tails[e], old_tails[e + 1]
                if high - low > 2:
                    extra += high - low - 2
                    first[edge_base + edge] = extra
                    second[edge_base + edge] = number[tails[high - 1]]
                else:
                    first[edge_base + edge] = number[tails[low]] if high > low else 0
                    second[edge_base + edge] = number[tails[low + 1]] if high > low + 1 else 0
                if len(edges):
                    edges[edge_base + edge] = e
                edge += 1
        starts[begin + node + 1] = edge
