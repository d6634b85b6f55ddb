"""Small made-up forests, and all derivations of a forest by enumeration: the judge of every forest algorithm."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from nbest.base.types import Floats
from nbest.compute import segments
from nbest.corpus import Forests

_EDGES = 3  # into a node, at most
_WORDS = ("ant", "bee", "cat", "dog", "elk", "fox")


def toy_forests(
    seed: int = 1,
    *,
    forests: int = 5,
    nodes: int = 5,
    tails: int = 3,
    features: int = 3,
    ties: bool = False,
    lattices: bool = False,
    limit: int = 2000,
) -> Forests:
    """Random forests with references: nodes used twice by an edge, nodes without edges, unreachable nodes.

    Forest 1 has no nodes and forest 2 a root without edges (where there are as many). `ties` draws features from few
    whole numbers, `lattices` gives each edge at most one tail. No node has more than `limit` derivations.
    """
    rng = np.random.default_rng(seed)
    drawn = [_draw(rng, number, nodes, tails=1 if lattices else tails, limit=limit) for number in range(forests)]
    flat = [edge for forest in drawn for node in forest for edge in node]
    counts = [len(node) for forest in drawn for node in forest]
    values = rng.integers(-2, 3, (len(flat), features)) if ties else rng.normal(0.0, 1.0, (len(flat), features))
    return Forests(
        node_offsets=segments.offsets_of(np.array([len(forest) for forest in drawn], np.int64)),
        edge_offsets=segments.offsets_of(np.array(counts, np.int64)),
        tail_offsets=segments.offsets_of(np.array([len(tails) for tails, _ in flat], np.int64)),
        tails=np.array([tail for tails, _ in flat for tail in tails], np.int64),
        features=np.asarray(values, np.float64),
        feature_names=tuple(f"f{d}" for d in range(features)),
        ids=tuple(f"s{i}" for i in range(forests)),
        symbol_offsets=segments.offsets_of(np.array([len(symbols) for _, symbols in flat], np.int64)),
        symbols=np.array([symbol for _, symbols in flat for symbol in symbols], np.int64),
        vocabulary=_WORDS,
        references=tuple((" ".join(rng.choice(_WORDS, rng.integers(1, 7))),) for _ in range(forests)),
    )


_Edge = tuple[list[int], list[int]]


def _draw(rng: np.random.Generator, number: int, nodes: int, tails: int, limit: int) -> list[list[_Edge]]:
    """The edges of each node, as tails and symbols; drawn again while there are too many derivations."""
    if number == 1:
        return []
    while True:
        forest: list[list[_Edge]] = []
        count: list[int] = []
        for v in range(int(rng.integers(1, nodes + 1))):
            into = [_draw_edge(rng, v, tails) for _ in range(int(rng.integers(0 if v else 1, _EDGES + 1)))]
            forest.append(into)
            count.append(sum(int(np.prod([count[t] for t in used])) for used, _ in into))
        if max(count) <= limit and number == 2:
            return [*forest, []]
        if max(count) <= limit and count[-1] > 0:
            return forest


def _draw_edge(rng: np.random.Generator, head: int, most: int) -> _Edge:
    size = int(rng.integers(0, most + 1)) if head else 0
    tails = [int(t) for t in rng.integers(max(0, head - 3), head, size)] if head else []
    words = [int(w) for w in rng.integers(0, len(_WORDS), rng.integers(0, 3))]
    symbols = [*(-1 - k for k in range(size)), *words]
    return tails, [symbols[k] for k in rng.permutation(len(symbols))]


@dataclass(frozen=True)
class Derivation:
    """One derivation: its edges from the top, left to right by tails (numbers over all forests), and its words."""

    edges: tuple[int, ...]
    words: tuple[str, ...]


def enumerate_derivations(forests: Forests, forest: int) -> list[Derivation]:
    """All derivations of one forest, by brute force."""
    low, high = int(forests.node_offsets[forest]), int(forests.node_offsets[forest + 1])
    if low == high:
        return []
    known: list[list[Derivation]] = []
    for v in range(low, high):
        known.append([])
        for e in range(int(forests.edge_offsets[v]), int(forests.edge_offsets[v + 1])):
            tails = forests.tails[forests.tail_offsets[e] : forests.tail_offsets[e + 1]]
            for below in product(*(known[t] for t in tails)):
                known[-1].append(Derivation((e, *(x for d in below for x in d.edges)), _words(forests, e, below)))
    return known[-1]


def _words(forests: Forests, edge: int, below: tuple[Derivation, ...]) -> tuple[str, ...]:
    if forests.symbols is None or forests.symbol_offsets is None:
        return ()
    out: list[str] = []
    for symbol in forests.symbols[forests.symbol_offsets[edge] : forests.symbol_offsets[edge + 1]]:
        out += [forests.vocabulary[symbol]] if symbol >= 0 else below[-1 - symbol].words
    return tuple(out)


def derivation_sums(derivations: list[Derivation], values: Floats) -> Floats:
    """[K, ...] sum of edge values [E, ...] over the edges of each derivation, as often as each is used."""
    if not derivations:
        return np.zeros((0, *values.shape[1:]))
    return np.stack([values[list(d.edges)].sum(axis=0) for d in derivations])
