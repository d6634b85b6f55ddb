"""What an objective is."""

from __future__ import annotations

from typing import Any, Protocol

from nbest.base.types import Floats
from nbest.objectives.penalties import Penalty


class Objective(Protocol):
    """A smooth corpus objective, minimised, as two additive passes over shards of a corpus.

    `moments` of shards add up; `combine` turns the sum into the corpus value and the credit that the second
    pass needs; `gradient` of shards adds up; the `penalty` is added once for the corpus.
    """

    @property
    def penalty(self) -> Penalty: ...

    def moments(self, weights: Floats, shard: Any) -> Any: ...

    def combine(self, moments: Any) -> tuple[float, Any]: ...

    def gradient(self, weights: Floats, shard: Any, credit: Any) -> Floats: ...
