from __future__ import annotations

import numpy as np
import pytest

from nbest.base.types import Floats
from nbest.features import GaussianKernels
from nbest.features.kernels.em import _statistics, row_shards
from nbest.features.kernels.mixture import GaussianMixture
from nbest.features.kernels.posteriors import kernel_posteriors, largest
from nbest.features.kernels.reestimate import PARTS, MovingKernels
from nbest.metrics import make_metric
from nbest.objectives import Risk
from nbest.objectives.backends import computing_with
from nbest.objectives.cuda import CudaBackend
from nbest.testing import toy_lists


def _case(
    shared: bool, kernels: int = 40, count: int = 70, width: int = 3, wide: float = 1.0
) -> tuple[GaussianMixture, Floats]:
    rng = np.random.default_rng(2)
    means, middles = rng.normal(size=(kernels, width)), rng.normal(size=(-(-count // 35), 1, width))
    x = (middles + 0.3 * rng.normal(size=(len(middles), 35, width))).reshape(-1, width)[:count]
    variances = wide * rng.uniform(0.05, 0.3, (1 if shared else kernels, width))
    return GaussianMixture(means, variances, np.log(rng.dirichlet(np.ones(kernels)))), x


def _posteriors(mixture: GaussianMixture, x: Floats) -> tuple[Floats, Floats]:
    """Log densities [H] and posteriors [H, M], in double precision."""
    gaps = (x[:, None] - mixture.means) ** 2 / (2 * mixture.variances)
    z = mixture.constants() - gaps.sum(axis=2)
    total = np.logaddexp.reduce(z, axis=1)
    return total, np.exp(z - total[:, None])


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("triton")
    from nbest.compute.cuda import mixtures

    monkeypatch.setattr(mixtures.DeviceMixture.__init__, "__defaults__", (16,))
    monkeypatch.setattr(mixtures, "TILE", 32)


@pytest.mark.parametrize("wide", [1.0, 20.0])  # the largest posteriors are in few blocks, or in many
@pytest.mark.parametrize("shared", [True, False])
def test_posteriors_are_those_of_the_processor(
    backend: CudaBackend, small_blocks: None, shared: bool, wide: float
) -> None:
    mixture, x = _case(shared, kernels=200, wide=wide)  # more blocks than are kept
    for top, tolerance in ((8, 1e-3), (3, 0.0)):
        expected = largest(mixture, x, top, tolerance)
        with computing_with(backend):
            found = largest(mixture, x, top, tolerance)
        kept = np.arange(top) < expected[2][:, None]
        assert (found[2] == expected[2]).all()
        assert (found[0] == expected[0])[kept].all()
        assert np.abs(found[1] - expected[1])[kept].max() < 1e-5
    exact = _posteriors(mixture, x)[1]
    np.testing.assert_allclose(found[1], np.take_along_axis(exact, found[0].astype(np.int64), axis=1), atol=1e-5)


def test_far_hypotheses_and_equal_means(backend: CudaBackend, small_blocks: None) -> None:
    mixture, x = _case(True, kernels=20)
    mixture = GaussianMixture(np.concatenate([mixture.means[:5]] * 4), mixture.variances, np.zeros(20))
    x = np.concatenate([x[:5], x[:2] + 1e4])
    expected = kernel_posteriors(mixture, x, 8, 1e-3)
    with computing_with(backend):
        found = kernel_posteriors(mixture, x, 8, 1e-3)
    np.testing.assert_allclose(found.toarray(), expected.toarray(), atol=1e-5)
    with computing_with(backend):
        assert kernel_posteriors(mixture, x[:0], 8, 1e-3).shape == (0, 20)


def test_sums_of_a_round_are_right(backend: CudaBackend, small_blocks: None) -> None:
    mixture, x = _case(False)
    x = x.astype(np.float32).astype(np.float64)
    total, q = _posteriors(mixture, x)
    with computing_with(backend):
        value, stats = _statistics(mixture, row_shards(x), None)
    half = (stats.shape[1] - 1) // 2
    assert value == pytest.approx(total.sum(), rel=1e-6)
    np.testing.assert_allclose(stats[:, 0], q.sum(axis=0), atol=1e-4)
    np.testing.assert_allclose(stats[:, 1:4], q.T @ x, atol=1e-4)
    np.testing.assert_allclose(stats[:, 1 + half : 4 + half], q.T @ x**2, atol=1e-4)


def test_blocks_hold_every_kernel_once(device: str) -> None:
    from nbest.compute.cuda.device import open_device
    from nbest.compute.cuda.mixtures import DeviceMixture, neighbours

    points = np.random.default_rng(1).normal(size=(103, 2))
    on = open_device(device)
    blocks = on.get(neighbours(on, on.put(points), 16))
    mixture = DeviceMixture(device, points, np.ones((1, 2)), np.zeros(103), 16)
    assert sorted(on.get(mixture.blocks[mixture.filled]).tolist()) == list(range(103))
    spread = points[blocks].max(axis=1) - points[blocks].min(axis=1)
    apart = np.random.default_rng(2).permutation(103)[:96].reshape(6, 16)
    assert spread.mean() < 0.6 * (points[apart].max(axis=1) - points[apart].min(axis=1)).mean()


def test_re_estimation_has_the_slope_of_the_processor(backend: CudaBackend, small_blocks: None) -> None:
    lists = toy_lists(3, segments_=4, noise=0.3, metric=make_metric("wer"))
    recipe = GaussianKernels().fit_perceptron(lists, {lists.feature_names[0]: 1.0})
    own = np.random.default_rng(1).normal(size=len(recipe["means"]))
    weights = {f"kernel:{m}": float(each) for m, each in enumerate(own)} | {lists.feature_names[0]: 0.5}
    metric, found = lists.need_stats()[1], []
    for who in (None, backend):
        with computing_with(who or "numba"):
            kernels = MovingKernels(recipe, lists, Risk(metric), weights)
            found.append(kernels.value_and_slopes(kernels.mixture))
    (value, slopes), (own_value, own_slopes) = found
    assert own_value == pytest.approx(value, rel=1e-6)
    for part in PARTS:
        assert np.abs(own_slopes[part] - slopes[part]).max() < 1e-5 * np.abs(slopes[part]).max(), part


@pytest.mark.device
def test_many_kernels_on_a_real_device(hardware: str) -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(20_000, 9))
    mixture = GaussianMixture(rng.normal(size=(30_000, 9)), np.full((1, 9), 0.1), np.zeros(30_000))
    expected = largest(mixture, x[:2000], 8, 1e-3)
    found = []
    for _ in range(2):
        with computing_with(CudaBackend(hardware)):
            found.append(largest(mixture, x, 8, 1e-3))
    assert all((one == two).all() for one, two in zip(*found, strict=True))
    same = np.minimum(found[0][2][:2000], expected[2])
    kept = np.arange(8) < same[:, None]
    assert np.abs(found[0][1][:2000] - expected[1])[kept].max() < 1e-5
