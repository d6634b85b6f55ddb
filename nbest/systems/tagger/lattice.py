"""Lattices of tag sequences: a node for each two tags in a row, so that trigrams are local to edges."""

from __future__ import annotations

from typing import Any

import numpy as np

from nbest.base.types import Ints
from nbest.compute import segments
from nbest.compute.compilation import kernel
from nbest.compute.parallel import over_ranges
from nbest.systems.tagger.lexicon import Lexicon, TagOptions
from nbest.systems.tagger.transitions import Transitions, find_tag, log_transition, pair_at

FEATURES = ("transition", "lexical")
"""Natural logs: p(tag | two tags before), of the end of the sentence too, and p(word | tag) or p(word | tags)."""


def lattices(
    offsets: Ints, options: TagOptions, transitions: Transitions, lexicon: Lexicon, contexts: bool, threads: int | None
) -> dict[str, Any]:
    """Fields of `Forests` for N sentences of the tokens `offsets[i]:offsets[i + 1]`.

    Step j of a sentence has a node (t, u) for each tag t of word j - 1 and u of word j, and an edge to it from each
    (s, t) of the step before; edges say u. The last step is the root with an edge from each node before it. Every
    sequence of options is one derivation. Cost: the sum over words of the product of three numbers of tags.
    """
    steps = _StepSizes(offsets, options.offsets)
    edges = int(steps.edges.sum())
    features = np.empty((edges, 2))
    tails = np.empty(int(steps.tails.sum()), np.int32)
    symbols = np.empty(int(steps.symbols.sum()), np.int32)
    begins = [segments.offsets_of(sizes)[steps.offsets] for sizes in (steps.edges, steps.tails, steps.symbols)]
    chosen = (options.offsets, options.tags, options.probabilities, options.entries)
    words = (lexicon.context_offsets, lexicon.context_tags, lexicon.context_counts)

    def work(low: int, high: int) -> None:
        arrays = (offsets, *begins, *chosen, transitions, words, lexicon.shares, contexts, features, tails, symbols)
        _fill(low, high, *arrays)

    over_ranges(work, begins[0], threads)
    return {
        "node_offsets": segments.offsets_of(steps.nodes)[steps.offsets],
        "edge_offsets": segments.offsets_of(np.repeat(steps.edges // steps.nodes, steps.nodes)),
        "tail_offsets": segments.offsets_of(np.repeat(steps.tails // steps.edges, steps.edges)),
        "tails": tails,
        "features": features,
        "feature_names": FEATURES,
        "symbol_offsets": segments.offsets_of(np.repeat(steps.symbols // steps.edges, steps.edges)),
        "symbols": symbols,
    }


class _StepSizes:
    """Sizes of the steps of all sentences: one a token and one for the root."""

    def __init__(self, offsets: Ints, option_offsets: Ints) -> None:
        words = segments.lengths(offsets)
        self.offsets = segments.offsets_of(words + 1)
        own = np.ones(self.offsets[-1], np.int64)
        root = np.zeros(len(own), bool)
        root[self.offsets[1:] - 1] = True
        own[~root] = segments.lengths(option_offsets)
        at = np.arange(len(own)) - np.repeat(self.offsets[:-1], words + 1)
        one = np.where(at >= 1, np.roll(own, 1), 1)
        two = np.where(at >= 2, np.roll(own, 2), 1)
        self.nodes: Ints = np.where(root, 1, one * own)
        self.edges: Ints = two * one * own
        self.tails: Ints = np.where(at > 0, self.edges, 0)
        self.symbols: Ints = self.tails + np.where(root, 0, self.edges)


@kernel
def _fill(
    low, high, offsets, edge_begins, tail_begins, symbol_begins, option_offsets, tags, probabilities, entries, model,
    words, shares, contexts, features, tails, symbols,
):  # fmt: skip
    """Features, tails and symbols of the edges of a range of sentences."""
    boundary = len(model.single) - 1
    outside = np.full(1, boundary, np.int32)
    for i in range(low, high):
        edge, tail, symbol = edge_begins[i], tail_begins[i], symbol_begins[i]
        earlier, previous = outside, outside  # tags two words and one word before
        places = np.full(1, pair_at(model, boundary, boundary), np.int64)  # pair of each node of the step before
        base = 0  # its first node
        for token in range(offsets[i], offsets[i + 1]):
            a, b = option_offsets[token], option_offsets[token + 1]
            own = tags[a:b]
            following = np.empty(len(previous) * len(own), np.int64)
            for y in range(len(previous)):
                for z in range(len(own)):
                    place = pair_at(model, previous[y], own[z])
                    following[y * len(own) + z] = place
                    p = probabilities[a + z]
                    if contexts:
                        p = shares[0] * p + shares[1] * _in_context(entries[a + z], previous[y], place, model, words)
                    lexical = np.log(p)
                    for x in range(len(earlier)):
                        before = x * len(previous) + y
                        features[edge, 0] = log_transition(model, places[before], place, own[z])
                        features[edge, 1] = lexical
                        edge += 1
                        if token > offsets[i]:
                            tails[tail] = base + before
                            symbols[symbol] = -1
                            tail += 1
                            symbol += 1
                        symbols[symbol] = own[z]
                        symbol += 1
            base += 0 if token == offsets[i] else len(places)
            earlier, previous, places = previous, own, following
        out = features[edge:], tails[tail:], symbols[symbol:]
        _end(model, (earlier, previous), places, base, out)


@kernel
def _in_context(entry, before, place, model, words):
    """f(b, t, word) / f(b, t) for an entry of the lexicon (-1: none), the tag b before and the place of (b, t)."""
    offsets, tags, counts = words
    if entry < 0 or place < 0:
        return 0.0
    row = find_tag(tags, offsets[entry], offsets[entry + 1], before)
    return counts[row] / model.pair_counts[place] if row >= 0 else 0.0


@kernel
def _end(model, options, places, base, out):
    """Edges to the root."""
    earlier, previous = options
    features, tails, symbols = out
    boundary = len(model.single) - 1
    for x in range(len(earlier)):
        for y in range(len(previous)):
            before = x * len(previous) + y
            place = pair_at(model, previous[y], boundary)
            features[before, 0] = log_transition(model, places[before], place, boundary)
            features[before, 1] = 0.0
            if previous[y] != boundary:
                tails[before] = base + before
                symbols[before] = -1
