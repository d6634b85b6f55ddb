"""Translation tables and how their expected counts are added up.

A direction has given words and made words: each made word is translated from one given word of the sentence pair or
from the null word. The E-step writes the posterior of every position pair of a run of sentences; the counts of a slot
are then added in sentence order by the one thread that owns the slot, so they do not depend on the threads.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from nbest.base.types import Bools, Floats, Ints
from nbest.compute.compilation import kernel
from nbest.compute.parallel import each, over_ranges, thread_count
from nbest.compute.segments import sums
from nbest.corpus.words import Words
from nbest.systems.translator.alignment.pairs import WordPairs

FLOOR = 1e-12
"""Least translation probability used when aligning, and for pairs that were not trained on."""

_RUN = 8_000_000  # position pairs whose posteriors are held at a time


@dataclass(frozen=True)
class Direction:
    """One direction over the sentence pairs: `flipped` when the source side is made from the target side."""

    pairs: WordPairs
    given: Words
    made: Words
    flipped: bool
    trained: Bools  # [N]

    @property
    def made_words(self) -> int:
        """Size of the made side's vocabulary."""
        return int(self.made.ids.max(initial=-1)) + 1

    def normalised(self, counts: Floats, nulls: Floats) -> LexicalTable:
        """The table with probabilities proportional to these counts for each given word."""
        if self.flipped:
            totals = np.bincount(self.pairs.columns, counts, int(self.pairs.columns.max(initial=-1)) + 1)
            below = totals[self.pairs.columns]
        else:
            below = np.repeat(sums(counts, self.pairs.rows), np.diff(self.pairs.rows))
        share = np.divide(counts, below, out=np.zeros_like(counts), where=below > 0)
        empty = nulls / nulls.sum() if nulls.sum() > 0 else nulls
        return LexicalTable(share.astype(np.float32), empty)

    def sentences(self, table: LexicalTable) -> Sentences:
        """The sentence pairs with their translation probabilities, as kernels take them."""
        return Sentences(
            slots=self.pairs.slots,
            starts=self.pairs.starts,
            given_offsets=self.given.offsets,
            made_offsets=self.made.offsets,
            made_ids=self.made.ids,
            flipped=self.flipped,
            table=table.pairs,
            nulls=table.nulls,
            trained=self.trained,
        )


@dataclass(frozen=True)
class LexicalTable:
    """Translation probabilities by slot, and those of the null word by made word."""

    pairs: Floats  # float32 [Q]
    nulls: Floats  # float64 [made vocabulary]


class Sentences(NamedTuple):
    """The sentence pairs of a direction, and the table that they are read by."""

    slots: Ints
    starts: Ints  # [N+1] slots of sentence pair n
    given_offsets: Ints
    made_offsets: Ints
    made_ids: Ints
    flipped: bool
    table: Floats  # of a `LexicalTable`
    nulls: Floats
    trained: Bools  # [N]


class PosteriorRun(NamedTuple):
    """What the E-step of a run of sentences writes."""

    starts: Ints  # [N+1] where the posteriors of sentence pair n begin
    posteriors: Floats  # of position pairs
    nulls: Floats  # [made words] of the null word


def uniform(direction: Direction) -> LexicalTable:
    """The table in which every given word translates to all made words beside it with the same probability."""
    return direction.normalised(np.ones(len(direction.pairs.columns)), np.ones(direction.made_words))


Expect = Callable[[int, int, PosteriorRun], None]


def expected_links(direction: Direction, expect: Expect, threads: int | None = None) -> tuple[Floats, Floats]:
    """Counts by slot and of the null word; `expect(low, high, run)` is the E-step of a run.

    It writes the posterior of each position pair of sentences low:high at `run.starts[n] + i * J + j` and
    that of the null word for each made word at its offset. Cost: one E-step and one pass over the position pairs.
    """
    pairs, made = direction.pairs, direction.made
    counts, nulls = np.zeros(len(pairs.columns)), np.zeros(direction.made_words)
    workers = thread_count(threads)
    owned = len(counts) * np.arange(workers + 1) // workers
    posteriors = np.empty(int(min(pairs.starts[-1], _RUN + np.diff(pairs.starts).max(initial=0))), np.float32)
    empty = np.zeros(len(made.ids))

    for low, high in runs(pairs.starts):
        shifted = pairs.starts - pairs.starts[low]
        slots = pairs.slots[pairs.starts[low] : pairs.starts[high]]

        def write(a: int, b: int, low: int = low, shifted: Ints = shifted) -> None:
            expect(low + a, low + b, PosteriorRun(shifted, posteriors, empty))

        def add(worker: int, slots: Ints = slots) -> None:
            _add(slots, posteriors, counts, owned[worker], owned[worker + 1])

        over_ranges(write, pairs.starts[low : high + 1], workers)
        each(add, range(workers), workers)
    np.add.at(nulls, made.ids, empty)
    return counts, nulls


def runs(starts: Ints) -> list[tuple[int, int]]:
    """Ranges of sentences with about `_RUN` position pairs each, the same whatever the threads."""
    cuts = np.searchsorted(starts, np.arange(0, starts[-1], _RUN))
    bounds = np.unique(np.concatenate([[0], cuts, [len(starts) - 1]])).tolist()
    return list(zip(bounds[:-1], bounds[1:], strict=True))


@kernel
def _add(slots, posteriors, counts, low, high):
    for k in range(len(slots)):
        if low <= slots[k] < high:
            counts[slots[k]] += posteriors[k]


@kernel
def emissions(sentences, n):
    """[made, given] translation probabilities of one sentence pair, and [made] those of the null word."""
    slots, starts, given_offsets, made_offsets, made_ids, flipped, table, nulls, _ = sentences
    given, made = given_offsets[n + 1] - given_offsets[n], made_offsets[n + 1] - made_offsets[n]
    start = starts[n]
    out, empty = np.empty((made, given)), np.empty(made)
    for j in range(made):
        word = made_ids[made_offsets[n] + j]
        empty[j] = max(nulls[word] if word < len(nulls) else 0.0, FLOOR)
        for i in range(given):
            slot = slots[start + (j * given + i if flipped else i * made + j)]
            out[j, i] = max(np.float64(table[slot]), FLOOR) if slot >= 0 else FLOOR
    return out, empty


@kernel
def passed_over(sentences, n, run):
    """Whether a sentence pair is not trained on: its posteriors are 0."""
    if sentences.trained[n]:
        return False
    run.posteriors[run.starts[n] : run.starts[n + 1]] = 0.0
    run.nulls[sentences.made_offsets[n] : sentences.made_offsets[n + 1]] = 0.0
    return True
