"""`GaussianMixture`: Gaussians with diagonal covariances, and the kernels that find the near ones of every hypothesis.

The log density of kernel m is  c_m - sum_d (x_d s_md - t_md)^2  with s = 1 / sqrt(2 variance), t = mean * s: two
multiply-adds a feature without the cancellation of the expanded square, in single precision. Kernels are packed in
chunks of 64 (`LANES`), hypotheses go by 16 (`ROWS`), so a chunk is read once for 16 hypotheses and all accumulators
stay in the first-level cache. What follows (exponentials, sums) looks only at kernels within a cutoff of the best one,
and only into chunks whose maximum says that they have some.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nbest.base.types import Floats
from nbest.compute.compilation import compiled, kernel
from nbest.compute.intrinsics import fmax

LANES = 64  # kernels in a chunk
ROWS = 16  # hypotheses for which a chunk is read once
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

    def packed(self) -> tuple[Floats, Floats]:
        """Single-precision [chunks, 2 * 4 * ceil(D / 4) * LANES] s and t by feature, and [chunks, LANES] constants."""
        size, width = self.means.shape
        chunks, padded = -(-size // LANES), padded_width(width)
        pairs = np.zeros((chunks * LANES, padded, 2), np.float32)
        inverse = 1.0 / np.sqrt(2.0 * self.variances)
        pairs[:size, :width, 0] = inverse
        pairs[:size, :width, 1] = self.means * inverse
        constants = np.full(chunks * LANES, -np.inf, np.float32)
        constants[:size] = self.constants()
        packed = pairs.reshape(chunks, LANES, padded * 2).transpose(0, 2, 1)
        return np.ascontiguousarray(packed).reshape(chunks, -1), constants.reshape(chunks, LANES)


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


@kernel
def densities(x, row, mixture, out, tops):
    """Log densities of ROWS hypotheses from `row` under all kernels, and their maxima by chunk.

    out[r // 4, c, r % 4 * LANES + lane] and tops[r, c], for hypothesis row + r and chunk c.
    """
    packed, constants = mixture
    width = x.shape[1]
    for c in range(len(packed)):
        for group in range(ROWS // 4):
            four = out[group, c]
            for r in range(4):
                four[r * LANES : (r + 1) * LANES] = constants[c]
            for d in range(0, width, 4):
                pairs = packed[c, 2 * LANES * d : 2 * LANES * (d + 4)]
                _subtract_squares(four, pairs, x, row + 4 * group, d)
            for r in range(4):
                tops[4 * group + r, c] = _maximum(four[r * LANES : (r + 1) * LANES])


@kernel
def near(out, tops, r, cutoff, room):
    """Fill in the kernels within `cutoff` of the best one of hypothesis r and their log densities; how many."""
    which, logs = room
    least = _maximum(tops[r]) - cutoff
    found = 0
    for c in range(tops.shape[1]):
        if tops[r, c] >= least:
            values = out[r // 4, c, (r % 4) * LANES : (r % 4 + 1) * LANES]
            for m in range(LANES):
                which[found] = c * LANES + m
                logs[found] = values[m]
                found += values[m] >= least
    return found
