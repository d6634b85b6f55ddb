"""Four numbers at a time against NumPy, bit by bit."""

import numba
import numpy as np
import pytest

from nbest.compute.lanes import WIDTH, lane, load, padded, spread, store


@numba.njit
def mixed(x, y, factor, out):
    sums = np.zeros(x.shape[0])
    for i in range(x.shape[0]):
        for c in range(0, x.shape[1], WIDTH):
            four = load(x, i, c) * spread(factor) + load(y, i, c) - load(x, i, c)
            store(out, i, c, four)
            sums[i] += lane(four, 0) - lane(four, 1) + lane(four, 2) * lane(four, 3)
    return sums


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("width", [4, 12])
def test_lanes(width, dtype):
    rng = np.random.default_rng(width)
    x, y = rng.normal(size=(7, width)), rng.normal(size=(7, width)).astype(dtype)
    out = np.zeros((9, width))
    sums = mixed(x, y, 0.3, out[1:8])
    wide = y.astype(np.float64)
    expected = x * 0.3 + wide - x
    assert np.array_equal(out[1:8], expected)
    assert not out[[0, 8]].any()
    four = expected.reshape(7, -1, 4)
    assert np.allclose(sums, (four[..., 0] - four[..., 1] + four[..., 2] * four[..., 3]).sum(axis=1), rtol=1e-13)


def test_padded():
    assert [padded(size) for size in range(6)] == [0, 4, 4, 4, 4, 8]
