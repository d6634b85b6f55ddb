"""Ratios of totals in percent, defined where the denominator is 0."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from nbest.base.errors import ParameterError
from nbest.base.types import Floats
from nbest.compute.jets import Value, log

FLOOR = 0.1
"""Added to counts in smooth formulas, so that a count whose expectation vanishes gives no infinite slope."""


def percent(part: npt.ArrayLike, whole: npt.ArrayLike) -> Floats:
    """[...] 100 part / whole; 0 where the whole is 0."""
    part, whole = np.asarray(part, np.float64), np.asarray(whole, np.float64)
    return 100.0 * np.divide(part, whole, out=np.zeros(np.broadcast_shapes(part.shape, whole.shape)), where=whole > 0)


def error_rate(totals: Floats) -> Floats:
    """[...] 100 errors / length of totals [..., 2]; without length: 100 with errors, else 0 (as sacrebleu)."""
    totals = np.asarray(totals, np.float64)
    errors, lengths = totals[..., 0], totals[..., 1]
    return np.where(lengths > 0, percent(errors, lengths), np.where(errors > 0, 100.0, 0.0))


def smooth_rate(part: Value, whole: Value) -> Value:
    """part / whole of expected totals, for plain arrays and jets; FLOOR is added to the whole."""
    return part / (whole + FLOOR)


def smooth_log_rate(part: Value, whole: Value) -> Value:
    """log(part / whole) of expected totals, for plain arrays and jets; FLOOR is added to both."""
    return log(part + FLOOR) - log(whole + FLOOR)


class ErrorRate:
    """What metrics with the statistics errors and length share: lower is better."""

    higher_is_better = False

    def score(self, totals: Floats) -> Floats:
        """[...] error rate of totals [..., 2]."""
        return error_rate(totals)

    def smooth(self, s: Sequence[Value]) -> Value:
        """Minus the error rate of expected totals."""
        return -smooth_rate(s[0], s[1])

    def losses(self, stats: Floats) -> Floats:
        """[H] number of errors."""
        return np.array(stats[:, 0])


class Accuracy:
    """What metrics with the statistics correct and total share: higher is better."""

    higher_is_better = True
    stat_names = ("correct", "total")

    def score(self, totals: Floats) -> Floats:
        """[...] accuracy of totals [..., 2]."""
        return percent(totals[..., 0], totals[..., 1])

    def smooth(self, s: Sequence[Value]) -> Value:
        """The accuracy of expected totals."""
        return smooth_rate(s[0], s[1])

    def losses(self, stats: Floats) -> Floats:
        """[H] how many are wrong."""
        return np.asarray(stats[:, 1] - stats[:, 0])


class Mean:
    """What metrics with the statistics value and count share: the mean of the values, in their own unit."""

    higher_is_better: bool
    stat_names = ("value", "count")

    def score(self, totals: Floats) -> Floats:
        """[...] mean value of totals [..., 2]; 0 where nothing was counted."""
        totals = np.asarray(totals, np.float64)
        value, count = totals[..., 0], totals[..., 1]
        return np.divide(value, count, out=np.zeros(value.shape), where=count > 0)

    def smooth(self, s: Sequence[Value]) -> Value:
        """The mean of expected totals, negated where lower is better."""
        return smooth_rate(s[0], s[1]) if self.higher_is_better else -smooth_rate(s[0], s[1])

    def losses(self, stats: Floats) -> Floats:
        """[H] largest value - value; for a cost the cost itself, or cost - smallest cost where one is negative."""
        values = stats[:, 0]
        if self.higher_is_better:
            return np.asarray(values.max(initial=-np.inf) - values)
        return np.asarray(values - min(values.min(initial=0.0), 0.0))


def values_as_stats(label: str, values: npt.ArrayLike) -> Floats:
    """[H, 2] statistics value and count of values [H], which must be finite."""
    column = np.asarray(values, np.float64)
    if column.ndim != 1:
        raise ParameterError(f"values of {label} must be one number a hypothesis, got shape {column.shape}")
    if not np.isfinite(column).all():
        place = int(np.argmax(~np.isfinite(column)))
        raise ParameterError(f"values of {label} must be finite, got {column[place]} for hypothesis {place}")
    return np.stack([column, np.ones(len(column))], axis=1)


def versioned(references: int, **options: object) -> str:
    """A signature in sacrebleu's form for a metric of our own: `nrefs:1|key:value|...|version:nbest-0.1.0`."""
    from nbest.base.version import VERSION

    said = {"nrefs": "var" if references == -1 else references, **options, "version": f"nbest-{VERSION}"}
    words = {True: "yes", False: "no"}
    return "|".join(f"{key}:{words[value] if isinstance(value, bool) else value}" for key, value in said.items())
