"""Kernels over lists, one program a segment: layout, posteriors with moments, feature sums, gold sets, choices.

Lists are blocked by segment as for the processor: features of segment i are `columns[D * low : D * high]`, seen as
[D, K_i], statistics likewise. Lists go by `BK` hypotheses at a time. Scores and sums over segments are made in float64,
in one order, what is between in `NUMBER`: float64, or float32 where features are kept so.
"""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def lay_out(rows, offsets, factors, centres, out, C, CP: tl.constexpr, BK: tl.constexpr, WHOLE: tl.constexpr):
    """[H, C] by rows to [C, K_i] by segment: each column less its segment's mean (`WHOLE`: rounded), times its factor;
    the means go to `centres` [N, C]."""
    segment = tl.program_id(0)
    low = tl.load(offsets + segment)
    size = (tl.load(offsets + segment + 1) - low).to(tl.int32)
    k = tl.arange(0, BK)
    c = tl.program_id(1) * CP + tl.arange(0, CP)
    total = tl.zeros((BK, CP), tl.float64)
    for at in range(0, size, BK):
        inside = (at + k < size)[:, None] & (c < C)[None, :]
        total += tl.load(rows + (low + at + k)[:, None] * C + c[None, :], mask=inside, other=0).to(tl.float64)
    mean = tl.sum(total, 0) / tl.maximum(size, 1).to(tl.float64)
    if WHOLE:
        mean = tl.floor(mean + 0.5)
    tl.store(centres + segment * C + c, mean, mask=c < C)
    factor = tl.load(factors + c, mask=c < C, other=0.0)
    for at in range(0, size, BK):
        inside = (at + k < size)[:, None] & (c < C)[None, :]
        x = tl.load(rows + (low + at + k)[:, None] * C + c[None, :], mask=inside, other=0).to(tl.float64)
        place = low * C + c[None, :].to(tl.int64) * size + (at + k)[:, None]
        tl.store(out + place, ((x - mean[None, :]) * factor[None, :]).to(out.dtype.element_ty), mask=inside)


@triton.jit
def _score(columns, extra, weights, low, size, at, D, BK: tl.constexpr, EXTRA: tl.constexpr):
    """[BK] gamma * (weights . features + extra) of the hypotheses from `at`; gamma comes after the weights."""
    k = at + tl.arange(0, BK)
    inside = k < size
    z = tl.zeros((BK,), tl.float64)
    for d in tl.range(0, D, loop_unroll_factor=8):
        f = tl.load(columns + low * D + d * size.to(tl.int64) + k, mask=inside, other=0)
        z += tl.load(weights + d) * f.to(tl.float64)
    if EXTRA:
        z += tl.load(extra + low + k, mask=inside, other=0.0)
    return z * tl.load(weights + D)


@triton.jit
def _column_sums(
    amounts, columns, gradients, segment, low, size, D, BK: tl.constexpr, DB: tl.constexpr, NUMBER: tl.constexpr
):  # fmt: skip
    """gradients [N, D] of this segment: sum over its hypotheses of amount * feature."""
    k = tl.arange(0, BK)
    for first in range(0, D, DB):
        d = first + tl.arange(0, DB)
        total = tl.zeros((DB, BK), NUMBER)
        for at in range(0, size, BK):
            inside = (at + k < size)[None, :] & (d < D)[:, None]
            place = low * D + d[:, None] * size.to(tl.int64) + (at + k)[None, :]
            f = tl.load(columns + place, mask=inside, other=0).to(NUMBER)
            total += f * tl.load(amounts + low + at + k, mask=at + k < size, other=0.0).to(NUMBER)[None, :]
        tl.store(gradients + segment * D + d, tl.sum(total.to(tl.float64), 1), mask=d < D)


@triton.jit
def posteriors(
    columns, stats, offsets, weights, extra, firsts, seconds, scores, norms, found, D,
    M: tl.constexpr, Q: tl.constexpr, CURVED: tl.constexpr, MP: tl.constexpr, QP: tl.constexpr,
    BK: tl.constexpr, EXTRA: tl.constexpr, NUMBER: tl.constexpr,
):  # fmt: skip
    """First pass: scores [H], log sums of their exponentials [N], and `found` [N, 2 M + Q + 1]: means of the statistics
    (less their centres), their variances if CURVED, the covariances of Q pairs, the entropy."""
    segment = tl.program_id(0)
    low = tl.load(offsets + segment)
    size = (tl.load(offsets + segment + 1) - low).to(tl.int32)
    k = tl.arange(0, BK)
    tops = tl.full((BK,), -float("inf"), tl.float64)
    for at in range(0, size, BK):
        z = _score(columns, extra, weights, low, size, at, D, BK, EXTRA)
        tl.store(scores + low + at + k, z, mask=at + k < size)
        tops = tl.maximum(tops, tl.where(at + k < size, z, -float("inf")))
    top = tl.where(size > 0, tl.max(tops, 0), 0.0)
    tl.debug_barrier()
    masses = tl.zeros((BK,), NUMBER)
    weighted = tl.zeros((BK,), NUMBER)
    m = tl.arange(0, MP)
    q = tl.arange(0, QP)
    first = tl.zeros((MP, BK), NUMBER)
    square = tl.zeros((MP, BK), NUMBER)
    second = tl.zeros((QP, BK), NUMBER)
    one = tl.load(firsts + q, mask=q < Q, other=0)
    other = tl.load(seconds + q, mask=q < Q, other=0)
    for at in range(0, size, BK):
        inside = at + k < size
        gap = tl.where(inside, tl.load(scores + low + at + k, mask=inside, other=0.0) - top, 0.0).to(NUMBER)
        e = tl.where(inside, tl.exp(gap), 0.0)
        masses += e
        weighted += e * gap
        base = stats + low * M + at + k
        s = tl.load(base[None, :] + m[:, None] * size, mask=inside[None, :] & (m < M)[:, None], other=0)
        s = s.to(NUMBER)
        first += e[None, :] * s
        if CURVED:
            square += e[None, :] * s * s
        if Q > 0:
            wanted = inside[None, :] & (q < Q)[:, None]
            a = tl.load(base[None, :] + one[:, None] * size, mask=wanted, other=0).to(NUMBER)
            b = tl.load(base[None, :] + other[:, None] * size, mask=wanted, other=0).to(NUMBER)
            second += e[None, :] * a * b
    mass = tl.sum(masses.to(tl.float64), 0)
    share = 1.0 / tl.where(mass > 0, mass, 1.0)
    row = found + segment * (2 * M + Q + 1)
    mean = tl.sum(first.to(tl.float64), 1) * share
    tl.store(row + m, mean, mask=m < M)
    if CURVED:
        tl.store(row + M + m, tl.sum(square.to(tl.float64), 1) * share - mean * mean, mask=m < M)
    if Q > 0:
        of_one = tl.sum(tl.where(one[:, None] == m[None, :], mean[None, :], 0.0), 1)
        of_other = tl.sum(tl.where(other[:, None] == m[None, :], mean[None, :], 0.0), 1)
        tl.store(row + 2 * M + q, tl.sum(second.to(tl.float64), 1) * share - of_one * of_other, mask=q < Q)
    shift = tl.log(tl.where(mass > 0, mass, 1.0))
    tl.store(row + 2 * M + Q, shift - tl.sum(weighted.to(tl.float64), 0) * share)
    tl.store(norms + segment, top + shift)


@triton.jit
def feature_sum(
    columns, stats, offsets, scores, norms, slopes, curves, firsts, seconds, start, share, gradients,
    D,
    M: tl.constexpr, Q: tl.constexpr, CURVED: tl.constexpr, BK: tl.constexpr, DB: tl.constexpr, START: tl.constexpr,
    NUMBER: tl.constexpr,
):  # fmt: skip
    """Second pass: shares [H], gamma p (credit - its mean), and gradients [N, D], their sums with features."""
    segment = tl.program_id(0)
    low = tl.load(offsets + segment)
    size = (tl.load(offsets + segment + 1) - low).to(tl.int32)
    norm = tl.load(norms + segment)
    temperature = tl.load(curves + M + Q).to(NUMBER)
    gamma = tl.load(curves + M + Q + 1).to(NUMBER)
    k = tl.arange(0, BK)
    means = tl.zeros((BK,), NUMBER)
    for at in range(0, size, BK):
        inside = at + k < size
        log = (tl.load(scores + low + at + k, mask=inside, other=0.0) - norm).to(NUMBER)
        p = tl.where(inside, tl.exp(log), 0.0)
        credit = temperature * log
        if START:
            credit += tl.load(start + low + at + k, mask=inside, other=0.0).to(NUMBER)
        base = stats + low * M + at + k
        for j in tl.static_range(M):
            s = tl.load(base + j * size, mask=inside, other=0).to(NUMBER)
            slope = tl.load(slopes + segment * M + j).to(NUMBER) + tl.zeros_like(s)
            if CURVED:
                slope += tl.load(curves + j).to(NUMBER) * s
            credit += slope * s
        for j in tl.static_range(Q):
            a = tl.load(base + tl.load(firsts + j) * size, mask=inside, other=0).to(NUMBER)
            b = tl.load(base + tl.load(seconds + j) * size, mask=inside, other=0).to(NUMBER)
            credit += tl.load(curves + M + j).to(NUMBER) * (a * b)
        credit = tl.where(inside, credit, 0.0)
        tl.store(share + low + at + k, credit, mask=inside)
        means += p * credit
    mean = tl.sum(means.to(tl.float64), 0).to(NUMBER)
    tl.debug_barrier()
    for at in range(0, size, BK):
        inside = at + k < size
        p = tl.exp((tl.load(scores + low + at + k, mask=inside, other=0.0) - norm).to(NUMBER))
        credit = tl.load(share + low + at + k, mask=inside, other=0.0)
        tl.store(share + low + at + k, gamma * p * (credit - mean), mask=inside)
    tl.debug_barrier()
    _column_sums(share, columns, gradients, segment, low, size, D, BK, DB, NUMBER)


@triton.jit
def gold_sets(
    columns, gold, offsets, weights, extra, residuals, found, D, BK: tl.constexpr, EXTRA: tl.constexpr
):  # fmt: skip
    """`found` [N]: log probability of the gold set of each list; residuals [H]: p less p within the gold set."""
    segment = tl.program_id(0)
    low = tl.load(offsets + segment)
    size = (tl.load(offsets + segment + 1) - low).to(tl.int32)
    k = tl.arange(0, BK)
    tops = tl.full((BK,), -float("inf"), tl.float64)
    bests = tl.full((BK,), -float("inf"), tl.float64)
    for at in range(0, size, BK):
        inside = at + k < size
        z = _score(columns, extra, weights, low, size, at, D, BK, EXTRA)
        tl.store(residuals + low + at + k, z, mask=inside)
        tops = tl.maximum(tops, tl.where(inside, z, -float("inf")))
        golden = tl.load(gold + low + at + k, mask=inside, other=0) != 0
        bests = tl.maximum(bests, tl.where(golden, z, -float("inf")))
    top = tl.where(size > 0, tl.max(tops, 0), 0.0)
    best = tl.where(size > 0, tl.max(bests, 0), 0.0)
    tl.debug_barrier()
    masses = tl.zeros((BK,), tl.float64)
    goods = tl.zeros((BK,), tl.float64)
    for at in range(0, size, BK):
        inside = at + k < size
        z = tl.load(residuals + low + at + k, mask=inside, other=0.0)
        golden = tl.load(gold + low + at + k, mask=inside, other=0) != 0
        masses += tl.where(inside, tl.exp(tl.where(inside, z - top, 0.0)), 0.0)
        goods += tl.where(golden, tl.exp(tl.where(golden, z - best, 0.0)), 0.0)
    mass = tl.sum(masses, 0)
    good = tl.sum(goods, 0)
    value = best - top + tl.log(tl.where(good > 0, good, 1.0)) - tl.log(tl.where(mass > 0, mass, 1.0))
    tl.store(found + segment, tl.where(size > 0, value, 0.0))
    tl.debug_barrier()
    for at in range(0, size, BK):
        inside = at + k < size
        z = tl.load(residuals + low + at + k, mask=inside, other=0.0)
        golden = tl.load(gold + low + at + k, mask=inside, other=0) != 0
        p = tl.exp(tl.where(inside, z - top, 0.0)) / mass
        p -= tl.where(golden, tl.exp(tl.where(golden, z - best, 0.0)) / good, 0.0)
        tl.store(residuals + low + at + k, p, mask=inside)


@triton.jit
def weighted_sum(columns, offsets, amounts, gradients, D, BK: tl.constexpr, DB: tl.constexpr):
    """Gradients [N, D]: sums over the hypotheses of each segment of amount [H] * feature."""
    segment = tl.program_id(0)
    low = tl.load(offsets + segment)
    size = (tl.load(offsets + segment + 1) - low).to(tl.int32)
    _column_sums(amounts, columns, gradients, segment, low, size, D, BK, DB, tl.float64)
