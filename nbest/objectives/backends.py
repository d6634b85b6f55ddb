"""Backends: what computes the two passes over a shard. Numba kernels, unless told otherwise.

An objective has a backend and asks it for everything that costs a pass over features; it never sees the arrays that
the backend works on. Those are laid out once and kept in the room of the shard, on whatever device they belong.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import singledispatch
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from nbest.base.errors import CapabilityError
from nbest.base.registry import Registry
from nbest.base.types import Floats, Ints
from nbest.compute import segments
from nbest.objectives.forest_shard import ForestShard
from nbest.objectives.shard import Shard

if TYPE_CHECKING:
    from nbest.objectives.forest_moments import ForestBlocked
    from nbest.objectives.moments import Blocked


@dataclass(frozen=True)
class Moments:
    """Additive over shards: expected totals [M], their covariance [M, M] (only the wanted pairs), entropy in nats."""

    mean: Floats
    covariance: Floats
    entropy: float

    def __add__(self, other: Moments) -> Moments:
        return Moments(self.mean + other.mean, self.covariance + other.covariance, self.entropy + other.entropy)


@dataclass(frozen=True)
class StatCredit:
    """What a unit of each statistic is worth: dJ/dp_ik = linear . s + s' quadratic s - 2 sbar' quadratic s + ..."""

    linear: Floats  # [M]
    quadratic: Floats  # [M, M], symmetric, 0 outside the pairs whose covariance was asked for


class Backend(Protocol):
    """Two passes over a shard of lists (`Shard`) or forests (`ForestShard`), for risk and for the likelihood.

    Weights are those of scaled features. All arrays that go in and out are NumPy's. `posteriors` and `feature_sum` are
    the passes of risk and CoBLEU; `log_likelihood` and `residual_sum` those of the likelihood, for lists only.
    """

    @property
    def device(self) -> str | None:
        """The accelerator that also computes what is no objective (mixtures, pairs of hypotheses), if it is one."""
        ...

    def block(self, corpus: Any) -> int | None:
        """How many segments of a corpus make a shard; None: as many as everywhere."""
        ...

    def posteriors(self, shard: Any, weights: Floats, gamma: float, pairs: Ints) -> Moments:
        """First pass: p = softmax(gamma * weights . features) of every segment, and the moments of its statistics.

        `pairs` [Q, 2] are the covariances wanted. Leaves p in the shard's room.
        """
        ...

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
        """Second pass: [D + D'] gradient, by the weights, of the credit's moments less temperature * entropy.

        At the p that the first pass left. `start` is worth more of each place of `posterior`; it may be overwritten.
        """
        ...

    def posterior(self, shard: Any) -> Floats:
        """What the first pass left: p of every hypothesis [H], or of every edge of the layout of the forests [E']."""
        ...

    def log_likelihood(self, shard: Any, weights: Floats) -> float:
        """Sum over segments of the log probability of `shard.gold`; leaves the residuals in the shard's room.

        The residual of a hypothesis is its p less its p within the gold set: what its features are worth.
        """
        ...

    def residual_sum(self, shard: Any) -> Floats:
        """[D + D'] sum over hypotheses of residual * features."""
        ...


@dataclass(frozen=True)
class NumbaBackend:
    """Kernels on threads; products of the likelihood by BLAS, on features as they are."""

    device: str | None = None

    def block(self, corpus: Any) -> int | None:
        """See `Backend`."""
        return None

    def posteriors(self, shard: Any, weights: Floats, gamma: float, pairs: Ints) -> Moments:
        """See `Backend`."""
        dense, extra = shard.dense_and_extra(weights)
        return self._laid_out(shard).posteriors(dense, gamma, extra, pairs)

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
        laid = self._laid_out(shard)
        dense, share = laid.feature_sum(credit, pairs, temperature=temperature, gamma=gamma, start=start)
        return shard.with_extra(dense, share)

    def posterior(self, shard: Any) -> Floats:
        """See `Backend`."""
        return self._laid_out(shard).posterior

    def log_likelihood(self, shard: Any, weights: Floats) -> float:
        """See `Backend`."""
        scores, offsets = shard.scores(weights), shard.offsets
        golden = np.where(shard.gold, scores, -np.inf)
        every, best = segments.logsumexp(scores, offsets), segments.logsumexp(golden, offsets)
        lengths = segments.lengths(offsets)
        filled = lengths > 0
        shard.room["residual"] = np.exp(scores - np.repeat(every, lengths)) - np.exp(golden - np.repeat(best, lengths))
        return float((best[filled] - every[filled]).sum())

    def residual_sum(self, shard: Any) -> Floats:
        """See `Backend`."""
        return shard.weighted_sum(shard.room["residual"])

    def _laid_out(self, shard: Any) -> Blocked | ForestBlocked:
        if "numba" not in shard.room:
            shard.room["numba"] = _lay_out(shard)
        return shard.room["numba"]


@singledispatch
def _lay_out(shard: Any) -> Any:
    raise CapabilityError(f"the Numba backend takes shards of lists or forests, got {type(shard).__name__}")


@_lay_out.register
def _(shard: Shard) -> Any:
    from nbest.objectives.moments import Blocked

    stats, _ = shard.corpus.need_stats()
    features = shard.corpus.features
    return Blocked.of(features, stats, shard.offsets, scale=shard.scale[: features.shape[1]], single=shard.single)


@_lay_out.register
def _(shard: ForestShard) -> Any:
    from nbest.objectives.forest_moments import ForestBlocked

    return ForestBlocked.of(shard.forests, shard.stats, scale=shard.scale, single=shard.single)


NUMBA = NumbaBackend()
"""The default."""

BACKENDS: Registry[Backend] = Registry(
    "backend",
    {
        "cuda": "cuda:CUDA",
        "numba": NUMBA,
    },
    group="nbest.backends",
    room="nbest.objectives",
)
"""Backends by name."""

_current: ContextVar[Backend] = ContextVar("current", default=NUMBA)


def current_backend() -> Backend:
    """What objectives compute with that are given no backend."""
    return _current.get()


@contextmanager
def computing_with(backend: Backend | str) -> Iterator[Backend]:
    """Let all that is trained inside compute with a backend, or with that of a name."""
    chosen = BACKENDS.look_up(backend) if isinstance(backend, str) else backend
    token = _current.set(chosen)
    try:
        yield chosen
    finally:
        _current.reset(token)


@contextmanager
def computing_on(device: str | None) -> Iterator[None]:
    """Let all that is done inside compute on a device such as cuda or cuda:1; None: as it was."""
    if device is None:
        yield
        return
    from nbest.objectives.cuda import backend_of

    with computing_with(backend_of(device)):
        yield
