"""`GaussianMixture`: Gaussians with diagonal covariances, and the kernels that find the near ones of every hypothesis.

The log density of kernel m is  c_m - sum_d (x_d s_md - t_md)^2  with s = 1 / sqrt(2 variance), t = mean * s: two
multiply-adds a feature without the cancellation of the expanded square, in single precision. Kernels are packed in
chunks of 64 neighbours (`LANES`), hypotheses go by 16 (`ROWS`), so a chunk is read once for 16 hypotheses and all
accumulators stay in the first-level cache. A chunk whose box of means is so far from four hypotheses that none of its
kernels can be within a cutoff of their best ones is left out; where there are many kernels, hypotheses come in an order
of neighbours, too. What follows (exponentials, sums) looks only at kernels within that cutoff, and only into chunks
whose maximum says that they have some.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from nbest.base.types import Floats, Ints
from nbest.compute.compilation import compiled, kernel
from nbest.compute.intrinsics import fmax

LANES = 64  # kernels in a chunk
ROWS = 16  # hypotheses for which a chunk is read once
MANY = 8192  # kernels that hypotheses pass from which on it pays to bring neighbours together first
LIMIT = 1e5  # standardised features are clipped to this, so that squares stay within single precision

fast = compiled(fastmath={"nnan", "nsz", "contract", "reassoc"})


@dataclass(frozen=True)
class GaussianMixture:
    """M Gaussians over D standardised features."""

    means: Floats  # [M, D]
    variances: Floats  # [M, D]
    log_priors: Floats  # [M]

    def __len__(self) -> int:
        return len(self.means)

    def constants(self) -> Floats:
        """[M] log prior - 1/2 sum_d log(2 pi variance)."""
        return np.asarray(self.log_priors - 0.5 * np.log(2 * np.pi * self.variances).sum(axis=1))

    def packed(self) -> PackedMixture:
        """As the kernels here read it."""
        size, width = self.means.shape
        inverse = np.broadcast_to(1.0 / np.sqrt(2.0 * self.variances), (size, width))
        order = neighbours(self.means * inverse.mean(axis=0))
        chunks, padded = -(-size // LANES), padded_width(width)
        s, t = np.zeros((2, chunks * LANES, padded), np.float32)
        s[:size, :width], t[:size, :width] = inverse[order], (self.means * inverse)[order]
        constants = np.full(chunks * LANES, -np.inf, np.float32)
        constants[:size] = self.constants()[order]
        pairs = np.stack([s, t], axis=2).reshape(chunks, LANES, padded * 2).transpose(0, 2, 1)
        starts = np.arange(0, size, LANES)
        means, boxes = self.means[order], np.zeros((3, padded, chunks), np.float32)
        boxes[0, :width] = np.minimum.reduceat(means, starts, axis=0).T
        boxes[1, :width] = np.maximum.reduceat(means, starts, axis=0).T
        boxes[2, :width] = np.minimum.reduceat(inverse[order], starts, axis=0).T
        return PackedMixture(
            np.ascontiguousarray(pairs).reshape(chunks, -1),
            constants.reshape(chunks, LANES),
            order,
            lows=boxes[0],
            highs=boxes[1],
            least=boxes[2],
            highest=constants.reshape(chunks, LANES).max(axis=1),
        )


class PackedMixture(NamedTuple):
    """A mixture in chunks of `LANES` neighbours, in single precision; lanes without a kernel have the constant -inf."""

    pairs: Floats  # [chunks, 2 * 4 * ceil(D / 4) * LANES] s and t by feature
    constants: Floats  # [chunks, LANES]
    order: Ints  # [M] the kernel of each lane
    lows: Floats  # [D, chunks] least and largest mean of each chunk, D padded
    highs: Floats
    least: Floats  # [D, chunks] the smallest s of each chunk
    highest: Floats  # [chunks] the largest constant of each chunk


def neighbours(points: Floats, size: int = LANES) -> Ints:
    """An order of points [M, D] in which each `size` are near each other: halved where they are widest, and again."""
    order, left = [np.zeros(0, np.int64)], [np.arange(len(points))]
    while left:
        some = left.pop()
        if len(some) <= size:
            order.append(some)
            continue
        half = (len(some) // 2 + size - 1) // size * size
        own = points[some]
        split = np.argsort(own[:, np.ptp(own, axis=0).argmax()], kind="stable")
        left += [some[split[half:]], some[split[:half]]]
    return np.concatenate(order)


def together(x: Floats, kernels: int) -> Ints:
    """The order in which hypotheses x [H, D] pass so many kernels."""
    return neighbours(x, ROWS) if kernels >= MANY else np.arange(len(x))


def padded_width(width: int) -> int:
    """D rounded up to a multiple of 4."""
    return 4 * max(1, -(-width // 4))


def padded_rows(x: Floats) -> Floats:
    """Single-precision copy of x [H, D] with zeros up to a multiple of 4 features and of ROWS hypotheses."""
    out = np.zeros((-(-len(x) // ROWS) * ROWS, padded_width(x.shape[1])), np.float32)
    out[: len(x), : x.shape[1]] = x
    return out


# kernels --------------------------------------------------------------------------------------------------------


@fast
def _subtract_squares(out, pairs, x, row, d):
    """Four features of a chunk for four hypotheses: out[r, m] -= sum_d (x[row + r, d] s[d, m] - t[d, m])^2."""
    a0, b0, c0, e0 = x[row, d], x[row, d + 1], x[row, d + 2], x[row, d + 3]
    a1, b1, c1, e1 = x[row + 1, d], x[row + 1, d + 1], x[row + 1, d + 2], x[row + 1, d + 3]
    a2, b2, c2, e2 = x[row + 2, d], x[row + 2, d + 1], x[row + 2, d + 2], x[row + 2, d + 3]
    a3, b3, c3, e3 = x[row + 3, d], x[row + 3, d + 1], x[row + 3, d + 2], x[row + 3, d + 3]
    for m in range(LANES):
        s0, t0 = pairs[m], pairs[LANES + m]
        s1, t1 = pairs[2 * LANES + m], pairs[3 * LANES + m]
        s2, t2 = pairs[4 * LANES + m], pairs[5 * LANES + m]
        s3, t3 = pairs[6 * LANES + m], pairs[7 * LANES + m]
        z0, z1, z2, z3 = a0 * s0 - t0, b0 * s1 - t1, c0 * s2 - t2, e0 * s3 - t3
        out[m] -= (z0 * z0 + z1 * z1) + (z2 * z2 + z3 * z3)
        z0, z1, z2, z3 = a1 * s0 - t0, b1 * s1 - t1, c1 * s2 - t2, e1 * s3 - t3
        out[LANES + m] -= (z0 * z0 + z1 * z1) + (z2 * z2 + z3 * z3)
        z0, z1, z2, z3 = a2 * s0 - t0, b2 * s1 - t1, c2 * s2 - t2, e2 * s3 - t3
        out[2 * LANES + m] -= (z0 * z0 + z1 * z1) + (z2 * z2 + z3 * z3)
        z0, z1, z2, z3 = a3 * s0 - t0, b3 * s1 - t1, c3 * s2 - t2, e3 * s3 - t3
        out[3 * LANES + m] -= (z0 * z0 + z1 * z1) + (z2 * z2 + z3 * z3)


@fast
def _maximum(values):
    top = values[0]
    for k in range(len(values)):
        top = fmax(top, values[k])
    return top


class Room(NamedTuple):
    """What is found of `ROWS` hypotheses; a active chunks, in the order of the mixture."""

    active: Ints  # [chunks] number of the a-th active chunk
    logs: Floats  # [ROWS // 4, chunks, 4 * LANES] log densities of hypothesis r under it at r // 4, a, r % 4 * LANES
    tops: Floats  # [ROWS, chunks] and their maxima; -inf where they are surely below the cutoff
    bounds: Floats  # [chunks] no log density of four hypotheses is above it
    wanted: Ints  # [chunks] which fours of hypotheses want it, as bits


@kernel
def room_for(chunks):
    """Room that is used again and again."""
    return Room(
        np.empty(chunks, np.int64),
        np.empty((ROWS // 4, chunks, 4 * LANES), np.float32),
        np.empty((ROWS, chunks), np.float32),
        np.empty(chunks, np.float32),
        np.empty(chunks, np.uint8),
    )


@kernel
def densities(x, row, mixture, cutoff, room):
    """Log densities of ROWS hypotheses from `row` under the kernels of all chunks that have some within the cutoff of
    a hypothesis' best one; how many active chunks."""
    chunks = len(mixture.pairs)
    room.wanted[:] = 0
    for group in range(ROWS // 4):
        first = row + 4 * group
        _bound(x[first : first + 4], mixture, room.bounds)
        least = _least(x, first, mixture, room) - cutoff
        for c in range(chunks):
            if room.bounds[c] >= least:
                room.wanted[c] |= 1 << group
    count = 0
    for c in range(chunks):
        if room.wanted[c]:
            room.active[count] = c
            for group in range(ROWS // 4):
                _fill(x, row, mixture, group=group, a=count, room=room)
            count += 1
    return count


@kernel
def _least(x, row, mixture, room):
    """No best log density of four hypotheses from `row` is below it; found in the chunk of the highest bound."""
    four, least = room.logs[0, 0], np.inf
    best = np.argmax(room.bounds)
    _four_rows(x, row, mixture, best, four)
    for r in range(4):
        least = min(least, np.float64(_maximum(four[r * LANES : (r + 1) * LANES])))
    room.bounds[best] = np.inf  # it has a kernel that is wanted, whatever its bound was rounded to
    return least


@fast
def _bound(four, mixture, bounds):
    """No kernel of a chunk has a log density above its bound for any of four hypotheses."""
    bounds[:] = 0.0
    for d in range(four.shape[1]):
        low = min(four[0, d], four[1, d], four[2, d], four[3, d])
        high = max(four[0, d], four[1, d], four[2, d], four[3, d])
        lows, highs, least = mixture.lows[d], mixture.highs[d], mixture.least[d]
        for c in range(len(bounds)):
            z = fmax(fmax(lows[c] - high, low - highs[c]), np.float32(0.0)) * least[c]
            bounds[c] -= z * z
    for c in range(len(bounds)):
        bounds[c] += mixture.highest[c]


@kernel
def _four_rows(x, row, mixture, c, four):
    """Log densities of four hypotheses from `row` under the kernels of a chunk."""
    for r in range(4):
        four[r * LANES : (r + 1) * LANES] = mixture.constants[c]
    for d in range(0, x.shape[1], 4):
        _subtract_squares(four, mixture.pairs[c, 2 * LANES * d : 2 * LANES * (d + 4)], x, row, d)


@kernel
def _fill(x, row, mixture, group, a, room):
    """Densities and maxima of the a-th active chunk for a group of four hypotheses; -inf where it wants none."""
    four = room.logs[group, a]
    c = room.active[a]
    if room.wanted[c] >> group & 1:
        _four_rows(x, row + 4 * group, mixture, c, four)
    else:
        four[:] = -np.inf
    for r in range(4):
        room.tops[4 * group + r, a] = _maximum(four[r * LANES : (r + 1) * LANES])


@kernel
def near(room, count, r, cutoff, order, found):
    """Fill in the kernels within `cutoff` of the best one of hypothesis r and their log densities; how many."""
    which, logs = found
    least = _maximum(room.tops[r, :count]) - cutoff
    size = 0
    for a in range(count):
        if room.tops[r, a] >= least:
            values = room.logs[r // 4, a, (r % 4) * LANES : (r % 4 + 1) * LANES]
            for m in range(LANES):
                which[size] = room.active[a] * LANES + m
                logs[size] = values[m]
                size += values[m] >= least
    for k in range(size):
        which[k] = order[which[k]]
    return size
