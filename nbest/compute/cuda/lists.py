"""Lists on a device: what a shard is laid out as there, and the passes over it. NumPy arrays go in and out."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import triton.language as tl

from nbest.base.types import Bools, Floats, Ints
from nbest.compute.cuda import list_kernels as kernels
from nbest.compute.cuda.device import Device
from nbest.compute.cuda.sparse import DeviceSparse
from nbest.compute.segments import lengths

_MOST = 128  # hypotheses that a program has in registers
_COLUMNS = 32  # features whose sums it makes at a time
_WARPS = 2


def _power(least: int, size: int) -> int:
    """The next power of two, and no less than `least`."""
    return max(least, 1 << max(0, int(size) - 1).bit_length())


@dataclass
class DeviceLists:
    """Lists on a device, blocked by segment: features [D, K_i] centred and scaled, statistics [M, K_i] centred.

    Where the device has no room for the columns they are sent in every pass; scores always stay.
    """

    device: Device
    features: Floats  # [H, D] as they are, on the host
    stats: Floats | None  # [H, M], or none for what needs none
    offsets_: Ints  # [N+1]
    factors: Floats  # [D] by which features are multiplied
    single: bool  # features in float32
    sparse: DeviceSparse | None = None
    room: dict[str, Any] = field(default_factory=dict)  # what stays on the device

    def __post_init__(self) -> None:
        size = int(lengths(self.offsets_).max(initial=1))
        self.block = min(_MOST, _power(16, size))
        self.segments, self.hypotheses = len(self.offsets_) - 1, int(self.offsets_[-1])
        self.width = self.features.shape[1]
        self.offsets = self.device.put(np.asarray(self.offsets_, np.int64))
        per_row = self.width * (4 if self.single else 8) + (0 if self.stats is None else 2 * self.stats.shape[1])
        self.stays = self.device.keep(self, self.hypotheses * (per_row + 16))

    # layout ----------------------------------------------------------------------------------------------------------

    def columns(self) -> Any:
        """Features, laid out."""
        return self._kept("columns", lambda: self._laid(self.features, self.factors, self._kind())[0])

    def measures(self) -> tuple[Any, Any]:
        """Statistics, laid out, in whole numbers of two bytes where they can be, and what was subtracted [N, M]."""
        stats = self.stats
        assert stats is not None
        return self._kept("measures", lambda: self._laid(stats, np.ones(stats.shape[1]), self.kind_of_stats))

    @cached_property
    def kind_of_stats(self) -> str:
        """What statistics are kept in."""
        assert self.stats is not None
        return "int16" if _narrow(self.stats) else "float64"

    def _kept(self, name: str, make: Any) -> Any:
        if name in self.room:
            return self.room[name]
        found = make()
        if self.stays:
            self.room[name] = found
        return found

    def _kind(self) -> str:
        return "float32" if self.single or self.features.dtype == np.float32 else "float64"

    def _laid(self, rows: Floats, factors: Floats, kind: str) -> tuple[Any, Any]:
        width = rows.shape[1]
        out = self.device.empty(max(1, self.hypotheses * width), kind=kind)
        centres = self.device.zeros(self.segments, max(width, 1))
        if width and self.segments:
            CP = min(16, _power(1, width))
            kernels.lay_out[(self.segments, -(-width // CP))](
                self.device.put(rows), self.offsets, self.device.put(np.asarray(factors, np.float64)), centres, out,
                width, CP=CP, BK=self.block, WHOLE=kind == "int16", num_warps=_WARPS,
            )  # fmt: skip
        return out, centres

    # passes ----------------------------------------------------------------------------------------------------------

    def posteriors(self, dense: Floats, gamma: float, pairs: Ints, extra: Any = None) -> tuple[Floats, Floats, float]:
        """First pass: means [M] summed over segments, the covariances of `pairs` [Q], the entropy; scores stay."""
        assert self.stats is not None
        M, apart = self.stats.shape[1], pairs[pairs[:, 0] != pairs[:, 1]]
        Q = len(apart)
        measures, centres = self.measures()
        if "centres" not in self.room:
            self.room["centres"] = self.device.get(centres.sum(0))
        found = self._room(f"found {Q}", self.segments, 2 * M + Q + 1)
        if self.segments:
            kernels.posteriors[(self.segments,)](
                self.columns(), measures, self.offsets, self.device.send(np.append(dense, gamma)),
                self._scores_of_others(extra), *self._pairs(apart), self._room("scores", self.hypotheses),
                self._room("norms", self.segments), found, self.width, M=M, Q=Q, CURVED=len(pairs) > 0,
                MP=_power(1, M), QP=_power(1, Q), BK=self.block, EXTRA=extra is not None,
                NUMBER=self._number(), num_warps=_WARPS,
            )  # fmt: skip
        totals = self.device.get(found[: self.segments].sum(0))
        covered = np.empty(len(pairs))
        same = pairs[:, 0] == pairs[:, 1]
        covered[same], covered[~same] = totals[M + pairs[same, 0]], totals[2 * M : 2 * M + Q]
        return totals[:M] + self.room["centres"][:M], covered, float(totals[-1])

    def feature_sum(
        self, linear: Floats, quadratic: Floats, pairs: Ints, *, temperature: float, gamma: float, start: Floats | None
    ) -> Floats:
        """Second pass: the gradient [D]; shares of hypotheses stay as `shares`."""
        assert self.stats is not None
        M, apart = self.stats.shape[1], pairs[pairs[:, 0] != pairs[:, 1]]
        Q = len(apart)
        curves = np.append(np.diag(quadratic), 2.0 * quadratic[apart[:, 0], apart[:, 1]])
        given = self.device.send(np.concatenate([linear, -2.0 * quadratic.ravel(), curves, [temperature, gamma]]))
        means = self._room(f"found {Q}", self.segments, 2 * M + Q + 1)[:, :M]
        slopes = self.device.torch.addmm(given[:M], means, given[M : M + M * M].reshape(M, M))
        gradients = self._room("gradients", self.segments, self.width)
        if self.segments:
            kernels.feature_sum[(self.segments,)](
                self.columns(), self.measures()[0], self.offsets, self.room["scores"], self.room["norms"],
                slopes, given[M + M * M :], *self._pairs(apart),
                self.offsets if start is None else self.device.put(start),
                self._room("shares", self.hypotheses, kind=self._kind()),
                gradients, self.width, M=M, Q=Q, CURVED=len(pairs) > 0, BK=self.block, DB=self._at_once(),
                START=start is not None, NUMBER=self._number(), num_warps=_WARPS,
            )  # fmt: skip
        return self._sum(gradients)

    def log_likelihood(self, dense: Floats, gold: Bools, extra: Any = None) -> float:
        """Sum over segments of the log probability of the gold set [H]; `residuals` of hypotheses stay."""
        if "gold" not in self.room:
            self.room["gold"] = self.device.put(np.append(gold, False))
        found = self._room("likelihoods", self.segments)
        if self.segments:
            kernels.gold_sets[(self.segments,)](
                self.columns(), self.room["gold"], self.offsets, self.device.send(np.append(dense, 1.0)),
                self._scores_of_others(extra), self._room("residuals", self.hypotheses), found, self.width,
                BK=self.block, EXTRA=extra is not None, num_warps=_WARPS,
            )  # fmt: skip
        return float(found[: self.segments].sum())

    def residual_sum(self) -> Floats:
        """[D] sum over hypotheses of what stays as `residuals` * feature."""
        gradients = self._room("gradients", self.segments, self.width)
        if self.segments and self.width:
            kernels.weighted_sum[(self.segments,)](
                self.columns(), self.offsets, self.room["residuals"], gradients, self.width, BK=self.block,
                DB=self._at_once(), num_warps=_WARPS,
            )  # fmt: skip
        return self._sum(gradients)

    def posterior(self) -> Floats:
        """[H] what the first pass left."""
        norms = self.room["norms"][: self.segments].repeat_interleave(self.device.put(lengths(self.offsets_)))
        return self.device.get((self.room["scores"][: self.hypotheses] - norms).exp())

    def left(self, name: str) -> Floats:
        """[H] `shares` or `residuals` that a pass left."""
        return self.device.get(self.room[name][: self.hypotheses]).astype(np.float64)

    def _room(self, name: str, *shape: int, kind: str = "float64") -> Any:
        """An array that stays, to be written to; none is empty."""
        if name not in self.room:
            self.room[name] = self.device.zeros(*(max(1, size) for size in shape), kind=kind)
        return self.room[name]

    def _pairs(self, pairs: Ints) -> tuple[Any, Any]:
        """Both sides of the pairs, which stay."""
        name = f"pairs {pairs.tobytes()!r}"
        if name not in self.room:
            self.room[name] = tuple(self.device.put(np.append(side, 0).astype(np.int64)) for side in pairs.T)
        return self.room[name]

    def _sum(self, gradients: Any) -> Floats:
        """[D] sum over segments."""
        return self.device.get(gradients[: self.segments].sum(0))[: self.width]

    def _scores_of_others(self, extra: Any) -> Any:
        return self.offsets if extra is None else extra

    def _number(self) -> Any:
        """What is computed in."""
        return tl.float32 if self._kind() == "float32" else tl.float64

    def _at_once(self) -> int:
        return min(_COLUMNS, _power(1, self.width))


def _narrow(stats: Floats) -> bool:
    """Whether statistics, less any of them, are whole numbers of two bytes."""
    return bool(np.abs(stats).max(initial=0) < 2**14 and (stats == np.rint(stats)).all())
