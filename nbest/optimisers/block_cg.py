"""Block conjugate gradients for many right-hand sides, and products with a sparse matrix on several threads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from nbest.base.types import Floats, Ints
from nbest.compute import parallel
from nbest.compute.compilation import fast_kernel

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_NEAR = 1e-3  # a column this much smaller after its pivots is too near the others for the Cholesky route


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
        out = np.empty((matrix.shape[0], block.shape[1]))
        block = np.ascontiguousarray(block)
        rows = (matrix.indptr, matrix.indices, matrix.data)
        parallel.over_ranges(lambda low, high: _times(low, high, *rows, block, out), matrix.indptr, self.threads)
        return out


def _rows(matrix: csr_array) -> csr_array:
    from scipy.sparse import csr_array

    matrix = csr_array(matrix, dtype=np.float64, copy=True)
    matrix.sum_duplicates()
    matrix.indptr = matrix.indptr.astype(np.int64)
    matrix.indices = matrix.indices.astype(np.int32)
    return matrix


@fast_kernel
def _times(low, high, indptr, indices, data, block, out):
    width = block.shape[1]
    for i in range(low, high):
        row = out[i]
        row[:] = 0.0
        for e in range(indptr[i], indptr[i + 1]):
            other = block[indices[e]]
            value = data[e]
            for c in range(width):
                row[c] += value * other[c]


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
    """Q [d, r] with orthonormal columns and C [r, m], block = Q C: by Cholesky twice, by Householder if unsafe."""
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
        else:
            return basis, total
    basis, total = np.linalg.qr(block)
    return basis, total
