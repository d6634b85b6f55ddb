"""N-grams of forests: those completed at each edge, those of the references, expected counts.

An edge completes the n-grams of its words, tails put in, that are not within one tail; on annotated forests
(`nbest.forests.ngrams.annotation`) the boundary words of the tails are enough to know them, and each n-gram of a
derivation is completed at exactly one of its edges. Edges that are part of no derivation complete none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nbest.base.errors import CapabilityError
from nbest.base.types import Floats, Ints
from nbest.compute import segments
from nbest.compute.parallel import each
from nbest.corpus import Forests
from nbest.forests.ngrams.annotation import LIMIT, annotate, annotate_tracked, check_order, check_tails, word_edges
from nbest.forests.ngrams.completed import collect, expected, node_states, orders_of, reference_rows
from nbest.forests.ngrams.tokens import reference_tokens, retokenised
from nbest.forests.posteriors import checked_scores, posteriors
from nbest.metrics import BLEU
from nbest.metrics.normalise import need_words


@dataclass(frozen=True)
class Ngrams:
    """G n-grams of N forests, numbered from 0 in each: n-gram g is n-gram `parents[g]` with the word `words[g]` after
    it. Every n-gram comes with all that begin it."""

    offsets: Ints  # [N+1]: n-grams of forest i
    parents: Ints  # [G] int32, within the forest; -1: a single word
    words: Ints  # [G] int32, numbers into the vocabulary of the forests
    orders: Ints  # [G] int32, how many words

    def words_of(self, forest: int, ngram: int) -> tuple[int, ...]:
        """Word numbers of one n-gram."""
        low = int(self.offsets[forest])
        out: list[int] = []
        while ngram >= 0:
            out.append(int(self.words[low + ngram]))
            ngram = int(self.parents[low + ngram])
        return tuple(reversed(out))


@dataclass(frozen=True)
class EdgeNgrams:
    """The n-grams completed at each of E edges; one that is completed several times stands there several times."""

    ngrams: Ngrams
    counts: Ints  # [E, order] int32, how many n-grams of each order are completed, of all and not only of `ngrams`
    event_offsets: Ints  # [E+1]
    events: Ints  # [X] int32, numbers of n-grams within the forest


@dataclass(frozen=True)
class ReferenceNgrams:
    """The n-grams of the references, as far as the forests have their words, and the lengths of the references."""

    ngrams: Ngrams
    limits: Ints  # [R] int32, largest count in one reference of the forest
    reference_offsets: Ints  # [N+1]: references of forest i
    reference_lengths: Ints  # how many tokens each has

    def closest(self, lengths: Floats) -> Floats:
        """[N] length of the reference closest to each of these lengths [N], ties to the shorter; 0 without any."""
        gaps = np.abs(self.reference_lengths - np.repeat(lengths, np.diff(self.reference_offsets)))
        owners = segments.owners(self.reference_offsets)
        order = np.lexsort((self.reference_lengths, gaps, owners))
        filled = np.diff(self.reference_offsets) > 0
        out = np.zeros(len(filled))
        out[filled] = self.reference_lengths[order[self.reference_offsets[:-1][filled]]]
        return out


@dataclass(frozen=True)
class NgramStats:
    """What CoBLEU needs of annotated forests with E edges: the n-grams of each edge that are in the references.

    R n-grams of references in all, numbered from 0 in each forest; `matches` has one entry for every time that an edge
    completes one of them.
    """

    order: int
    counts: Ints  # [E, order] int32, l_n(h): n-grams of each order that the edge completes, in the references or not
    match_offsets: Ints  # [E+1] int64
    matches: Ints  # [Y] int32, numbers within the forest
    ngram_offsets: Ints  # [N+1] int64: reference n-grams of forest i
    orders: Ints  # [R] int32, 1 to `order`
    limits: Ints  # [R] int32, largest count in one reference of the forest
    references: ReferenceNgrams  # lengths of references, `closest`, and the words of the n-grams


def ngram_stats(
    forests: Forests, metric: BLEU, *, limit: int = LIMIT, threads: int | None = None
) -> tuple[Forests, NgramStats]:
    """The forests with the tokens of `metric` and nodes split by boundary words, and their n-grams.

    Cost: linear in the edges after splitting, in time and in memory.
    """
    need_words(metric, "BLEU on forests")
    order = metric.max_ngram_order
    forests = annotate(retokenised(forests, metric.tokenize, metric.lowercase), order, limit=limit, threads=threads)
    references = reference_ngrams(forests, order, tokenize=metric.tokenize, lowercase=metric.lowercase)
    found = edge_ngrams(forests, order, known=references.ngrams, threads=threads)
    known = references.ngrams
    return forests, NgramStats(
        order=order,
        counts=found.counts,
        match_offsets=found.event_offsets,
        matches=found.events,
        ngram_offsets=known.offsets,
        orders=known.orders,
        limits=references.limits,
        references=references,
    )


def reference_ngrams(
    forests: Forests, order: int = 4, *, tokenize: str = "none", lowercase: bool = False
) -> ReferenceNgrams:
    """N-grams of the references of retokenised forests, with the largest count over the references of a forest."""
    check_order(order)
    words, groups = reference_tokens(forests, tokenize, lowercase)
    parts = [
        reference_rows(words.offsets[groups[i] : groups[i + 1] + 1], words.ids, order) for i in range(len(forests))
    ]
    limits = np.concatenate([np.zeros(0, np.int32), *(part[2] for part in parts)])
    return ReferenceNgrams(_numbered([part[:2] for part in parts]), limits, groups, words.lengths())


def edge_ngrams(
    forests: Forests, order: int = 4, *, known: Ngrams | None = None, threads: int | None = None
) -> EdgeNgrams:
    """The n-grams of up to `order` words that each edge of annotated forests completes.

    With `known` n-grams only these are events, under their numbers; else all are, numbered by first appearance.
    Cost: at most order^2 look-ups a tail and order look-ups a word of an edge.
    """
    parts = _collected(forests, order, known, np.zeros(0), threads)
    numbered = _numbered([part[:2] for part in parts]) if known is None else known
    sizes = np.concatenate([np.zeros(0, np.int64), *(part[3] for part in parts)])
    events = np.concatenate([np.zeros(0, np.int32), *(part[4] for part in parts)])
    return EdgeNgrams(numbered, _counts(parts, order), segments.offsets_of(sizes), events)


@dataclass(frozen=True)
class ExpectedCounts:
    """Expected n-gram counts of N forests under their posterior; zeros for a forest without derivations."""

    ngrams: Ngrams
    counts: Floats  # [G] E[c(g)]
    totals: Floats  # [N, order] expected number of n-grams of each order; the first is the expected length


def expected_counts(
    forests: Forests, scores: Floats, order: int = 4, *, limit: int = LIMIT, threads: int | None = None
) -> ExpectedCounts:
    """How often each n-gram occurs in a derivation, in expectation under edge scores [E].

        E[c(g)] = sum_h P(h) c(g, h)

    DeNero, Chiang & Knight (2009), section 4; Pauls, DeNero & Klein (2009), section 3.3. Forests are annotated first
    where they need it. Cost: a pass over the annotated edges; memory for the distinct n-grams only.
    """
    scores = checked_scores(forests, scores)
    forests, origin = annotate_tracked(forests, order, limit=limit, threads=threads)
    posterior = posteriors(forests, scores[origin], threads).edges
    parts = _collected(forests, order, None, posterior, threads)
    totals = segments.sums(_counts(parts, order) * posterior[:, None], forests.forest_edges)
    counts = np.concatenate([np.zeros(0), *(part[5] for part in parts)])
    return ExpectedCounts(_numbered([part[:2] for part in parts]), counts, totals)


def expected_counts_of_each(
    forests: Forests, scores: Floats, gammas: Sequence[float], order: int = 4, *, threads: int | None = None
) -> list[ExpectedCounts]:
    """`expected_counts` at each gamma times the scores, the same bits: what edges complete is looked for once.

    Memory: for the n-grams of all edges.
    """
    scores = checked_scores(forests, scores)
    forests, origin = annotate_tracked(forests, order, threads=threads)
    edges = edge_ngrams(forests, order, threads=threads)
    out = []
    for gamma in gammas:
        posterior = posteriors(forests, (gamma * scores)[origin], threads).edges
        totals = segments.sums(edges.counts * posterior[:, None], forests.forest_edges)
        counts = expected(forests.forest_edges, edges.event_offsets, edges.events, edges.ngrams.offsets, posterior)
        out.append(ExpectedCounts(edges.ngrams, counts, totals))
    return out


def _collected(
    forests: Forests, order: int, known: Ngrams | None, weights: Floats, threads: int | None
) -> list[tuple[Ints, ...]]:
    """What the kernel `collect` finds in each forest."""
    check_order(order)
    check_tails(forests)
    edges = word_edges(forests)
    nodes = forests.node_offsets

    def one(i: int) -> tuple[Ints, ...]:
        starts = forests.edge_offsets[nodes[i] : nodes[i + 1] + 1]
        bad, *states = node_states(starts, edges, order - 1)  # what nodes need, their contexts, the trie of these
        if bad >= 0:
            raise CapabilityError(
                f"n-grams of order {order} are not local to the edges of these forests: node {bad} of forest "
                f"{forests.ids[i]!r} begins or ends in different words; call nbest.forests.ngrams.annotate first"
            )
        low, high = (0, 0) if known is None else known.offsets[i : i + 2]
        rows = (_NONE, _NONE) if known is None else (known.parents[low:high], known.words[low:high])
        return collect(starts, edges, tuple(states), order, rows, growing=known is None, weights=weights)

    return each(one, range(len(forests)), threads)


_NONE = np.zeros(0, np.int32)


def _counts(parts: list[tuple[Ints, ...]], order: int) -> Ints:
    return np.concatenate([np.zeros((0, order), np.int32), *(part[2] for part in parts)])


def _numbered(parts: Sequence[tuple[Ints, ...]]) -> Ngrams:
    """N-grams from the parents and words of each forest."""
    offsets = segments.offsets_of(np.array([len(part[0]) for part in parts], np.int64))
    parents, words = (np.concatenate([_NONE, *(part[k] for part in parts)]) for k in (0, 1))
    orders = np.concatenate([_NONE, *(orders_of(part[0]) for part in parts)])
    return Ngrams(offsets, parents, words, orders)
