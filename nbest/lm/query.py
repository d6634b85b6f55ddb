"""Queries of an n-gram language model from other kernels.

For a decoder, three functions are enough:

    arrays = lm_arrays(model)                          outside of kernels, once; passed on to kernels as one argument
    word_logprob(arrays, context, size, word)          natural log p(word | context[:size]), oldest word first
    sentence_logprob(arrays, words, size)              natural log p(words[:size] </s> | <s>)

Word numbers are those of `model.vocabulary` (`model.ids(words)`): `UNKNOWN` 0, `START` 1, `END` 2, words from 3.
Contexts of any length are allowed, the model looks at the last `order - 1` words. `START` is for contexts only, its
probability is 0 (log -inf), as is that of `UNKNOWN` in a model that was read from a file without <unk>.

N-grams are the nodes of a tree: the parent of the node of w1..wn is the node of w2..wn, so that one walk back from the
newest word finds the longest known n-gram, and the nodes that it passes are the contexts of the next word. Children of
a node are in one range, sorted by word. Cost of `word_logprob`: at most 2 (order - 1) binary searches; with the nodes
of the context at hand (`next_logprob`) half of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nbest.base.types import Floats, Ints
from nbest.compute.compilation import kernel, lending_kernel

if TYPE_CHECKING:
    from nbest.lm.model import LanguageModel

UNKNOWN, START, END = 0, 1, 2
Arrays = tuple[Ints, Ints, Ints, Floats, Floats]
"""levels [order+1], words [nodes], children [inner nodes + 1], logprobs [nodes], backoffs [inner nodes]."""


def lm_arrays(model: LanguageModel) -> Arrays:
    """The arrays of a model that the kernels here take."""
    return model.levels, model.words, model.children, model.logprobs, model.backoffs


@lending_kernel
def find_child(words, children, node, word):
    """The node of (word, n-gram of `node`), or -1; `node` must not be of the highest order."""
    low = np.int64(children[node])
    size = np.int64(children[node + 1]) - low
    if size == 0:
        return np.int64(-1)
    while size > 1:
        half = size >> 1
        if words[low + half] <= word:
            low += half
        size -= half
    return low if words[low] == word else np.int64(-1)


@lending_kernel
def word_logprob(arrays, context, size, word):
    """Natural log probability of `word` after the `size` words of `context`, oldest first."""
    levels, words, children, logprobs, backoffs = arrays
    used = min(size, len(levels) - 2)
    node = np.int64(word)
    matched = 0  # words of the context in the longest known n-gram
    while matched < used:
        child = find_child(words, children, node, context[size - 1 - matched])
        if child < 0:
            break
        node = child
        matched += 1
    value = np.float64(logprobs[node])
    if matched == used:
        return value
    node = np.int64(context[size - 1])
    known = 1
    while True:  # a longer context than was matched costs its backoff
        if known > matched:
            value += backoffs[node]
        if known == used:
            return value
        node = find_child(words, children, node, context[size - 1 - known])
        if node < 0:
            return value
        known += 1


@lending_kernel
def next_logprob(arrays, stream, at, nodes, known):
    """(log probability of `stream[at]` after `stream[:at]`, new `known`), for scoring a text from left to right.

    `nodes[k]` is the node of the last k + 1 words, k < `known`; both are brought up to date. `nodes` has order places.
    """
    levels, words, children, logprobs, backoffs = arrays
    longest = len(levels) - 1
    value = 0.0
    node = np.int64(stream[at])
    length = 1
    while True:  # nodes[length - 1], a context longer than was matched, is read before it is written
        child = np.int64(-1)
        if length < longest and length <= at:
            child = find_child(words, children, node, stream[at - length])
        if child < 0:
            for k in range(length - 1, known):
                value += backoffs[nodes[k]]
            value += logprobs[node]
            nodes[length - 1] = node
            return value, min(length, longest - 1)
        nodes[length - 1] = node
        node = child
        length += 1


@kernel
def sentence_logprob(arrays, words, size):
    """Natural log probability of `words[:size]` and the end, after the start."""
    stream = np.empty(size + 2, np.int64)
    stream[0] = START
    stream[size + 1] = END
    for k in range(size):
        stream[k + 1] = words[k]
    nodes = np.empty(len(arrays[0]), np.int64)
    nodes[0] = START
    known = min(1, len(arrays[0]) - 2)
    total = 0.0
    for at in range(1, size + 2):
        value, known = next_logprob(arrays, stream, at, nodes, known)
        total += value
    return total
