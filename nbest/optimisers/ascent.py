"""Adaptive gradient steps: longer after success, shorter and tried again after failure."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from nbest.base.errors import NbestError
from nbest.base.types import Floats
from nbest.optimisers.result import Result

_GROW, _SHRINK = 1.5, 0.5  # the next step after one that was taken, and after one that was not


def adaptive(
    function: Callable[[Floats], tuple[float, Floats]],
    start: Floats,
    *,
    iterations: int = 200,
    tolerance: float = 1e-7,
    step: float = 0.1,
    state: dict[str, float] | None = None,
    callback: Callable[[int, Floats, float], bool] | None = None,
) -> Result:
    """Minimise `function`, which returns value and gradient, from `start`, by steps along the normalised gradient.

    A step that lowers the value is taken and the next is 1.5 times as long; one that does not is retried from the
    same point half as long. The value never rises. Pauls et al. (2009), section 4.1.
    Stops when the step or the relative gain falls below `tolerance`, or after `iterations` evaluations.
    `state` ({"step": ...} of an earlier result's `history[-1]["state"]`) resumes; `callback` may return True to stop.
    """
    weights = np.array(start, np.float64)
    length = step if state is None else float(state["step"])
    value, gradient = _checked(function, weights)
    history: list[dict[str, object]] = [{"value": value}]
    status, message = "limit", f"stopped after {iterations} evaluations"
    while len(history) < iterations:
        size = float(np.linalg.norm(gradient))
        if size == 0.0 or length < tolerance:
            status, message = "converged", f"no downhill step longer than {tolerance:g}"
            break
        moved = weights - length / size * gradient
        new_value, new_gradient = _checked(function, moved)
        history.append({"value": new_value})
        if not new_value < value:
            length *= _SHRINK
            continue
        gain, weights, value, gradient = value - new_value, moved, new_value, new_gradient
        length *= _GROW
        if gain < tolerance * max(abs(value), 1e-12):
            status, message = "converged", f"the value falls by less than {tolerance:g} a step"
            break
        if callback is not None and callback(len(history), weights, value):
            status, message = "converged", "stopped by the caller"
            break
    history[-1]["state"] = {"step": length}
    return Result(
        weights, value, status, f"adaptive ascent: {message}", evaluations=len(history), history=tuple(history)
    )


def _checked(function: Callable[[Floats], tuple[float, Floats]], weights: Floats) -> tuple[float, Floats]:
    value, gradient = function(weights)
    if not (np.isfinite(value) and np.isfinite(gradient).all()):
        raise NbestError(f"the objective is not finite ({value}) at weights {weights}")
    return float(value), gradient
