"""Whole texts under an n-gram language model.

The longest known n-gram that ends at a word depends on the words alone, so those of many words are looked up order by
order, and their values read after that. They are looked up sorted by their last two words: n-grams that occur again
come one after the other, others are close in memory, as the model has them in this order, and what is needed soon is
fetched ahead. What is added up for a sentence, and in which order, is that of `nbest.lm.query.next_logprob`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nbest.base.types import Floats, Ints
from nbest.compute.compilation import kernel
from nbest.compute.intrinsics import prefetch
from nbest.lm.query import END, START, UNKNOWN, find_child

_WORTH = 16  # words of the vocabulary a word of the texts, from which on sorting them costs more than it saves
_AHEAD = 10  # searches after which what is fetched is there


class Stream(NamedTuple):
    """T words of sentences and the marks around them, one after the other."""

    words: Ints  # [T]
    depths: Ints  # [T] how many words and marks of the sentence come before
    nodes: Ints  # [order, T] the known n-grams that end there; 0 where there is none
    matched: Ints  # [T] the length of the longest
    values: Floats  # [T] log probabilities


@kernel
def _stream(order, offsets, ids):
    sentences = len(offsets) - 1
    size = offsets[sentences] - offsets[0] + 2 * sentences
    words, depths = np.empty(size, np.int32), np.empty(size, np.int32)
    at = 0
    for h in range(sentences):
        begin = at
        words[at] = START
        for k in range(offsets[h], offsets[h + 1]):
            at += 1
            words[at] = ids[k]
        words[at + 1] = END
        at += 2
        for k in range(begin, at):
            depths[k] = k - begin
    nodes, matched = np.zeros((order, size), np.int32), np.ones(size, np.int32)
    nodes[0] = words
    return Stream(words, depths, nodes, matched, np.zeros(size))


@kernel
def _by_word(places, keys, shift, starts):
    """The places sorted by the word that stands at each, or `shift` before it; equal ones stay as they are."""
    starts[:] = 0
    for k in range(len(places)):
        starts[keys[places[k] - shift] + 1] += 1
    for word in range(len(starts) - 1):
        starts[word + 1] += starts[word]
    out = np.empty_like(places)
    for k in range(len(places)):
        word = keys[places[k] - shift]
        out[starts[word]] = places[k]
        starts[word] += 1
    return out


@kernel
def _places(stream, vocabulary):
    """Where words and ends are, in the order in which they are looked up."""
    count = 0
    places = np.empty(len(stream.words), np.int32)
    for at in range(len(stream.words)):
        if stream.depths[at] > 0:
            places[count] = at
            count += 1
    places = places[:count]
    if count * _WORTH < vocabulary:
        return places
    starts = np.empty(vocabulary + 1, np.int32)
    return _by_word(_by_word(places, stream.words, 1, starts), stream.words, 0, starts)


@kernel
def _match(arrays, stream, places):
    """Fill `nodes` and `matched`."""
    levels, words, children, _, _ = arrays
    count = len(places)
    for length in range(1, len(levels) - 1):
        left = 0
        parent, sought, child = np.int64(-1), np.int64(-1), np.int64(-1)
        nodes = stream.nodes[length - 1]
        for k in range(count):
            if k + 2 * _AHEAD < count:
                prefetch(children, np.int64(nodes[places[k + 2 * _AHEAD]]))
            if k + _AHEAD < count:
                node = nodes[places[k + _AHEAD]]
                prefetch(words, (np.int64(children[node]) + np.int64(children[node + 1])) >> 1)
            at = places[k]
            if stream.depths[at] < length:
                continue
            node, word = np.int64(nodes[at]), np.int64(stream.words[at - length])
            if node != parent or word != sought:
                parent, sought = node, word
                child = find_child(words, children, node, word)
            if child >= 0:
                stream.nodes[length, at] = child
                stream.matched[at] = length + 1
                places[left] = at
                left += 1
        count = left


@kernel
def _evaluate(arrays, stream):
    """Fill `values`: a longer known context than was matched costs its backoff."""
    levels, _, _, logprobs, backoffs = arrays
    _, _, nodes, matched, values = stream
    for at in range(1, len(values)):
        length, known = matched[at], matched[at - 1]
        value = 0.0
        for k in range(len(levels) - 2):
            backoff = np.float64(backoffs[nodes[k, at - 1]])  # read in any case, so that this is no branch
            value += backoff if length <= k + 1 <= known else 0.0
        values[at] = value + logprobs[nodes[length - 1, at]]


@kernel
def score_sentences(arrays, offsets, ids, out):
    """`out[h]`: log probability of known words and the end, of unknown words, words unknown, words of probability 0.

    Words of probability 0 are in neither sum. The ids of sentence h are `ids[offsets[h]:offsets[h + 1]]`.
    """
    stream = _stream(len(arrays[0]) - 1, offsets, ids)
    _match(arrays, stream, _places(stream, arrays[0][1]))
    _evaluate(arrays, stream)
    at = 0
    for h in range(len(offsets) - 1):
        known, unknown, strange, zero = 0.0, 0.0, 0, 0
        at += 1  # the start has no probability
        for _ in range(offsets[h + 1] - offsets[h] + 1):
            value = stream.values[at]
            strange += stream.words[at] == UNKNOWN
            if value == -np.inf:
                zero += 1
            elif stream.words[at] == UNKNOWN:
                unknown += value
            else:
                known += value
            at += 1
        out[h, 0], out[h, 1], out[h, 2], out[h, 3] = known, unknown, strange, zero
