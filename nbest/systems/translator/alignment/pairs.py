"""Word pairs that occur in the same sentence pair: the sparse shape of every translation table.

Source word s occurs beside the target words `columns[rows[s]:rows[s + 1]]`, in rising order; the place of a pair in
`columns` is its *slot*. Both directions, p(target | source) and p(source | target), keep their numbers by slot.
Position pair (i, j) of sentence pair n has its slot at `slots[starts[n] + i * J + j]`, found once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nbest.base.types import Bools, Ints
from nbest.compute.compilation import kernel
from nbest.compute.parallel import over_ranges
from nbest.compute.segments import offsets_of
from nbest.corpus.words import Words


@dataclass(frozen=True)
class WordPairs:
    """Distinct word pairs and the slots of all position pairs, see the top of this file. Q slots."""

    rows: Ints  # int64 [source vocabulary + 1]
    columns: Ints  # int32 [Q]
    starts: Ints  # int64 [N+1]
    slots: Ints  # int32 [starts[-1]]; -1 for a pair that no trained sentence has

    @property
    def sources(self) -> Ints:
        """[Q] source word of each slot."""
        return np.repeat(np.arange(len(self.rows) - 1, dtype=np.int32), np.diff(self.rows))


def word_pairs(source: Words, target: Words, trained: Bools, threads: int | None = None) -> WordPairs:
    """The pairs of all sentence pairs that are trained on, and the slots of all sentence pairs.

    Cost: O(sum of I J) time, 4 bytes a position pair.
    """
    sources = int(source.ids.max(initial=-1)) + 1
    targets = int(target.ids.max(initial=-1)) + 1
    first, where = _index(source.offsets, source.ids, trained, sources)
    sizes = np.zeros(sources, np.int64)
    nothing = np.zeros(0, np.int32)

    def fill(rows: Ints, columns: Ints, counting: bool) -> None:
        def work(low: int, high: int) -> None:
            found = (first, where), (target.offsets, target.ids, targets)
            _columns(low, high, *found, out=(sizes, rows, columns), counting=counting)

        over_ranges(work, first, threads)

    fill(first, nothing, True)
    rows = offsets_of(sizes)
    columns = np.empty(rows[-1], np.int32)
    fill(rows, columns, False)
    starts = offsets_of(source.lengths() * target.lengths())
    slots = np.empty(starts[-1], np.int32)
    texts, table = (source.offsets, source.ids, target.offsets, target.ids), (rows, columns)
    over_ranges(lambda low, high: _find_slots(low, high, texts, table, (starts, slots)), starts, threads)
    return WordPairs(rows, columns, starts, slots)


@kernel
def _index(offsets, ids, trained, words):
    """For each word, the sentences that have it: `where[first[w]:first[w + 1]]`, in order, each once."""
    first = np.zeros(words + 1, np.int64)
    last = np.full(words, -1, np.int64)
    for n in range(len(offsets) - 1):
        if trained[n]:
            for k in range(offsets[n], offsets[n + 1]):
                if last[ids[k]] != n:
                    last[ids[k]] = n
                    first[ids[k] + 1] += 1
    for w in range(words):
        first[w + 1] += first[w]
    where = np.empty(first[words], np.int32)
    at = first[:words].copy()
    last[:] = -1
    for n in range(len(offsets) - 1):
        if trained[n]:
            for k in range(offsets[n], offsets[n + 1]):
                if last[ids[k]] != n:
                    last[ids[k]] = n
                    where[at[ids[k]]] = n
                    at[ids[k]] += 1
    return first, where


@kernel
def _columns(low, high, index, texts, out, counting):
    """Distinct target words beside each source word: their number, or the words themselves, sorted."""
    first, where = index
    offsets, ids, targets = texts
    sizes, rows, columns = out
    last = np.full(targets, -1, np.int32)
    for w in range(low, high):
        at = rows[w]
        for n in where[first[w] : first[w + 1]]:
            for k in range(offsets[n], offsets[n + 1]):
                if last[ids[k]] != w:
                    last[ids[k]] = w
                    if counting:
                        sizes[w] += 1
                    else:
                        columns[at] = ids[k]
                        at += 1
        if not counting:
            columns[rows[w] : at].sort()


@kernel
def _find_slots(low, high, texts, table, out):
    source_offsets, source_ids, target_offsets, target_ids = texts
    rows, columns = table
    starts, slots = out
    for n in range(low, high):
        at = starts[n]
        for i in range(source_offsets[n], source_offsets[n + 1]):
            begin, end = rows[source_ids[i]], rows[source_ids[i] + 1]
            for j in range(target_offsets[n], target_offsets[n + 1]):
                place = begin + np.searchsorted(columns[begin:end], target_ids[j])
                found = place < end and columns[place] == target_ids[j]
                slots[at] = place if found else -1
                at += 1
