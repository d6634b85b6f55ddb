"""The vectorised exponential and reductions against NumPy."""

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbest.compute.intrinsics import fast_exp, fmax, fmin, prefetch


@numba.njit
def exponentials(x):
    out = np.empty(len(x))
    for k in range(len(x)):
        out[k] = fast_exp(x[k])
    return out


@numba.njit
def extremes(x):
    top, bottom = x[0], x[0]
    for k in range(len(x)):
        top, bottom = fmax(top, x[k]), fmin(bottom, x[k])
    return top, bottom


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_exponential(seed):
    x = np.random.default_rng(seed).uniform(-707.99, 709.0, 200_000)
    np.testing.assert_allclose(exponentials(x), np.exp(x), rtol=2e-15)


def test_exponential_at_marked_places():
    ln2 = np.log(2.0)
    x = np.concatenate([np.arange(-1020, 1021) * ln2 / 2, [0.0, -0.0, 1e-300, -1e-300, 1.0, -1.0, 709.0]])
    np.testing.assert_allclose(exponentials(x), np.exp(x), rtol=2e-15)
    assert exponentials(np.zeros(1))[0] == 1.0


def test_exponential_is_exactly_zero_far_below():
    assert not exponentials(np.array([-708.0, -709.0, -745.0, -1e6, -1e18, -1e300])).any()


@settings(deadline=None, max_examples=100)
@given(st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=20), st.sampled_from([np.float64, np.float32]))
def test_extremes(values, kind):
    x = np.clip(np.array(values), -1e30, 1e30).astype(kind)
    assert extremes(x) == (x.max(), x.min())


@numba.njit
def fetched(x, places):
    total = 0
    for k in range(len(places)):
        prefetch(x, places[k])
        total += x[k]
    return total


def test_fetching_changes_nothing_wherever_it_is():
    x = np.arange(6, dtype=np.int32)
    assert fetched(x, np.array([0, 5, -1, 6, 10**15, -(10**15)])) == 15
    assert x.tolist() == [0, 1, 2, 3, 4, 5]
