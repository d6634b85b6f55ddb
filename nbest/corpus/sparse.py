"""Sparse matrices of which nothing is copied."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbest.base.mapped import taken
from nbest.base.types import Floats, Ints
from nbest.compute import segments

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def matrix_of(values: Floats, columns: Ints, bounds: Ints, width: int) -> csr_array:
    """The matrix with the entries `bounds[h]:bounds[h + 1]` in row h; SciPy would copy those of a part of a mapping."""
    from scipy.sparse import csr_array

    matrix = csr_array((len(bounds) - 1, width), dtype=values.dtype)
    matrix.data, matrix.indices, matrix.indptr = values, columns, bounds
    return matrix


def rows_of(matrix: csr_array, rows: Ints | slice) -> Any:
    """Rows of a matrix: of a slice views of its entries, else copies, on disk where the matrix is mapped."""
    if isinstance(rows, slice):
        bounds = matrix.indptr[rows.start : rows.stop + 1]
        low, high = int(bounds[0]), int(bounds[-1])
        return matrix_of(matrix.data[low:high], matrix.indices[low:high], bounds - bounds[0], matrix.shape[1])
    entries, bounds = segments.rows_of(matrix.indptr, rows)
    kind = matrix.indptr.dtype
    return matrix_of(taken(matrix.data, entries), taken(matrix.indices, entries), bounds.astype(kind), matrix.shape[1])
