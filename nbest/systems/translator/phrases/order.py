"""Orders of phrases and of phrase pairs by counting sorts: stable, in time proportional to their input."""

from __future__ import annotations

import numpy as np

from nbest.base.types import Floats, Ints
from nbest.compute.compilation import kernel
from nbest.compute.parallel import over_ranges
from nbest.compute.segments import offsets_of


def phrase_order(ids: Ints, starts: Ints, sizes: Ints) -> Ints:
    """Lexicographic order of phrases, a phrase before its continuations: one pass a place, last place first."""
    order = np.arange(len(starts), dtype=np.int32)
    buckets = int(ids.max(initial=-1)) + 2
    for place in range(int(sizes.max(initial=0)) - 1, -1, -1):
        order = _counting(_words_at(ids, starts, sizes, place), order, buckets)
    return order


def ranks_of(order: Ints) -> Ints:
    """[items] place of each item in this order."""
    out = np.empty(len(order), np.int32)
    out[order] = np.arange(len(order), dtype=np.int32)
    return out


def pair_order(sources: Ints, targets: Ints, values: Floats, threads: int | None = None) -> tuple[Ints, Ints]:
    """Order of pairs by source, then falling value, then target; and the offsets of the pairs of each source."""
    order = np.arange(len(sources), dtype=np.int32)
    order = _counting(targets, order, int(targets.max(initial=-1)) + 1)
    order = _counting(sources, order, int(sources.max(initial=-1)) + 1)
    offsets = offsets_of(np.bincount(sources))
    over_ranges(lambda low, high: _by_value(values, order, offsets, low, high), offsets, threads)
    return order, offsets


def renumbered(numbers: Ints, size: int) -> tuple[Ints, Ints]:
    """The distinct numbers below `size` in rising order, and the place of each number among them."""
    seen = np.zeros(size, np.bool_)
    seen[numbers] = True
    places = np.cumsum(seen, dtype=np.int32) - np.int32(1)
    return np.flatnonzero(seen), places[numbers]


@kernel
def _words_at(ids, starts, sizes, place):
    """[phrases] the word at this place plus 1; 0 for a phrase that has ended before."""
    out = np.zeros(len(starts), np.int32)
    for k in range(len(starts)):
        if place < sizes[k]:
            out[k] = ids[starts[k] + place] + 1
    return out


@kernel
def _counting(keys, order, buckets):
    """The items of `order` by rising key, equal keys as they were."""
    at = np.zeros(buckets + 1, np.int64)
    for k in range(len(keys)):
        at[keys[k] + 1] += 1
    for b in range(buckets):
        at[b + 1] += at[b]
    out = np.empty_like(order)
    for item in order:
        out[at[keys[item]]] = item
        at[keys[item]] += 1
    return out


@kernel
def _by_value(values, order, offsets, low, high):
    for s in range(low, high):
        if offsets[s + 1] - offsets[s] > 1:
            part = order[offsets[s] : offsets[s + 1]].copy()
            inner = np.argsort(-values[part], kind="mergesort")
            order[offsets[s] : offsets[s + 1]] = part[inner]
