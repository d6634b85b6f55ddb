"""The most probable alignment under the HMM model of `alignment_hmm`: Viterbi, in logarithms.

Ties go to the lowest place, and to a real word before the null word. Cost: O(sum of J I^2).
"""

from __future__ import annotations

import numpy as np

from nbest.base.types import Floats, Ints
from nbest.compute.compilation import kernel
from nbest.compute.parallel import over_ranges
from nbest.systems.translator.alignment.counts import Direction, LexicalTable, emissions
from nbest.systems.translator.alignment.hmm import jump_sums, widened


def aligned_places(
    direction: Direction, table: LexicalTable, jumps: Floats, null: float, threads: int | None = None
) -> Ints:
    """[made words] place of the given word of each made word in the most probable alignment, -1 for the null word."""
    sentences, given = direction.sentences(table), direction.given
    wide = np.log(np.maximum(widened(jumps, int(given.lengths().max(initial=0)) + 1), 1e-300))
    places = np.full(len(direction.made.ids), -1, np.int32)

    over_ranges(
        lambda low, high: _best(low, high, sentences, wide, null, result=places), direction.pairs.starts, threads
    )
    return places


@kernel
def _best(low, high, sentences, wide, null, result):
    plain = np.exp(wide)
    for n in range(low, high):
        start, end = sentences.made_offsets[n], sentences.made_offsets[n + 1]
        given = sentences.given_offsets[n + 1] - sentences.given_offsets[n]
        if given == 0 or start == end:
            continue
        out, empty = emissions(sentences, n)
        weighed = wide, np.log(jump_sums(plain, given)), null
        _search(np.log(out), np.log(empty), weighed, result[start:end])


@kernel
def _search(out, empty, jumping, result):
    """Best places of one sentence. States are places 1..I and null states 0..I, kept as q and -1 - q."""
    wide, norms, null = jumping
    made, given = out.shape
    middle = len(wide) // 2
    jump, stay = np.log(1.0 - null), np.log(null)
    real, silent = np.full(given + 1, -np.inf), np.full(given + 1, -np.inf)
    silent[0] = 0.0
    came = np.zeros((made, given + 1), np.int32)  # state before a real state
    quiet = np.zeros((made, given + 1), np.int32)  # state before a null state
    for j in range(made):
        new = np.full(given + 1, -np.inf)
        for q in range(given + 1):
            top, state = (real[q], q) if real[q] >= silent[q] else (silent[q], -1 - q)
            base = top - norms[q] + jump
            for i in range(1, given + 1):
                value = base + wide[middle + i - q]
                if value > new[i]:
                    new[i] = value
                    came[j, i] = state
            silent[q] = top + stay + empty[j]
            quiet[j, q] = state
        real = new
        for i in range(1, given + 1):
            real[i] += out[j, i - 1]
    _trace(real, silent, came, quiet, result)


@kernel
def _trace(real, silent, came, quiet, result):
    state = np.argmax(real)
    if silent.max() > real[state]:
        state = -1 - np.argmax(silent)
    for j in range(len(came) - 1, -1, -1):
        if state >= 0:
            result[j] = state - 1
            state = came[j, state]
        else:
            result[j] = -1
            state = quiet[j, -1 - state]
