"""Pairs for boosting: the gold hypothesis of a list against each worse one, and in which columns they differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from nbest.base.types import Bools, Floats, Ints
from nbest.compute import segments
from nbest.compute.compilation import kernel
from nbest.compute.parallel import each, over_ranges, thread_count
from nbest.trainers.sparse.base import SparseLists

_SMALL = 127  # whole differences up to this are kept in one byte


@dataclass(frozen=True)
class GoldPairs:
    """Q pairs of a gold hypothesis and a worse one of its list, with differences gold - other [Q, C], twice.

    Collins & Koo (2005): by pair (the columns that differ) and by column (the pairs where it differs,
    their A+ and A-). The size of a column is the mean of its absolute differences, weighted by themselves: sum d^2 /
    sum |d|, which is |d| where all are equal; 0 where it never differs.
    """

    golds: Ints  # [Q] hypothesis of least loss
    others: Ints  # [Q]
    strengths: Floats  # [Q] how much a pair counts
    offsets: Ints  # [Q+1] entries of pair q
    columns: Ints  # [E]
    values: Ints | Floats  # [E] differences, int8 where all are small whole numbers
    starts: Ints  # [C+1] entries of column c
    rows: Ints  # [E] pairs, rising within a column
    row_values: Ints | Floats  # [E]
    sizes: Floats  # [C]
    uniform: Bools  # [C] whether all differences have the same absolute value

    def column(self, c: int) -> tuple[Ints, Ints | Floats]:
        """Pairs that differ in a column, and by how much."""
        span = slice(self.starts[c], self.starts[c + 1])
        return self.rows[span], self.row_values[span]


def pairs_of(lists: SparseLists, *, weighted: bool = False) -> GoldPairs:
    """All pairs of the lists. Gold is the hypothesis of least loss, of equals that of the best base score.

    `weighted`: a pair counts as the difference of its losses, else 1. Hypotheses as good as the gold make no pair.
    Cost: one merge of two sorted rows a pair, and a counting sort of all differences.
    """
    golds, others = _opponents(lists.losses, lists.base, lists.offsets)
    strengths = lists.losses[others] - lists.losses[golds] if weighted else np.ones(len(others))
    matrix = lists.matrix
    source = (golds, others, matrix.indptr, matrix.indices, matrix.data)
    counts, small = np.zeros(len(others), np.int64), np.ones(len(others), np.bool_)
    cuts = np.arange(len(others) + 1)
    over_ranges(lambda low, high: _count(low, high, *source, counts, small), cuts)
    offsets = segments.offsets_of(counts)
    columns = np.empty(offsets[-1], np.int32)
    values = np.empty(offsets[-1], np.int8 if small.all() else np.float64)
    over_ranges(lambda low, high: _fill(low, high, *source, (offsets, columns, values)), cuts)
    starts, rows, row_values = _inverted(offsets, columns, values, matrix.shape[1])
    sizes, uniform = np.zeros(matrix.shape[1]), np.ones(matrix.shape[1], np.bool_)
    over_ranges(lambda low, high: _measure(low, high, starts, values=row_values, sizes=sizes, uniform=uniform), starts)
    by_column: dict[str, Any] = {
        "starts": starts,
        "rows": rows,
        "row_values": row_values,
        "sizes": sizes,
        "uniform": uniform,
    }
    return GoldPairs(golds, others, strengths, offsets, columns, values=values, **by_column)


def _opponents(losses: Floats, base: Floats, offsets: Ints) -> tuple[Ints, Ints]:
    """[Q], [Q] gold and other hypothesis of each pair, in the order of the others."""
    lengths = segments.lengths(offsets)
    least = np.repeat(-segments.maxima(-losses, offsets), lengths)
    gold = segments.argmax(np.where(losses == least, base, -np.inf), offsets)
    others = np.flatnonzero(losses > least)
    return np.repeat(gold, lengths)[others], others


def _inverted(offsets: Ints, columns: Ints, values: Ints | Floats, width: int) -> tuple[Ints, Ints, Ints | Floats]:
    """The same entries by column: offsets, rows and values. A counting sort in which each thread takes some pairs."""
    parts = thread_count(None)
    cuts = np.searchsorted(offsets, offsets[-1] * np.arange(parts + 1) // parts)
    cuts[0], cuts[-1] = 0, len(offsets) - 1
    spans = list(zip(range(parts), cuts[:-1].tolist(), cuts[1:].tolist(), strict=True))
    counts = np.zeros((parts, width), np.int64)
    each(lambda span: _tally(span[1], span[2], offsets, columns, counts[span[0]]), spans)
    starts = segments.offsets_of(counts.sum(axis=0))
    place = starts[:-1] + np.cumsum(counts, axis=0) - counts
    rows, out = np.empty(len(columns), np.int32), np.empty_like(values)
    each(
        lambda span: _scatter(
            span[1], span[2], offsets=offsets, columns=columns, values=values, place=place[span[0]], rows=rows, out=out
        ),
        spans,
    )
    return starts, rows, out


@kernel
def _next(a, last_a, b, last_b, indices, data):
    """The next column of two sorted rows: its difference, its number, and where to go on in both."""
    first = b >= last_b or (a < last_a and indices[a] <= indices[b])
    second = a >= last_a or (b < last_b and indices[b] <= indices[a])
    column = indices[a] if first else indices[b]
    d = (data[a] if first else 0.0) - (data[b] if second else 0.0)
    return d, column, a + first, b + second


@kernel
def _count(low, high, golds, others, indptr, indices, data, counts, small):
    """Number of differences of each pair, and whether all are small whole numbers."""
    for q in range(low, high):
        a, last_a = np.int64(indptr[golds[q]]), indptr[golds[q] + 1]
        b, last_b = np.int64(indptr[others[q]]), indptr[others[q] + 1]
        while a < last_a or b < last_b:
            d, _, a, b = _next(a, last_a, b, last_b, indices, data=data)
            if d != 0.0:
                counts[q] += 1
                small[q] &= abs(d) <= _SMALL and d == np.floor(d)


@kernel
def _fill(low, high, golds, others, indptr, indices, data, out):
    """Columns and values of the differences of each pair, columns rising."""
    offsets, columns, values = out
    for q in range(low, high):
        a, last_a = np.int64(indptr[golds[q]]), indptr[golds[q] + 1]
        b, last_b = np.int64(indptr[others[q]]), indptr[others[q] + 1]
        at = offsets[q]
        while a < last_a or b < last_b:
            d, column, a, b = _next(a, last_a, b, last_b, indices, data=data)
            if d != 0.0:
                columns[at], values[at] = column, d
                at += 1


@kernel
def _tally(low, high, offsets, columns, counts):
    """How many entries of pairs low to high each column has."""
    for e in range(offsets[low], offsets[high]):
        counts[columns[e]] += 1


@kernel
def _scatter(low, high, offsets, columns, values, place, rows, out):
    """Write the entries of pairs low to high where they belong; `place` is the next free one of each column."""
    for q in range(low, high):
        for e in range(offsets[q], offsets[q + 1]):
            at = place[columns[e]]
            rows[at], out[at] = q, values[e]
            place[columns[e]] = at + 1


@kernel
def _measure(low, high, starts, values, sizes, uniform):
    """Size of each column, and whether all its differences have that absolute value."""
    for c in range(low, high):
        total = squares = greatest = 0.0
        least = np.inf
        for e in range(starts[c], starts[c + 1]):
            d = abs(np.float64(values[e]))
            total, squares = total + d, squares + d * d
            least, greatest = min(least, d), max(greatest, d)
        uniform[c] = starts[c] == starts[c + 1] or least == greatest
        sizes[c] = 0.0 if total == 0 else greatest if uniform[c] or squares == 0 else squares / total
