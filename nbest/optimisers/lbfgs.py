"""L-BFGS by scipy, with our Result."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from nbest.base.errors import NbestError
from nbest.base.types import Floats
from nbest.compute.blas import ONE_BLAS_THREAD
from nbest.optimisers.lbfgsb import minimise
from nbest.optimisers.result import Result


def lbfgs(
    function: Callable[[Floats], tuple[float, Floats]],
    start: Floats,
    *,
    iterations: int = 500,
    tolerance: float = 1e-9,
    callback: Callable[[int, Floats, float], bool] | None = None,
) -> Result:
    """Minimise `function`, which returns value and gradient, from `start`.

    Liu & Nocedal (1989); stops when the relative change of the value falls below `tolerance`, when the largest
    gradient entry does, after `iterations`, or when `callback(iteration, weights, value)` returns True.
    Another run from the result's weights resumes.
    """
    history: list[dict[str, float]] = []

    def checked(weights: Floats) -> tuple[float, Floats]:
        value, gradient = function(weights)
        if not (np.isfinite(value) and np.isfinite(gradient).all()):
            raise NbestError(f"the objective is not finite ({value}) at weights {weights}")
        history.append({"value": float(value)})
        return value, gradient

    with ONE_BLAS_THREAD:
        end = minimise(checked, start, iterations, tolerance, callback or (lambda *_: False))
    message = end.message if isinstance(end.message, str) else end.message.decode()
    # the line search gives up where rounding hides any further gain: that is convergence for practical purposes
    done = end.status in (0, 99) or (end.status == 2 and "ABNORMAL" in message.upper())
    return Result(
        weights=np.asarray(end.x),
        value=float(end.fun),
        status="converged" if done else "limit",
        message=f"L-BFGS stopped after {end.nit} iterations: {message}",
        evaluations=int(end.nfev),
        history=tuple(history),
    )
