"""What is chosen of one list, and who chooses: `LogLinear.choose` for programs that have one list at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from nbest.base.registry import Registry

Candidates = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Chosen:
    """The hypothesis that is chosen of one list; of an empty one the index and the score are None."""

    index: int | None
    text: str
    score: float | None
    abstained: bool = False  # whether the confidence is too small to answer
    sure: Callable[[], float] = field(default=float, repr=False, compare=False)

    @cached_property
    def confidence(self) -> float:
        """The probability of the chosen answer, over those of the list; computed when it is asked for."""
        return self.sure()


CHOOSERS: Registry[Callable[[Any], Callable[..., Chosen]]] = Registry(
    "way to choose of one list", {"online": "online:Online"}, room="nbest.decisions"
)
"""What makes a function `(candidates, abstain_below) -> Chosen` of a model. The one name of a room above: decisions
know models, and a model can be asked to choose all the same."""
