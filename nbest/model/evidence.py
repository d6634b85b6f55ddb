"""What a model is worth on lists that it was not fitted on, kept in its file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from nbest.base.errors import ParameterError, shown
from nbest.model.values import number_of, text_in

LEVEL = 0.05
"""The p from which on a difference may be chance."""


@dataclass(frozen=True)
class Evidence:
    """Scores on segments that a model was not fitted on, of its choices and of simple ones, and how sure they are.

    low and high are the ends of the 95 % interval of `tuned` by bootstrap, p and p_equal are of paired permutation
    tests against the first hypotheses and equal weights; segments of a group are drawn and swapped together.
    """

    how: str  # "5 folds", "held-out lists"
    segments: int  # that have hypotheses
    groups: int  # that they belong to; 0: they stand alone
    tuned: float
    low: float
    high: float
    oracle: float
    higher_is_better: bool
    first: float | None = None  # forests need not tell
    p: float | None = None
    equal: float | None = None  # of equal weights, where there are features to weigh so
    p_equal: float | None = None

    @property
    def gain(self) -> float | None:
        """How much better than the first hypotheses, whatever the direction of the metric."""
        return self._over(self.first)

    @property
    def gain_over_equal(self) -> float | None:
        """How much better than equal weights."""
        return self._over(self.equal)

    def _over(self, other: float | None) -> float | None:
        return None if other is None else (self.tuned - other) * (1.0 if self.higher_is_better else -1.0)

    @property
    def verdict(self) -> str:
        """Whether tuning "helped"; "unsure": it is better, and that may be chance; "no help": it is not; "hurt": it is
        worse, and that is no chance. Nothing where there is nothing to compare with."""
        if self.gain is None or self.p is None:
            return ""
        sure = self.p < LEVEL
        if self.gain > 0:
            return "helped" if sure else "unsure"
        return "hurt" if sure and self.gain < 0 else "no help"

    def content(self) -> dict[str, Any]:
        """As the model file keeps it."""
        return {name: value for name, value in asdict(self).items() if value is not None}


def evidence_of(content: Mapping[str, Any]) -> Evidence | None:
    """What a model file says, checked; a `ParameterError` where it is not as it should be; None of nothing."""
    if not content:
        return None
    scores = {name: number_of(name, content.get(name)) for name in ("tuned", "low", "high", "oracle")}
    scores |= {name: number_of(name, content[name]) for name in ("first", "equal") if name in content}
    if scores["low"] > scores["high"]:
        raise ParameterError(f"'low' must not be above 'high', got {scores['low']} and {scores['high']}")
    higher = content.get("higher_is_better")
    if not isinstance(higher, bool):
        raise ParameterError(f"'higher_is_better' must be true or false, got {shown(higher)}")
    return Evidence(
        how=text_in(content, "how"),
        segments=int(number_of("segments", content.get("segments"), 0.0, 2.0**53)),
        groups=int(number_of("groups", content.get("groups", 0), 0.0, 2.0**53)),
        higher_is_better=higher,
        **scores,
        **{name: number_of(name, content[name], 0.0, 1.0) for name in ("p", "p_equal") if name in content},
    )
