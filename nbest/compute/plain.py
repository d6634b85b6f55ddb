"""Where Numba is absent kernels are plain Python functions, and this is what they call. Slow, and right.

Who computes on an accelerator can do without Numba: passes over lists are kernels of the device then.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps
from importlib.util import find_spec
from typing import Any

import numpy as np

HAS_NUMBA = find_spec("numba") is not None
"""Whether kernels are compiled."""

fmax, fmin, new = max, min, np.empty


def plain_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel that is not compiled; sums may overflow and quotients be infinite, as compiled ones do."""

    @wraps(function)
    def call(*given: Any, **named: Any) -> Any:
        with np.errstate(all="ignore"):
            return function(*given, **named)

    return call


def fast_exp(x: float) -> float:
    """exp(x), exactly 0 below -708."""
    return math.exp(x) if x > -708.0 else 0.0


def prefetch(array: Any, index: int) -> None:
    """Nothing."""


def load(array: Any, row: int, column: int) -> Any:
    """Four neighbours, in float64."""
    return array[row, column : column + 4].astype(np.float64)


def store(array: Any, row: int, column: int, value: Any) -> None:
    """array[row, column : column + 4] = value."""
    array[row, column : column + 4] = value


def spread(value: float) -> Any:
    """Four times the same number."""
    return np.full(4, value)


def lane(value: Any, index: int) -> float:
    """One of the four."""
    return float(value[index])


def as_it_is(function: Any = None, **options: Any) -> Any:
    """Stands for Numba's decorators of functions that kernels call."""
    return function if function is not None else as_it_is


def no_overload(function: Any, **options: Any) -> Any:
    """Stands for Numba's `overload`: the function itself is called."""
    return as_it_is


def to_fixed_tuple(array: Any, size: int) -> tuple[Any, ...]:
    """The first numbers of an array."""
    return tuple(array[:size])
