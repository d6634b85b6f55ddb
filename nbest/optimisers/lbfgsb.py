"""SciPy's L-BFGS-B routine, without `scipy.optimize`: importing that takes a quarter of a second, the routine 5 ms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from nbest.base.types import Floats
from nbest.compute.blas import scipy_part

Function = Callable[[Floats], tuple[float, Floats]]
Callback = Callable[[int, Floats, float], bool]

_CALL = "setulb(m,x,l,u,nbd,f,g,factr,pgtol,wa,iwa,task,lsave,isave,dsave,maxls,ln_task)"  # SciPy 1.17, 1.18
_MEMORY, _STEPS = 10, 20  # corrections kept, and steps of a line search: SciPy's defaults
_NEW, _WANTED, _DONE, _STOP, _ABNORMAL = 1, 3, 4, 5, 8  # what the routine says, and is told
_TOO_MANY, _LIMIT, _HALT = 502, 504, 505
_SAID = {
    401: "CONVERGENCE: NORM OF PROJECTED GRADIENT <= PGTOL",
    402: "CONVERGENCE: RELATIVE REDUCTION OF F <= FACTR*EPSMCH",
    _TOO_MANY: "STOP: TOTAL NO. OF F,G EVALUATIONS EXCEEDS LIMIT",
    _LIMIT: "STOP: TOTAL NO. OF ITERATIONS REACHED LIMIT",
    _HALT: "`callback` raised `StopIteration`.",
}


@dataclass(frozen=True)
class End:
    """Where a minimisation ended: point, value, iterations, evaluations, SciPy's status and message."""

    x: Floats
    fun: float
    nit: int
    nfev: int
    status: int
    message: str


def routine() -> Any:
    """The routine of the SciPy that is installed; None where it is called otherwise than we know."""
    from scipy.__config__ import CONFIG

    found = getattr(scipy_part("optimize._lbfgsb"), "setulb", None)
    described = (getattr(found, "__doc__", None) or "").partition("\n")[0].replace(" ", "")
    wide = CONFIG["Build Dependencies"]["lapack"].get("has ilp64", False)  # its whole numbers then have 64 bits
    return found if described == _CALL and not wide else None


def minimise(function: Function, start: Floats, iterations: int, tolerance: float, callback: Callback) -> End | Any:
    """What `scipy.optimize.minimize(method="L-BFGS-B")` finds, to the bit; itself where the routine is not known."""
    found = routine()
    if found is None:
        return _by_scipy(function, start, iterations, tolerance, callback)
    return _Descent(found, function, start, tolerance).end(iterations, callback)


class _Descent:
    """The arrays that the routine works in, and what it is called with."""

    def __init__(self, routine: Any, function: Function, start: Floats, tolerance: float) -> None:
        self.function, self.routine = function, routine
        self.x, size, m = np.array(start, np.float64), len(start), _MEMORY
        self.evaluations, self.known = 0, np.full(size, np.nan)
        free = np.zeros(size), np.zeros(size), np.zeros(size, np.int32)  # no bounds
        self.task, counts = np.zeros(2, np.int32), (2, 4, 44)
        steps, logical, whole = (np.zeros(count, np.int32) for count in counts)
        work = np.zeros(2 * m * size + 5 * size + 11 * m * m + 8 * m), np.zeros(3 * size, np.int32)
        self.before = m, self.x, *free
        rest = work, (self.task, logical, whole, np.zeros(29), _STEPS, steps)
        self.after = tolerance / np.finfo(float).eps, tolerance, *rest[0], *rest[1]
        self.value: Any = np.zeros(())
        self.gradient = np.zeros(size)

    def evaluate(self) -> None:
        """Value and gradient at x, once for each point."""
        if not np.array_equal(self.known, self.x):
            self.known = self.x.copy()
            value, gradient = self.function(self.known.copy())
            self.evaluated = float(value), np.array(gradient, np.float64)
            self.evaluations += 1
        self.value, self.gradient = self.evaluated[0], self.evaluated[1].copy()

    def end(self, iterations: int, callback: Callback) -> End:
        """Run to the end."""
        rounds, most, halted = 0, 10 * iterations, False
        while True:
            self.routine(*self.before, self.value, self.gradient, *self.after)
            if self.task[0] == _WANTED:
                self.evaluate()
            elif self.task[0] == _NEW:
                rounds += 1
                halted = callback(rounds, self.x.copy(), float(self.value))
                if halted:
                    self.task[:] = _STOP, _HALT
                if rounds >= iterations:
                    self.task[:] = _STOP, _LIMIT
                elif self.evaluations > most:
                    self.task[:] = _STOP, _TOO_MANY
            else:
                break
        what, why = self.task.tolist()
        limited = self.evaluations > most or rounds >= iterations
        status = 99 if halted else 0 if what == _DONE else 1 if limited else 2
        message = _SAID.get(_HALT if halted else why, "ABNORMAL: " if what == _ABNORMAL else f"STOP: {what}, {why}")
        value = float(self.value)
        return End(x=self.x, fun=value, nit=rounds, nfev=self.evaluations, status=status, message=message)


def _by_scipy(function: Function, start: Floats, iterations: int, tolerance: float, callback: Callback) -> Any:
    from scipy.optimize import minimize

    rounds: list[int] = []

    def after(intermediate_result: Any) -> None:  # the name tells scipy to pass value and point
        rounds.append(1)
        if callback(len(rounds), intermediate_result.x, float(intermediate_result.fun)):
            raise StopIteration

    options = {"maxiter": iterations, "ftol": tolerance, "gtol": tolerance, "maxfun": 10 * iterations}
    return minimize(
        function, np.asarray(start, np.float64), jac=True, method="L-BFGS-B", options=options, callback=after
    )
