"""The routine called by itself against `scipy.optimize.minimize`, bit for bit."""

import subprocess
import sys
from unittest.mock import patch

import numpy as np
import pytest
import scipy
from scipy.optimize import rosen, rosen_der

from nbest.optimisers import lbfgsb

KNOWN = pytest.mark.skipif(
    tuple(map(int, scipy.__version__.split(".")[:2])) < (1, 17), reason="an older SciPy describes its routine otherwise"
)


def never(*_):
    return False


def bent(seed, size):
    """A smooth function with curved valleys."""
    rng = np.random.default_rng(seed)
    matrix = rng.normal(size=(size, size))

    def function(x):
        y = matrix @ x
        return float(np.sum(np.sqrt(1 + y**2)) + 0.01 * x @ x), matrix.T @ (y / np.sqrt(1 + y**2)) + 0.02 * x

    return function


FUNCTIONS = {
    "rosen": (lambda x: (rosen(x), rosen_der(x)), np.array([-1.2, 1.0, 0.7])),
    "one": (lambda x: (float(np.logaddexp(0, x[0]) - 0.3 * x[0]), 1 / (1 + np.exp(-x)) - 0.3), np.ones(1)),
    "kink": (lambda x: (float(np.abs(x).sum()), np.sign(x)), np.array([1.0, 0.3])),
    "flat": (lambda x: (1.0, np.zeros(2)), np.zeros(2)),
    **{f"bent {seed}": (bent(seed, 3 + seed), np.arange(3.0 + seed)) for seed in range(6)},
}


@KNOWN
@pytest.mark.parametrize("stop", [None, 3], ids=["to the end", "stopped"])
@pytest.mark.parametrize(("iterations", "tolerance"), [(500, 1e-9), (7, 1e-9), (50, 1e-6), (500, 0.0)])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_same_end_as_scipys(name, iterations, tolerance, stop):
    function, start = FUNCTIONS[name]
    ends = []
    for way in (lbfgsb.minimise, lbfgsb._by_scipy):
        asked, told = [], []

        def noted(x, asked=asked):
            asked.append(x.tolist())
            return function(x)

        def after(number, x, value, told=told):
            told.append((number, x.tolist(), value))
            return number == stop

        end = way(noted, start, iterations, tolerance, after)
        ends.append((end.x.tolist(), float(end.fun), end.nit, end.nfev, end.status, end.message, asked, told))
    assert lbfgsb.routine() is not None
    assert ends[0] == ends[1]
    assert start.tolist() == FUNCTIONS[name][1].tolist()


def test_another_scipy_is_asked_as_it_wants():
    """A routine that describes itself otherwise is not called."""
    with patch.object(lbfgsb, "_CALL", "setulb(other)"):
        assert lbfgsb.routine() is None
        function, start = FUNCTIONS["rosen"]
        end = lbfgsb.minimise(function, start, 500, 1e-9, never)
    assert end.x.tolist() == lbfgsb.minimise(function, start, 500, 1e-9, never).x.tolist()


@KNOWN
def test_scipys_package_of_optimisers_is_not_imported():
    code = (
        "import sys, numpy; from nbest.optimisers.lbfgs import lbfgs;"
        "lbfgs(lambda w: (float(w @ w), 2 * w), numpy.ones(2)); print('scipy.optimize' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False"]
