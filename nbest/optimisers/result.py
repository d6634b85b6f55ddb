"""What every optimiser returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from nbest.base.types import Floats


@dataclass(frozen=True)
class Result:
    """The best weights found, their value, and how the search ended: a status and a sentence."""

    weights: Floats
    value: float
    status: str  # "converged", "limit", "collapsed", or "flat" where nothing that was tried makes a difference
    message: str
    evaluations: int = 0
    history: tuple[dict[str, Any], ...] = field(default=())

    @property
    def converged(self) -> bool:
        """Whether the search ended because nothing better was near."""
        return self.status == "converged"
