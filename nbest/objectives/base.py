"""What an objective is."""

from __future__ import annotations

from typing import Any, Protocol

from nbest.base.types import Floats


class Objective(Protocol):
    """A smooth corpus objective, minimised, as two additive passes over shards of a corpus.

    `moments` of shards add up; `combine` turns the sum into the corpus value and the credit that the second
    pass needs; `gradient` of shards adds up; `penalty` (value and gradient) is added once for the corpus.
    """

    def moments(self, weights: Floats, shard: Any) -> Any: ...

    def combine(self, moments: Any) -> tuple[float, Any]: ...

    def gradient(self, weights: Floats, shard: Any, credit: Any) -> Floats: ...

    def penalty(self, weights: Floats) -> tuple[float, Floats]: ...
