"""`Forests`: packed forests of a corpus in flat arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from nbest.base.errors import CapabilityError, ParameterError
from nbest.base.types import Floats, Ints, References
from nbest.compute import segments
from nbest.corpus.container import Container, Said
from nbest.corpus.metric import Metric
from nbest.corpus.nbest import Origin

if TYPE_CHECKING:
    from nbest.corpus.layout import Layout, Structure

_SAID = Said(many="forests", one="forest", choices="derivations", texts="strings", row="edge", larger="larger")


@dataclass(frozen=True, eq=False, repr=False)
class Forests(Container):
    """N packed forests with V nodes, E edges and T tails in all, and D features an edge.

    A derivation of a node is one of its edges with a derivation of each of the edge's tails; the derivations of a
    forest are those of its last node, the root. Nodes are numbered children first; edges are sorted by head; a node may
    be the tail of an edge more than once. A forest without nodes, or whose root has no derivation, is empty.

    The target side of an edge is a row of symbols: s >= 0 is the word `vocabulary[s]`, s < 0 stands for the words of
    tail number -1 - s (by position). Lattices have edges of one tail, n-best lists edges of none.
    Checked once at construction; arrays are read-only.
    """

    node_offsets: Ints  # [N+1]: nodes of forest i
    edge_offsets: Ints  # [V+1]: edges into node v
    tail_offsets: Ints  # [E+1]: tails of edge e
    tails: Ints  # [T] node numbers, counted within the forest
    features: Floats  # [E, D]
    feature_names: tuple[str, ...]  # D
    ids: tuple[str, ...]  # N
    symbol_offsets: Ints | None = None  # [E+1]
    symbols: Ints | None = None  # [S]
    vocabulary: tuple[str, ...] = ()
    references: tuple[tuple[str, ...], ...] | None = None  # N
    sources: tuple[str, ...] | None = None  # N
    groups: tuple[str, ...] | None = None  # N
    metric: Metric | None = None
    stats: Floats | None = None  # [E, M] of `metric`, where they add up over the edges of a derivation
    own_weights: Mapping[str, float] = field(default_factory=dict)  # of the system that made them, if the file tells
    origins: Mapping[str, Origin] = field(default_factory=dict)
    absent_is_zero: bool = False  # a feature that is not among the names is 0 on all edges: so says the file's format

    @property
    def said(self) -> Said:
        """How messages call the parts of forests."""
        return _SAID

    @property
    def whole(self) -> bool:
        """A row of features is an edge, a part of many derivations."""
        return False

    @property
    def texts(self) -> None:
        """Edges are no texts."""

    @property
    def sparse(self) -> None:
        """Forests have dense features only."""

    @property
    def sparse_names(self) -> tuple[str, ...]:
        """None."""
        return ()

    @property
    def recipes(self) -> tuple[Mapping[str, Any], ...]:
        """None: no columns are added."""
        return ()

    def __post_init__(self) -> None:
        self.freeze(node_offsets=np.int64, edge_offsets=np.int64, tail_offsets=np.int64, tails=np.int32, features=None)
        self.freeze(symbol_offsets=np.int64, symbols=np.int32, stats=np.float64)
        object.__setattr__(self, "vocabulary", tuple(self.vocabulary))
        _check(self)

    # sizes -------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.node_offsets) - 1

    @property
    def sizes(self) -> dict[str, int]:
        """How many segments, nodes and edges."""
        return {"segments": len(self), "nodes": self.nodes, "edges": self.edges}

    @property
    def nodes(self) -> int:
        """V, the number of nodes."""
        return int(self.node_offsets[-1])

    @property
    def edges(self) -> int:
        """E, the number of edges."""
        return int(self.edge_offsets[-1])

    @property
    def forest_edges(self) -> Ints:
        """[N+1] offsets: edges of forest i."""
        return self.edge_offsets[self.node_offsets]

    @property
    def row_offsets(self) -> Ints:
        """[N+1] rows of features of segment i."""
        return self.forest_edges

    @property
    def arities(self) -> Ints:
        """[E] number of tails of each edge."""
        return segments.lengths(self.tail_offsets)

    @property
    def heads(self) -> Ints:
        """[E] head of each edge, counted within its forest."""
        local = np.arange(self.nodes) - np.repeat(self.node_offsets[:-1], segments.lengths(self.node_offsets))
        return np.repeat(local, segments.lengths(self.edge_offsets))

    @property
    def structure(self) -> Structure:
        """Nodes, edges and tails, for kernels that read the forests as they are."""
        from nbest.corpus.layout import Structure

        return Structure(self.node_offsets, self.edge_offsets, self.tail_offsets, self.tails)

    @cached_property
    def layout(self) -> Layout:
        """The forests as kernels read them; made once."""
        from nbest.corpus.layout import Layout

        return Layout.of(self)

    # what belongs to segments ------------------------------------------------------------------------------

    def with_metric(self, metric: Metric, references: References | None = None) -> Forests:
        """The same forests, to be measured by `metric` against `references` (their own when none are given)."""
        forests, _ = self.to_measure(metric, references)
        forests.need_words(metric.name)
        return replace(forests, metric=metric, stats=None)

    def with_stats(self, metric: Metric, stats: Floats) -> Forests:
        """The same forests with statistics [E, M] of `metric` that add up over the edges of a derivation."""
        return replace(self, metric=metric, stats=stats)

    @property
    def scored(self) -> bool:
        """Whether choices can be scored."""
        return self.metric is not None

    def need_metric(self) -> Metric:
        """The metric, or a `CapabilityError` that says how to get one."""
        if self.metric is None:
            raise CapabilityError("these forests have no metric yet; call forests.with_metric(metric, references)")
        return self.metric

    def need_readable(self, what: str) -> None:
        """Derivations are read out by their words."""
        self.need_words(what)

    def need_words(self, what: str) -> tuple[Ints, Ints]:
        """Offsets and symbols of the target sides, or a `CapabilityError`."""
        if self.symbols is None or self.symbol_offsets is None:
            raise CapabilityError(f"{what} needs the words of the edges and these forests carry none")
        return self.symbol_offsets, self.symbols

    # parts -------------------------------------------------------------------------------------------------

    def select(self, chosen: Ints | Sequence[int]) -> Forests:
        """The forests with these numbers, in this order."""
        chosen = np.asarray(chosen, np.int64)
        nodes, node_offsets = segments.rows_of(self.node_offsets, chosen)
        edges, edge_offsets = segments.rows_of(self.edge_offsets, nodes)
        return replace(
            self,
            **self.edge_fields(edges),
            node_offsets=node_offsets,
            edge_offsets=edge_offsets,
            **self.of_segments(chosen),
        )

    def between(self, low: int, high: int) -> Forests:
        """The forests from `low` to before `high`."""
        return self.select(np.arange(low, high))

    def edge_fields(self, edges: Ints) -> dict[str, Any]:
        """The fields that hold edges (tails, features, symbols), for these edges."""
        rows, tail_offsets = segments.rows_of(self.tail_offsets, edges)
        fields = {"tail_offsets": tail_offsets, "tails": self.tails[rows], "features": self.features[edges]}
        fields |= {} if self.stats is None else {"stats": self.stats[edges]}
        if self.symbols is not None and self.symbol_offsets is not None:
            rows, symbol_offsets = segments.rows_of(self.symbol_offsets, edges)
            fields |= {"symbol_offsets": symbol_offsets, "symbols": self.symbols[rows]}
        return fields

    def _said_of(self, names: Sequence[str]) -> dict[str, Any]:
        return {
            "origins": {name: origin for name, origin in self.origins.items() if name in names},
            "own_weights": {name: weight for name, weight in self.own_weights.items() if name in names},
            "absent_is_zero": self.absent_is_zero and set(names) == set(self.feature_names),  # those left out are not 0
        }


def _check(forests: Forests) -> None:
    forests.check_offsets("node_offsets")
    forests.check_offsets("edge_offsets", forests.nodes + 1)
    forests.check_offsets("tail_offsets", forests.edges + 1)
    forests.check_entries("tails", forests.tail_offsets[-1])
    forests.check_columns(forests.edges)
    if forests.stats is not None and (forests.stats.ndim != 2 or len(forests.stats) != forests.edges):
        raise ParameterError(f"'stats' of Forests must be [E, M] with E = {forests.edges}, got {forests.stats.shape}")
    forests.check_segments()
    _check_graph(forests)


def _check_graph(forests: Forests) -> None:
    """Tails before heads, symbols that exist."""
    owners = np.repeat(np.arange(forests.edges), forests.arities)
    bad = np.flatnonzero((forests.tails < 0) | (forests.tails >= forests.heads[owners]))
    if len(bad):
        edge = owners[bad[0]]
        raise ParameterError(
            f"edge {edge} of Forests leads to node {forests.heads[edge]} and has tail {forests.tails[bad[0]]}; "
            "a tail must be a node of the same forest with a smaller number (children first)"
        )
    if forests.symbols is None or forests.symbol_offsets is None:
        return
    forests.check_offsets("symbol_offsets", forests.edges + 1)
    forests.check_entries("symbols", forests.symbol_offsets[-1])
    owners = np.repeat(np.arange(forests.edges), segments.lengths(forests.symbol_offsets))
    wrong = (forests.symbols >= len(forests.vocabulary)) | (-1 - forests.symbols >= forests.arities[owners])
    if wrong.any():
        at = int(wrong.argmax())
        raise ParameterError(
            f"edge {owners[at]} of Forests has symbol {forests.symbols[at]}, no word and no tail of it"
        )
