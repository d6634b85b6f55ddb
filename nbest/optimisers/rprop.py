"""RProp: steps by the sign of the gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from nbest.base.errors import NbestError
from nbest.base.types import Floats
from nbest.optimisers.result import Result

_GROW, _SHRINK = 1.2, 0.5
_LEAST, _MOST = 1e-6, 50.0
_STILL = 10  # iterations without a change that end it: on a plateau steps that were halved have grown sixfold by then


def rprop(
    function: Callable[[Floats], tuple[float, Floats]],
    start: Floats,
    *,
    iterations: int = 200,
    tolerance: float = 1e-6,
    step: float = 0.1,
    state: dict[str, Any] | None = None,
    callback: Callable[[int, Floats, float], bool] | None = None,
) -> Result:
    """Minimise `function`, which returns value and gradient, from `start`.

    Each weight has its own step, which grows by 1.2 while its gradient keeps its sign and halves when it flips;
    a flipped gradient counts as 0 once. Riedmiller & Braun (1993), as in Nguyen et al. (2007), section 2.4.
    Steps stay in [1e-6, 50]. Stops when the value changes by less than `tolerance`, relative, ten times running.
    The best point seen is returned. `state` (of an earlier result's `history[-1]["state"]`) resumes where that run
    was, whatever `start` is; `callback(iteration, weights, value)` may return True to stop.
    """
    weights = np.array(start if state is None else state["weights"], np.float64)
    steps = np.full(len(weights), step) if state is None else state["steps"].copy()
    last = np.zeros(len(weights)) if state is None else state["gradient"].copy()
    best, best_value, previous, still = weights.copy(), np.inf, np.inf, 0
    if state is not None:
        best, best_value, previous, still = state["best"].copy(), state["best_value"], state["previous"], state["still"]
    history: list[dict[str, object]] = []
    status, message = "limit", f"stopped after {iterations} iterations"
    for iteration in range(iterations):
        value, gradient = function(weights)
        if not (np.isfinite(value) and np.isfinite(gradient).all()):
            raise NbestError(f"the objective is not finite ({value}) at weights {weights}")
        if value < best_value:
            best, best_value = weights.copy(), value
        history.append({"value": float(value)})
        same = still + 1 if abs(previous - value) <= tolerance * max(abs(value), 1e-12) else 0
        if same >= _STILL or not gradient.any():
            status, message = "converged", f"the value no longer changes after {iteration + 1} iterations"
            break
        if callback is not None and callback(iteration, weights, value):
            status, message = "converged", f"stopped by the caller after {iteration + 1} iterations"
            break
        previous, still = value, same  # only now: a run that resumes asks for this value again
        turned = last * gradient
        factor = np.where(turned > 0, _GROW, np.where(turned < 0, _SHRINK, 1.0))
        steps = np.clip(steps * factor, _LEAST, _MOST)
        gradient = np.where(turned < 0, 0.0, gradient)
        weights = weights - np.sign(gradient) * steps
        last = gradient
        if steps.max() <= _LEAST:
            status, message = "converged", f"all steps are down to {_LEAST:g} after {iteration + 1} iterations"
            break
    if history:
        history[-1]["state"] = {
            "weights": weights, "steps": steps, "gradient": last,
            "best": best, "best_value": best_value, "previous": previous, "still": still,
        }  # fmt: skip
    return Result(
        best, float(best_value), status, message=f"RProp: {message}", evaluations=len(history), history=tuple(history)
    )
