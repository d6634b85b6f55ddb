"""The solver of low-dimensional reranking against a dense twin, the textbook and scikit-learn."""

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from nbest.base.errors import CapabilityError, ConvergenceWarning, ParameterError
from nbest.features.lowdim.solver import Solver, ViewCovariance, gram
from nbest.optimisers.block_cg import Products, Scaling, block_cg, orthonormal


def counts(rng, n, d, rate=0.3):
    return csr_array(rng.poisson(rate, size=(n, d)).astype(float))


def linked(seed, n=120, d1=30, d2=14, links=6):
    """Two views that share some hidden causes, so that correlations differ."""
    rng = np.random.default_rng(seed)
    causes = rng.poisson(1.0, size=(n, links))
    X = counts(rng, n, d1).toarray() + causes @ rng.poisson(0.2, size=(links, d1))
    Y = counts(rng, n, d2).toarray() + causes @ rng.poisson(0.4, size=(links, d2))
    X[np.arange(d1), np.arange(d1)] += 1  # no column is empty
    Y[np.arange(d2), np.arange(d2)] += 1
    return csr_array(X), csr_array(Y)


def dense_directions(X, Y, T, tau, k):
    """The eigenproblem of the paper, eq. 14-15, as dense matrices."""
    X, Y, T = X.toarray(), Y.toarray(), T.toarray()
    Cxx = (1 - tau) * X.T @ X + tau * np.eye(X.shape[1])
    Cyy = (1 - tau) * Y.T @ Y + tau * np.eye(Y.shape[1])
    Cxy = X.T @ T
    omega, B = scipy.linalg.eigh(Cxy.T @ np.linalg.solve(Cxx, Cxy), Cyy)
    omega, B = omega[::-1][:k], B[:, ::-1][:, :k]
    return np.linalg.solve(Cxx, Cxy @ B) / np.sqrt(omega), B, omega


def solver(X, Y, tau, dense=0, **options):
    inputs, outputs = Products(X, 2), Products(Y, 2)
    sizes = {"dense": dense, "head": 5}
    made = ViewCovariance(inputs, tau, "input", **sizes), ViewCovariance(outputs, tau, "output", **sizes)
    return Solver(*made, **{"tolerance": 1e-12, **options})


def apart(one, two):
    """How far two blocks are, up to the signs of their columns."""
    return min(np.abs(one - two).max(), np.abs(one + two).max()) if one.ndim == 1 else max(map(apart, one.T, two.T))


@pytest.mark.parametrize("dense", [0, 4096])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_equals_the_dense_solver(seed, dense):
    X, Y = linked(seed, d2=60)
    A, B, omega = dense_directions(X, Y, Y, 0.99, 5)
    found = solver(X, Y, 0.99, dense, block=4).solve(Products(Y), 5)
    np.testing.assert_allclose(found.omega, omega, rtol=1e-8)
    assert apart(found.A, A) < 1e-8 * np.abs(A).max()
    assert apart(found.B, B) < 1e-8 * np.abs(B).max()


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), tau=st.sampled_from([0.01, 0.3, 0.95, 1.0]), k=st.integers(1, 6))
def test_small_problems_equal_the_dense_solver(seed, tau, k):
    X, Y = linked(seed, n=40, d1=12, d2=8)
    T = csr_array(Y - 0.3 * counts(np.random.default_rng(seed + 1), *Y.shape))
    A, B, omega = dense_directions(X, Y, T, tau, k)
    found = solver(X, Y, tau).solve(Products(T), k)
    np.testing.assert_allclose(found.omega, omega, rtol=1e-8)
    scores, want = (X @ found.A) @ (Y @ found.B).T, (X @ A) @ (Y @ B).T
    np.testing.assert_allclose(scores, want, atol=1e-8 * np.abs(want).max())


def test_lengths_are_one_and_directions_orthogonal():
    X, Y = linked(4, d2=80)
    made = solver(X, Y, 0.999, block=4)
    found = made.solve(Products(Y), 6)
    for C, D in ((made.inputs, found.A), (made.outputs, found.B)):
        np.testing.assert_allclose(D.T @ C.apply(D), np.eye(6), atol=1e-8)


def test_top_directions_are_nested():
    X, Y = linked(5, d2=80)
    made = solver(X, Y, 0.999, block=4)
    large, small = made.solve(Products(Y), 8), made.solve(Products(Y), 3)
    assert apart(large.top(3).A, small.A) < 1e-8 * np.abs(small.A).max()
    assert apart(large.top(3).B, small.B) < 1e-8 * np.abs(small.B).max()


def test_without_regularisation_it_is_the_textbook_svd_of_whitened_covariances():
    X, Y = linked(6)
    x, y = X.toarray(), Y.toarray()
    qx, qy = np.linalg.qr(x)[0], np.linalg.qr(y)[0]
    want = np.linalg.svd(qx.T @ qy, compute_uv=False)[:5]
    np.testing.assert_allclose(np.sqrt(solver(X, Y, 0.0).solve(Products(Y), 5).omega), want, rtol=1e-8)


def test_correlations_are_those_of_scikit_learn():
    decomposition = pytest.importorskip("sklearn.cross_decomposition")
    X, Y = linked(7)
    x, y = (V.toarray() - V.toarray().mean(axis=0) for V in (X, Y))  # scikit-learn centres, the paper does not
    found = solver(csr_array(x), csr_array(y), 0.0).solve(Products(csr_array(y)), 3)
    theirs = decomposition.CCA(3, scale=False, max_iter=5000, tol=1e-12).fit(x, y)
    u, v = theirs.transform(x, y)
    np.testing.assert_allclose(np.sqrt(found.omega), [np.corrcoef(u[:, c], v[:, c])[0, 1] for c in range(3)], rtol=1e-5)


def test_no_pair_of_directions_does_better():
    """Direct optimisation: coordinate ascent on a' Cxy b from anywhere ends at the first direction or below."""
    X, Y = linked(8)
    made = solver(X, Y, 0.3, dense=4096)
    best = np.sqrt(made.solve(Products(Y), 1).omega[0])
    for seed in range(3):
        b = np.random.default_rng(seed).standard_normal(Y.shape[1])
        for _ in range(200):
            a = made.inputs.solve((X.T @ (Y @ b))[:, None], tolerance=1e-12)[:, 0]
            a /= np.sqrt(a @ made.inputs.apply(a[:, None])[:, 0])
            b = made.outputs.solve((Y.T @ (X @ a))[:, None], tolerance=1e-12)[:, 0]
            b /= np.sqrt(b @ made.outputs.apply(b[:, None])[:, 0])
        value = a @ (X.T @ (Y @ b))
        assert value <= best * (1 + 1e-9)
        assert value == pytest.approx(best, rel=1e-4)


def test_scaling_a_view_changes_no_correlation_without_regularisation():
    X, Y = linked(9)
    one = solver(X, Y, 0.0).solve(Products(Y), 4)
    two = solver(X * 10.0, Y * 0.1, 0.0).solve(Products(Y * 0.1), 4)
    np.testing.assert_allclose(one.omega, two.omega, rtol=1e-8)
    assert apart(one.A, two.A * 10.0) < 1e-8 * np.abs(one.A).max()


def test_warm_start_gives_the_same_with_less_work():
    X, Y = linked(10, n=300, d1=50, d2=80)
    made = solver(X, Y, 0.999, block=4, tolerance=1e-8)
    cold = made.solve(Products(Y), 4)
    work, made.inputs.iterations = made.inputs.iterations, 0
    warm = made.solve(Products(Y * 1.01), 4, cold)
    assert made.inputs.iterations < work
    np.testing.assert_allclose(warm.omega, 1.01**2 * cold.omega, rtol=1e-9)


def test_one_seed_one_result_on_any_number_of_threads():
    X, Y = linked(11, d2=90)
    found = []
    for threads in (1, 2, 3):
        inputs, outputs = Products(X, threads), Products(Y, threads)
        made = Solver(
            ViewCovariance(inputs, 0.999, "input", dense=0, head=2), ViewCovariance(outputs, 0.999, "output"), block=4
        )
        found.append(made.solve(outputs, 4))
    assert all(np.array_equal(found[0].A, other.A) for other in found)


def test_k_above_the_rank_is_reduced_with_a_warning():
    rng = np.random.default_rng(12)
    X = csr_array(rng.poisson(1.0, size=(50, 3)) @ rng.poisson(1.0, size=(3, 10)).astype(float))
    Y = counts(rng, 50, 100)
    with pytest.warns(UserWarning, match="'k' of LowDim is 6 and the rank .* is 3"):
        assert solver(X, Y, 0.5, block=2, tolerance=1e-8).solve(Products(Y), 6).k == 3


def test_k_above_the_number_of_features_is_reduced_with_a_warning():
    X, Y = linked(13)
    with pytest.warns(UserWarning, match="'k' of LowDim is 15 and the rank .* is 14"):
        assert solver(X, Y, 0.5).solve(Products(Y), 15).k == 14
    with pytest.raises(ParameterError, match="'k' of LowDim must be >= 1, got 0"):
        solver(X, Y, 0.5).solve(Products(Y), 0)


@pytest.mark.parametrize("dense", [0, 4096])
def test_tau_0_with_a_singular_covariance_is_refused(dense):
    X, Y = linked(14)
    with pytest.raises(CapabilityError, match=r"covariance of the outputs is singular .*tau > 0"):
        solver(X, csr_array(np.hstack([Y.toarray(), np.zeros((120, 1))])), 0.0, dense)
    with pytest.raises(CapabilityError, match=r"30 features and 20 segments"):
        solver(X[:20], Y[:20], 0.0, dense)
    if dense:
        with pytest.raises(CapabilityError, match="depend on each other"):
            solver(csr_array(np.hstack([X.toarray(), X.toarray()[:, :1]])), Y, 0.0, dense)


def test_too_few_rounds_are_told():
    X, Y = linked(15, n=150, d1=50, d2=120)
    with pytest.warns(ConvergenceWarning, match="directions are exact to"):
        found = solver(X, Y, 0.5, block=4, rounds=2).solve(Products(Y), 10)
    assert found.status == "limit"


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 10**6), d=st.integers(1, 30), m=st.integers(1, 8), warm=st.booleans(), head=st.integers(0, 9)
)
def test_block_conjugate_gradients_solve(seed, d, m, warm, head):
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((2 * d, d)) * 10 ** rng.uniform(-1, 1, d)
    C = Z.T @ Z + 0.01 * np.eye(d)
    rights = rng.standard_normal((d, m))
    rights[:, m // 2] = rights[:, 0]  # dependent right-hand sides
    rights[:, m - 1] *= rng.integers(0, 2)
    start = rng.standard_normal((d, m)) if warm else None
    scaling = Scaling(np.sqrt(np.diag(C)))
    if head:
        rows = np.sort(rng.permutation(d)[:head])
        scaling = Scaling(scaling.root, rows, np.linalg.cholesky(C[np.ix_(rows, rows)]))
    found = block_cg(lambda V: C @ V, scaling, rights, start, tolerance=1e-12)
    np.testing.assert_allclose(C @ found.values, rights, atol=1e-8 * (np.abs(rights).max() or 1.0))


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 10**6), d=st.integers(1, 30), m=st.integers(1, 8), rank=st.integers(0, 8))
def test_orthonormal(seed, d, m, rank):
    rng = np.random.default_rng(seed)
    block = rng.standard_normal((d, rank)) @ rng.standard_normal((rank, m)) * 10.0 ** rng.integers(-8, 8)
    Q, C = orthonormal(block)
    np.testing.assert_allclose(Q.T @ Q, np.eye(Q.shape[1]), atol=1e-12)
    np.testing.assert_allclose(Q @ C, block, atol=1e-12 * np.abs(block).max(initial=1e-300))


def test_products_are_those_of_scipy():
    rng = np.random.default_rng(16)
    X = counts(rng, 50, 20)
    products, V, U = Products(X, 3), rng.standard_normal((20, 5)), rng.standard_normal((50, 5))
    np.testing.assert_allclose(products.times(V), X @ V, atol=1e-12)
    np.testing.assert_allclose(products.turned_times(U), X.T @ U, atol=1e-12)
    np.testing.assert_allclose(products.squares(), (X.toarray() ** 2).sum(axis=0))
    np.testing.assert_allclose(gram(products), (X.T @ X).toarray())
