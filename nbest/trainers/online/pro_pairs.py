"""Pairs of hypotheses for PRO: drawn from each list, those of the largest difference in loss kept."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from nbest.base.randomness import generator
from nbest.base.types import Floats, Ints
from nbest.compute.compilation import kernel
from nbest.compute.executors import current
from nbest.compute.parallel import over_ranges
from nbest.compute.segments import offsets_of
from nbest.compute.vectors import most
from nbest.corpus.blocks import blocks
from nbest.trainers.online.base import difference

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_WEYL, _MIX, _MIX_AGAIN = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


@dataclass(frozen=True)
class Pairs:
    """P pairs of hypotheses, those of segment i at offsets[i]:offsets[i+1], as flat indices."""

    better: Ints  # [P]
    worse: Ints  # [P]
    offsets: Ints  # [N+1]

    def squares(self, matrix: csr_array) -> Floats:
        """[C] sum over pairs of the squared difference in each column; 0 where no pair differs."""
        out = np.zeros(matrix.shape[1])
        room = 2 * int(np.diff(matrix.indptr).max(initial=0)) + 1
        _squares(self.better, self.worse, (matrix.indptr, matrix.indices, matrix.data), room, out)
        return out


@kernel
def _squares(better, worse, matrix, room, out):
    where, what = np.empty(room, np.int64), np.empty(room)
    for p in range(len(better)):
        for k in range(difference(better[p], worse[p], matrix, where, what)):
            out[where[k]] += what[k] ** 2


def sample_pairs(
    losses: Floats,
    offsets: Ints,
    rows: Ints,
    least: float,
    draws: int,
    kept: int,
    seed: tuple[int, ...],
) -> Pairs:
    """Pairs of each of the segments `rows` whose losses differ by more than `least`.

    All pairs of a list where there are at most `draws`, else so many drawn at random; of these the `kept` of the
    largest difference, equal ones in random order. Each segment has a random stream of its own.
    """
    longest = int(np.diff(offsets).max(initial=0))
    kept = max(1, min(kept, draws, longest * (longest - 1) // 2))
    segments_ = len(offsets) - 1
    streams = np.zeros(segments_, np.uint64)
    streams[rows] = generator(*seed).integers(1, 2**64, len(rows), np.uint64)
    parts = []
    for first, last in blocks(segments_):
        low, high = offsets[[first, last]]
        parts.append((int(low), offsets[first : last + 1] - low, losses[low:high], streams[first:last]))
    found = current().map(partial(_drawn, (least, draws, kept)), parts)
    better, worse, counts = (np.concatenate(part) for part in zip(*found, strict=True))
    return Pairs(better, worse, offsets_of(counts))


def _drawn(wanted: tuple[float, int, int], part: tuple[int, Ints, Floats, Ints]) -> tuple[Ints, Ints, Ints]:
    """The pairs of some segments, better and worse, and how many each has."""
    begin, offsets, losses, streams = part
    count, kept = len(streams), wanted[2]
    better, worse, counts = np.empty((count, kept), np.int64), np.empty((count, kept), np.int64), np.zeros(count, int)
    lists, out = (offsets, losses, streams), (better, worse, counts)
    over_ranges(lambda low, high: _sample(low, high, lists, wanted, out), offsets)
    taken = np.arange(kept) < counts[:, None]
    return begin + better[taken], begin + worse[taken], counts


@kernel
def _random(state, bound):
    """The next state of a stream (SplitMix64, Steele et al. 2014) and a number from 0 to bound - 1."""
    state += _WEYL
    z = state
    z = (z ^ (z >> np.uint64(30))) * _MIX
    z = (z ^ (z >> np.uint64(27))) * _MIX_AGAIN
    z = z ^ (z >> np.uint64(31))
    return state, np.int64((z >> np.uint64(11)) * (1.0 / 9007199254740992.0) * bound)


@kernel
def _sample(low, high, lists, wanted, out):
    """Pairs of segments low..high-1 into their rows of `better` and `worse`; segments of stream 0 get none."""
    offsets, losses, streams = lists
    least, draws, kept = wanted
    better, worse, counts = out
    longest = most(low, high, offsets)
    room = max(min(draws, longest * (longest - 1) // 2), 1)
    first, second, gaps = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room)
    for i in range(low, high):
        state, size = streams[i], offsets[i + 1] - offsets[i]
        if state == 0 or size < 2:
            continue
        state, count = _candidates(
            state, offsets[i], size, losses=losses, least=least, draws=draws, first=first, second=second, gaps=gaps
        )
        for k in range(count - 1, 0, -1):  # shuffled, so that the stable sort leaves equal ones in random order
            state, other = _random(state, k + 1)
            first[k], first[other] = first[other], first[k]
            second[k], second[other] = second[other], second[k]
            gaps[k], gaps[other] = gaps[other], gaps[k]
        best = np.argsort(-gaps[:count], kind="mergesort")
        counts[i] = min(count, kept)
        for k in range(counts[i]):
            better[i, k], worse[i, k] = first[best[k]], second[best[k]]


@kernel
def _candidates(state, begin, size, losses, least, draws, first, second, gaps):
    """Pairs of a list, better first, that differ by more than `least`; the random state and how many there are."""
    count = 0
    everything = size * (size - 1) // 2 <= draws
    a, b = 0, 0
    for _ in range(size * (size - 1) // 2 if everything else draws):
        if everything:
            b += 1
            if b == size:
                a += 1
                b = a + 1
        else:
            state, a = _random(state, size)
            state, b = _random(state, size - 1)
            b += b >= a  # any but a, alike likely
        gap = losses[begin + b] - losses[begin + a]
        if abs(gap) > least:
            first[count], second[count] = (begin + a, begin + b) if gap > 0 else (begin + b, begin + a)
            gaps[count] = abs(gap)
            count += 1
    return state, count
