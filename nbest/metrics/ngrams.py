"""Clipped n-gram matches of hypotheses against the references of their segment.

The n-grams of a segment's references form a trie that its whole list shares. A node is an n-gram; its number is found
by its first word (order 1) or by open addressing on (node of the n-gram without its last word, last word). Memory is
linear in the length of the references, and clearing a table costs as much as filling it. Cost: at most `order` look-ups
a word, fewer where the hypothesis leaves the references.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from nbest.base.types import Ints
from nbest.compute.compilation import kernel
from nbest.compute.intrinsics import new
from nbest.compute.parallel import over_ranges
from nbest.corpus.words import Words

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def matches(
    hypotheses: Words,
    offsets: Ints,
    references: Words,
    first: Ints,
    last: Ints,
    order: int,
    vocabulary: int,
    threads: int | None = None,
) -> npt.NDArray[np.int32]:
    """[H, order] how many n-grams of each hypothesis are in its references, for n = 1 to `order`.

    Hypotheses of segment i are `offsets[i]:offsets[i+1]`, its references `first[i]:last[i]` (none: no matches).
    An n-gram counts at most as often as in the reference that has it most often. Word numbers are < `vocabulary`.
    """
    out = np.zeros((len(hypotheses.offsets) - 1, order), np.int32)
    offsets = np.array(offsets, np.int64)  # writable, or the kernel would be compiled again for read-only arrays
    texts, known = (hypotheses.offsets, hypotheses.ids), (first, last, references.offsets, references.ids)
    over_ranges(
        lambda low, high: _matches(low, high, offsets, texts, known, vocabulary=vocabulary, out=out), offsets, threads
    )
    return out


def ngram_totals(lengths: Ints, order: int) -> Ints:
    """[..., order] number of n-grams of texts of these lengths, for n = 1 to `order`."""
    return np.maximum(lengths[..., None] - np.arange(order), 0)


class ReferenceTrie(NamedTuple):
    """The n-grams of the references of a segment."""

    unigrams: Ints  # [words] int32, node of each word, 0 for none
    keys: Ints  # [2^bits, or more] (parent, word) of the other nodes, -1 where free
    values: Ints  # [as many] int32, their nodes
    bits: int
    limits: Ints  # [nodes + 1, or more] int32, how often each may count


@kernel
def table_bits(nodes):
    """Size of a table for this many nodes, as a power of two at least twice as large."""
    bits = 4
    while (1 << bits) < 2 * nodes:
        bits += 1
    return bits


@kernel
def _slot(trie, key):
    """Where the key is, or the free slot where it belongs."""
    keys, bits = trie.keys, trie.bits
    slot = np.int64((np.uint64(key) * _GOLDEN) >> np.uint64(64 - bits))
    while keys[slot] >= 0 and keys[slot] != key:
        slot = (slot + 1) & ((1 << bits) - 1)
    return slot


@kernel
def add_reference(words, order, nodes, trie, seen):
    """Add the n-grams of one reference; returns the number of nodes. Node 0 is the empty n-gram."""
    unigrams, keys, values, _, limits = trie
    size = len(words)
    for start in range(size):
        node = 0
        for at in range(start, min(start + order, size)):
            if at == start:
                if unigrams[words[at]] == 0:
                    nodes += 1
                    unigrams[words[at]] = nodes
                node = unigrams[words[at]]
            else:
                key = np.int64(node) << 32 | np.int64(words[at])
                slot = _slot(trie, key)
                if keys[slot] < 0:
                    nodes += 1
                    keys[slot] = key
                    values[slot] = nodes
                node = values[slot]
            seen[node] += 1
            limits[node] = max(limits[node], seen[node])
    seen[: nodes + 1] = 0
    return nodes


@kernel
def use_up(words, order, trie, left, out):
    """Count the matches of one hypothesis, using up what is `left` of each n-gram."""
    unigrams, keys, values, _, _ = trie
    size = len(words)
    for start in range(size):
        node = unigrams[words[start]]
        if node == 0:
            continue
        if left[node] > 0:
            left[node] -= 1
            out[0] += 1
        for at in range(start + 1, min(start + order, size)):
            if unigrams[words[at]] == 0:
                break
            slot = _slot(trie, np.int64(node) << 32 | np.int64(words[at]))
            if keys[slot] < 0:
                break
            node = values[slot]
            if left[node] > 0:
                left[node] -= 1
                out[at - start] += 1


@kernel
def _matches(low, high, offsets, texts, known, vocabulary, out):
    hyp_offsets, hyp_ids = texts
    first, last, ref_offsets, ref_ids = known
    order = out.shape[1]
    most = 0
    for segment in range(low, high):
        if first[segment] < last[segment]:
            most = max(most, ref_offsets[last[segment]] - ref_offsets[first[segment]])
    unigrams = new(vocabulary, np.int32)
    keys = new(1 << table_bits(most * order), np.int64)
    values = new(len(keys), np.int32)
    limits, seen, left = (
        new(most * order + 1, np.int32),
        new(most * order + 1, np.int32),
        new(most * order + 1, np.int32),
    )
    unigrams[:] = 0
    limits[:] = 0
    seen[:] = 0
    for segment in range(low, high):
        if first[segment] >= last[segment] or offsets[segment] == offsets[segment + 1]:
            continue
        begin, end = ref_offsets[first[segment]], ref_offsets[last[segment]]
        bits = table_bits((end - begin) * order)
        keys[: 1 << bits] = -1
        trie = ReferenceTrie(unigrams, keys, values, bits, limits)
        nodes = np.int64(0)  # as what comes back: it is not compiled for a constant, too
        for reference in range(first[segment], last[segment]):
            words = ref_ids[ref_offsets[reference] : ref_offsets[reference + 1]]
            nodes = add_reference(words, order, nodes, trie, seen)
        for h in range(offsets[segment], offsets[segment + 1]):
            for node in range(nodes + 1):
                left[node] = limits[node]
            use_up(hyp_ids[hyp_offsets[h] : hyp_offsets[h + 1]], order, trie, left, out[h])
        limits[: nodes + 1] = 0
        for at in range(begin, end):
            unigrams[ref_ids[at]] = 0
