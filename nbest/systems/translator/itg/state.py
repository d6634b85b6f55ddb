"""Language-model states of the ITG decoder: boundary words of nodes, and what joining two nodes completes.

With n-grams of up to K + 1 words, a node keeps its first and last K words (all of them where there are fewer). The log
probabilities of its first K words wait until K words, or the sentence start, are known before them; the others are
exact. What waits is estimated by the words that are known: the estimate ranks nodes of a span and is in no feature.
A node is *closed* where nothing can come before it: it has <s> on its left, nothing waits, and it keeps its last words
only.

Rows of words hold symbols, first words in columns 0 to K - 1 and last words in columns K to 2K - 1, -1 where there are
fewer; `sizes` tells how many of each, with CLOSED on the left of a closed node; `context` has room for 2K + 1 numbers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nbest.base.types import Floats, Ints
from nbest.compute.compilation import lending_kernel
from nbest.lm.query import END, START, Arrays, word_logprob
from nbest.systems.translator.itg.heap import mixed

CLOSED = -1
FLOOR = -100.0
"""The least log probability of a word: what an unknown word costs where the language model gives it probability 0."""
_REMEMBERED = 1 << 14  # words after contexts; some 300 KB, which stays near the processor


class DecoderLM(NamedTuple):
    """The language model as the search of one sentence asks it: most words after most contexts are asked many times."""

    arrays: Arrays
    numbers: Ints  # [V] its number of each symbol
    keys: Ints  # [S, K+1] int32: a word and those before it, newest first, -1 after the oldest
    values: Floats  # [S] what it found for them


def decoder_lm(arrays: Arrays, numbers: Ints, most: int) -> DecoderLM:
    """Nothing is remembered yet; contexts have up to `most` words."""
    keys = np.full((_REMEMBERED, most + 1), -1, np.int32)
    return DecoderLM(arrays, numbers, keys, np.empty(_REMEMBERED))


@lending_kernel
def score_row(symbols, known, most, lm, context):
    """Log probabilities of a row after `context[:known]`: what is complete, and what waits.

    `known` is 1 where the context is <s>: then nothing waits; else 0.
    """
    exact = known > 0
    complete = 0.0
    waiting = 0.0
    size = 0
    for t in range(len(symbols)):
        word = lm.numbers[symbols[t]]
        value = follow(lm, context, known + size, most, word)
        if size + known == len(context):
            for back in range(1, len(context)):
                context[back - 1] = context[back]
            size -= 1
        context[known + size] = word
        size += 1
        if exact or t >= most:
            complete += value
        else:
            waiting += value
    return complete, waiting


@lending_kernel
def follow(lm, context, size, most, word):
    """Log probability of a word after the last `most` words of `context[:size]`."""
    begin = max(size - most, 0)
    key = mixed(np.uint64(0), word)
    for at in range(begin, size):
        key = mixed(key, context[at])
    slot = key & np.uint64(len(lm.values) - 1)
    row = lm.keys[slot]
    if not _is_of(row, context, begin, size=size, most=most, word=word):
        row[0] = word
        for back in range(most):
            row[1 + back] = context[size - 1 - back] if back < size - begin else -1
        lm.values[slot] = max(word_logprob(lm.arrays, context[begin:size], size - begin, word), FLOOR)
    return lm.values[slot]


@lending_kernel
def _is_of(row, context, begin, size, most, word):
    """Whether a row of what is remembered is this word after `context[begin:size]`."""
    if row[0] != word:
        return False
    for back in range(size - begin):
        if row[1 + back] != context[size - 1 - back]:
            return False
    return size - begin == most or row[1 + size - begin] == -1


@lending_kernel
def join_score(words, sizes, first, second, closing, most, lm, context):
    """What is completed, and what of the new first words still waits, where node `first` comes before `second`.

    `closing`: the joint node is closed. Then all words complete, also those of `first` if it was open.
    """
    waited = sizes[first, 0]
    complete = 0.0
    waiting = 0.0
    if closing and waited != CLOSED:
        context[0] = START
        complete += score_row(words[first, :waited], np.int64(1), most, lm, context)[0]
    size = 0
    if (closing or waited == CLOSED) and sizes[first, 1] < most:
        context[0] = START
        size = 1
    for t in range(sizes[first, 1]):
        context[size] = lm.numbers[words[first, most + t]]
        size += 1
    exact = closing or waited == CLOSED
    for t in range(sizes[second, 0]):
        word = lm.numbers[words[second, t]]
        value = follow(lm, context, size, most, word)
        context[size] = word
        size += 1
        if exact or waited + t >= most:
            complete += value
        else:
            waiting += value
    return complete, waiting


@lending_kernel
def end_score(words, sizes, node, most, lm, context):
    """Log probability of </s> after a closed node."""
    size = 0
    if sizes[node, 1] < most:
        context[0] = START
        size = 1
    for t in range(sizes[node, 1]):
        context[size] = lm.numbers[words[node, most + t]]
        size += 1
    return follow(lm, context, size, most, END)


@lending_kernel
def phrase_state(symbols, closing, most, row):
    """Write the boundary words of a phrase to `row`; how many there are on the left and on the right."""
    size = min(len(symbols), most)
    for t in range(2 * most):
        row[t] = -1
    for t in range(size):
        if not closing:
            row[t] = symbols[t]
        row[most + t] = symbols[len(symbols) - size + t]
    return CLOSED if closing else size, size


@lending_kernel
def join_state(words, sizes, first, second, closing, most, row):
    """Write the boundary words of `first` followed by `second` to `row`; how many there are on each side."""
    for t in range(2 * most):
        row[t] = -1
    left = CLOSED
    if not closing:
        left = 0
        for t in range(sizes[first, 0]):
            row[left] = words[first, t]
            left += 1
        for t in range(min(sizes[second, 0], most - left)):
            row[left] = words[second, t]
            left += 1
    own = sizes[second, 1]
    before = min(sizes[first, 1], most - own)
    for t in range(before):
        row[most + t] = words[first, most + sizes[first, 1] - before + t]
    for t in range(own):
        row[most + before + t] = words[second, most + t]
    return left, before + own
