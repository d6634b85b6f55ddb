"""Axes: from values to pixels, which values are spread by their ratios, and round ticks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nbest.base.types import Floats

Ticks = Sequence[tuple[float, str]]
"""Values, and what is written at them."""

_SPAN = 4.0  # ratio of the largest to the smallest value from which an axis may be logarithmic
_WIDE = 10.0  # the same for two values, which tell nothing by their distances


@dataclass(frozen=True)
class Scale:
    """From values low..high to pixels start..end."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        low, high = (math.log(self.low), math.log(self.high)) if self.log else (self.low, self.high)
        at = math.log(value) if self.log else value
        return self.start + (self.end - self.start) * (at - low) / (high - low)


def geometric(values: Iterable[float]) -> bool:
    """Whether values grow by about equal ratios, rather than by equal steps, so that their axis is logarithmic.

    All must be above 0, the largest at least 4 times the smallest, and their logarithms more evenly spread than
    they are themselves; two values must differ by a factor of 10.
    """
    known = sorted({float(value) for value in values})
    if len(known) < 2 or not known[0] > 0 or not math.isfinite(known[-1]):
        return False
    if len(known) == 2:
        return known[1] >= _WIDE * known[0]
    return known[-1] >= _SPAN * known[0] and _unevenness(np.log(known)) < 0.75 * _unevenness(np.array(known))


def places_of(values: Sequence[Any]) -> tuple[list[float], bool]:
    """Where the values of a setting stand on an axis, and whether that is logarithmic.

    Numbers stand at their values; what is no number, and 0 beside values that grow by ratios, one after the other.
    """
    in_turn = [float(at) for at in range(len(values))]
    if not all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        return in_turn, False
    numbers = [float(value) for value in values]
    above = [value for value in numbers if value > 0]
    if min(numbers, default=1.0) == 0 and geometric(above):
        return in_turn, False
    return numbers, geometric(numbers)


def _unevenness(places: Floats) -> float:
    """The spread of the distances between neighbours, relative to their mean."""
    steps = np.diff(places)
    return float(steps.std() / steps.mean())


def step_of(span: float, count: int) -> float:
    """The round step (1, 2, 2.5 or 5 times a power of ten) that cuts `span` into at most about `count` parts."""
    rough = span / count
    power = 10.0 ** math.floor(math.log10(rough))
    return next(power * factor for factor in (1.0, 2.0, 2.5, 5.0, 10.0) if power * factor >= rough * (1 - 1e-9))


def ticks(low: float, high: float, count: int = 6, *, whole: bool = False) -> list[tuple[float, str]]:
    """Round values from low to high, with labels of equal precision; `whole` takes only whole numbers."""
    step = step_of(high - low, count)
    if whole and step % 1:
        step = 1.0 if step < 1 else 5.0  # 2.5 is the only other step that is not whole
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    values = [step * number for number in range(first, last + 1)]
    largest = max((abs(value) for value in values), default=0.0)
    if largest >= 1e6 or step < 1e-4:
        return [(value, _minus(f"{value:.3g}")) for value in values]
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    digits += 1 if round(step * 10**digits, 9) % 1 else 0  # a step of 2.5 needs one more
    return [(value, _minus(f"{value + 0.0:.{digits}f}")) for value in values]


def log_ticks(low: float, high: float, count: int = 6, *, whole: bool = False) -> list[tuple[float, str]]:
    """Powers of ten from low to high; 2 and 5 times these if there is room, and even values where there are few."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    for factors in ((1, 2, 5), (1,)):
        values = [factor * 10.0**power for power in range(first, last + 1) for factor in factors]
        inside = [v for v in values if low * (1 - 1e-9) <= v <= high * (1 + 1e-9) and not (whole and v % 1)]
        if len(inside) <= count:
            break
    else:
        inside = inside[:: math.ceil(len(inside) / count)]
    return [(value, f"{value:g}") for value in inside] if len(inside) > 1 else ticks(low, high, count, whole=whole)


def padded(low: float, high: float, share: float = 0.05) -> tuple[float, float]:
    """The range with a margin on both sides; never empty."""
    if not high > low:
        margin = max(abs(low) * 0.01, 1e-3)
        return low - margin, high + margin
    return low - share * (high - low), high + share * (high - low)


def label(value: float) -> str:
    """A number as a label, to four digits."""
    return _minus(f"{value:.4g}")


def _minus(text: str) -> str:
    return text.replace("-", "\u2212")
