"""Gaussian mixtures on a device: the largest posteriors of hypotheses, and what a round of EM adds up."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from nbest.base.types import Floats
from nbest.compute.cuda import mixture_kernels as kernels
from nbest.compute.cuda.device import Device, open_device

TILE = 128  # hypotheses
_BLOCK = 64  # kernels
_ROWS = 1 << 20  # hypotheses scanned by one call
_WARPS = 4
_GROUP = 16  # blocks with one middle
_PARTS = 8  # of the tiles of a shard, each summed by itself
_REFINED = 2048  # densities that one program computes exactly
_PRECISION = "tf32x3"  # products of single precision, within 1e-6
_BITS = 1.0 / np.log(2.0)  # of a nat: what kernels scan with is to base 2


class _Placed(NamedTuple):
    """What kernels read of a mixture, on the device."""

    order: Any  # [NB * BM] numbers of kernels, by block
    middles: Any  # [groups, KP]
    slopes: Any  # [NB * BM, KP] 2 s (mean - middle), the constant, 1 where all have one covariance, else then -s
    sharpness: Any  # [KP] s = 1 / (2 variance) in bits, where all have one covariance
    low: Any  # [NB, KP] of means
    high: Any
    least: Any  # [NB, KP] of sharpness
    tops: Any  # [NB] of constants


class _Exact(NamedTuple):
    """The same in double precision and nats, a feature after the other."""

    means: Any  # [NB, D, BM]
    halves: Any  # [NB, D, BM] or [D], 1 / (2 variance)
    constants: Any  # [NB, BM], -1e30 where a block is filled up


class DeviceMixture:
    """Gaussians on a device, in blocks of neighbours. It pickles as the numbers it was made of."""

    def __init__(self, device: str, means: Floats, variances: Floats, constants: Floats, block: int = _BLOCK) -> None:
        self.name, self.means, self.variances, self.constants, self.block = device, means, variances, constants, block

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.name, self.means, self.variances, self.constants, self.block)

    @property
    def device(self) -> Device:
        """Where it is."""
        return open_device(self.name)

    @property
    def shared(self) -> bool:
        """Whether all have one covariance."""
        return len(self.variances) == 1

    @cached_property
    def width(self) -> int:
        """Features and two more, padded."""
        return max(16, 1 << (self.means.shape[1] + 1).bit_length())

    @property
    def columns(self) -> int:
        """Columns of the product that gives densities."""
        return self.width if self.shared else 2 * self.width

    @cached_property
    def blocks(self) -> Any:
        """[NB, BM] numbers of kernels, on the device; the last ones may come again to fill a block."""
        scale = self.device.put(np.sqrt(self.variances.mean(axis=0)))
        return neighbours(self.device, self.doubles[0] / scale, self.block)

    @cached_property
    def filled(self) -> Any:
        """[NB, BM] whether a place is that of a kernel, and not filled up."""
        torch = self.device.torch
        first = torch.ones_like(self.blocks, dtype=torch.bool)
        first[:, 1:] = self.blocks[:, 1:] != self.blocks[:, :1]
        return first

    @cached_property
    def placed(self) -> _Placed:
        """On the device."""
        torch, width = self.device.torch, self.means.shape[1]
        means, halves, constants = self.doubles
        number = self.blocks
        own, sharp, tops = means[number], _BITS * halves.expand_as(means)[number], _BITS * constants[number]
        middles = torch.stack([part.mean((0, 1)) for part in own.split(_GROUP)])
        away = own - middles.repeat_interleave(_GROUP, 0)[: len(own), None]
        slopes = self.device.zeros(*number.shape, self.columns)
        slopes[..., :width] = 2 * sharp * away
        slopes[..., width] = torch.where(self.filled, tops - (sharp * away * away).sum(2), -1e30)
        if self.shared:
            slopes[..., width + 1] = 1.0
        else:
            slopes[..., self.width : self.width + width] = -sharp
            middles = torch.nn.functional.pad(middles, (0, self.width - width)).repeat(1, 2)

        def padded(values: Any) -> Any:
            return torch.nn.functional.pad(values, (0, self.columns - values.shape[-1])).contiguous()

        box = own.amin(1), own.amax(1), sharp.amin(1)
        sharpness, low, high, least = (padded(each).float() for each in (_BITS * halves[0], *box))
        return _Placed(
            order=number.reshape(-1).int(),
            middles=padded(middles),
            slopes=slopes.reshape(-1, self.columns).float(),
            sharpness=sharpness,
            low=low,
            high=high,
            least=least,
            tops=tops.amax(1).float(),
        )

    @cached_property
    def exact(self) -> _Exact:
        """On the device."""
        means, halves, constants = self.doubles
        own = means[self.blocks].mT.contiguous()
        sharp = halves[0] if self.shared else halves[self.blocks].mT.contiguous()
        return _Exact(own, sharp, self.device.torch.where(self.filled, constants[self.blocks], -1e30))

    @cached_property
    def doubles(self) -> tuple[Any, Any, Any]:
        """Means, 1 / (2 variance) and constants in double precision, as they were given."""
        arrays = self.means, 0.5 / self.variances, np.maximum(self.constants, -1e30)
        means, halves, constants = (self.device.put(np.asarray(each, np.float64)) for each in arrays)
        return means, halves, constants

    def scan(self, x: Any, cutoff: float, top: int) -> tuple[Any, Any, Any, Any]:
        """Log densities [H] of x [H, D] on the device, to base 2; the `top` blocks with the most likely kernels and
        their log densities, or where `top` is 0 which blocks are near which tile."""
        device, size = self.device, len(x)
        count, tiles = len(self.blocks), -(-size // TILE)
        logs = device.empty(max(1, size), kind="float32")
        room = max(8, 1 << max(0, top - 1).bit_length())
        chosen, masses = (device.empty(max(1, size) if top else 1, room, kind=kind) for kind in ("int32", "float32"))
        near = device.zeros(1 if top else max(1, tiles), count, kind="uint8")
        for low in range(0, size, _ROWS):
            part = slice(low, min(low + _ROWS, size))
            some = part.stop - low
            kernels.scan[(-(-some // TILE),)](
                x[part], *self.placed[1:], logs[part], chosen[part] if top else chosen,
                masses[part] if top else masses, near if top else near[low // TILE :], some, x.shape[1], count,
                float(cutoff * _BITS), BB=TILE, BM=self.block, CB=16, DP=self.width, KP=self.columns, TOP=room,
                SHARED=self.shared, SELECT=top > 0, GROUP=_GROUP, PRECISION=_PRECISION, num_warps=_WARPS,
            )  # fmt: skip
        return logs, chosen, masses, near

    def largest(self, x: Any, top: int, tolerance: float, cutoff: float) -> tuple[Any, Any, Any]:
        """On the device: kernels and posteriors [H, at least `top`] by falling posterior, and how many are kept [H]."""
        device, size = self.device, len(x)
        logs, chosen, masses, _ = self.scan(x, cutoff, top)
        room = chosen.shape[1]
        kept, posteriors = device.empty(max(1, size), room, kind="int32"), device.empty(max(1, size), room)
        counts = device.zeros(max(1, size), kind="int32")
        rows = max(1, _REFINED // (room * self.block))
        if size:
            kernels.refine[(-(-size // rows),)](
                x, self.placed.order, *self.exact, logs, chosen, masses, kept, posteriors, counts, size, x.shape[1],
                top, float(tolerance), BR=rows, BM=self.block, TOP=room, SHARED=self.shared, num_warps=_WARPS,
            )  # fmt: skip
        return kept[:size], posteriors[:size], counts[:size]

    def expected(self, x: Any, cutoff: float) -> tuple[float, Floats]:
        """The log-likelihood of x [H, D] on the device, and for each kernel sums of posterior * (1, x, x^2)."""
        assert not self.shared
        size, width = x.shape
        logs, _, _, near = self.scan(x, cutoff, 0)
        tiles, count = near.shape
        parts = min(_PARTS, tiles)
        sums = self.device.empty(parts, count * self.block, self.columns)
        kernels.accumulate[(count, parts)](
            x, *self.placed[1:4], logs, near, sums, size, width, count, tiles, -(-tiles // parts), BB=TILE,
            BM=self.block, DP=self.width, KP=self.columns, GROUP=_GROUP, PRECISION=_PRECISION, num_warps=_WARPS,
        )  # fmt: skip
        total = float(logs[:size].double().sum()) / _BITS
        found = sums.sum(0).reshape(count, self.block, -1)[self.filled]
        middle = self.placed.middles.repeat_interleave(_GROUP, 0)[:count, None, :width]
        middle = middle.expand(-1, self.block, -1)[self.filled]
        first, mass, second = found[:, :width], found[:, width : width + 1], found[:, self.width : self.width + width]
        moved = first + middle * mass, second + 2 * middle * first + middle**2 * mass
        out = np.zeros((len(self.means), 1 + 2 * width))
        out[self.device.get(self.blocks[self.filled])] = self.device.get(self.device.torch.cat([mass, *moved], 1))
        return total, out


def neighbours(device: Device, points: Any, size: int) -> Any:
    """[NB, size] numbers of points [M, D] in blocks that lie near each other, on the device; the first of a block comes
    again where it is not full. They are halved, again and again, across the feature in which they spread most."""
    torch, (count, width) = device.torch, points.shape
    order = torch.arange(count, device=device.device)
    ends = np.array([0, count])
    while (lengths := np.diff(ends)).max(initial=0) > size:
        node = torch.repeat_interleave(device.put(np.arange(len(lengths))), device.put(lengths))
        own, index = points[order], node[:, None].expand(-1, width)
        empty = device.zeros(len(lengths), width)
        high = empty.scatter_reduce(0, index, own, "amax", include_self=False)
        low = empty.scatter_reduce(0, index, own, "amin", include_self=False)
        value = own.gather(1, (high - low).argmax(1)[node][:, None])[:, 0]
        by_value = torch.sort(value, stable=True).indices
        order = order[by_value[torch.sort(node[by_value], stable=True).indices]]
        halves = -(-lengths // (2 * size)) * size  # whole blocks
        ends = np.unique(np.append(ends, ends[:-1] + np.where(lengths > size, halves, 0)))
    place = device.put(ends[:-1])[:, None] + torch.arange(size, device=device.device)[None, :]
    full = place < device.put(ends[1:])[:, None]
    return order[torch.where(full, place, place[:, :1])]
