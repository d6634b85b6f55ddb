"""What is chosen of one list, and who chooses: `LogLinear.choose` for programs that have one list at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from nbest.base.registry import Registry

Candidates = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class HowSure:
    """How sure a choice is."""

    probability: float = 0.0
    confidence: float = 0.0
    calibrated: bool = False


@dataclass(frozen=True)
class Chosen:
    """The hypothesis that is chosen of one list; of an empty one the index and the score are None."""

    index: int | None
    text: str
    score: float | None
    abstained: bool = False  # whether the confidence is too small to answer
    sure: Callable[[], HowSure] = field(default=HowSure, repr=False, compare=False)

    @cached_property
    def _sure(self) -> HowSure:
        return self.sure()

    @property
    def probability(self) -> float:
        """That of the chosen answer, by the decision's own votes; not calibrated. Computed when it is asked for."""
        return self._sure.probability

    @property
    def confidence(self) -> float:
        """How probably the choice is right, as calibrated on held-out data; else the raw `probability`."""
        return self._sure.confidence

    @property
    def calibrated(self) -> bool:
        """Whether held-out data told what the confidence of such a choice is worth."""
        return self._sure.calibrated


CHOOSERS: Registry[Callable[[Any], Callable[..., Chosen]]] = Registry(
    "way to choose of one list", {"online": "online:Online"}, room="nbest.decisions"
)
"""What makes a function `(candidates, abstain) -> Chosen` of a model. The one name of a room above: decisions
know models, and a model can be asked to choose all the same."""
