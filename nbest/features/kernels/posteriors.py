"""The largest posteriors of every hypothesis under a mixture, as a sparse matrix."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from nbest.base.types import Floats, Ints
from nbest.compute.compilation import kernel
from nbest.compute.executors import HeldShard, executor_of
from nbest.compute.intrinsics import fast_exp
from nbest.compute.parallel import each
from nbest.compute.segments import offsets_of
from nbest.features.kernels.expect import exponentials
from nbest.features.kernels.mixture import (
    LANES,
    ROWS,
    GaussianMixture,
    PackedMixture,
    densities,
    fast,
    near,
    padded_rows,
    room_for,
    together,
)
from nbest.objectives.backends import current_backend

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from nbest.compute.cuda.mixtures import DeviceMixture

_CUTOFF = 20.0  # nats below the best kernel, in single precision, from which a kernel is not looked at
_FEW = 64  # kernels so near for which all densities are computed in double precision, and not only the largest
_FAR = 1000.0  # nats from which single precision is too coarse for any
_PART = 4096  # hypotheses given to a thread at a time
_SHARDS = 4  # for each worker
WIDEST = 64
"""Features, and kernels kept of a hypothesis, at most, for a device."""


@dataclass
class Hypotheses(HeldShard):
    """A shard of hypotheses whose posteriors are wanted."""

    x: Floats  # [H, D]
    kernels: int  # that they pass

    @cached_property
    def forms(self) -> tuple[Ints, Floats, Floats]:
        """The order in which they pass the kernels; in it, padded in single precision and as they are."""
        order = together(self.x, self.kernels)
        own = np.ascontiguousarray(self.x, np.float64)[order]
        return order, padded_rows(own), own


def hypotheses(x: Floats, kernels: int, threads: int | None = None) -> list[Hypotheses]:
    """Shards of x [H, D] for so many kernels, in its order: several for each worker.

    What is found does not depend on where it is cut.
    """
    size = _PART * max(1, len(x) // (_PART * _SHARDS * executor_of(threads).workers))
    return [Hypotheses(x[low : low + size], kernels) for low in range(0, len(x), size)]


def kernel_posteriors(
    mixture: GaussianMixture,
    x: Floats | list[Hypotheses],
    top: int,
    tolerance: float,
    threads: int | None = None,
) -> csr_array:
    """[H, M] posteriors of x [H, D], for each hypothesis the largest until those left out sum to at most `tolerance`.

    At most `top` are kept, then the sum left out may be larger; what is kept is not renormalised. Kernels are found in
    single precision; densities of those kept (of all near ones where these are at most 64, or `tolerance` is 0) are
    computed in double, so that posteriors are right to 1e-4 relative, mostly to 1e-12.
    A pass over shards of x, which who comes again makes once. Cost: H x M x D x 2 multiply-adds, O(H x top) memory.
    """
    from scipy.sparse import csr_array

    which, values, counts = largest(mixture, x, top, tolerance, threads)
    kept = np.arange(which.shape[1]) < counts[:, None]
    kind = np.int32 if counts.sum() < 2**31 else np.int64  # what scipy would choose
    found = csr_array(
        (values[kept], which[kept].astype(kind), offsets_of(counts).astype(kind)), shape=(len(counts), len(mixture))
    )
    found.sort_indices()
    return found


def largest(
    mixture: GaussianMixture,
    x: Floats | list[Hypotheses],
    top: int,
    tolerance: float,
    threads: int | None = None,
) -> tuple[Ints, Floats, Ints]:
    """Kernels and posteriors [H, top] by falling posterior (ties: lowest kernel first), and how many [H] are kept."""
    shards = x if isinstance(x, list) else hypotheses(x, len(mixture), threads)
    top = min(top, len(mixture))
    if (device := on_device(mixture, top)) is not None:
        found = executor_of(threads).map(partial(_of_shard_on, device, top, tolerance), shards)
        which, values, counts = (np.concatenate(part) for part in zip(*found, strict=True)) if found else _none(top)
        return which, values, counts
    inverses = np.ascontiguousarray(1.0 / np.sqrt(2.0 * np.broadcast_to(mixture.variances, mixture.means.shape)))
    exact = np.ascontiguousarray(mixture.means, np.float64), inverses, mixture.constants()
    work = partial(_of_shard, mixture.packed(), exact, top, tolerance)
    found = executor_of(threads).map(work, shards) or [_none(top)]
    which, values, counts = (np.concatenate(part) for part in zip(*found, strict=True))
    return which, values, counts


def _of_shard(
    packed: PackedMixture,
    exact: tuple[Floats, Floats, Floats],
    top: int,
    tolerance: float,
    shard: Hypotheses,
) -> tuple[Ints, Floats, Ints]:
    count, forms = len(shard.x), shard.forms
    out = _none(top, count)

    def part(low: int) -> None:
        high = min(low + _PART, count)
        _largest(low, high, forms, packed, exact, cutoff=_cutoff(tolerance), tolerance=tolerance, out=out)

    each(part, range(0, count, _PART))
    return out


def _cutoff(tolerance: float) -> float:
    """Nats below the best kernel from which none is looked at; not infinite: lanes that pad the last chunk stay out."""
    return _CUTOFF if tolerance > 0 else 1e30


def _none(top: int, count: int = 0) -> tuple[Ints, Floats, Ints]:
    """What is found, before anything is."""
    return np.zeros((count, top), np.int32), np.zeros((count, top)), np.zeros(count, np.int64)


# on a device ----------------------------------------------------------------------------------------------------


def on_device(mixture: GaussianMixture, top: int = 0) -> DeviceMixture | None:
    """The mixture on the device of the current backend; None where that is the processor, or the mixture too wide."""
    name = current_backend().device
    if name is None or max(top, mixture.means.shape[1]) > WIDEST:
        return None
    from nbest.compute.cuda.mixtures import DeviceMixture

    return DeviceMixture(name, np.asarray(mixture.means), np.asarray(mixture.variances), mixture.constants())


def rows_on(device: DeviceMixture, shard: Hypotheses) -> Any:
    """The hypotheses of a shard on the device, which keeps them."""
    if "rows" not in shard.room:
        shard.room["rows"] = device.device.put(np.asarray(shard.x, np.float64))
    return shard.room["rows"]


def largest_on(device: DeviceMixture, top: int, tolerance: float, shard: Hypotheses) -> tuple[Any, Any, Any]:
    """`largest` of a shard, all on the device; there may be room for more than `top`."""
    return device.largest(rows_on(device, shard), top, tolerance, _cutoff(tolerance))


def _of_shard_on(device: DeviceMixture, top: int, tolerance: float, shard: Hypotheses) -> tuple[Ints, Floats, Ints]:
    with device.device.working():
        which, values, counts = map(device.device.get, largest_on(device, top, tolerance, shard))
    return which[:, :top], values[:, :top], counts.astype(np.int64)


# kernels --------------------------------------------------------------------------------------------------------


@fast
def _distance(x, mean, inverse):
    total = 0.0
    for d in range(len(x)):
        z = (x[d] - mean[d]) * inverse[d]
        total += z * z
    return total


@kernel
def _before(log, kernel_, other_log, other):
    return log > other_log or (log == other_log and kernel_ < other)


@kernel
def _insert(which, logs, kernel_, log):
    """Put a kernel in its place among the most likely, if it is one of them."""
    k = len(logs) - 1
    if not _before(log, kernel_, logs[k], which[k]):
        return
    while k > 0 and _before(log, kernel_, logs[k - 1], which[k - 1]):
        logs[k], which[k] = logs[k - 1], which[k - 1]
        k -= 1
    logs[k], which[k] = log, kernel_


@kernel
def _refine(which, logs, x, exact):
    """Log densities in double precision."""
    means, inverses, constants = exact
    for k in range(len(logs)):
        if logs[k] > -np.inf:
            m = which[k]
            logs[k] = constants[m] - _distance(x, means[m], inverses[m])


@kernel
def _largest(low, high, hypotheses, mixture, exact, cutoff, tolerance, out):
    """Fill `out` for hypotheses low:high, which come in an order, padded and as they are; so does the mixture."""
    order, rows, x = hypotheses
    which, values, counts = out
    chunks = len(mixture.pairs)
    room = room_for(chunks)
    some, logs = np.empty(chunks * LANES, np.int64), np.empty(chunks * LANES)
    best, best_logs = np.empty(values.shape[1], np.int64), np.empty(values.shape[1])
    for row in range(low, high, ROWS):
        active = densities(rows, row, mixture, cutoff, room)
        for r in range(min(ROWS, high - row)):
            h = row + r
            found = near(room, active, r, cutoff=cutoff, order=mixture.order, found=(some, logs))
            all_exact = tolerance == 0.0 or found <= _FEW or abs(room.tops[r, :active].max()) > _FAR
            if all_exact:
                _refine(some[:found], logs[:found], x[h], exact)
            best[:], best_logs[:] = 0, -np.inf
            last = len(best) - 1
            for k in range(found):
                if logs[k] >= best_logs[last]:  # asked here too: most are not, and a call costs more than the question
                    _insert(best, best_logs, some[k], logs[k])
            top = best_logs[0]
            mass = exponentials(logs[:found], top)
            if not all_exact:
                for k in range(len(best)):
                    mass -= fast_exp(best_logs[k] - top)
                _refine(best, best_logs, x[h], exact)
                for k in range(len(best)):
                    mass += fast_exp(best_logs[k] - top)
            place = order[h]
            counts[place] = _keep(best, best_logs, (top, mass, tolerance), which[place], values[place])


@kernel
def _keep(best, logs, scale, which, values):
    """Sort by posterior; how many have to be kept."""
    top, mass, tolerance = scale
    values[:] = 0.0
    for k in range(len(best)):
        _insert(which, values, best[k], fast_exp(logs[k] - top) / mass)
    left, count = 1.0, 0
    while count < len(values) and values[count] > 0.0 and (left > tolerance or tolerance == 0.0):
        left -= values[count]
        count += 1
    return count
