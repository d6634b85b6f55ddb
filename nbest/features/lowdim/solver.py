"""The eigenproblem of low-dimensional reranking at real sizes: no d1 x d1 matrix is ever made.

    Cyy^-1 Cxy' Cxx^-1 Cxy b = omega b,    a = Cxx^-1 Cxy b / sqrt(omega),    a' Cxx a = b' Cyy b = 1

with Cxx = (1 - tau) X'X + tau I (rows of X are segments), Cyy likewise of Y, Cxy = X'T.
Jagarlamudi & Daume III (2012), eq. 11-15.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from nbest.base.errors import CapabilityError, ConvergenceWarning, ParameterError
from nbest.base.randomness import generator
from nbest.base.types import Floats
from nbest.compute.blas import ONE_BLAS_THREAD
from nbest.compute.compilation import kernel
from nbest.optimisers.block_cg import Products, Scaling, block_cg

DENSE = 4096  # features up to which a covariance is factored
HEAD = 512  # features that the scaling of conjugate gradients factors together
_BLOCK = 16  # vectors that are multiplied at once
_TIGHTER = 0.1  # solves within are this much more exact than the directions asked for
_SINGULAR = 1e-10  # a pivot this small beside the largest is 0 up to rounding


class ViewCovariance:
    """C = (1 - tau) Z'Z + tau I of one view Z [n, d]: its products, and solutions of C v = r.

    Up to `dense` features by a Cholesky factor (d^2 numbers), else by block conjugate gradients, where the `head`
    features that segments have most of are factored together and the others scaled. tau 0 needs columns that are
    independent; what is found not to be so is refused.
    """

    def __init__(self, view: Products, tau: float, name: str, *, dense: int = DENSE, head: int = HEAD) -> None:
        self.view, self.tau, self.name = view, tau, name
        self.diagonal = (1 - tau) * view.squares() + tau
        n, d = view.shape
        if tau == 0 and (d > n or not (self.diagonal > 0).all()):
            why = f"{d} features and {n} segments" if d > n else "a feature that no segment has"
            raise self._singular(why)
        self.factor = self._factored(view) if d <= dense else None
        self.scaling = self._scaling(head) if d > dense else None
        self.iterations = 0  # of conjugate gradients, so far

    def _singular(self, why: str) -> CapabilityError:
        return CapabilityError(
            f"the covariance of the {self.name}s is singular ({why}) and 'tau' of LowDim is 0; give tau > 0, e.g. 0.1"
        )

    def _scaling(self, head: int) -> Scaling:
        """What is like C and easily solved for."""
        rows = np.sort(np.argsort(-self.diagonal, kind="stable")[:head])
        factor = self._factored(Products(self.view.matrix[:, rows], self.view.threads))
        return Scaling(np.sqrt(self.diagonal), rows, factor)

    def _factored(self, view: Products) -> Floats:
        """[d, d] lower Cholesky factor of the covariance of these features."""
        dense = (1 - self.tau) * gram(view)
        dense[np.diag_indices_from(dense)] += self.tau
        try:
            lower = np.linalg.cholesky(dense)
        except np.linalg.LinAlgError:
            raise self._singular("features depend on each other") from None
        pivots = np.diag(lower) ** 2
        if self.tau == 0 and (pivots < _SINGULAR * np.diag(dense)).any():
            raise self._singular("features depend on each other")
        return lower

    def apply(self, block: Floats) -> Floats:
        """[d, m] C @ block."""
        out = self.view.turned_times(self.view.times(block))
        out *= 1 - self.tau
        if self.tau:
            out += self.tau * block
        return out

    def solve(self, rights: Floats, start: Floats | None = None, *, tolerance: float) -> Floats:
        """[d, m] C^-1 @ rights, from this start if it must iterate."""
        if self.factor is not None:
            from scipy.linalg import cho_solve

            return cho_solve((self.factor, True), rights, check_finite=False)
        assert self.scaling is not None
        found = block_cg(self.apply, self.scaling, rights, start, tolerance=tolerance)
        self.iterations += found.iterations
        if found.residual > 10 * tolerance:
            why = f"conjugate gradients reached {found.residual:.1e}, not {tolerance:.1e}; a larger tau helps"
            warnings.warn(f"LowDim, {self.name}s: {why}", ConvergenceWarning, stacklevel=2)
        return found.values


def gram(view: Products) -> Floats:
    """[d, d] Z'Z as a dense matrix. Cost: the squares of the lengths of the rows."""
    out = np.zeros((view.shape[1], view.shape[1]))
    _add_pairs(view.matrix.indptr, view.matrix.indices, view.matrix.data, out)
    return out + np.tril(out, -1).T


@kernel
def _add_pairs(indptr, indices, data, out):
    for i in range(len(indptr) - 1):
        for e in range(indptr[i], indptr[i + 1]):
            row, value = out[indices[e]], data[e]
            for f in range(indptr[i], e + 1):
                row[indices[f]] += value * data[f]


@dataclass(frozen=True)
class Directions:
    """k pairs of directions by falling correlation, each of unit length: a' Cxx a = b' Cyy b = 1."""

    A: Floats  # [d1, k]
    B: Floats  # [d2, k]
    omega: Floats  # [k] squared (regularised) correlations
    residual: float = 0.0  # largest of |Cyy^-1 G b - omega b| / sqrt(omega omega_1), in the norm of Cyy
    blocks: int = 0  # times that a block went through Cxx^-1
    status: str = "converged"

    @property
    def k(self) -> int:
        """How many there are."""
        return len(self.omega)

    def top(self, k: int) -> Directions:
        """The first k: they are nested, because each pair has its own length constraint and no other depends on k."""
        return Directions(
            A=self.A[:, :k],
            B=self.B[:, :k],
            omega=self.omega[:k],
            residual=self.residual,
            blocks=self.blocks,
            status=self.status,
        )


@dataclass
class Solver:
    """Finds the top directions for a matrix of targets T [n, d2]; the covariances are made once and kept.

    Block Lanczos in the inner product of Cyy, restarted with the best Ritz vectors when its basis is full; a basis of
    all d2 vectors where that is hardly more work. Directions of an earlier solve are a warm start: for the basis, and
    for Cxx^-1. The start is random otherwise: deterministic for a seed.
    Cost: a block of m vectors goes through X, X' and O(d1 m^2) once an iteration of conjugate gradients; memory
    4 k d1 + 12 k d2 numbers beside the matrices.
    """

    inputs: ViewCovariance
    outputs: ViewCovariance
    tolerance: float = 1e-4
    seed: int = 1
    block: int = _BLOCK
    rounds: int = 100
    progress: Callable[[int, int], None] | None = field(default=None, repr=False)

    def solve(self, targets: Products, k: int, start: Directions | None = None) -> Directions:
        """The top k directions; fewer, with a warning, where the rank of Cxy is smaller."""
        if k < 1:
            raise ParameterError(f"'k' of LowDim must be >= 1, got {k}")
        room = min(k, self.inputs.view.shape[1], self.outputs.view.shape[1])
        with ONE_BLAS_THREAD:
            found = _Space(self, targets, room).search(start)
        if found.k < k:
            why = f"the rank of the covariance between inputs and outputs is {found.k}"
            kept = f"it keeps {found.k} directions"
            warnings.warn(f"'k' of LowDim is {k} and {why}; {kept}", ConvergenceWarning, stacklevel=3)
        if found.status != "converged":
            why = f"directions are exact to {found.residual:.1e} after {self.rounds} rounds, not {self.tolerance:.1e}"
            warnings.warn(f"LowDim: {why}", ConvergenceWarning, stacklevel=3)
        return found


class _Space:
    """A basis V [d2, m] with V' Cyy V = I, and what is known of it: Cyy V, P = Cxx^-1 Cxy V, G V = Cxy' P."""

    def __init__(self, solver: Solver, targets: Products, k: int) -> None:
        self.solver, self.targets, self.k = solver, targets, k
        self.x, self.y = solver.inputs, solver.outputs
        d1, d2 = self.x.view.shape[1], self.y.view.shape[1]
        self.size = d2
        self.V, self.CV, self.GV = (np.empty((d2, 0)) for _ in range(3))
        self.P = np.empty((d1, 0))
        self.blocks = 0
        self.worst = np.inf  # residual at the last restart
        self.tight = max(_TIGHTER * solver.tolerance, 1e-14)
        self.exactness = self.tight  # of the next solves

    def search(self, start: Directions | None) -> Directions:
        k, width = self.k, min(self.solver.block, self.size)
        limit = 4 * max(k, width) + 2 * width
        if self.size <= limit:
            self.add(np.eye(self.size))
            return self.best()
        rng = generator(self.solver.seed)
        if start is not None:
            self.add(start.B, start.A * np.sqrt(start.omega))
        self.add(rng.standard_normal((self.size, width)))
        for _ in range(self.solver.rounds):
            omega, turn = self.ritz()
            norms, fresh = self.residuals(omega, turn)
            missing = k - len(norms)
            open_ = np.flatnonzero(norms > self.solver.tolerance)
            if self.solver.progress is not None:
                self.solver.progress(k - len(open_) - missing, k)
            if len(open_) == 0 and missing <= 0:
                return self.best(float(norms.max(initial=0.0)))
            if self.V.shape[1] + width > limit:
                self.restart(turn[:, : k + width], float(norms.max(initial=0.0)))
            before = self.V.shape[1]
            self.relax(norms, missing)
            self.add(fresh[:, open_[:width]] if len(open_) else fresh[:, :width])
            if self.V.shape[1] == before:
                return self.best(float(norms.max(initial=0.0)))  # the space is closed: these are all there are
        return self.best(float(norms.max(initial=0.0)), "limit")

    def relax(self, norms: Floats, missing: int) -> None:
        """How exact the next solves are: what is added now moves the directions by no more than their residuals.

        Never less exact than the directions: errors would add up in those that are found already.
        """
        worst = 1.0 if missing > 0 else min(float(norms.max(initial=0.0)), 1.0)
        self.exactness = min(self.tight / max(worst, _TIGHTER), max(self.solver.tolerance, self.tight))

    def ritz(self) -> tuple[Floats, Floats]:
        """Ritz values by falling size, and their vectors in terms of the basis."""
        small = self.V.T @ self.GV
        values, vectors = np.linalg.eigh((small + small.T) / 2)
        return np.maximum(values[::-1], 0.0), vectors[:, ::-1]

    def residuals(self, omega: Floats, turn: Floats) -> tuple[Floats, Floats]:
        """Relative lengths of Cyy^-1 G v - omega v for the wanted Ritz vectors v, and these differences themselves."""
        k = min(self.k, len(omega))
        gap = self.GV @ turn[:, :k] - (self.CV @ turn[:, :k]) * omega[:k]
        fresh = self.y.solve(gap, tolerance=1e-3)
        norms = np.sqrt(np.maximum((gap * fresh).sum(axis=0), 0.0))
        unit = np.sqrt(omega[:k] * omega[0])
        return np.divide(norms, unit, out=np.zeros(k), where=omega[:k] > self._floor(omega)), fresh

    def _floor(self, omega: Floats) -> float:
        """Eigenvalues below this are 0 up to the accuracy of the solves."""
        return float(max(self.solver.tolerance**2, 1e-13) * omega.max(initial=0.0))

    def add(self, fresh: Floats, start: Floats | None = None) -> None:
        """Take up what is new in these vectors; `start` is where to look for Cxx^-1 Cxy of them."""
        begin = 0 if start is None else self.V.shape[1]
        fresh, start = self._normal(fresh, start)
        assert start is None or begin == 0  # only the first vectors have one
        width = self.solver.block
        for low in range(0, fresh.shape[1], width):
            part = fresh[:, low : low + width]
            guess = None if start is None else start[:, low : low + width]
            rights = self.x.view.turned_times(self.targets.times(part))
            solved = self.x.solve(rights, guess, tolerance=self.exactness)
            image = self.targets.turned_times(self.x.view.times(solved))
            self.blocks += 1
            self.V, self.P = np.hstack([self.V, part]), np.hstack([self.P, solved])
            self.GV, self.CV = np.hstack([self.GV, image]), np.hstack([self.CV, self.y.apply(part)])

    def _normal(self, fresh: Floats, start: Floats | None) -> tuple[Floats, Floats | None]:
        """These vectors less what the basis has, orthonormal in Cyy; what is too short to tell from rounding goes."""
        for _ in range(2):
            lengths = np.sqrt(np.maximum((fresh * self.y.apply(fresh)).sum(axis=0), 0.0))
            own = lengths > 0
            fresh, start = fresh[:, own] / lengths[own], None if start is None else start[:, own] / lengths[own]
            fresh = fresh - self.V @ (self.CV.T @ fresh)
            values, vectors = np.linalg.eigh(fresh.T @ self.y.apply(fresh))
            kept = values > 1e-13
            turn = vectors[:, kept] / np.sqrt(values[kept])
            fresh, start = fresh @ turn, None if start is None else start @ turn
        return fresh, start

    def restart(self, turn: Floats, worst: float) -> None:
        """Go over to this basis of a part of the space.

        Where residuals have not become smaller since the last time, errors of the solves are in the way: those of
        vectors with a large part of the first direction are too large for the last. Then all are solved for again.
        """
        self.V, self.CV, self.GV, self.P = (part @ turn for part in (self.V, self.CV, self.GV, self.P))
        if worst > self.worst / 2:
            vectors, guess, self.exactness = self.V, self.P, self.tight
            self.V, self.CV, self.GV, self.P = (part[:, :0] for part in (self.V, self.CV, self.GV, self.P))
            self.add(vectors, guess)
        self.worst = worst

    def best(self, residual: float = 0.0, status: str = "converged") -> Directions:
        """The directions of the best Ritz vectors whose eigenvalue is not 0, signs fixed by the largest entry of b."""
        omega, turn = self.ritz()
        k = int((omega[: self.k] > self._floor(omega)).sum())
        B, P = self.V @ turn[:, :k], self.P @ turn[:, :k]
        signs = np.where(np.take_along_axis(B, np.abs(B).argmax(axis=0)[None], axis=0)[0] < 0, -1.0, 1.0)
        A = P * (signs / np.sqrt(omega[:k]))
        return Directions(A=A, B=B * signs, omega=omega[:k], residual=residual, blocks=self.blocks, status=status)
