"""Kernels over Gaussian mixtures: near kernels and log densities of hypotheses, exact posteriors, sums of a round.

Gaussians come in blocks of `BM` that lie near each other, hypotheses in tiles of `BB` as they are in their lists. The
log density of kernel m at x,  c_m - sum_d s_md (x_d - mu_md)^2,  is a product of small matrices, made of differences
from the middle of some blocks that are neighbours, a group: near kernels, which matter, have small numbers in single
precision, far ones have large ones and do not matter. A block whose box is too far from that of a tile is left out.
"""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def _bounds(
    middle, radius, low, high, least, tops, bounds, NB, CB: tl.constexpr, DP: tl.constexpr
):  # fmt: skip
    """bounds [NB]: no hypothesis of a tile has a larger log density under any kernel of a block; the best block."""
    d = tl.arange(0, DP)
    best = tl.full((CB,), -1e30, tl.float32)
    where = tl.zeros((CB,), tl.int32)
    for at in range(0, NB, CB):
        j = at + tl.arange(0, CB)
        inside = (j < NB)[:, None]
        place = j[:, None] * DP + d[None, :]
        lo = tl.load(low + place, mask=inside, other=0.0)
        hi = tl.load(high + place, mask=inside, other=0.0)
        reach = radius[None, :] + 1e-6 * (tl.abs(lo) + tl.abs(hi) + tl.abs(middle[None, :]))
        gap = tl.maximum(tl.maximum(lo - middle[None, :], middle[None, :] - hi) - reach, 0.0)
        far = tl.sum(gap * gap * tl.load(least + place, mask=inside, other=0.0), 1)
        bound = tl.load(tops + j, mask=j < NB, other=-1e30) - far
        tl.store(bounds + j, bound, mask=j < NB)
        better = (bound > best) & (j < NB)
        best = tl.where(better, bound, best)
        where = tl.where(better, j, where)
    return tl.max(tl.where(best == tl.max(best, 0), where, 0), 0)


@triton.jit
def _sides(away, sharpness, d, D, SHARED: tl.constexpr):
    """Both sides of hypotheses that are `away` [BB, DP] from the middle of a group: themselves, with 1 for the
    constants and where all have one covariance what depends on them alone; and their squares."""
    squares = away * away
    own = away + tl.where(d == D, 1.0, 0.0)[None, :]
    if SHARED:
        flat = tl.sum(squares * tl.load(sharpness + d)[None, :], 1)
        own -= tl.where(d == D + 1, 1.0, 0.0)[None, :] * flat[:, None]
    return own, squares


@triton.jit
def _log_densities(
    own, squares, slopes, sharpness, at, d, DP: tl.constexpr, SHARED: tl.constexpr, PRECISION: tl.constexpr
):  # fmt: skip
    """[BB, BM] of hypotheses under the kernels `at` [BM]. Slopes are 2 s mu, then the constants, then 1 or 0."""
    place = at[None, :] * DP + d[:, None]
    z = tl.dot(own, tl.load(slopes + place), input_precision=PRECISION)
    if not SHARED:
        z -= tl.dot(squares, tl.load(sharpness + place), input_precision=PRECISION)
    return z


@triton.jit
def _selected(z, best, which, first):
    """The most likely kernels of each hypothesis and their numbers, with those of a block [BB, BM] from `first` on."""
    k = tl.arange(0, best.shape[1])
    m = tl.arange(0, z.shape[1])
    most = tl.max(z, 1)
    worst = tl.min(best, 1)
    again = tl.max(most - worst, 0) > 0
    while again:
        arg = tl.argmax(z, 1)
        better = most > worst
        slot = tl.argmin(best, 1)
        here = (k[None, :] == slot[:, None]) & better[:, None]
        best = tl.where(here, most[:, None], best)
        which = tl.where(here, (first + arg)[:, None], which)
        z = tl.where((m[None, :] == arg[:, None]) & better[:, None], -3e38, z)
        most = tl.max(z, 1)
        worst = tl.min(best, 1)
        again = tl.max(most - worst, 0) > 0
    return best, which


@triton.jit
def scan(
    x, middles, slopes, sharpness, low, high, least, tops, bounds, logs, chosen, values, near,
    H, D, NB, cutoff,
    BB: tl.constexpr, BM: tl.constexpr, CB: tl.constexpr, DP: tl.constexpr, TOP: tl.constexpr, SHARED: tl.constexpr,
    GROUP: tl.constexpr, SELECT: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """logs [H]: log density of the mixture. With SELECT also the TOP most likely kernels of each hypothesis, `chosen`
    and `values` [H, TOP], else which blocks are near which tile, `near` [tiles, NB]."""
    tile = tl.program_id(0).to(tl.int64)
    row = tile * BB + tl.arange(0, BB)
    real = row < H
    d = tl.arange(0, DP)
    k = tl.arange(0, TOP)
    own = bounds + tile * NB
    place = tl.minimum(row, H - 1)[:, None] * D + d[None, :]  # rows past the end are the last one again
    full = tl.load(x + place, mask=(d < D)[None, :], other=0.0).to(tl.float64)
    middle = tl.sum(full, 0) / BB
    radius = tl.max(tl.abs(full - middle[None, :]).to(tl.float32), 0)
    first = _bounds(middle.to(tl.float32), radius, low, high, least, tops, own, NB, CB, DP)
    tl.debug_barrier()
    top = tl.full((BB,), -1e30, tl.float32)
    total = tl.zeros((BB,), tl.float32)
    best = tl.full((BB, TOP), -1e30, tl.float32)
    which = tl.zeros((BB, TOP), tl.int32)
    least_top = tl.min(top, 0)
    m = tl.arange(0, BM)
    groups = (NB + GROUP - 1) // GROUP
    for step in range(groups + 1):  # the group of the nearest block comes first, and not again
        g = tl.where(step == 0, first // GROUP, step - 1)
        if (step == 0) | (g != first // GROUP):
            away = (full - tl.load(middles + g * DP + d)[None, :]).to(tl.float32)
            one, squares = _sides(away, sharpness, d, D, SHARED)
            for j in range(g * GROUP, tl.minimum((g + 1) * GROUP, NB)):
                if tl.load(own + j) > least_top - cutoff:
                    z = _log_densities(one, squares, slopes, sharpness, j * BM + m, d, DP, SHARED, PRECISION)
                    most = tl.max(z, 1)
                    is_near = tl.max(most - tl.maximum(top, most), 0) > -cutoff  # for some hypothesis
                    if is_near:
                        new = tl.maximum(top, most)
                        total = total * tl.exp(top - new) + tl.sum(tl.exp(z - new[:, None]), 1)
                        top = new
                        least_top = tl.min(top, 0)
                        if SELECT:
                            best, which = _selected(z, best, which, j * BM)
                        else:
                            tl.store(near + tile * NB + j, 1)
    tl.store(logs + row, top + tl.log(total), mask=real)
    if SELECT:
        place = row[:, None] * TOP + k[None, :]
        tl.store(chosen + place, which, mask=real[:, None])
        tl.store(values + place, best, mask=real[:, None])


@triton.jit
def refine(
    x, order, means, halves, constants, logs, chosen, values, kept, posteriors, counts, H, D, top, tolerance,
    BR: tl.constexpr, TOP: tl.constexpr, SHARED: tl.constexpr,
):  # fmt: skip
    """Exact densities of the chosen kernels; their posteriors by falling size, and how many are kept [H]."""
    row = tl.program_id(0).to(tl.int64) * BR + tl.arange(0, BR)
    real = row < H
    k = tl.arange(0, TOP)
    place = row[:, None] * TOP + k[None, :]
    rough = tl.load(values + place, mask=real[:, None], other=-1e30).to(tl.float64)
    there = (rough > -1e29) & real[:, None]
    number = tl.load(order + tl.load(chosen + place, mask=there, other=0), mask=there, other=0).to(tl.int64)
    exact = tl.load(constants + number, mask=there, other=0.0)
    for d in range(D):
        gap = tl.load(x + row * D + d, mask=real, other=0.0).to(tl.float64)[:, None]
        gap -= tl.load(means + number * D + d, mask=there, other=0.0)
        at = d + tl.zeros_like(number) if SHARED else number * D + d
        exact -= gap * gap * tl.load(halves + at, mask=there, other=0.0)
    exact = tl.where(there, exact, -1e30)
    peak = tl.max(exact, 1)
    part = tl.where(there, tl.exp(exact - peak[:, None]), 0.0)
    log = tl.load(logs + row, mask=real, other=0.0).to(tl.float64)
    rest = tl.exp(tl.where(real, log - peak, 0.0)) - tl.sum(tl.where(there, tl.exp(rough - peak[:, None]), 0.0), 1)
    mass = tl.maximum(rest, 0.0) + tl.sum(part, 1)
    p = part / tl.where(mass > 0, mass, 1.0)[:, None]
    rank = tl.zeros((BR, TOP), tl.int32)
    before = tl.zeros((BR, TOP), tl.float64)
    for other in tl.static_range(TOP):
        is_other = k[None, :] == other
        value = tl.sum(tl.where(is_other, p, 0.0), 1)[:, None]
        its = tl.sum(tl.where(is_other, number, 0), 1)[:, None]
        ahead = (value > p) | ((value == p) & (its < number)) | ((value == p) & (its == number) & (k[None, :] > other))
        rank += ahead.to(tl.int32)
        before += tl.where(ahead, value, 0.0)
    keep = (p > 0) & (rank < top) & ((1.0 - before > tolerance) | (tolerance == 0.0))
    tl.store(kept + row[:, None] * TOP + rank, number.to(tl.int32), mask=real[:, None])
    tl.store(posteriors + row[:, None] * TOP + rank, p, mask=real[:, None])
    tl.store(counts + row, tl.sum(keep.to(tl.int32), 1), mask=real)


@triton.jit
def accumulate(
    x, middles, slopes, sharpness, logs, near, sums, H, D, NB, tiles, each,
    BB: tl.constexpr, BM: tl.constexpr, DP: tl.constexpr, GROUP: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """sums [parts, NB * BM, 1 + 2 DP] over the tiles of a part: posteriors, and times difference from the group's
    middle, and times its square."""
    j = tl.program_id(0)
    part = tl.program_id(1)
    d = tl.arange(0, DP)
    at = j * BM + tl.arange(0, BM)
    middle = tl.load(middles + j // GROUP * DP + d)
    mass = tl.zeros((BM,), tl.float64)
    first = tl.zeros((BM, DP), tl.float64)
    second = tl.zeros((BM, DP), tl.float64)
    for tile in range(part * each, tl.minimum((part + 1) * each, tiles)):
        if tl.load(near + tile * NB + j) != 0:
            row = tile * BB + tl.arange(0, BB).to(tl.int64)
            real = row < H
            inside = real[:, None] & (d < D)[None, :]
            full = tl.load(x + row[:, None] * D + d[None, :], mask=inside, other=0.0).to(tl.float64)
            away = tl.where(inside, full - middle[None, :], 0.0).to(tl.float32)
            one, squares = _sides(away, sharpness, d, D, False)
            z = _log_densities(one, squares, slopes, sharpness, at, d, DP, False, PRECISION)
            z -= tl.load(logs + row, mask=real, other=0.0)[:, None]
            q = tl.where(real[:, None], tl.exp(tl.minimum(z, 1.0)), 0.0)
            turned = tl.trans(q)
            mass += tl.sum(q, 0).to(tl.float64)
            first += tl.dot(turned, away, input_precision=PRECISION).to(tl.float64)
            second += tl.dot(turned, squares, input_precision=PRECISION).to(tl.float64)
    base = sums + (part.to(tl.int64) * NB * BM + at) * (1 + 2 * DP)
    tl.store(base, mass)
    tl.store(base[:, None] + 1 + d[None, :], first)
    tl.store(base[:, None] + 1 + DP + d[None, :], second)
