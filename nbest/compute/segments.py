"""Reductions over offsets: the only place that reduces a flat array by segment.

Segment i of a flat array is `offsets[i]:offsets[i + 1]`. Empty segments are legal:
their sum is 0, their max and logsumexp are -inf, their argmax is -1. Ties go to the lowest index.
(`np.add.reduceat` returns a neighbour's value on an empty segment, which is why nothing else calls it.)
"""

from __future__ import annotations

import numpy as np

from nbest.base.types import Floats, Ints


def lengths(offsets: Ints) -> Ints:
    """[N] number of items of each segment."""
    return np.diff(offsets)


def offsets_of(lengths: Ints) -> Ints:
    """[N+1] offsets of segments with these lengths."""
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def owners(offsets: Ints) -> Ints:
    """[H] segment number of each item."""
    return np.repeat(np.arange(len(offsets) - 1), lengths(offsets))


def rows_of(offsets: Ints, chosen: Ints) -> tuple[Ints, Ints]:
    """Items of the chosen segments, one segment after the other, and the offsets of these segments among them."""
    sizes = lengths(offsets)[chosen]
    new = offsets_of(sizes)
    return np.arange(new[-1]) - np.repeat(new[:-1] - offsets[:-1][chosen], sizes), new


def _reduce(ufunc: np.ufunc, values: Floats, offsets: Ints, empty: float) -> Floats:
    out = np.full((len(offsets) - 1, *values.shape[1:]), empty, dtype=np.result_type(values, type(empty)))
    filled = lengths(offsets) > 0
    if filled.any():
        out[filled] = ufunc.reduceat(values, offsets[:-1][filled], axis=0)
    return out


def sums(values: Floats, offsets: Ints) -> Floats:
    """[N, ...] sum of each segment; 0 where empty."""
    return _reduce(np.add, np.asarray(values, np.float64), offsets, 0.0)


def maxima(values: Floats, offsets: Ints) -> Floats:
    """[N, ...] maximum of each segment; -inf where empty."""
    return _reduce(np.maximum, np.asarray(values, np.float64), offsets, -np.inf)


def argmax(values: Floats, offsets: Ints) -> Ints:
    """[N] flat index of the first maximum of each segment; -1 where empty."""
    out = np.full(len(offsets) - 1, -1, np.int64)
    filled = lengths(offsets) > 0
    hits = np.flatnonzero(values == np.repeat(maxima(values, offsets), lengths(offsets)))
    starts = offsets[:-1][filled]
    out[filled] = hits[np.searchsorted(hits, starts)]
    return out


def logsumexp(values: Floats, offsets: Ints) -> Floats:
    """[N] log of the sum of exponentials; -inf where empty or where all values are -inf."""
    top = maxima(values, offsets)
    shift = np.where(np.isfinite(top), top, 0.0)
    total = sums(np.exp(values - np.repeat(shift, lengths(offsets))), offsets)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(total) + shift)


def softmax(values: Floats, offsets: Ints) -> Floats:
    """[H] probabilities, summing to 1 in each segment; a segment of only -inf gets zeros."""
    top = maxima(values, offsets)
    sizes = lengths(offsets)
    mass = np.exp(values - np.repeat(np.where(np.isfinite(top), top, 0.0), sizes))
    total = sums(mass, offsets)  # divided by, and not subtracted as a logarithm, which is lost beside a huge value
    return np.asarray(mass / np.repeat(np.where(total > 0, total, 1.0), sizes))


def deviation(values: Floats, offsets: Ints) -> float:
    """Standard deviation of values around the means of their segments; 0 without values."""
    if not len(values):
        return 0.0
    means = sums(values, offsets) / np.maximum(lengths(offsets), 1)
    squares = np.repeat(means, lengths(offsets))  # in place: there may be very many
    np.subtract(values, squares, out=squares)
    return float(np.sqrt(np.mean(np.square(squares, out=squares))))


def ranks(values: Floats, offsets: Ints) -> Ints:
    """[H] rank of each item in its segment by falling value, 0 first; ties in index order."""
    order = np.lexsort((-values, owners(offsets)))
    out = np.empty(len(values), np.int64)
    out[order] = np.arange(len(values)) - np.repeat(offsets[:-1], lengths(offsets))
    return out


def mean_of(values: Floats) -> float:
    """The mean of finite numbers, also where their sum would be too large for a number."""
    with np.errstate(over="ignore"):
        mean = float(np.mean(values))
    if np.isfinite(mean):
        return mean
    size = np.abs(values).max()
    return float(np.mean(values / size) * size)
