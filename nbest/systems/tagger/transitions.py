"""Transitions of a second-order Markov model of tags: trigrams with deleted interpolation.

    p(c | a, b) = l1 f(c) / N + l2 f(b, c) / f(b) + l3 f(a, b, c) / f(a, b)

Brants (2000), ANLP 224-231, section 2.2. Tags are numbers 0 to T - 1; T is the boundary, twice before the first word
and once after the last. (Brants ends a sentence by a bigram; here the end is a tag like the others.)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nbest.base.types import Floats, Ints
from nbest.compute import segments
from nbest.compute.compilation import kernel


class Transitions(NamedTuple):
    """Probabilities of the tags, pairs and triples that were seen, as kernels read them; S = T + 1."""

    shares: Floats  # [3] l1, l2, l3
    single: Floats  # [S] f(c) / N
    first: Ints  # [S+1] pairs that begin with a tag
    second: Ints  # [P] int32 second tag of each pair, rising within its first
    pair: Floats  # [P] f(b, c) / f(b)
    pair_counts: Ints  # [P] f(b, c)
    rows: Ints  # [P+1] triples that begin with a pair
    third: Ints  # [R] int32, rising within its pair
    triple: Floats  # [R] f(a, b, c) / f(a, b)


def transitions_of(tags: Ints, offsets: Ints, count: int) -> Transitions:
    """Estimate from N sentences of tags below `count`: those of sentence i are tags[offsets[i]:offsets[i + 1]]."""
    size = count + 1
    a, b, c = events(tags, offsets, count)
    triples, triple_counts = np.unique((a * size + b) * size + c, return_counts=True)
    pairs, pair_counts = np.unique(b * size + c, return_counts=True)
    pairs, pair_counts = _with_start(pairs, pair_counts, size)
    at = np.searchsorted(pairs, triples // size)
    followed = np.bincount(at, triple_counts, len(pairs))
    single = np.bincount(c, minlength=size)
    before = np.bincount(b, minlength=size)
    shares = deleted_interpolation(
        triple_counts,
        followed[at],
        pair_counts[np.searchsorted(pairs, triples % (size * size))],
        before[triples // size % size],
        single[triples % size],
    )
    return Transitions(
        shares=(shares + 1.0) / (shares + 1.0).sum(),
        # one more each, so that nothing has probability 0
        single=single / single.sum(),
        first=np.searchsorted(pairs, np.arange(size + 1) * size),
        second=(pairs % size).astype(np.int32),
        pair=pair_counts / np.maximum(before[pairs // size], 1),
        pair_counts=pair_counts.astype(np.int64),
        rows=segments.offsets_of(np.bincount(at, minlength=len(pairs))),
        third=(triples % size).astype(np.int32),
        triple=triple_counts / followed[at],
    )


def events(tags: Ints, offsets: Ints, count: int) -> tuple[Ints, Ints, Ints]:
    """Each tag and each end of a sentence with the two tags before it; empty sentences have none."""
    sizes = segments.lengths(offsets)
    filled = sizes[sizes > 0]
    bounds = segments.offsets_of(filled + 3)
    padded = np.full(bounds[-1], count, np.int64)
    inside = np.ones(len(padded), bool)
    inside[bounds[:-1]] = inside[bounds[:-1] + 1] = inside[bounds[1:] - 1] = False
    padded[inside] = tags
    own = np.ones(len(padded), bool)
    own[bounds[:-1]] = own[bounds[:-1] + 1] = False
    at = np.flatnonzero(own)
    return padded[at - 2], padded[at - 1], padded[at]


def _with_start(pairs: Ints, counts: Ints, size: int) -> tuple[Ints, Ints]:
    """The pairs with that of two boundaries, which is never an event and begins every sentence."""
    start = size * size - 1  # the largest number there is
    return np.append(pairs, start), np.append(counts, 0)


def deleted_interpolation(triples: Ints, pairs_before: Ints, pairs: Ints, before: Ints, single: Ints) -> Floats:
    """[3] Counts won by single tags, pairs and triples.

    For each triple (a, b, c) its count f(a, b, c) goes to the largest of (f(c) - 1) / (N - 1), (f(b, c) - 1) /
    (f(b) - 1), (f(a, b, c) - 1) / (f(a, b) - 1), where x / 0 is 0 and ties go to the fewest tags. Brants' figure 1;
    the tie is not in the paper. Given are, for each triple, f(a, b, c), f(a, b), f(b, c), f(b) and f(c).
    """
    total = np.full(len(triples), triples.sum())  # each event ends one triple
    cases = [(single, total), (pairs, before), (triples, pairs_before)]
    return _won([_less_one(over, under) for over, under in cases], triples)


def lexical_interpolation(contexts: Ints, contexts_before: Ints, plain: Ints, plain_before: Ints) -> Floats:
    """[2] Counts won by p(word | tag) and by p(word | tag before, tag), as `deleted_interpolation`."""
    return _won([_less_one(plain, plain_before), _less_one(contexts, contexts_before)], contexts)


def _less_one(over: Ints, under: Ints) -> Floats:
    return np.where(under > 1, (over - 1) / np.maximum(under - 1, 1), 0.0)


def _won(cases: list[Floats], counts: Ints) -> Floats:
    return np.bincount(np.argmax(np.stack(cases), axis=0), counts, len(cases)).astype(np.float64)


@kernel
def find_tag(values, low, high, value):
    """Place of a value among rising values[low:high], -1 where it is not."""
    end = high
    while low < high:
        middle = (low + high) // 2
        if values[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low if low < end and values[low] == value else -1


@kernel
def pair_at(model, b, c):
    """Place of a pair of tags, -1 where it was not seen."""
    return find_tag(model.second, model.first[b], model.first[b + 1], c)


@kernel
def log_transition(model, before, place, c):
    """ln p(c | a, b) for the places of (a, b) and of (b, c), -1 where they were not seen."""
    p = model.shares[0] * model.single[c]
    if place >= 0:
        p += model.shares[1] * model.pair[place]
    if before >= 0:
        row = find_tag(model.third, model.rows[before], model.rows[before + 1], c)
        if row >= 0:
            p += model.shares[2] * model.triple[row]
    return np.log(p)
