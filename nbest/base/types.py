"""Array types and the protocols that the families are written against."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from nbest.corpus import NBest, Texts

Floats = npt.NDArray[np.floating[Any]]
Ints = npt.NDArray[np.integer[Any]]
Bools = npt.NDArray[np.bool_]
References = Sequence[Sequence[str]]
"""For each segment, its reference texts (one or more)."""


@runtime_checkable
class Metric(Protocol):
    """A corpus metric with additive statistics.

    Statistics of a corpus are the sum of those of the chosen hypotheses; `score` is a pure function of
    such totals, defined for all-zero totals, and works on any array whose last axis holds the M statistics.
    """

    @property
    def name(self) -> str: ...

    @property
    def higher_is_better(self) -> bool: ...

    @property
    def stat_names(self) -> tuple[str, ...]: ...

    def stats(self, texts: Texts, offsets: Ints, references: References) -> Floats:
        """[H, M] statistics of every hypothesis against the references of its segment."""
        ...

    def score(self, totals: Floats) -> Floats:
        """[...] scores of totals [..., M], in the metric's usual unit (percent)."""
        ...

    def losses(self, stats: Floats) -> Floats:
        """[H] loss of each hypothesis alone, >= 0, smaller is better (for gold sets and oracles)."""
        ...

    def signature(self, references: int = 1) -> str:
        """How the score was computed, so that two scores can be compared. `references` per segment, -1 if varied."""
        ...


class SmoothMetric(Metric, Protocol):
    """A metric that can be trained on smoothly: its formula, larger is better, written with `nbest.compute.jets`."""

    def smooth(self, s: Sequence[Any]) -> Any:
        """The formula of M expected totals, plain arrays or jets alike."""
        ...


class Model(Protocol):
    """What a trainer returns: scores hypotheses and chooses."""

    def scores(self, corpus: NBest) -> Floats: ...

    def predict(self, corpus: NBest) -> Ints: ...

    def save(self, path: str) -> None: ...


class Trainer(Protocol):
    """Keywords are stored as given and checked in `fit`; `result_` is there after it."""

    result_: Any

    def fit(self, corpus: NBest, heldout: NBest | None = None) -> Any: ...


class Objective(Protocol):
    """A smooth corpus objective, minimised, as two additive passes over shards of a corpus.

    `moments` of shards add up; `combine` turns the sum into the corpus value and the credit that the second
    pass needs; `gradient` of shards adds up; `penalty` (value and gradient) is added once for the corpus.
    """

    def moments(self, weights: Floats, shard: Any) -> Any: ...

    def combine(self, moments: Any) -> tuple[float, Any]: ...

    def gradient(self, weights: Floats, shard: Any, credit: Any) -> Floats: ...

    def penalty(self, weights: Floats) -> tuple[float, Floats]: ...
