"""Inverted index of sparse columns: for each column the hypotheses in whose lists it differs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from nbest.base.types import Bools, Floats, Ints
from nbest.compute import parallel, segments
from nbest.compute.compilation import kernel

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True)
class SparseIndex:
    """Entries by column, in the order of hypotheses; lists in which a column has one value are left out of it.

    Such a list is indifferent to the weight of the column. Within a list that is in, hypotheses without an entry have
    the value 0. Yuan, Gao & Bu (2007), section 2.6. Values are int8 where all of them are small whole numbers.
    """

    lists: Ints  # [N+1] hypotheses of segment i
    owners: Ints  # [H] segment of each hypothesis
    offsets: Ints  # [C+1] entries of column c
    rows: Ints  # [entries] hypotheses
    values: Floats | Ints  # [entries]

    @property
    def columns(self) -> int:
        """C, the number of columns."""
        return len(self.offsets) - 1

    def entries(self, column: int) -> tuple[Ints, Floats | Ints]:
        """Hypotheses and values of a column."""
        own = slice(self.offsets[column], self.offsets[column + 1])
        return self.rows[own], self.values[own]

    def segments_of(self, column: int) -> Ints:
        """The segments in whose lists the column differs, rising."""
        owners = self.owners[self.entries(column)[0]]
        return owners[np.flatnonzero(np.diff(owners, prepend=-1))] if len(owners) else owners


def sparse_index(matrix: csr_array, lists: Ints, *, wanted: Bools | None = None) -> SparseIndex:
    """The index of a matrix [H, C] in canonical form; of the `wanted` columns only, if given.

    Two passes over the matrix, the second of which knows where every entry belongs. Beside the index itself each thread
    needs room for two numbers a column.
    """
    columns = matrix.shape[1]
    wanted = np.ones(columns, np.bool_) if wanted is None else wanted
    plain = matrix.indptr, matrix.indices, matrix.data
    ranges = _ranges(lists, matrix.indptr, parallel.thread_count(None))
    counted = parallel.each(lambda ends: _count(plain, lists, *ends, wanted), ranges)
    places = np.zeros((len(ranges), columns), np.int64)
    for before, counts in zip(places[1:], counted[:-1], strict=True):
        before[:] = counts
    np.cumsum(places, axis=0, out=places)
    offsets = segments.offsets_of(np.sum(counted, axis=0))
    places += offsets[:-1]
    rows = np.empty(offsets[-1], np.int32 if matrix.shape[0] < 2**31 else np.int64)
    values = np.empty(offsets[-1], np.int8 if _small(matrix.data) else np.float64)
    work = [(*ends, place) for ends, place in zip(ranges, places, strict=True)]
    parallel.each(lambda job: _fill(plain, lists, *job, wanted=wanted, out=(rows, values)), work)
    owners: Ints = segments.owners(lists)
    if len(lists) < 2**31:
        owners = owners.astype(np.int32)
    return SparseIndex(lists, owners, offsets, rows, values)


def _ranges(lists: Ints, starts: Ints, count: int) -> list[tuple[int, int]]:
    """Ranges of segments that share the entries of the matrix evenly."""
    at = starts[lists].astype(np.int64)
    cuts = np.searchsorted(at, at[-1] * np.arange(count + 1) // count)
    cuts[0], cuts[-1] = 0, len(lists) - 1
    return [(int(a), int(b)) for a, b in zip(cuts[:-1], cuts[1:], strict=True) if a < b] or [(0, len(lists) - 1)]


@kernel
def _small(data):
    """Whether all values are whole numbers that int8 holds."""
    for value in data:
        if not (-128 <= value <= 127 and value == np.int64(value)):
            return False
    return True


@kernel
def _scan(matrix, rows, wanted, seen, value):
    """Count in `seen` how often each column occurs in some rows; -1 where it has several values."""
    starts, indices, data = matrix
    low, high = rows
    for h in range(low, high):
        for t in range(starts[h], starts[h + 1]):
            c = indices[t]
            if not wanted[c]:
                continue
            if seen[c] == 0:
                value[c] = data[t]
                seen[c] = 1
            elif seen[c] > 0:
                seen[c] = seen[c] + 1 if data[t] == value[c] else -1


@kernel
def _count(matrix, lists, low, high, wanted):
    """[C] number of entries to keep in the segments low:high."""
    starts, indices, data = matrix
    counts = np.zeros(len(wanted), np.int64)
    seen = np.zeros(len(wanted), np.int32)
    value = np.zeros(len(wanted), data.dtype)
    for i in range(low, high):
        rows = lists[i + 1] - lists[i]
        _scan(matrix, (lists[i], lists[i + 1]), wanted, seen, value)
        for t in range(starts[lists[i]], starts[lists[i + 1]]):
            c = indices[t]
            if wanted[c] and seen[c] != rows:
                counts[c] += 1
        for t in range(starts[lists[i]], starts[lists[i + 1]]):
            seen[indices[t]] = 0
    return counts


@kernel
def _fill(matrix, lists, low, high, place, wanted, out):
    """Write the entries of the segments low:high from `place` [C] on."""
    starts, indices, data = matrix
    rows_out, values_out = out
    seen = np.zeros(len(wanted), np.int32)
    value = np.zeros(len(wanted), data.dtype)
    for i in range(low, high):
        rows = lists[i + 1] - lists[i]
        _scan(matrix, (lists[i], lists[i + 1]), wanted, seen, value)
        for h in range(lists[i], lists[i + 1]):
            for t in range(starts[h], starts[h + 1]):
                c = indices[t]
                if wanted[c] and seen[c] != rows:
                    rows_out[place[c]] = h
                    values_out[place[c]] = data[t]
                    place[c] += 1
        for t in range(starts[lists[i]], starts[lists[i + 1]]):
            seen[indices[t]] = 0
