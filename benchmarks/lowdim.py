"""One solve of low-dimensional reranking at the sizes of the paper's Chinese set; against dense routes.

Synthetic: n = 50,000 segments, d1 = 33,000 input features (60 a segment), d2 = 2,000 output features (40 a segment),
drawn from topics with Zipf-like features, k = 75 directions.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time

import numpy as np
from scipy.sparse import csr_array

from benchmarks.lists import best_of
from nbest.features.lowdim.solver import Solver, ViewCovariance
from nbest.optimisers.block_cg import Products

SIZES = (50_000, 33_000, 2_000)


def main() -> None:
    """Print the cost of the dense routes, then seconds and memory of one solve for several tau and of a warm start."""
    _dense_route()
    _scikit_learn()
    for tau in (0.95, 0.5):
        subprocess.run([sys.executable, "-m", "benchmarks.lowdim", str(tau)], check=True)


def views(n: int, d1: int, d2: int, seed: int = 1, topics: int = 200) -> tuple[csr_array, csr_array]:
    """Bags of about 60 input and 40 output features; a segment's topic tells half of each."""
    rng = np.random.default_rng(seed)
    shares = 1.0 / np.arange(5, topics + 5)
    topic = rng.choice(topics, n, p=shares / shares.sum())
    return _bags(rng, topic, d1, 60, topics), _bags(rng, topic, d2, 40, topics)


def _bags(rng: np.random.Generator, topic: np.ndarray, d: int, size: int, topics: int) -> csr_array:
    n = len(topic)
    shares = 1.0 / np.arange(1, d + 1)
    common = rng.choice(d, size=n * size, p=shares / shares.sum())
    place = rng.permuted(np.tile(np.arange(d), (topics, 1)), axis=1)  # each topic has its own common features
    own = place[np.repeat(topic, size), common]
    columns = np.where(rng.random(n * size) < 0.5, own, common)
    bags = csr_array((np.ones(n * size), columns, np.arange(n + 1) * size), shape=(n, d))
    bags.sum_duplicates()
    return bags


def _solve(tau: float, k: int = 75) -> None:
    """One tau in a process of its own, whose peak memory is then that of solving."""
    X, Y = views(*SIZES)
    small = views(300, 200, 100)
    _made(*small, tau, dense=0).solve(Products(small[1]), 5)  # compile
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    begin, busy = time.perf_counter(), time.process_time()
    solver, targets = _made(X, Y, tau), Products(Y)
    ready = time.perf_counter()
    found = solver.solve(targets, k)
    seconds, busy = time.perf_counter() - begin, time.process_time() - busy
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    work = solver.inputs.iterations
    print(
        f"tau {tau}: {seconds:.1f} s ({busy:.1f} s of processor, {ready - begin:.1f} s to prepare), peak {peak:.0f} MB "
        f"({before:.0f} MB before); {found.blocks} blocks, {work} iterations; nnz {X.nnz} and {Y.nnz}; "
        f"correlations {np.sqrt(found.omega[0]):.3f} to {np.sqrt(found.omega[-1]):.3f}, residual {found.residual:.1e}"
    )
    rng = np.random.default_rng(2)
    nudged = csr_array((Y.data * rng.uniform(0.9, 1.1, Y.nnz), Y.indices, Y.indptr), shape=Y.shape)
    begin, done = time.perf_counter(), solver.inputs.iterations
    solver.solve(Products(nudged), k, found)
    seconds, work = time.perf_counter() - begin, solver.inputs.iterations - done
    print(f"  warm start, targets 10% off: {seconds:.1f} s, {work} iterations")


def _made(X: csr_array, Y: csr_array, tau: float, **options: int) -> Solver:
    return Solver(ViewCovariance(Products(X), tau, "input", **options), ViewCovariance(Products(Y), tau, "output"))


def _dense_route(d: int = 3000) -> None:
    """Cholesky of Cxx and Cxx^-1 Cxy measured at d features, computed for d1."""
    from scipy.linalg import cho_factor, cho_solve

    _, d1, d2 = SIZES
    rng = np.random.default_rng(1)
    Z = rng.standard_normal((d, d)) / np.sqrt(d)
    C, right = Z @ Z.T + np.eye(d), rng.standard_normal((d, d2))
    factor, _ = best_of(lambda: cho_factor(C))
    solve, _ = best_of(lambda: cho_solve(cho_factor(C), right))
    seconds = factor * (d1 / d) ** 3 + (solve - factor) * (d1 / d) ** 2
    print(
        f"dense route: Cxx takes {8 * d1**2 / 1e9:.1f} GB, Cxx^-1 Cxy {8 * d1 * d2 / 1e9:.1f} GB; factor and solve "
        f"{seconds:.0f} s by cubes and squares from {factor:.2f} s and {solve - factor:.2f} s at d1 = {d}"
    )


def _scikit_learn(n: int = 1000, d1: int = 200, d2: int = 100, k: int = 5) -> None:
    try:
        from sklearn.cross_decomposition import CCA
    except ImportError:
        print("scikit-learn is not installed")
        return
    X, Y = views(n, d1, d2, topics=20)
    x, y = X.toarray(), Y.toarray()
    begin = time.perf_counter()
    CCA(k, scale=False).fit(x, y)
    theirs = time.perf_counter() - begin
    ours, _ = best_of(lambda: _made(X, Y, 0.01).solve(Products(Y), k))
    sizes = f"n {n}, d1 {d1}, d2 {d2}, k {k}"
    print(f"scikit-learn CCA, {sizes}: {theirs:.2f} s, ours {ours:.3f} s, ratio {theirs / ours:.0f}")


if __name__ == "__main__":
    _solve(float(sys.argv[1]))
