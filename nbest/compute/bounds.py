"""Arrays from files, checked before a kernel follows them: kernels do not look where they read.

Each check is one or two passes over an array and raises a `FormatError` that names the file. `remedy` ends its message.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from nbest.base.errors import FormatError
from nbest.base.types import Floats, Ints

_MOST_COUNTED = 2**40


class Bounds(NamedTuple):
    """Checks of the arrays of one file or folder."""

    path: str | Path
    remedy: str

    def fail(self, name: str, rule: str) -> FormatError:
        """The error: which array breaks which rule."""
        return FormatError(self.path, None, f"is damaged: {name} must {rule}; {self.remedy}")

    def sizes(self, name: str, array: np.ndarray, *shape: int) -> None:
        """So many rows (and columns)."""
        if array.shape != shape:
            raise self.fail(name, f"have {' x '.join(map(str, shape))} entries, not {_by(array.shape)}")

    def offsets(self, name: str, array: Ints, rows: int, end: int, *, empty: bool = True) -> None:
        """[rows+1] from 0 to `end`, never falling; without `empty`, rising."""
        if rows < 0:
            raise self.fail(name, "begin with 0")
        self.sizes(name, array, rows + 1)
        if array[0] != 0 or array[-1] != end or not rises(array, empty=empty):
            raise self.fail(name, f"rise from 0 to {end}")

    def numbers(self, name: str, array: Ints, below: int, *, least: int = 0) -> None:
        """Whole numbers from `least` to under `below`."""
        if array.size and not (array.min() >= least and array.max() < below):
            raise self.fail(name, f"be between {least} and {below - 1}")

    def counts(self, name: str, array: Ints, *, least: int = 1) -> None:
        """How often something was seen, not so often that sums overflow."""
        self.numbers(name, array, _MOST_COUNTED, least=least)

    def finite(self, name: str, array: Floats) -> None:
        """No infinities, no nan."""
        if array.size and not (array.min() > -np.inf and array.max() < np.inf):
            raise self.fail(name, "be finite numbers")

    def shares(self, name: str, array: Floats) -> None:
        """From 0 to 1."""
        if array.size and not (array.min() >= 0 and array.max() <= 1):
            raise self.fail(name, "be between 0 and 1")

    def logarithms(self, name: str, array: Floats) -> None:
        """Numbers or -inf."""
        if array.size and not array.max() < np.inf:
            raise self.fail(name, "be numbers or -inf")


def rises(array: Ints, *, empty: bool = True) -> bool:
    """Whether no number is less than the one before it, nor without `empty` the same. They are compared: differences
    of numbers that are far apart overflow."""
    later, earlier = array[1:], array[:-1]
    return bool(((later >= earlier) if empty else (later > earlier)).all())


def _by(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape)) or "one"
