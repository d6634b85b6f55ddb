"""The largest posteriors of every hypothesis under a mixture, as a sparse matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nbest.features.gaussian_expect import exponentials
from nbest.features.gaussian_mixture import LANES, ROWS, Mixture, densities, fast, near, padded_rows
from nbest.parallel import each, kernel
from nbest.segments import offsets_of
from nbest.types import Floats, Ints

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_CUTOFF = 20.0  # nats below the best kernel, in single precision, from which a kernel is not looked at
_PART = 4096  # hypotheses given to a thread at a time


def posteriors(mixture: Mixture, x: Floats, top: int, tolerance: float, threads: int | None = None) -> csr_array:
    """[H, M] posteriors of x [H, D], for each hypothesis the largest until those left out sum to at most `tolerance`.

    At most `top` are kept, then the sum left out may be larger; what is kept is not renormalised. Kernels are found in
    single precision, their posteriors computed in double. Cost: H x M x D x 2 multiply-adds, O(H x top) memory.
    """
    from scipy.sparse import csr_array

    which, values, counts = largest(mixture, x, top, tolerance, threads)
    kept = np.arange(which.shape[1]) < counts[:, None]
    kind = np.int32 if counts.sum() < 2**31 else np.int64  # what scipy would choose
    found = csr_array(
        (values[kept], which[kept].astype(kind), offsets_of(counts).astype(kind)), shape=(len(x), len(mixture))
    )
    found.sort_indices()
    return found


def largest(
    mixture: Mixture, x: Floats, top: int, tolerance: float, threads: int | None = None
) -> tuple[Ints, Floats, Ints]:
    """Kernels and posteriors [H, top] by falling posterior (ties: lowest kernel first), and how many [H] are kept."""
    rows, (packed, constants) = padded_rows(x), mixture.packed()
    exact = np.ascontiguousarray(1.0 / np.sqrt(2.0 * np.broadcast_to(mixture.variances, mixture.means.shape)))
    top = min(top, len(mixture))
    which, values = np.zeros((len(x), top), np.int32), np.zeros((len(x), top))
    counts = np.zeros(len(x), np.int64)
    cutoff = _CUTOFF if tolerance > 0 else 1e30  # not infinite: the lanes that pad the last chunk stay out
    exact_constants = mixture.constants()
    x, means = np.ascontiguousarray(x, np.float64), np.ascontiguousarray(mixture.means, np.float64)

    def part(low: int) -> None:
        high = min(low + _PART, len(x))
        _largest(
            rows, x, low, high, packed, constants, means, exact, exact_constants, cutoff, tolerance,
            which, values, counts,
        )  # fmt: skip

    each(part, range(0, len(x), _PART), threads)
    return which, values, counts


# kernels --------------------------------------------------------------------------------------------------------


@fast
def _distance(x, mean, inverse):
    total = 0.0
    for d in range(len(x)):
        z = (x[d] - mean[d]) * inverse[d]
        total += z * z
    return total


@kernel
def _insert(which, values, kernel_, value):
    """Put a posterior in its place among the largest, if it is one of them."""
    k = len(values) - 1
    if value <= values[k]:
        return
    while k > 0 and values[k - 1] < value:
        values[k], which[k] = values[k - 1], which[k - 1]
        k -= 1
    values[k], which[k] = value, kernel_


@kernel
def _largest(
    rows, x, low, high, packed, constants, means, exact, exact_constants, cutoff, tolerance, which, values, counts
):
    chunks = len(packed)
    out = np.empty((ROWS // 4, chunks, 4 * LANES), np.float32)
    tops = np.empty((ROWS, chunks), np.float32)
    some, logs = np.empty(chunks * LANES, np.int64), np.empty(chunks * LANES)
    for row in range(low, high, ROWS):
        densities(rows, row, packed, constants, out, tops)
        for r in range(min(ROWS, high - row)):
            h = row + r
            found = near(out, tops, r, cutoff, some, logs)
            for k in range(found):
                m = some[k]
                logs[k] = exact_constants[m] - _distance(x[h], means[m], exact[m])
            mass = exponentials(logs[:found], logs[:found].max())
            for k in range(found):
                _insert(which[h], values[h], some[k], logs[k] / mass)
            left = 1.0
            while counts[h] < values.shape[1] and values[h, counts[h]] > 0.0 and (left > tolerance or tolerance == 0.0):
                left -= values[h, counts[h]]
                counts[h] += 1
