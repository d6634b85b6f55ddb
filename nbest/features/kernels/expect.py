"""The kernel of expectation maximisation: posteriors of hypotheses and the sums that make the next mixture.

Two ways to the same sums, chosen for every 16 hypotheses by how many kernels were near the 16 before: one kernel at a
time in double precision where few are near; all kernels by chunks, 16 hypotheses in single precision at a time and
those added in double, where kernels overlap so much that most are near.
"""

from __future__ import annotations

import numpy as np

from nbest.compute.compilation import kernel
from nbest.compute.intrinsics import fast_exp
from nbest.features.kernels.mixture import LANES, ROWS, densities, fast, near, room_for

_OVERLAP = 0.2  # share of near kernels from which all are summed


@kernel
def expect(rows, low, high, mixture, cutoff, stats, tiles):
    """Add the statistics of hypotheses low..high to `stats` [M, J] and `tiles` [chunks, J, lanes]; log-likelihood.

    Both have sums of posterior * (1, x, x^2); their sum is what is wanted. Lanes are in the order of the mixture.
    """
    chunks, width = len(mixture.pairs), rows.shape[1]
    room = room_for(chunks)
    which, logs = np.empty(chunks * LANES, np.int64), np.empty(chunks * LANES)
    terms = np.zeros((ROWS, tiles.shape[1]), np.float32)
    tile = np.empty(tiles.shape[1] * LANES, np.float32)
    x = np.empty(width)
    total, overlap = 0.0, 0.0
    for row in range(low, high, ROWS):
        active = densities(rows, row, mixture, cutoff, room)
        count = min(ROWS, high - row)
        found = 0
        if overlap < _OVERLAP:
            for r in range(count):
                some = near(room, active, r, cutoff=cutoff, order=mixture.order, found=(which, logs))
                top = room.tops[r, :active].max()
                mass = exponentials(logs[:some], top)
                total += top + np.log(mass)
                x[:] = rows[row + r]
                for k in range(some):
                    _add(stats[which[k]], logs[k] / mass, x)
                found += some
        else:
            terms[count:] = 0.0
            for r in range(count):
                top = room.tops[r, :active].max()
                mass, some = _all_exponentials(room.logs[r // 4, :active], r % 4, top, cutoff)
                total += top + np.log(mass)
                _terms(terms[r], rows[row + r], 1.0 / mass)
                found += some
            for a in range(active):
                _add_tile(room.logs, a, terms, tile, tiles[room.active[a]])
        overlap = found / (count * LANES * chunks)
    return total


@fast
def exponentials(logs, top):
    """Turn logs into exp(log - top); their sum."""
    total = 0.0
    for k in range(len(logs)):
        logs[k] = fast_exp(logs[k] - top)
        total += logs[k]
    return total


@fast
def _add(stats, posterior, x):
    """Sums of one kernel: stats += posterior * (1, x, x^2)."""
    width = len(x)
    stats[0] += posterior
    first, second = stats[1 : 1 + width], stats[1 + width :]
    for d in range(width):
        part = posterior * x[d]
        first[d] += part
        second[d] += part * x[d]


@kernel
def _all_exponentials(four, r, top, cutoff):
    """exp(log - top) of hypothesis r under all kernels, in place; their sum, and how many are within the cutoff."""
    total, found = 0.0, 0
    for c in range(len(four)):
        part, some = _chunk_exponentials(four[c, r * LANES : (r + 1) * LANES], top, cutoff)
        total += part
        found += some
    return total, found


@fast
def _chunk_exponentials(values, top, cutoff):
    total, found = 0.0, 0
    for m in range(LANES):
        log = np.float64(values[m]) - top
        found += log >= -cutoff
        value = fast_exp(log)
        values[m] = value
        total += value
    return total, found


@kernel
def _terms(terms, x, share):
    """(1, x, x^2) * share."""
    width = len(x)
    terms[0] = share
    for d in range(width):
        terms[1 + d] = x[d] * share
        terms[1 + width + d] = x[d] * (x[d] * share)


@kernel
def _add_tile(out, c, terms, tile, total):
    """total[j, m] += sum over ROWS hypotheses r of terms[r, j] * out[r, m], for the c-th active chunk."""
    tile[:] = 0.0
    for group in range(ROWS // 4):
        for j in range(0, terms.shape[1], 4):
            _four_by_four(tile[j * LANES : (j + 4) * LANES], out[group, c], terms, 4 * group, j)
    for j in range(len(total)):
        _accumulate(total[j], tile[j * LANES : (j + 1) * LANES])


@fast
def _accumulate(total, part):
    for m in range(LANES):
        total[m] += part[m]


@fast
def _four_by_four(tile, values, terms, r, j):
    a0, a1, a2, a3 = terms[r, j], terms[r + 1, j], terms[r + 2, j], terms[r + 3, j]
    b0, b1, b2, b3 = terms[r, j + 1], terms[r + 1, j + 1], terms[r + 2, j + 1], terms[r + 3, j + 1]
    c0, c1, c2, c3 = terms[r, j + 2], terms[r + 1, j + 2], terms[r + 2, j + 2], terms[r + 3, j + 2]
    d0, d1, d2, d3 = terms[r, j + 3], terms[r + 1, j + 3], terms[r + 2, j + 3], terms[r + 3, j + 3]
    for m in range(LANES):
        v0, v1, v2, v3 = values[m], values[LANES + m], values[2 * LANES + m], values[3 * LANES + m]
        tile[m] += (a0 * v0 + a1 * v1) + (a2 * v2 + a3 * v3)
        tile[LANES + m] += (b0 * v0 + b1 * v1) + (b2 * v2 + b3 * v3)
        tile[2 * LANES + m] += (c0 * v0 + c1 * v1) + (c2 * v2 + c3 * v3)
        tile[3 * LANES + m] += (d0 * v0 + d1 * v1) + (d2 * v2 + d3 * v3)
