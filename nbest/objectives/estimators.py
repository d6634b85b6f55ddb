"""The expectation of a corpus metric E[m(S)], S = sum_i s_i, by five roads: to check Taylor, and for small corpora.

Every list is decoded on its own by its posterior, so S is a sum of independent statistics. Smith & Eisner (2006),
section 5, use the Taylor expansion that `Risk` minimises and name the other two:

    taylor1       m(mu)                                                   O(H M)
    taylor2       m(mu) + 1/2 tr(Q(mu) V)                                 O(H M^2 + M^4)
    normal        the integral of m over N(mu, V), by Gauss-Hermite       O(H M^2 + nodes^rank(V))
    convolution   sum over all S of P(S) m(S), P by convolution: exact    O(K cells) a segment, K distinct statistics
    sampled       the mean of m over drawn choices                        O(samples N)

mu and V are mean and covariance of S, Q is the Hessian of m. A formula is what `smooth` of a metric is: a function of
M totals, plain arrays or jets alike. `stats` are [H, M], `posterior` is [H] and sums to 1 within each filled list.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from nbest.base.errors import CapabilityError, ParameterError, look_up
from nbest.base.randomness import generator
from nbest.base.types import Floats, Ints
from nbest.compute import segments
from nbest.compute.jets import expand

Formula = Callable[[Sequence[Any]], Any]

_MOST_CELLS = 20_000_000
_MOST_NODES = 2_000_000
_FLAT = 1e-12  # directions with a smaller share of the variance count as fixed


def expected(
    formula: Formula, posterior: Floats, stats: Floats, offsets: Ints, how: str = "taylor2", **options: Any
) -> float:
    """E[formula(S)] by one of `ESTIMATORS`; options are those of the estimator (`nodes`, `samples`, `seed`)."""
    estimator = look_up(ESTIMATORS, how, "estimator")
    return estimator(formula, _checked(posterior, stats, offsets), stats, offsets, **options)


def moments(posterior: Floats, stats: Floats, offsets: Ints) -> tuple[Floats, Floats]:
    """Mean [M] and covariance [M, M] of the totals."""
    means = segments.sums(posterior[:, None] * stats, offsets)
    centred = stats - np.repeat(means, segments.lengths(offsets), axis=0)
    return means.sum(axis=0), (posterior[:, None] * centred).T @ centred


def taylor1(formula: Formula, posterior: Floats, stats: Floats, offsets: Ints) -> float:
    """The formula of expected totals."""
    return float(formula(list(moments(posterior, stats, offsets)[0])))


def taylor2(formula: Formula, posterior: Floats, stats: Floats, offsets: Ints) -> float:
    """The formula of expected totals, and half the trace of its Hessian times their covariance."""
    mean, covariance = moments(posterior, stats, offsets)
    found = expand(formula, mean, covariance)
    return found.value + 0.5 * float((found.hessian * covariance).sum())


def normal(formula: Formula, posterior: Floats, stats: Floats, offsets: Ints, nodes: int = 64) -> float:
    """The integral over the normal distribution with the mean and covariance of the totals.

        sum_x w_x m(mu + sum_r sqrt(2 lambda_r) x_r e_r)

    over Gauss-Hermite nodes x, `nodes` along each eigenvector e_r of V whose eigenvalue lambda_r is not 0. Totals that
    no choice reaches are moved to the nearest ones within the smallest and largest total of each statistic: the mass
    that a normal has on negative counts lies on 0. (That no more can be correct than guessed is not enforced.)
    """
    if nodes < 1:
        raise ParameterError(f"'nodes' of normal must be >= 1, got {nodes}")
    mean, covariance = moments(posterior, stats, offsets)
    spread, directions = np.linalg.eigh(covariance)
    wide = spread > _FLAT * max(float(spread.max(initial=0.0)), 1e-300)
    rank = int(wide.sum())
    if nodes**rank > _MOST_NODES:
        raise CapabilityError(
            f"normal: {rank} statistics vary freely, which takes {nodes}^{rank} nodes, more than {_MOST_NODES}; "
            "use fewer 'nodes', or how='sampled'"
        )
    places, weights = np.polynomial.hermite.hermgauss(nodes)
    grid = np.indices((nodes,) * rank).reshape(rank, nodes**rank)
    mass = (weights / np.sqrt(np.pi))[grid].prod(axis=0)
    totals = mean[:, None] + (directions[:, wide] * np.sqrt(2.0 * spread[wide])) @ places[grid]
    low, high = _reach(stats, offsets)
    return float(mass @ np.broadcast_to(formula(list(np.clip(totals, low[:, None], high[:, None]))), mass.shape))


def convolution(formula: Formula, posterior: Floats, stats: Floats, offsets: Ints) -> float:
    """The exact expectation, from the probability of every total: one convolution a segment, for whole statistics.

    Statistics that never differ within a list are fixed; the others span the table: (correct, guessed) for precision
    and F1 with one reference. Direct sums of positive terms, so nothing is lost to rounding as by a Fourier transform.
    """
    table, varying, low = distribution(posterior, stats, offsets)
    totals: list[Floats] = [np.asarray(value) for value in low]
    for axis, m in enumerate(varying):
        shape = [1] * len(varying)
        shape[axis] = -1
        totals[m] = low[m] + np.arange(table.shape[axis]).reshape(shape)
    return float((table * formula(totals)).sum())


def distribution(posterior: Floats, stats: Floats, offsets: Ints) -> tuple[Floats, Ints, Floats]:
    """P(S): a table with an axis for each of the statistics `varying`, which starts at their smallest totals `low` [M].

    Returns table, varying, low.
    """
    low, high = _reach(stats, offsets)
    varying = np.flatnonzero(high > low)
    whole = stats[:, varying]
    if not np.array_equal(whole, np.rint(whole)):
        raise CapabilityError("convolution needs whole statistics and these have fractions; use how='normal'")
    cells = float(np.prod(high[varying] - low[varying] + 1.0))
    if cells > _MOST_CELLS:
        raise CapabilityError(
            f"convolution would need a table of {cells:.3g} totals, more than {_MOST_CELLS}; "
            "use how='normal', how='sampled' or fewer segments"
        )
    table: Floats = np.ones((1,) * len(varying))
    for first, last in zip(offsets[:-1], offsets[1:], strict=True):
        if first < last:
            table = _with_list(table, whole[first:last].astype(np.int64), posterior[first:last])
    return table, varying, low


def _with_list(table: Floats, rows: Ints, posterior: Floats) -> Floats:
    """The table of totals with those of one more list [K, axes]."""
    shifts, which = np.unique(rows - rows.min(axis=0), axis=0, return_inverse=True)
    mass = np.bincount(which.ravel(), weights=posterior, minlength=len(shifts))
    out = np.zeros(np.add(table.shape, shifts.max(axis=0, initial=0)))
    for shift, p in zip(shifts, mass, strict=True):
        out[tuple(slice(s, s + size) for s, size in zip(shift, table.shape, strict=True))] += p * table
    return out


def monte_carlo(
    formula: Formula, posterior: Floats, stats: Floats, offsets: Ints, samples: int = 10_000, seed: int = 1
) -> tuple[float, float]:
    """The mean of the formula over `samples` random choices of one hypothesis a list, and its standard error."""
    if samples < 2:
        raise ParameterError(f"'samples' of monte_carlo must be >= 2, got {samples}")
    random = generator(seed)
    totals = np.zeros((samples, stats.shape[1]))
    for first, last in zip(offsets[:-1], offsets[1:], strict=True):
        if first < last:
            cumulative = np.cumsum(posterior[first:last])
            drawn = np.searchsorted(cumulative, random.random(samples) * cumulative[-1], side="right")
            totals += stats[first + np.minimum(drawn, last - first - 1)]
    values = np.broadcast_to(formula(list(totals.T)), (samples,))
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(samples))


def sampled(
    formula: Formula, posterior: Floats, stats: Floats, offsets: Ints, samples: int = 10_000, seed: int = 1
) -> float:
    """The mean of `monte_carlo`."""
    return monte_carlo(formula, posterior, stats, offsets, samples, seed=seed)[0]


def _reach(stats: Floats, offsets: Ints) -> tuple[Floats, Floats]:
    """[M] smallest and largest total of each statistic over all choices."""
    filled = segments.lengths(offsets) > 0
    low, high = -segments.maxima(-stats, offsets)[filled], segments.maxima(stats, offsets)[filled]
    return low.sum(axis=0), high.sum(axis=0)


def _checked(posterior: Floats, stats: Floats, offsets: Ints) -> Floats:
    posterior = np.asarray(posterior, np.float64)
    if posterior.shape != (offsets[-1],) or stats.ndim != 2 or len(stats) != offsets[-1]:
        raise ParameterError(
            f"expected needs a posterior [H] and stats [H, M] of {offsets[-1]} hypotheses, "
            f"got {posterior.shape} and {stats.shape}"
        )
    sums = segments.sums(posterior, offsets)[segments.lengths(offsets) > 0]
    if (posterior < 0).any() or not np.allclose(sums, 1.0, rtol=0, atol=1e-9):
        raise ParameterError("'posterior' of expected must be >= 0 and sum to 1 within each list")
    return posterior


ESTIMATORS: dict[str, Callable[..., float]] = {
    "taylor1": taylor1,
    "taylor2": taylor2,
    "normal": normal,
    "convolution": convolution,
    "sampled": sampled,
}
"""Estimators by name."""
