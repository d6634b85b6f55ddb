"""Block conjugate gradients for many right-hand sides, and products with a sparse matrix on several threads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from nbest.base.types import Floats, Ints
from nbest.compute import parallel
from nbest.compute.compilation import kernel
from nbest.compute.lanes import WIDTH, load, padded, spread, store

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_NEAR = 1e-3  # a column this much smaller after its pivots is too near the others for the Cholesky route
_FAR = 0.03  # columns that keep at least this much are orthonormal to 1e-12 after one time


class Products:
    """A sparse matrix [n, d] that multiplies blocks of vectors from either side, rows shared among threads.

    Keeps the matrix and its transpose by rows, so that every thread writes only its own rows: the result does not
    depend on their number. Cost: 2 nnz m flops for a block of m vectors; 24 bytes an entry.
    """

    def __init__(self, matrix: csr_array, threads: int | None = None) -> None:
        self.matrix = _rows(matrix)
        self.turned = _rows(matrix.T.tocsr())
        self.threads = threads

    @property
    def shape(self) -> tuple[int, int]:
        """(n, d)."""
        return self.matrix.shape

    def times(self, block: Floats) -> Floats:
        """[n, m] matrix @ block [d, m]."""
        return self._product(self.matrix, block)

    def turned_times(self, block: Floats) -> Floats:
        """[d, m] matrix' @ block [n, m]."""
        return self._product(self.turned, block)

    def squares(self) -> Floats:
        """[d] squared length of each column."""
        return np.asarray(self.matrix.multiply(self.matrix).sum(axis=0)).ravel()

    def _product(self, matrix: csr_array, block: Floats) -> Floats:
        width = block.shape[1]
        given, out = aligned(len(block), padded(width)), aligned(matrix.shape[0], padded(width))
        given[:, :width], given[:, width:] = block, 0.0
        rows = (matrix.indptr, matrix.indices, matrix.data)
        parallel.over_ranges(lambda low, high: _times(low, high, rows, given, out), matrix.indptr, self.threads)
        return out[:, :width]


def aligned(rows: int, columns: int) -> Floats:
    """[rows, columns] without values, from the beginning of a cache line: rows of 16 take two lines, not three."""
    room = np.empty(rows * columns + 8)
    start = (-room.ctypes.data % 64) // 8
    return room[start : start + rows * columns].reshape(rows, columns)


def _rows(matrix: csr_array) -> csr_array:
    from scipy.sparse import csr_array

    matrix = csr_array(matrix, dtype=np.float64, copy=True)
    matrix.sum_duplicates()
    matrix.indptr = matrix.indptr.astype(np.int64)
    matrix.indices = matrix.indices.astype(np.int32)
    return matrix


@kernel
def _times(low, high, rows, block, out):
    """Rows of the product of a sparse matrix and a block; 16 columns at a time stay in registers, then four."""
    indptr, indices, data = rows
    width = block.shape[1]
    wide = width - width % (4 * WIDTH)
    for i in range(low, high):
        begin, end = np.uint64(indptr[i]), np.uint64(indptr[i + 1])
        for c in range(0, wide, 4 * WIDTH):
            w, x, y, z = spread(0.0), spread(0.0), spread(0.0), spread(0.0)
            for e in range(begin, end):
                j, value = np.uint32(indices[e]), spread(data[e])
                w = w + value * load(block, j, c)
                x = x + value * load(block, j, c + WIDTH)
                y = y + value * load(block, j, c + 2 * WIDTH)
                z = z + value * load(block, j, c + 3 * WIDTH)
            store(out, i, c, w)
            store(out, i, c + WIDTH, x)
            store(out, i, c + 2 * WIDTH, y)
            store(out, i, c + 3 * WIDTH, z)
        for c in range(wide, width, WIDTH):
            x = spread(0.0)
            for e in range(begin, end):
                x = x + spread(data[e]) * load(block, np.uint32(indices[e]), c)
            store(out, i, c, x)


@dataclass(frozen=True)
class Scaling:
    """L of a matrix L L' that is like A: diagonal, but for some rows (`head`) that have a Cholesky factor together.

    The better L L' fits, the fewer iterations conjugate gradients need. Cost of the head: h^2 m for m vectors.
    """

    root: Floats  # [d] of the diagonal
    head: Ints | None = None  # [h] rows
    factor: Floats | None = None  # [h, h] lower

    def down(self, block: Floats) -> Floats:
        """L^-1 @ block."""
        return self._solved(block, 0)

    def up(self, block: Floats) -> Floats:
        """L'^-1 @ block."""
        return self._solved(block, 1)

    def back(self, block: Floats) -> Floats:
        """L' @ block."""
        out = block * self.root[:, None]
        if self.head is not None and self.factor is not None:
            out[self.head] = self.factor.T @ block[self.head]
        return out

    def _solved(self, block: Floats, turned: int) -> Floats:
        from scipy.linalg import solve_triangular

        out = block / self.root[:, None]
        if self.head is not None:
            part = solve_triangular(self.factor, block[self.head], lower=True, trans=turned, check_finite=False)
            out[self.head] = part
        return out


@dataclass(frozen=True)
class Solution:
    """Solutions [d, m], how many block iterations they took, and the largest relative residual."""

    values: Floats
    iterations: int
    residual: float


def block_cg(
    apply: Callable[[Floats], Floats],
    scaling: Scaling,
    rights: Floats,
    start: Floats | None = None,
    *,
    tolerance: float = 1e-8,
    iterations: int = 1000,
) -> Solution:
    """Solve A x = r for all columns r of `rights` [d, m] at once; A [d, d] symmetric, positive definite.

        S' A S xi = I,  X += S xi C,  Q zeta = Q - A S xi,  S = Q + S zeta',  C = zeta C        (R = Q C)

    O'Leary (1980), Linear Algebra Appl. 29: 293-322, in the form of Dubrulle (2001), ETNA 12: 216-233 (BCGrQ), where
    residuals are kept as an orthonormal block and dependent right-hand sides do no harm. All columns share one
    Krylov space, so a block takes fewer iterations than its columns alone. `scaling` is applied from both sides, and
    residuals are measured in the scaled system. Cost: one product with A and O(d m^2) an iteration.
    """
    rights = scaling.down(rights)
    goal = np.linalg.norm(rights, axis=0)
    goal = np.where(goal > 0, goal, goal.max(initial=0.0) or 1.0)  # a column of 0 is measured by the largest
    values = np.zeros_like(rights) if start is None else scaling.back(start)
    residual = rights if start is None else rights - scaling.down(apply(start))
    basis, rest = orthonormal(residual)
    search, done = basis, 0
    while (worst := float((np.linalg.norm(rest, axis=0) / goal).max(initial=0.0))) > tolerance and done < iterations:
        image = scaling.down(apply(scaling.up(search)))
        step = np.linalg.inv(search.T @ image)
        values += search @ (step @ rest)
        basis, turn = orthonormal(basis - image @ step)
        search = basis + search @ turn.T
        rest = turn @ rest
        done += 1
    return Solution(scaling.up(values), done, worst)


def orthonormal(block: Floats) -> tuple[Floats, Floats]:
    """Q [d, r] with orthonormal columns and C [r, m], block = Q C: by Cholesky, twice or by Householder if need be."""
    total = np.eye(block.shape[1])
    if block.shape[0] > 2 * block.shape[1]:
        basis = block
        for attempt in range(2):
            gram = basis.T @ basis
            try:
                lower = np.linalg.cholesky(gram)
            except np.linalg.LinAlgError:
                break
            sizes = np.diag(lower)
            if attempt == 0 and not (sizes > _NEAR * np.sqrt(np.diag(gram))).all():
                break
            basis = basis @ np.linalg.inv(lower).T
            total = lower.T @ total
            if attempt == 1 or (sizes > _FAR * np.sqrt(np.diag(gram))).all():
                return basis, total
    basis, total = np.linalg.qr(block)
    return basis, total
