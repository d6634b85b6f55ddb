"""Kernels over Gaussian mixtures: near kernels and log densities of hypotheses, exact posteriors, sums of a round.

Gaussians come in blocks of `BM` that lie near each other, hypotheses in tiles of `BB` as they are in their lists. The
log density of kernel m at x,  c_m - sum_d s_md (x_d - mu_md)^2,  is a product of small matrices, made of differences
from the middle of some blocks that are neighbours, a group: near kernels, which matter, have small numbers in single
precision, far ones have large ones and do not matter. A block whose box is too far from that of a tile is left out.

The sides of the product have KP columns: differences and a 1 for the constants, then their squares; where all kernels
have one covariance a column stands for the squares. Logarithms are to base 2 until posteriors are refined.
"""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def _rows(x, row, H, d, D, DP: tl.constexpr):
    """[BB, KP] hypotheses, for differences and for squares; rows past the end are the last one again."""
    place = tl.minimum(row, H - 1)[:, None] * D + (d % DP)[None, :]
    return tl.load(x + place, mask=(d % DP < D)[None, :], other=0.0).to(tl.float64)


@triton.jit
def _side(full, middle, sharpness, d, D, DP: tl.constexpr, SHARED: tl.constexpr):
    """The side of hypotheses [BB, KP], in differences from the `middle` [KP] of a group."""
    away = (full - middle[None, :]).to(tl.float32)
    own = away + tl.where(d == D, 1.0, 0.0)[None, :]
    if SHARED:
        flat = tl.sum(away * away * tl.load(sharpness + d)[None, :], 1)
        own -= tl.where(d == D + 1, 1.0, 0.0)[None, :] * flat[:, None]
    else:
        own = tl.where((d < DP)[None, :], own, away * away)
    return own


@triton.jit
def _nearest(middle, middles, least, groups, d, GROUP: tl.constexpr, CB: tl.constexpr, KP: tl.constexpr):
    """The group whose middle is the nearest to that of a tile."""
    best = tl.full((CB,), 1e30, tl.float32)
    where = tl.zeros((CB,), tl.int32)
    for at in range(0, groups, CB):
        g = at + tl.arange(0, CB)
        inside = (g < groups)[:, None]
        gap = (tl.load(middles + g[:, None] * KP + d[None, :], mask=inside, other=0.0) - middle[None, :]).to(tl.float32)
        sharp = tl.load(least + g[:, None] * GROUP * KP + d[None, :], mask=inside, other=0.0)
        far = tl.where(g < groups, tl.sum(gap * gap * sharp, 1), 1e30)
        where = tl.where(far < best, g, where)
        best = tl.minimum(best, far)
    return tl.min(tl.where(best == tl.min(best, 0), where, groups - 1), 0)


@triton.jit
def _bounds(middle, radius, low, high, least, tops, j, NB, d, KP: tl.constexpr):
    """No hypothesis of a tile has a larger log density than this under any kernel of the blocks j."""
    place = j[:, None] * KP + d[None, :]
    inside = (j < NB)[:, None]
    lo = tl.load(low + place, mask=inside, other=0.0)
    hi = tl.load(high + place, mask=inside, other=0.0)
    reach = radius[None, :] + 1e-6 * (tl.abs(lo) + tl.abs(hi) + tl.abs(middle[None, :]))
    gap = tl.maximum(tl.maximum(lo - middle[None, :], middle[None, :] - hi) - reach, 0.0)
    far = tl.sum(gap * gap * tl.load(least + place, mask=inside, other=0.0), 1)
    return tl.load(tops + j, mask=j < NB, other=-float("inf")) - far


@triton.jit
def _log_densities(own, slopes, at, d, KP: tl.constexpr, PRECISION: tl.constexpr):
    """[BB, BM] of hypotheses under the kernels `at` [BM]."""
    return tl.dot(own, tl.load(slopes + at[None, :] * KP + d[:, None]), input_precision=PRECISION)


@triton.jit
def scan(
    x, middles, slopes, sharpness, low, high, least, tops, logs, chosen, masses, near, H, D, NB, cutoff,
    BB: tl.constexpr, BM: tl.constexpr, CB: tl.constexpr, DP: tl.constexpr, KP: tl.constexpr, TOP: tl.constexpr,
    SHARED: tl.constexpr, GROUP: tl.constexpr, SELECT: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """logs [H]: log density of the mixture. With SELECT also the TOP blocks of each hypothesis with the most likely
    kernels, `chosen` [H, TOP], -1 where there are fewer, and the log density of each, `masses`; else which blocks are
    near which tile, `near` [tiles, NB]."""
    tile = tl.program_id(0).to(tl.int64)
    row = tile * BB + tl.arange(0, BB)
    real = row < H
    d = tl.arange(0, KP)
    k = tl.arange(0, TOP)
    m = tl.arange(0, BM)
    full = _rows(x, row, H, d, D, DP)
    middle = tl.sum(full, 0) / BB
    radius = tl.max(tl.abs(full - middle[None, :]).to(tl.float32), 0)
    top = tl.full((BB,), -1e30, tl.float32)
    total = tl.zeros((BB,), tl.float32)
    best = tl.full((BB, TOP), -1e30, tl.float32)
    mass = tl.full((BB, TOP), -1e30, tl.float32)
    which = tl.full((BB, TOP), -1, tl.int32)
    least_top = tl.min(top, 0)
    groups = (NB + GROUP - 1) // GROUP
    first = _nearest(middle, middles, least, groups, d, GROUP, CB, KP)
    for step in range(groups + 1):  # the nearest group comes first, and not again
        g = tl.where(step == 0, first, step - 1)
        j = g * GROUP + tl.arange(0, GROUP)
        bound = _bounds(middle.to(tl.float32), radius, low, high, least, tops, j, NB, d, KP)
        may = ((bound > least_top - cutoff) & (j < NB) & ((step == 0) | (g != first))).to(tl.int32)
        place = tl.cumsum(may, 0) * may - 1
        count = tl.sum(may, 0)
        if count > 0:
            own = _side(full, tl.load(middles + g * KP + d), sharpness, d, D, DP, SHARED)
            for i in range(count):
                block = tl.sum(tl.where(place == i, j, 0), 0)
                z = _log_densities(own, slopes, block * BM + m, d, KP, PRECISION)
                most = tl.max(z, 1)
                if tl.max(most - tl.maximum(top, most), 0) > -cutoff:  # for some hypothesis
                    new = tl.maximum(top, most)
                    part = tl.sum(tl.exp2(z - new[:, None]), 1)
                    total = total * tl.exp2(top - new) + part
                    top = new
                    if SELECT:  # the most likely kernels are in the blocks whose best are the most likely
                        worst, slot = tl.min(best, 1, return_indices=True)
                        here = (k[None, :] == slot[:, None]) & (most > worst)[:, None]
                        best = tl.where(here, most[:, None], best)
                        mass = tl.where(here, (new + tl.log2(tl.maximum(part, 1e-30)))[:, None], mass)
                        which = tl.where(here, block, which)
                    else:
                        tl.store(near + tile * NB + block, 1)
            least_top = tl.min(top, 0)
    tl.store(logs + row, top + tl.log2(total), mask=real)
    if SELECT:
        spot = row[:, None] * TOP + k[None, :]
        tl.store(chosen + spot, which, mask=real[:, None])
        tl.store(masses + spot, mass, mask=real[:, None])


@triton.jit
def refine(
    x, order, means, halves, constants, logs, chosen, masses, kept, posteriors, counts, H, D, top, tolerance,
    BR: tl.constexpr, BM: tl.constexpr, TOP: tl.constexpr, SHARED: tl.constexpr,
):  # fmt: skip
    """Exact densities of the kernels of the chosen blocks; the TOP largest posteriors by falling size (equal ones: the
    lowest kernel first), and how many are kept [H]. `means` and `halves` are [NB, D, BM], `constants` [NB, BM]."""
    row = tl.program_id(0).to(tl.int64) * BR + tl.arange(0, BR)
    real = row < H
    s = tl.arange(0, TOP * BM)
    k = tl.arange(0, TOP)
    rough = tl.load(masses + row[:, None] * TOP + k[None, :], mask=real[:, None], other=-1e30).to(tl.float64)
    place = row[:, None] * TOP + (s // BM)[None, :]
    block = tl.load(chosen + place, mask=real[:, None], other=-1).to(tl.int64)
    there = block >= 0
    at = block * BM + (s % BM)[None, :]
    number = tl.load(order + at, mask=there, other=0)
    exact = tl.load(constants + at, mask=there, other=-1e30)
    for d in range(D):
        gap = tl.load(x + row * D + d, mask=real, other=0.0)[:, None]
        of = (block * D + d) * BM + (s % BM)[None, :]
        gap -= tl.load(means + of, mask=there, other=0.0)
        exact -= gap * gap * (tl.load(halves + d) if SHARED else tl.load(halves + of, mask=there, other=0.0))
    peak = tl.max(exact, 1)
    own = tl.exp(exact - peak[:, None])
    log = tl.load(logs + row, mask=real, other=0.0).to(tl.float64)
    away = peak * 1.4426950408889634
    rest = tl.exp2(tl.where(real, log - away, 0.0)) - tl.sum(tl.exp2(tl.minimum(rough - away[:, None], 1000.0)), 1)
    whole = tl.maximum(rest, 0.0) + tl.sum(own, 1)
    p = tl.where(there, own / whole[:, None], -1.0)
    before = tl.zeros((BR,), tl.float64)
    count = tl.zeros((BR,), tl.int32)
    for rank in range(TOP):
        most = tl.max(p, 1)
        its = tl.min(tl.where(p == most[:, None], number, 2147483647), 1)
        keep = (most > 0) & (rank < top) & ((1.0 - before > tolerance) | (tolerance == 0.0))
        count += keep.to(tl.int32)
        before += most
        tl.store(kept + row * TOP + rank, its, mask=real)
        tl.store(posteriors + row * TOP + rank, tl.maximum(most, 0.0), mask=real)
        p = tl.where((p == most[:, None]) & (number == its[:, None]), -1.0, p)
    tl.store(counts + row, count, mask=real)


@triton.jit
def accumulate(
    x, middles, slopes, sharpness, logs, near, sums, H, D, NB, tiles, each,
    BB: tl.constexpr, BM: tl.constexpr, DP: tl.constexpr, KP: tl.constexpr, GROUP: tl.constexpr,
    PRECISION: tl.constexpr,
):  # fmt: skip
    """sums [parts, NB * BM, KP] over the tiles of a part: posteriors times the side of hypotheses, that is times
    differences from the group's middle, times 1 (at D), and times their squares."""
    j = tl.program_id(0)
    part = tl.program_id(1)
    d = tl.arange(0, KP)
    at = j * BM + tl.arange(0, BM)
    middle = tl.load(middles + j // GROUP * KP + d)
    found = tl.zeros((BM, KP), tl.float64)
    for tile in range(part * each, tl.minimum((part + 1) * each, tiles)):
        if tl.load(near + tile * NB + j) != 0:
            row = tile * BB + tl.arange(0, BB).to(tl.int64)
            own = _side(_rows(x, row, H, d, D, DP), middle, sharpness, d, D, DP, False)
            z = _log_densities(own, slopes, at, d, KP, PRECISION)
            z -= tl.load(logs + row, mask=row < H, other=0.0)[:, None]
            q = tl.where((row < H)[:, None], tl.exp2(tl.minimum(z, 1.0)), 0.0)
            found += tl.dot(tl.trans(q), own, input_precision=PRECISION).to(tl.float64)
    tl.store(sums + (part.to(tl.int64) * NB * BM + at)[:, None] * KP + d[None, :], found)
