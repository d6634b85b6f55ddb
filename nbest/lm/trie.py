"""From the n-grams of each order to the arrays of a `LanguageModel`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nbest.base.errors import ParameterError
from nbest.base.types import Bools, Floats, Ints
from nbest.compute import segments
from nbest.compute.compilation import kernel
from nbest.lm.model import LanguageModel
from nbest.lm.query import find_child


@dataclass(frozen=True)
class Level:
    """The n-grams of one order, sorted by suffix (its number in the order below), then by first word."""

    words: Ints  # first word
    suffixes: Ints
    logprobs: Floats
    backoffs: Floats


def assemble_trie(vocabulary: Sequence[str], levels: Sequence[Level]) -> LanguageModel:
    """The model of these n-grams; the backoffs of the highest order are dropped."""
    sizes = [len(level.words) for level in levels]
    if sum(sizes) >= 2**31:
        raise ParameterError(f"a language model holds less than 2^31 n-grams, got {sum(sizes)}; raise --cutoff")
    offsets = segments.offsets_of(np.array(sizes))
    families = [np.bincount(level.suffixes, minlength=size) for level, size in zip(levels[1:], sizes[:-1], strict=True)]
    counts = np.concatenate([np.zeros(0, np.int64), *families])
    return LanguageModel(
        vocabulary=tuple(vocabulary),
        levels=offsets,
        words=np.concatenate([level.words for level in levels]),
        children=(offsets[1] + segments.offsets_of(counts)).astype(np.int32),
        logprobs=np.concatenate([level.logprobs for level in levels]),
        backoffs=np.concatenate([np.zeros(0, np.float32), *(level.backoffs for level in levels[:-1])]),
    )


def kept_rows(levels: Sequence[Level], masks: Sequence[Bools]) -> list[Level]:
    """The n-grams where the masks are true; the suffix of a kept n-gram must be kept."""
    out = []
    below = np.zeros(1, np.int64)
    for n, (level, mask) in enumerate(zip(levels, masks, strict=True)):
        suffixes = below[level.suffixes[mask]] if n else level.suffixes[mask]
        out.append(Level(level.words[mask], suffixes, level.logprobs[mask], level.backoffs[mask]))
        below = np.cumsum(mask) - 1
    return out


def split_levels(model: LanguageModel) -> list[Level]:
    """The n-grams of a model by order; the highest order gets backoffs of 0."""
    out = []
    suffixes = suffix_nodes(model)
    backoffs = np.concatenate([model.backoffs, np.zeros(model.sizes[-1], np.float32)])
    for n, (low, high) in enumerate(zip(model.levels[:-1], model.levels[1:], strict=True)):
        below = model.levels[n - 1] if n else 0
        here = slice(low, high)
        out.append(Level(model.words[here], suffixes[here] - below, model.logprobs[here], backoffs[here]))
    return out


def suffix_nodes(model: LanguageModel) -> Ints:
    """[nodes] the node of each n-gram without its first word; 0 for words."""
    suffixes = np.zeros(int(model.levels[-1]), np.int64)
    suffixes[int(model.levels[1]) :] = segments.owners(model.children)
    return suffixes


def prefix_nodes(model: LanguageModel) -> Ints:
    """[nodes] the node of each n-gram without its last word, -1 where the model does not have it; 0 for words."""
    return _prefixes(model.levels, model.words, model.children, suffix_nodes(model))


def node_words(model: LanguageModel, order: int) -> Ints:
    """[n-grams of this order, order] their words, oldest first, in the order of the nodes."""
    nodes = np.arange(model.levels[order - 1], model.levels[order])
    suffixes = suffix_nodes(model)
    out = np.empty((len(nodes), order), np.int32)
    for k in range(order):
        out[:, k] = model.words[nodes]
        nodes = suffixes[nodes]
    return out


@kernel
def _prefixes(levels, words, children, suffixes):
    out = np.zeros(levels[-1], np.int64)
    for n in range(1, len(levels) - 1):
        for node in range(levels[n], levels[n + 1]):
            if n == 1:
                out[node] = words[node]
                continue
            before = out[suffixes[node]]
            out[node] = find_child(words, children, before, words[node]) if before >= 0 else -1
    return out


@kernel
def find_rows(levels, words, children, rows):
    """[K] the node of each row of words, -1 where the model has no such n-gram."""
    out = np.empty(len(rows), np.int64)
    for k in range(len(rows)):
        node = np.int64(rows[k, -1])
        for back in range(1, rows.shape[1]):
            if node >= levels[-2] or node < 0:
                node = np.int64(-1)
                break
            node = find_child(words, children, node, rows[k, rows.shape[1] - 1 - back])
        out[k] = node
    return out
