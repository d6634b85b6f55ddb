"""Statistics as sums over rows of features: those of BLEU over the edges of a derivation, for `Risk` on forests."""

from __future__ import annotations

from functools import singledispatch

import numpy as np

from nbest.base.errors import CapabilityError
from nbest.base.types import Floats, Ints
from nbest.compute import segments
from nbest.compute.compilation import kernel
from nbest.corpus import Forests, NBest
from nbest.corpus.contract import Corpus, no_answer
from nbest.forests.derivations import Derivations
from nbest.forests.ngrams import ngram_stats
from nbest.metrics import BLEU


@singledispatch
def adds_up(corpus: Corpus) -> bool:
    """Whether statistics of the metric are known as sums over rows of features."""
    raise no_answer("adds_up", corpus)


@adds_up.register(NBest)
def _(corpus: NBest) -> bool:
    return True


@adds_up.register(Forests)
def _(corpus: Forests) -> bool:
    metric = corpus.need_metric()
    return corpus.stats is not None or (isinstance(metric, BLEU) and (metric.by_word or not len(corpus.tails)))


@singledispatch
def additive(corpus: Corpus) -> tuple[Corpus, Floats]:
    """A corpus of the same choices, and statistics [rows, M] that add up over the rows of features of a choice."""
    raise no_answer("additive", corpus)


@additive.register(NBest)
def _(corpus: NBest) -> tuple[NBest, Floats]:
    return corpus, corpus.need_stats()[0]


@additive.register(Forests)
def _(corpus: Forests) -> tuple[Forests, Floats]:
    metric = corpus.need_metric()
    if corpus.stats is not None:
        return corpus, corpus.stats
    if isinstance(metric, BLEU):
        return bleu_edge_stats(corpus, metric)
    raise CapabilityError(
        f"{metric.name} does not add up over the edges of a forest; train on lists of its best strings"
    )


def bleu_edge_stats(forests: Forests, metric: BLEU) -> tuple[Forests, Floats]:
    """Forests whose n-grams are local to edges, and BLEU's statistics [E, M] of each edge.

    Lengths and numbers of n-grams are exact. Matches are clipped at each edge, not over the whole derivation: exact for
    lists (an edge is a whole hypothesis) and wherever no n-gram of the reference is completed at two edges of a
    derivation more often than the reference has it; otherwise too many are counted. The length of the reference is a
    constant of the forest, for several references their average (exact for lists: the closest).
    """
    if not len(forests.tails):
        return forests, _hypotheses(forests, metric)
    forests, found = ngram_stats(forests, metric)
    order = found.order
    stats = np.zeros((forests.edges, 2 + 2 * order))
    stats[:, 0] = found.counts[:, 0]
    stats[:, 2 + order :] = found.counts
    _clipped_matches(
        forests.forest_edges,
        found.match_offsets,
        found.matches,
        found.ngram_offsets,
        found.orders,
        limits=found.limits,
        out=stats[:, 2 : 2 + order],
    )
    lengths = average_lengths(found.references.reference_lengths, found.references.reference_offsets)
    for i in np.flatnonzero(np.diff(forests.node_offsets) > 0):  # every derivation has one edge into the root
        root = forests.node_offsets[i + 1] - 1
        stats[forests.edge_offsets[root] : forests.edge_offsets[root + 1], 1] = lengths[i]
    return forests, stats


def average_lengths(lengths: Ints, offsets: Ints) -> Floats:
    """[N] average length of the references of each forest."""
    return segments.sums(np.asarray(lengths, np.float64), offsets) / np.maximum(np.diff(offsets), 1)


def _hypotheses(forests: Forests, metric: BLEU) -> Floats:
    """[E, M] statistics of edges without tails: each is a whole hypothesis."""
    edges = np.arange(forests.edges)
    rows = Derivations(forests, forests.forest_edges, np.append(edges, forests.edges), edges)
    return metric.stats(rows.texts(), forests.forest_edges, forests.references or ())


@kernel
def _clipped_matches(forest_edges, match_offsets, matches, ngram_offsets, orders, limits, out):
    for i in range(len(forest_edges) - 1):
        base = ngram_offsets[i]
        seen = np.zeros(ngram_offsets[i + 1] - base, np.int32)
        for e in range(forest_edges[i], forest_edges[i + 1]):
            for m in range(match_offsets[e], match_offsets[e + 1]):
                g = matches[m]
                seen[g] += 1
                if seen[g] <= limits[base + g]:
                    out[e, orders[base + g] - 1] += 1.0
            for m in range(match_offsets[e], match_offsets[e + 1]):
                seen[matches[m]] = 0
