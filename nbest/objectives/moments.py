"""The two passes of the Numba backend over lists: posteriors with their moments, and the weighted feature sum.

Lists are blocked by segment: features of segment i are `columns[D * offsets[i] : D * offsets[i+1]]`, seen as [D, K_i],
and statistics likewise as [M, K_i]: each pass reads memory once, in order. Sums over segments are made in blocks of a
fixed number of segments, then in block order, so the result does not depend on the number of threads.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from nbest.base.mapped import room
from nbest.base.types import Floats, Ints
from nbest.compute import segments
from nbest.compute.compilation import fast_kernel, kernel
from nbest.compute.intrinsics import fast_exp, fmax, new
from nbest.compute.parallel import over_ranges
from nbest.compute.vectors import add, combine, dot
from nbest.objectives.backends import Moments, StatCredit

_BLOCK = 32  # segments whose gradients are summed together


@dataclass
class Blocked:
    """Lists laid out for the kernels, with room for what the first pass leaves for the second."""

    columns: Floats  # [H * D]
    stats: Floats  # [H * M]
    offsets: Ints  # [N+1]
    width: int  # D
    measures: int  # M
    posterior: Floats  # [H]
    log_posterior: Floats  # [H]
    means: Floats  # [N, M]

    @classmethod
    def of(
        cls, features: Floats, stats: Floats, offsets: Ints, *, scale: Floats | None = None, single: bool = False
    ) -> Blocked:
        """Lay out features [H, D], each less its segment's mean (which changes no posterior), divided by `scale` [D].

        Columns of scale 0 become 0. They are kept in float32 if `single` or if they came so, which halves the memory
        that every pass reads; centred, they lose nothing that matters. Statistics [H, M] become int16 where they can.
        """
        hypotheses, width = features.shape
        factors = np.ones(width) if scale is None else np.divide(1.0, scale, out=np.zeros(width), where=scale > 0)
        kind = np.float32 if single or features.dtype == np.float32 else np.float64
        columns = room(hypotheses * width, kind, features)
        laid = room(hypotheses * stats.shape[1], _narrow(stats), features)
        _lay_out(np.ascontiguousarray(features), offsets, factors, True, columns)
        _lay_out(np.ascontiguousarray(stats), offsets, np.ones(stats.shape[1]), False, laid)
        left = {name: room(hypotheses, np.float64, features, zero=True) for name in ("posterior", "log_posterior")}
        return cls(
            columns, laid, offsets, width, stats.shape[1], means=np.zeros((len(offsets) - 1, stats.shape[1])), **left
        )

    def posteriors(self, weights: Floats, gamma: float, extra: Floats, pairs: Ints) -> Moments:
        """First pass: softmax(gamma * (weights . features + extra)) of every list and the moments of its statistics.

        `extra` [H] is what other columns add to the scores (or empty), `pairs` [Q, 2] the covariances wanted.
        """
        count = len(self.offsets) - 1
        entropy, second = np.zeros(count), np.zeros((len(pairs), count))
        lists, scaled = (self.columns, self.stats, self.offsets, self.longest), (weights * gamma, gamma, extra)
        wanted, left = (pairs, _own_pairs(pairs, self.measures)), (self.posterior, self.log_posterior)
        found = self.means, second, entropy
        over_ranges(
            lambda low, high: _posteriors(low, high, lists, scaled, wanted, left=left, found=found),
            self.offsets,
            cost=self._cost(pairs),
        )
        covariance = np.zeros((self.measures, self.measures))
        covariance[pairs[:, 0], pairs[:, 1]] = covariance[pairs[:, 1], pairs[:, 0]] = second.sum(axis=1)
        return Moments(self.means.sum(axis=0), covariance, float(entropy.sum()))

    def feature_sum(
        self, credit: StatCredit, pairs: Ints, *, temperature: float, gamma: float, start: Floats | None = None
    ) -> tuple[Floats, Floats]:
        """Second pass: gradient [D] and each hypothesis' share [H] (for other columns) of the credit

            c = linear . s + s' W s - 2 sbar' W s + temperature * log p

        at the posteriors of the first pass; W [M, M] is symmetric, zero outside `pairs`, c starts at `start` [H].
        """
        gradients = np.zeros((len(self.blocks) - 1, self.width))
        share = self.share if start is None else start
        slopes = credit.linear - 2.0 * (self.means @ credit.quadratic)
        first, second = pairs.T
        curves = credit.quadratic[first, second] * np.where(first == second, 1.0, 2.0)
        wanted = pairs, _own_pairs(pairs, self.measures)
        lists, left = (self.columns, self.stats, self.offsets), (self.posterior, self.log_posterior)
        worth, out = (slopes, curves, temperature, gamma), (share, start is None, gradients)
        over_ranges(
            lambda low, high: _feature_sum(low, high, self.blocks, lists, worth, pairs=wanted, left=left, out=out),
            self.block_offsets,
            cost=self._cost(pairs),
        )
        return gradients.sum(axis=0), share

    @cached_property
    def longest(self) -> int:
        """The largest number of hypotheses of a list."""
        return int(segments.lengths(self.offsets).max(initial=0))

    @cached_property
    def blocks(self) -> Ints:
        """Segments of block b are blocks[b]:blocks[b + 1]."""
        return np.append(np.arange(0, len(self.offsets) - 1, _BLOCK), len(self.offsets) - 1)

    @cached_property
    def block_offsets(self) -> Ints:
        """Hypotheses of block b."""
        return self.offsets[self.blocks]

    @cached_property
    def share(self) -> Floats:
        """[H] what the second pass leaves, and the next one overwrites."""
        return np.empty(len(self.posterior))

    def _cost(self, pairs: Ints) -> int:
        """Multiply-adds of a pass for each hypothesis, with an exponential for ten."""
        return 10 + self.width + self.measures + len(pairs)


def _own_pairs(pairs: Ints, measures: int) -> Ints:
    """[M] which pair is that of a statistic with itself; -1 where it is not wanted."""
    own = np.full(measures, -1, np.int64)
    same = np.flatnonzero(pairs[:, 0] == pairs[:, 1])
    own[pairs[same, 0]] = same
    return own


def _narrow(stats: Floats) -> type:
    small = np.abs(stats).max(initial=0) < 2**15 and (stats == np.rint(stats)).all()
    return np.int16 if small else np.float64


@kernel
def _lay_out(rows, offsets, factors, centred, out):
    """[H, C] by rows to [C, K_i] by segment, each column less its segment's mean if `centred`, times its factor."""
    width = rows.shape[1]
    for i in range(len(offsets) - 1):
        low = offsets[i]
        size = offsets[i + 1] - low
        for c in range(width):
            mean = 0.0
            if centred:
                for k in range(size):
                    mean += rows[low + k, c]
                mean /= max(size, 1)
            for k in range(size):
                out[low * width + c * size + k] = (rows[low + k, c] - mean) * factors[c]


@fast_kernel
def _two_moments(p, x):
    """Mean of x and of its square."""
    first = 0.0
    second = 0.0
    for k in range(len(p)):
        value = np.float64(x[k])
        part = p[k] * value
        first += part
        second += part * value
    return first, second


@fast_kernel
def _add_quadratic(out, slope, curve, x):
    for k in range(len(out)):
        value = np.float64(x[k])
        out[k] += value * (slope + curve * value)


@fast_kernel
def _dot_three(x, y, z):
    total = 0.0
    for k in range(len(x)):
        total += x[k] * (np.float64(y[k]) * z[k])
    return total


@fast_kernel
def _add_product(out, factor, x, y):
    for k in range(len(out)):
        out[k] += factor * (np.float64(x[k]) * y[k])


@fast_kernel
def _maximum(values):
    top = -np.inf
    for k in range(len(values)):
        top = fmax(top, values[k])
    return top


@fast_kernel
def _exponentials(scores, top, out):
    """Fill `out` with exp(score - top), leave score - top in `scores`; the sum."""
    total = 0.0
    for k in range(len(scores)):
        scores[k] -= top
        value = fast_exp(scores[k])
        out[k] = value
        total += value
    return total


@fast_kernel
def _scale(posterior, inverse, scores, shift, log_posterior):
    for k in range(len(posterior)):
        posterior[k] *= inverse
        log_posterior[k] = scores[k] - shift


@fast_kernel
def _shares(credit, posterior, mean, gamma):
    for k in range(len(credit)):
        credit[k] = gamma * posterior[k] * (credit[k] - mean)


@kernel
def _posteriors(low, high, lists, scaled, wanted, left, found):
    columns, stats, offsets, longest = lists
    weights, gamma, extra = scaled
    pairs, own = wanted
    posterior, log_posterior = left
    means, second, entropy = found
    width = len(weights)
    measures = means.shape[1]
    room = new(longest, np.float64)
    for i in range(low, high):
        start, end = offsets[i], offsets[i + 1]
        size = end - start
        if size == 0:
            continue
        scores = room[:size]
        if len(extra):
            for k in range(size):
                scores[k] = gamma * extra[start + k]
        else:
            scores[:] = 0.0
        f = columns[start * width : end * width].reshape((width, size))
        combine(scores, weights, f)
        p, lp = posterior[start:end], log_posterior[start:end]
        total = _exponentials(scores, _maximum(scores), p)
        shift = np.log(total)
        _scale(p, 1.0 / total, scores, shift, lp)
        entropy[i] = shift - dot(p, scores)
        s = stats[start * measures : end * measures].reshape((measures, size))
        for j in range(measures):
            if own[j] < 0:
                means[i, j] = dot(p, s[j])
            else:
                mean, square = _two_moments(p, s[j])
                means[i, j] = mean
                second[own[j], i] = square - mean * mean
        for q in range(len(pairs)):
            a, b = pairs[q, 0], pairs[q, 1]
            if a != b:
                second[q, i] = _dot_three(p, s[a], s[b]) - means[i, a] * means[i, b]


@kernel
def _feature_sum(low, high, blocks, lists, worth, pairs, left, out):
    columns, stats, offsets = lists
    slopes, curves, temperature, gamma = worth
    wanted, own = pairs
    posterior, log_posterior = left
    share, fresh, gradients = out
    width = gradients.shape[1]
    measures = slopes.shape[1]
    for block in range(low, high):
        for i in range(blocks[block], blocks[block + 1]):
            start, end = offsets[i], offsets[i + 1]
            size = end - start
            if size == 0:
                continue
            credit = share[start:end]
            if fresh:
                credit[:] = 0.0
            p = posterior[start:end]
            s = stats[start * measures : end * measures].reshape((measures, size))
            for j in range(measures):
                curve = curves[own[j]] if own[j] >= 0 else 0.0
                if curve != 0.0:
                    _add_quadratic(credit, slopes[i, j], curve, s[j])
                elif slopes[i, j] != 0.0:
                    add(credit, slopes[i, j], s[j])
            for q in range(len(wanted)):
                if curves[q] != 0.0 and wanted[q, 0] != wanted[q, 1]:
                    _add_product(credit, curves[q], s[wanted[q, 0]], s[wanted[q, 1]])
            if temperature != 0.0:
                add(credit, temperature, log_posterior[start:end])
            _shares(credit, p, dot(p, credit), gamma)
            f = columns[start * width : end * width].reshape((width, size))
            for d in range(width):
                gradients[block, d] += dot(credit, f[d])
