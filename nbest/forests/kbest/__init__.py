"""The k best derivations of forests, exactly and lazily."""

from __future__ import annotations

import numpy as np

from nbest.base.errors import ParameterError
from nbest.base.types import Floats, Ints
from nbest.compute import segments
from nbest.compute.compilation import kernel
from nbest.compute.growing import roomy
from nbest.compute.parallel import over_ranges
from nbest.corpus import Forests
from nbest.corpus.container import frozen_view
from nbest.corpus.layout import forest_of
from nbest.forests.derivations import Derivations
from nbest.forests.kbest.hashes import mark_used
from nbest.forests.kbest.heap import EDGE, FIELDS, LEFT, RIGHT
from nbest.forests.kbest.search import Query, search_forest
from nbest.forests.posteriors import checked_scores


def kbest(
    forests: Forests, scores: Floats, k: int, *, distinct: bool = False, threads: int | None = None
) -> Derivations:
    """The k best derivations of each forest by the sum of edge scores [E], best first; fewer where there are fewer.

    Huang & Chiang (2005), IWPT 53-64, algorithm 3: the best derivation of every node bottom-up, then the next of a node
    only when one is asked for. Of a derivation (e, i, j) the successors are (e, i, j + 1) and, where j is the best,
    (e, i + 1, j), so none is met twice and no set of those seen is needed. A score of -inf excludes an edge.
    Equal scores: the lower edge at the top first, then the order in which the derivations were met.
    `derivations.sums(scores)` are the scores. Cost: O(E + |D| k log k) for derivations of |D| edges.

    `distinct`: only the best derivation of each row of words. Every node keeps only the first derivation of each row,
    which is enough: words are put one after the other and scores add up. Words are compared by two hashes of 61 bits;
    with K derivations of n words met at a node, the chance that one is lost is below K^2 (n / 2^61)^2: 2e-21 for
    a million of 100 words.
    """
    if k < 1:
        raise ParameterError(f"'k' of kbest must be >= 1, got {k}")
    layout = forests.layout
    values = layout.spread(checked_scores(forests, scores))
    own = np.arange(len(values)) if layout.edges is None else layout.edges
    nothing = frozen_view(np.zeros(1), np.int64), frozen_view(np.zeros(0), np.int32)
    symbols = forests.need_words("distinct derivations") if distinct else nothing
    arity = int(forests.arities.max(initial=0))
    parts: dict[int, tuple[Ints, Ints, Ints]] = {}

    def work(low: int, high: int) -> None:
        room = np.zeros(max(arity, 2), np.int64)  # one for each call: threads write to it
        words = forests.tail_offsets, *symbols, room
        parts[low] = _kbest(low, high, layout.graph, (values, own), words, k=k, distinct=distinct)

    over_ranges(work, layout.edge_offsets, threads)
    return joined(forests, [parts[low] for low in sorted(parts)])


def joined(forests: Forests, parts: list[tuple[Ints, Ints, Ints]]) -> Derivations:
    """Derivations of ranges of forests, one after the other: how many a forest, edges a derivation, edges."""
    empty: Ints = np.zeros(0, np.int64)
    counts, sizes, edges = (np.concatenate([empty, *(part[field] for part in parts)]) for field in range(3))
    return Derivations(forests, segments.offsets_of(counts), segments.offsets_of(sizes), edges)


@kernel
def _kbest(low, high, graph, edge_values, words, k, distinct):
    """Derivations of a range of forests: how many a forest, edges a derivation, edges."""
    scores, own = edge_values
    store = np.empty((0, FIELDS), np.int32), np.empty(0), np.empty((0, 4), np.uint64)
    counts = np.zeros(high - low, np.int64)
    sizes = np.empty(16, np.int64)
    edges = np.empty(16, np.int64)
    derivations, total = 0, 0
    for i in range(low, high):
        forest, (a, b), (c, d) = forest_of(graph, i)
        used = np.ones((d - c, 2), np.bool_)
        if distinct:
            mark_used(forest.starts, forest.first, own[c:d], words, used)
        query = Query(forest=forest, scores=scores[c:d], own=own[c:d], used=used, words=words, distinct=distinct)
        found, store = search_forest(k, query, store)
        counts[i - low] = len(found)
        stack = np.empty(b - a + 1, np.int32)
        for record in found:
            before = total
            edges, total = _read_out(record, records=store[0], own=own[c:d], stack=stack, edges=edges, total=total)
            sizes = roomy(sizes, derivations)
            sizes[derivations] = total - before
            derivations += 1
    return counts, sizes[:derivations].copy(), edges[:total].copy()


@kernel
def _read_out(record, records, own, stack, edges, total):
    """Append the edges of a derivation from the top, left to right; extra edges are passed over."""
    stack[0], depth = record, 1
    while depth:
        at = stack[depth - 1]
        depth -= 1
        if at == 0:
            continue
        edge = own[records[at, EDGE]]
        if edge >= 0:
            edges = roomy(edges, total)
            edges[total] = edge
            total += 1
        stack[depth], stack[depth + 1] = records[at, RIGHT], records[at, LEFT]
        depth += 2
    return edges, total
