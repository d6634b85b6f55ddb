"""The backend of an accelerator: lists on its memory; forests stay on the processor."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from nbest.base.types import Floats, Ints
from nbest.compute.cuda.device import open_device
from nbest.objectives.backends import NUMBA, Moments, StatCredit
from nbest.objectives.shard import Shard

if TYPE_CHECKING:
    from nbest.compute.cuda.lists import DeviceLists


_LARGEST = 1 << 24  # hypotheses of a shard
_EACH = 2048  # bytes of the device for each of them, at least, so that several shards fit


@dataclass(frozen=True)
class CudaBackend:
    """Kernels in Triton, sums in one order: the same numbers in every run.

    Features are kept as on the processor. Where that is in float64 so is everything; of large lists, in float32,
    scores and sums over lists are in float64 and what is between in float32. Shards stay on the device while it has
    room (`memory` bytes; None: most of what is free), the others are sent in every pass while others are computed.
    Forests are computed by the processor.
    """

    device: str = "cuda"
    memory: int | None = None

    def block(self, corpus: Any) -> int | None:
        """Shards of many lists: what a call costs the host is the same for few."""
        most = min(_LARGEST, open_device(self.device, self.memory).memory // _EACH)
        return max(1, len(corpus) * most // max(1, len(corpus.features))) if corpus.whole else None

    def posteriors(self, shard: Any, weights: Floats, gamma: float, pairs: Ints) -> Moments:
        """See `Backend`."""
        if not isinstance(shard, Shard):
            return NUMBA.posteriors(shard, weights, gamma, pairs)
        lists = self._laid_out(shard)
        with lists.device.working():
            dense, extra = self._split(lists, shard, weights)
            mean, covered, entropy = lists.posteriors(dense, gamma, pairs, extra)
        covariance = np.zeros((len(mean), len(mean)))
        covariance[pairs[:, 0], pairs[:, 1]] = covariance[pairs[:, 1], pairs[:, 0]] = covered
        return Moments(mean, covariance, entropy)

    def feature_sum(
        self,
        shard: Any,
        credit: StatCredit,
        pairs: Ints,
        *,
        temperature: float,
        gamma: float,
        start: Floats | None = None,
    ) -> Floats:
        """See `Backend`."""
        if not isinstance(shard, Shard):
            return NUMBA.feature_sum(shard, credit, pairs, temperature=temperature, gamma=gamma, start=start)
        lists = self._laid_out(shard)
        with lists.device.working():
            dense = lists.feature_sum(
                credit.linear, credit.quadratic, pairs, temperature=temperature, gamma=gamma, start=start
            )
            return self._joined(lists, shard, dense, "shares")

    def posterior(self, shard: Any) -> Floats:
        """See `Backend`."""
        if not isinstance(shard, Shard):
            return NUMBA.posterior(shard)
        lists = self._laid_out(shard)
        with lists.device.working():
            return lists.posterior()

    def log_likelihood(self, shard: Any, weights: Floats) -> float:
        """See `Backend`."""
        lists = self._laid_out(shard)
        with lists.device.working():
            dense, extra = self._split(lists, shard, weights)
            return lists.log_likelihood(dense, shard.gold, extra)

    def residual_sum(self, shard: Any) -> Floats:
        """See `Backend`."""
        lists = self._laid_out(shard)
        with lists.device.working():
            return self._joined(lists, shard, lists.residual_sum(), "residuals")

    def _split(self, lists: DeviceLists, shard: Shard, weights: Floats) -> tuple[Floats, Any]:
        """Weights of scaled dense columns, and on the device what other columns add to scores, if anything does."""
        if lists.sparse is not None:
            width = lists.width
            return weights[:width], lists.sparse.scores(_divided(weights[width:], shard.scale[width:]))
        dense, extra = shard.dense_and_extra(weights)
        lists.room["more"] = len(extra) > 0
        return dense, lists.device.put(extra) if len(extra) else None

    def _joined(self, lists: DeviceLists, shard: Shard, dense: Floats, left: str) -> Floats:
        """The gradient [D + D'] from its dense part and what is left on the device of each hypothesis."""
        if lists.sparse is not None:
            total = lists.sparse.sums(lists.room[left])
            return np.concatenate([dense, _divided(total, shard.scale[lists.width :])])
        return shard.with_extra(dense, lists.left(left) if lists.room["more"] else np.zeros(0))

    def _laid_out(self, shard: Shard) -> DeviceLists:
        if "cuda" not in shard.room:
            from nbest.compute.cuda.lists import DeviceLists
            from nbest.compute.cuda.sparse import DeviceSparse

            device, corpus = open_device(self.device, self.memory), shard.corpus
            width = corpus.features.shape[1]
            factors = _divided(np.ones(width), shard.scale[:width])
            with device.working():
                sparse = None if corpus.sparse is None else DeviceSparse(device, corpus.sparse)
                shard.room["cuda"] = DeviceLists(
                    device, corpus.features, corpus.stats, corpus.offsets, factors, single=shard.single, sparse=sparse
                )
        return shard.room["cuda"]


def _divided(numbers: Floats, scale: Floats) -> Floats:
    """Numbers divided by a scale; 0 where that is 0."""
    return np.divide(numbers, scale, out=np.zeros(len(scale)), where=scale > 0)


CUDA = CudaBackend()
"""The first CUDA device."""


def backend_of(device: str) -> CudaBackend:
    """The backend of a device such as cuda or cuda:1, which is opened: an error where it is not there."""
    open_device(device)
    return replace(CUDA, device=device)
