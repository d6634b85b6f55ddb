"""Consensus over lists: the n-grams a list is expected to have, and how many of them each hypothesis has.

The numbers are those of the list as a forest (`nbest.forests.ngrams`), to the bit; there is one table of n-grams a
list, and much less to compile.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nbest.base.errors import ParameterError
from nbest.base.types import Floats, Ints
from nbest.compute.compilation import kernel
from nbest.compute.intrinsics import fast_exp, new
from nbest.compute.parallel import over_ranges
from nbest.corpus import Words
from nbest.forests.ngrams.contexts import add_row, trie_for


def list_posteriors(scores: Floats, offsets: Ints, gammas: Sequence[float]) -> Floats:
    """[gammas, H] softmax(gamma * score) within each list; zeros where all of its scores are -inf."""
    out, offsets = np.outer(gammas, scores), np.array(offsets)  # writable: see `expected_matches`
    if np.isnan(out).any() or (out == np.inf).any():
        raise ParameterError("the scores of hypotheses must be numbers below infinity; scale the weights down")
    for row in out:
        over_ranges(lambda low, high, row=row: _soften(low, high, offsets, row), offsets)  # type: ignore[misc]
    return out


def expected_matches(words: Words, offsets: Ints, weights: Floats, out: Floats) -> None:
    """Fill out [H, gammas, order]: n-grams of each hypothesis, each at most as often as its list is expected to have.

    E[c(g)] is the sum of `weights` [gammas, H] of the hypotheses times how often they have the n-gram.
    """
    lists = np.array(offsets), words.offsets, words.ids  # writable, or it is compiled again for read-only ones
    over_ranges(lambda low, high: _match(low, high, lists, weights, out=out), offsets)


@kernel
def _soften(low, high, offsets, values):
    for i in range(low, high):
        top = -np.inf
        for h in range(offsets[i], offsets[i + 1]):
            top = values[h] if values[h] > top else top
        total = 0.0
        for h in range(offsets[i], offsets[i + 1]):
            values[h] = 0.0 if top == -np.inf else fast_exp(values[h] - top)
            total += values[h]
        inverse = 1.0 / total if total > 0.0 else 0.0
        for h in range(offsets[i], offsets[i + 1]):
            values[h] *= inverse


@kernel
def _match(low, high, lists, weights, out):
    offsets, word_offsets, ids = lists
    order = out.shape[2]
    for i in range(low, high):
        room = (word_offsets[offsets[i + 1]] - word_offsets[offsets[i]]) * order
        trie = trie_for(room)
        events = new(room, np.int32)  # the n-grams of all hypotheses, one after the other
        expected = new(len(weights) * room, np.float64).reshape((len(weights), room))
        expected[:] = 0.0
        rows, met = 0, 0
        for h in range(offsets[i], offsets[i + 1]):
            for start in range(word_offsets[h], word_offsets[h + 1]):
                row = np.int32(-1)
                for at in range(start, min(start + order, word_offsets[h + 1])):
                    row = add_row(trie, rows, row, ids[at])
                    rows = max(rows, row + 1)
                    for g in range(len(weights)):
                        expected[g, row] += weights[g, h]
                    events[met] = row
                    met += 1
        seen = new(rows, np.int32)
        seen[:] = 0
        met = 0
        for h in range(offsets[i], offsets[i + 1]):
            begin = met
            for start in range(word_offsets[h], word_offsets[h + 1]):
                for k in range(min(order, word_offsets[h + 1] - start)):
                    row = events[met]
                    for g in range(len(weights)):
                        out[h, g, k] += max(0.0, min(1.0, expected[g, row] - seen[row]))
                    seen[row] += 1
                    met += 1
            for at in range(begin, met):
                seen[events[at]] = 0
