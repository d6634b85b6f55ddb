"""Edits of TER in a kernel: the fewest insertions, deletions and substitutions after greedy shifts of words.

As in sacrebleu's `lib_ter`, whose choices are part of the definition: a table of edit distances that is filled only in
a beam around its diagonal, shifts of at most 10 words over at most 50, of which the one that saves most is made (then
the longest, the earliest, the one to the earliest place) until none saves anything or 1000 have been tried.

    forward[i, j]   distance of the first i words of the hypothesis to the first j of the reference
    backward[i, j]  distance of what follows

A shift changes the words of a range only. Its distance needs new rows of the table for this range, from `forward`
above it, and is the least sum of the last of them and `backward`; rows that can no longer do better than the best shift
so far end it. sacrebleu makes all rows below the first word that changes. Cells beside the beam are infinite.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from nbest.base.types import Ints
from nbest.compute.compilation import kernel

_SHIFT_SIZE, _SHIFT_DISTANCE, _BEAM, _TRIALS = 10, 50, 25, 1000  # sacrebleu's limits
_INFINITE = np.int32(1 << 29)

Numbers = npt.NDArray[np.int32]


class Beam(NamedTuple):
    """Which cells of the tables of a pair there are: of row i those from lows[i] to before highs[i].

    Cell j of row i is at base[i] + j of a flat array, with room for infinite ones beside the beam.
    """

    lows: Ints
    highs: Ints
    base: Ints


class Tables(NamedTuple):
    """Flat tables of distances, all laid out as a beam says."""

    forward: Numbers
    backward: Numbers
    trial: Numbers  # rows that a shift changes


class Aligned(NamedTuple):
    """The best path of a hypothesis to a reference."""

    places: Numbers  # [words of the reference] the word of the hypothesis that is at each, or was last before it; or -1
    reference_errors: Numbers  # [words of the reference + 1] errors before each word
    hypothesis_errors: Numbers  # [words of the hypothesis + 1]


@kernel
def lay_out(size, length, beam):
    """Set the beam for `size` words of a hypothesis and `length` of a reference; how many cells that takes."""
    lows, highs, base = beam
    ratio = length / size
    width = int(np.ceil(ratio / 2 + _BEAM)) if ratio / 2 > _BEAM else _BEAM
    for i in range(1, size + 1):
        diagonal = int(np.floor(i * ratio))
        lows[i] = max(0, diagonal - width)
        highs[i] = min(length + 1, diagonal + width)
    highs[size] = length + 1
    lows[0], highs[0] = 0, highs[1]
    cells = 0
    for i in range(size + 1):
        first = min(lows[i], lows[max(i - 1, 0)]) - 1  # neighbours of cells of both rows beside this one
        base[i] = cells - first
        cells += highs[min(i + 1, size)] + 1 - first
    return cells


@kernel
def _next_row(word, reference, before, row, bounds):
    """Fill a row from the one above it; its least distance."""
    above, place, low, high = bounds
    left = _INFINITE
    least = _INFINITE
    for j in range(low, high):
        value = min(before[above + j], left) + np.int32(1)
        if j > 0:
            value = min(value, before[above + j - 1] + np.int32(word != reference[j - 1]))
        row[place + j] = value
        left = value
        least = min(least, value)
    return least


@kernel
def _fill(words, reference, beam, tables):
    """Both tables of a hypothesis; its distance."""
    lows, highs, base = beam
    forward, backward = tables.forward, tables.backward
    size, length = len(words), len(reference)
    for j in range(highs[0]):
        forward[base[0] + j] = j
    for i in range(1, size + 1):
        _next_row(words[i - 1], reference, forward, forward, (base[i - 1], base[i], lows[i], highs[i]))
    for j in range(lows[size], length + 1):
        backward[base[size] + j] = length - j
    for i in range(size - 1, 0, -1):
        below, place = base[i + 1], base[i]
        right = _INFINITE
        for j in range(highs[i] - 1, lows[i] - 1, -1):
            right = min(backward[below + j], right) + np.int32(1)
            if j < length:
                right = min(right, backward[below + j + 1] + np.int32(words[i] != reference[j]))
            backward[place + j] = right
    return forward[base[size] + length]


@kernel
def _align(words, reference, beam, forward, aligned):
    """Walk the best path back; matches and substitutions go first, then words left out, then words put in."""
    base = beam.base
    places, reference_errors, hypothesis_errors = aligned
    i, j = len(words), len(reference)
    while i > 0 or j > 0:
        here = forward[base[i] + j]
        wrong = np.int32(i > 0 and j > 0 and words[i - 1] != reference[j - 1])
        if i > 0 and j > 0 and forward[base[i - 1] + j - 1] + wrong == here:
            i, j = i - 1, j - 1
            places[j], reference_errors[j + 1], hypothesis_errors[i + 1] = i, wrong, wrong
        elif i > 0 and (j == 0 or forward[base[i - 1] + j] + 1 == here):
            i -= 1
            hypothesis_errors[i + 1] = 1
        else:
            j -= 1
            places[j], reference_errors[j + 1] = i - 1, 1
    for k in range(len(reference)):
        reference_errors[k + 1] += reference_errors[k]
    for k in range(len(words)):
        hypothesis_errors[k + 1] += hypothesis_errors[k]


@kernel
def _changed(size, start, length, target):
    """Which words a shift changes: from, to before, and by how many places those there are turned to the left."""
    if target < start:
        return target, start + length, start - target
    if target > start + length:
        return start, target, length
    return start, min(length + target, size), length


@kernel
def _tried(words, reference, beam, tables, change, limit):
    """Distance after a shift; anything larger than `limit` where it is not smaller."""
    lows, highs, base = beam
    low, high, turn = change
    before = tables.forward
    for i in range(low + 1, high + 1):
        place = i - 1 + turn
        word = words[place if place < high else place - (high - low)]
        bounds = base[i - 1], base[i], lows[i], highs[i]
        if _next_row(word, reference, before, tables.trial, bounds) > limit:
            return _INFINITE
        before = tables.trial
    best = _INFINITE
    for j in range(lows[high], highs[high]):
        best = min(best, before[base[high] + j] + tables.backward[base[high] + j])
    return best


@kernel
def _best_shift(words, reference, beam, tables, aligned, trials):
    """The shift that is made: its distance, start, length and target; and the trials that were made till then."""
    places, reference_errors, hypothesis_errors = aligned
    size, length = len(words), len(reference)
    best = tables.forward[beam.base[size] + length], 0, 0, 0  # no shift
    for start in range(size):
        for goal in range(max(0, start - _SHIFT_DISTANCE), min(length, start + _SHIFT_DISTANCE + 1)):
            for many in range(1, min(_SHIFT_SIZE, size - start, length - goal) + 1):
                if words[start + many - 1] != reference[goal + many - 1]:
                    break
                if hypothesis_errors[start + many] == hypothesis_errors[start]:
                    continue
                if reference_errors[goal + many] == reference_errors[goal] or start <= places[goal] < start + many:
                    continue
                last = -1
                for at in range(goal - 1, goal + many):
                    target = 0 if at < 0 else places[at] + 1
                    if target == last:
                        continue
                    last = target
                    trials += 1
                    found, start_so_far, many_so_far, target_so_far = best
                    preferred = many > many_so_far or (
                        many == many_so_far and start == start_so_far and target < target_so_far
                    )
                    limit = found if preferred and many_so_far > 0 else found - 1
                    change = _changed(size, start, many, target)
                    distance = _tried(words, reference, beam, tables, change, limit=limit)
                    if distance <= limit:
                        best = distance, start, many, target
                if trials >= _TRIALS:
                    return best, trials
    return best, trials


@kernel
def _shift(words, spare, change):
    low, high, turn = change
    for k in range(low, high):
        spare[k] = words[k]
    for k in range(low, high):
        place = k + turn
        words[k] = spare[place if place < high else place - (high - low)]


@kernel
def edits(words, spare, reference, beam, tables, aligned):
    """Edits from a hypothesis, whose words are shifted in place, to a reference."""
    size, length = len(words), len(reference)
    if size == 0 or length == 0:
        return max(size, length)
    cells = lay_out(size, length, beam)
    for k in range(cells):
        tables.forward[k] = tables.backward[k] = tables.trial[k] = _INFINITE
    aligned.reference_errors[0] = aligned.hypothesis_errors[0] = 0
    shifts = 0
    trials = 0
    while True:
        distance = _fill(words, reference, beam, tables)
        _align(words, reference, beam, tables.forward, aligned)
        best, trials = _best_shift(words, reference, beam, tables, aligned, trials=trials)
        found, start, many, target = best
        if trials >= _TRIALS or found >= distance:
            return shifts + distance
        shifts += 1
        _shift(words, spare, _changed(size, start, many, target))


@kernel
def _work_space(hypotheses, references, pairs):
    """Arrays that are large enough for any of these pairs: words, others to shift them, beam, tables, alignment."""
    offsets, ref_offsets = hypotheses[0], references[0]
    low, high, chosen, first, last = pairs
    size, length, cells = 1, 1, 1
    for k in range(low, high):
        size = max(size, offsets[chosen[k] + 1] - offsets[chosen[k]])
    beam = Beam(np.empty(size + 1, np.int64), np.empty(size + 1, np.int64), np.empty(size + 1, np.int64))
    for k in range(low, high):
        many = offsets[chosen[k] + 1] - offsets[chosen[k]]
        for r in range(first[k], last[k]):
            length = max(length, ref_offsets[r + 1] - ref_offsets[r])
            if many > 0:
                cells = max(cells, lay_out(many, ref_offsets[r + 1] - ref_offsets[r], beam))
    tables = Tables(np.empty(cells, np.int32), np.empty(cells, np.int32), np.empty(cells, np.int32))
    aligned = Aligned(np.empty(length, np.int32), np.empty(length + 1, np.int32), np.empty(size + 1, np.int32))
    return np.empty(size, np.int32), np.empty(size, np.int32), beam, tables, aligned


@kernel
def fewest_edits(hypotheses, references, pairs, out):
    """`out[k]` for k from low to before high: edits from hypothesis chosen[k] to that of the references first[k] to
    before last[k] which has the fewest; `pairs` is (low, high, chosen, first, last)."""
    offsets, ids = hypotheses
    ref_offsets, ref_ids = references
    low, high, chosen, first, last = pairs
    room, spare, beam, tables, aligned = _work_space(hypotheses, references, pairs)
    for k in range(low, high):
        begin = offsets[chosen[k]]
        words = room[: offsets[chosen[k] + 1] - begin]
        fewest = np.int64(1) << 60
        for r in range(first[k], last[k]):
            for t in range(len(words)):
                words[t] = ids[begin + t]
            reference = ref_ids[ref_offsets[r] : ref_offsets[r + 1]]
            fewest = min(fewest, np.int64(edits(words, spare, reference, beam, tables, aligned=aligned)))
        out[k] = fewest
