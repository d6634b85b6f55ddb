"""Smaller forests: edges that matter little are dropped, and what can no longer be reached."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from nbest.base.errors import ParameterError
from nbest.base.types import Bools, Floats
from nbest.compute import segments
from nbest.compute.compilation import kernel
from nbest.compute.parallel import over_ranges
from nbest.corpus import Forests
from nbest.corpus.layout import forest_of
from nbest.forests.kbest import kbest
from nbest.forests.posteriors import checked_scores, posteriors

POSTERIOR = 1e-3
"""Threshold of `prune` when none is given."""

_ROUNDING = 1e-12  # relative to the score of the best derivation


def prune(
    forests: Forests,
    scores: Floats,
    *,
    posterior: float | None = None,
    gap: float | None = None,
    threads: int | None = None,
) -> Forests:
    """The forests with only the edges that matter under edge scores [E], and the best derivation whole.

    `posterior` keeps edges that are used at least so often in expectation, under p proportional to exp(sum of scores).
    `gap` keeps edges that are in a derivation whose score is at most so far below that of the best (its max-marginal);
    every such derivation is then kept. With both, both must hold; with neither, `posterior` is 1e-3.
    What is no longer part of a derivation of the root is dropped; forests without derivation lose all nodes.
    Huang (2008), ACL 586-594, prunes by `gap`. Cost: two passes over the edges.
    """
    if posterior is None and gap is None:
        posterior = POSTERIOR
    if posterior is not None and not posterior >= 0:
        raise ParameterError(f"'posterior' of prune must be >= 0, got {posterior}")
    if gap is not None and not gap >= 0:
        raise ParameterError(f"'gap' of prune must be >= 0, got {gap}")
    scores = checked_scores(forests, scores)
    mask = scores > -np.inf
    if posterior is not None:
        mask &= posteriors(forests, scores, threads).edges >= posterior
    if gap is not None:
        marginals = max_marginals(forests, scores, threads)
        best = segments.maxima(marginals, forests.forest_edges)
        slack = _ROUNDING * np.where(np.isfinite(best), np.abs(best), 0.0)
        mask &= marginals >= np.repeat(best - gap - slack, segments.lengths(forests.forest_edges))
    mask[kbest(forests, scores, 1, threads=threads).edges] = True
    return trim(forests, mask)


def max_marginals(forests: Forests, scores: Floats, threads: int | None = None) -> Floats:
    """[E] score of the best derivation of the root that uses the edge; -inf where there is none."""
    layout = forests.layout
    values = layout.spread(checked_scores(forests, scores))
    out = np.empty(len(values))
    over_ranges(lambda low, high: _max_marginals(low, high, layout.graph, values, out), layout.edge_offsets, threads)
    return layout.gather(out)


def trim(forests: Forests, mask: Bools | None = None) -> Forests:
    """The forests with the edges of `mask` [E] (all by default) that are part of a derivation of the root.

    Nodes that are part of none are dropped with them; the order of nodes and edges stays, the root is last.
    Everything that belongs to segments is kept. The derivations are those of the old forests whose edges are all in
    the mask. Cost: O(T).
    """
    mask = np.ones(forests.edges, bool) if mask is None else np.array(mask, bool)
    if mask.shape != (forests.edges,):
        raise ParameterError(f"'mask' of trim must have one entry for each of {forests.edges} edges, got {mask.shape}")
    nodes = np.zeros(forests.nodes, bool)
    _reach(forests.structure, mask, nodes)
    chosen = np.flatnonzero(mask)
    before = segments.offsets_of(nodes.astype(np.int64))  # how many kept nodes precede each
    node_offsets = before[forests.node_offsets]
    owners = np.repeat(np.arange(forests.edges), forests.arities)
    forest = np.repeat(np.arange(len(forests)), segments.lengths(forests.forest_edges))[owners]
    renumbered = before[forests.tails + forests.node_offsets[forest]] - node_offsets[forest]
    into = segments.offsets_of(mask.astype(np.int64))[forests.edge_offsets]
    fields = forests.edge_fields(chosen)
    fields["tails"] = renumbered[mask[owners]]
    return replace(
        forests,
        **fields,
        node_offsets=node_offsets,
        edge_offsets=segments.offsets_of(segments.lengths(into)[nodes]),
    )


@kernel
def _reach(structure, mask, reached):
    """Clear the mask of edges that are in no derivation of the root; mark the nodes that are in one."""
    node_offsets, edge_offsets, tail_offsets, tails = structure
    for i in range(len(node_offsets) - 1):
        base, end = node_offsets[i], node_offsets[i + 1]
        derived = np.zeros(end - base, np.bool_)
        for v in range(base, end):
            for e in range(edge_offsets[v], edge_offsets[v + 1]):
                for t in range(tail_offsets[e], tail_offsets[e + 1]):
                    mask[e] &= derived[tails[t]]
                derived[v - base] |= mask[e]
        if base < end:
            reached[end - 1] = derived[-1]
        for v in range(end - 1, base - 1, -1):
            for e in range(edge_offsets[v], edge_offsets[v + 1]):
                mask[e] &= reached[v]
                if mask[e]:
                    for t in range(tail_offsets[e], tail_offsets[e + 1]):
                        reached[base + tails[t]] = True


@kernel
def _max_marginals(low, high, graph, scores, out):
    """Inside and outside with maxima: the outside value of a tail is that of the rest of the best derivation."""
    for i in range(low, high):
        (begin, first, second), (a, b), (c, d) = forest_of(graph, i)
        score, best = scores[c:d], out[c:d]
        inside = np.full(b - a, -np.inf)
        outside = np.full(b - a, -np.inf)
        inside[0] = 0.0
        for v in range(1, b - a):
            for e in range(begin[v], begin[v + 1]):
                inside[v] = max(inside[v], score[e] + (inside[first[e]] + inside[second[e]]))
        outside[-1] = 0.0
        for v in range(b - a - 1, 0, -1):
            for e in range(begin[v], begin[v + 1]):
                left, right = inside[first[e]], inside[second[e]]
                best[e] = outside[v] + (score[e] + (left + right))
                outside[first[e]] = max(outside[first[e]], outside[v] + (score[e] + right))
                outside[second[e]] = max(outside[second[e]], outside[v] + (score[e] + left))
