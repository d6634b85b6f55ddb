"""How the decision of a model was settled: what was tried on lists that it was not fitted on, kept in its file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from nbest.base.errors import ParameterError, shown
from nbest.model.values import number_of, text_in


@dataclass(frozen=True)
class TriedDecision:
    """A decision, the best of its kind, and its score.

    p is how surely it is better than the first that was tried: of a paired permutation test, corrected for all of them.
    """

    kind: str
    score: float
    gamma: float | None = None
    p: float | None = None  # None: of the first itself
    pool: str | None = None  # how votes are counted; None: by posteriors

    @property
    def words(self) -> str:
        """What to call it: votes are of several kinds."""
        if self.kind != "vote":
            return self.kind
        return "plurality vote" if self.gamma == 0 else f"vote by {self.pool or 'posteriors'}"

    def content(self) -> dict[str, Any]:
        """As the model file keeps it."""
        return {name: value for name, value in asdict(self).items() if value is not None}


@dataclass(frozen=True)
class Settled:
    """Decisions that were tried on so many segments: first 1-best, or that which the trainer gave to the model."""

    how: str  # "5 folds", "held-out lists"
    segments: int
    tried: tuple[TriedDecision, ...]

    def content(self) -> dict[str, Any]:
        """As the model file keeps it."""
        return {"how": self.how, "segments": self.segments, "tried": [each.content() for each in self.tried]}


def settled_of(content: Mapping[str, Any]) -> Settled | None:
    """What a model file says, checked; a `ParameterError` where it is not as it should be; None of nothing."""
    if not content:
        return None
    tried = content.get("tried")
    if not isinstance(tried, Sequence) or isinstance(tried, str) or not tried:
        raise ParameterError(f"'tried' must be a list of decisions, got {shown(tried)}")
    segments = int(number_of("segments", content.get("segments"), 0.0, 2.0**53))
    return Settled(text_in(content, "how"), segments, tuple(map(_tried, tried)))


def _tried(content: Any) -> TriedDecision:
    if not isinstance(content, Mapping):
        raise ParameterError(f"'tried' must be a list of decisions, got {shown(content)} in it")
    limits = {"gamma": (0.0, 1e300), "p": (0.0, 1.0)}
    more = {name: number_of(name, content[name], *limits[name]) for name in limits if name in content}
    pool = text_in(content, "pool") if "pool" in content else None
    kind, score = text_in(content, "kind"), number_of("score", content.get("score"))
    return TriedDecision(kind, score, more.get("gamma"), more.get("p"), pool)
