"""How sure a choice is: what held-out lists told of it, kept in a model file, and applied. NumPy alone: it is needed
wherever a model chooses."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from nbest.base.errors import ParameterError, look_up, shown
from nbest.base.types import Floats, Ints
from nbest.model.values import number_of, object_in, text_in

STEPS = 1000
"""Steps of a curve that are kept at most."""
_MOST = 100_000  # steps that a file may have


@dataclass(frozen=True, eq=False)
class Confidence:
    """What held-out lists told of the choices by one decision: a map from the probability of an answer, as the decision
    votes, to that of being right; and how many of the surest choices were right.

    Of the curve, step s keeps the choices whose raw probability is at least raw[s]: kept[s] of all, right[s] of them
    right. What is right: a segment whose score by the metric is at least `right_from` (at most, where lower is better).
    """

    decision: Mapping[str, Any]
    kind: str  # of the map
    values: Mapping[str, Any]  # of the map
    raw: Floats  # [S] falling
    kept: Ints  # [S]
    right: Ints  # [S]
    right_from: float
    metric: str = ""
    answer: str = ""  # the rule by which answers were found (nbest.corpus.answers.rule_of)
    how: str = ""  # "5 folds", "held-out lists"
    groups: int = 0  # that segments belong to; 0: they stand alone
    design: float = 1.0  # how many segments are worth as much as one that stands alone
    errors: Mapping[str, Mapping[str, float]] | None = None  # of calibration, before and after

    @property
    def segments(self) -> int:
        """How many held-out segments."""
        return int(self.kept[-1])

    @property
    def order(self) -> float:
        """How probably a right choice is surer than a wrong one, half where they are equal (the area under the ROC
        curve): 0.5 where confidence tells nothing; NaN where all are right or all wrong."""
        right, wrong = np.diff(self.right, prepend=0), np.diff(self.kept - self.right, prepend=0)
        after = wrong.sum() - np.cumsum(wrong)
        pairs = float(right.sum() * wrong.sum())
        return float((right * (after + 0.5 * wrong)).sum()) / pairs if pairs else math.nan

    def calibrated(self, raw: Floats) -> Floats:
        """[...] the probabilities of being right for raw ones; never falling."""
        return MAPS[self.kind](self.values, np.asarray(raw, np.float64))

    def summary(self) -> dict[str, Any]:
        """What is known, without the curve."""
        content = self.content()
        kept = ("decision", "right", "how", "groups", "design", "errors")
        head = {"segments": self.segments, "map": self.kind, "order": self.order}
        return {**head, **{name: content[name] for name in kept}}

    def words(self) -> str:
        """Calibration errors before and after, and whether confidence tells right from wrong choices."""
        before, after = ((self.errors or {}).get(when, {}) for when in ("before", "after"))
        names = {"ece": "calibration error", "brier": "Brier score", "log_loss": "log loss"}
        changes = [
            f"{words} {before[name]:.3f} -> {after[name]:.3f}"
            for name, words in names.items()
            if name in before and name in after
        ]
        no_gain = "" if after.get("brier", -1.0) < before.get("brier", 0.0) else ", no better than before"
        right = 100.0 * self.right[-1] / self.segments
        order = (
            "" if math.isnan(self.order) else f"; a right choice is surer than a wrong one in {100 * self.order:.0f} %"
        )
        useless = ": confidence does not tell them apart" if self.order <= 0.5 else ""
        useless += "; no choice is right: is that limit in the unit of the metric?" if not self.right[-1] else ""
        return (
            f"confidence by {self.how} ({self.segments} segments, {right:.1f} % right; {self.kind}): "
            f"{', '.join(changes)} (after: cross-validated{no_gain}){order}{useless}"
        )

    def content(self) -> dict[str, Any]:
        """As the model file keeps it."""
        return {
            "decision": dict(self.decision),
            "map": {"kind": self.kind, **self.values},
            "curve": {"raw": self.raw.tolist(), "kept": self.kept.tolist(), "right": self.right.tolist()},
            "right": self.right_from,
            "metric": self.metric,
            **({"answer": self.answer} if self.answer else {}),
            "how": self.how,
            "groups": self.groups,
            "design": self.design,
            "errors": {} if self.errors is None else {name: dict(each) for name, each in self.errors.items()},
        }


def _logistic(values: Mapping[str, Any], raw: Floats) -> Floats:
    """The logistic function of slope * logit(raw) + offset, raw being moved by `floor` from 0 and 1."""
    return logistic(values["slope"] * log_odds(raw, values["floor"]) + values["offset"])


def _isotonic(values: Mapping[str, Any], raw: Floats) -> Floats:
    """Flat between the two ends of a step, straight from a step to the next."""
    return np.interp(raw, values["raw"], values["probability"])


MAPS: dict[str, Callable[[Mapping[str, Any], Floats], Floats]] = {"logistic": _logistic, "isotonic": _isotonic}
"""Maps by the name that a model file gives them."""


def log_odds(raw: Floats, floor: float) -> Floats:
    """[...] logits of probabilities, 0 and 1 being taken as `floor` and 1 - `floor`; in the order of `raw`."""
    moved = floor + (1.0 - 2.0 * floor) * raw
    return np.log(moved) - np.log1p(-moved)


def logistic(logits: Floats) -> Floats:
    """[...] probabilities of logits of any size."""
    return 0.5 * (1.0 + np.tanh(0.5 * np.asarray(logits)))


# files ----------------------------------------------------------------------------------------------------------


def confidence_of(content: Mapping[str, Any]) -> Confidence | None:
    """What a model file says, checked; a `ParameterError` where it is not as it should be; None of nothing."""
    if not content:
        return None
    said = object_in(content, "map")
    kind = said.get("kind")
    look_up(MAPS, kind if isinstance(kind, str) else shown(kind), "kind of 'map'")
    raw, kept, right = _curve(object_in(content, "curve"))
    decision = object_in(content, "decision")
    if not isinstance(decision.get("kind"), str):
        raise ParameterError(f"'decision' must have a 'kind', got {shown(decision)}")
    errors = object_in(content, "errors") if "errors" in content else {}
    if not all(isinstance(each, Mapping) for each in errors.values()):
        raise ParameterError(f"'errors' must be numbers by name, before and after, got {shown(errors)}")
    return Confidence(
        decision=decision,
        kind=str(kind),
        values=_map_values(str(kind), said),
        raw=raw,
        kept=kept,
        right=right,
        right_from=number_of("right", content.get("right")),
        metric=text_in(content, "metric"),
        answer=text_in(content, "answer"),
        how=text_in(content, "how"),
        groups=int(number_of("groups", content.get("groups", 0), 0.0, 2.0**53)),
        design=number_of("design", content.get("design", 1.0), 1.0, float(kept[-1])),
        errors={name: {key: _error(value) for key, value in each.items()} for name, each in errors.items()},
    )


def _map_values(kind: str, said: Mapping[str, Any]) -> dict[str, Any]:
    if kind == "logistic":
        return {
            "slope": number_of("slope", said.get("slope"), 0.0, 1e6),
            "offset": number_of("offset", said.get("offset"), -1e6, 1e6),
            "floor": number_of("floor", said.get("floor"), 1e-15, 0.49),
        }
    raw, probability = _numbers("raw", said.get("raw")), _numbers("probability", said.get("probability"))
    if len(raw) != len(probability) or not _rising(raw) or not _rising(probability):
        raise ParameterError("'raw' and 'probability' of 'map' must be as many, from 0 to 1, and never fall")
    return {"raw": raw.tolist(), "probability": probability.tolist()}


def _curve(said: Mapping[str, Any]) -> tuple[Floats, Ints, Ints]:
    raw, kept, right = (_numbers(name, said.get(name)) for name in ("raw", "kept", "right"))
    fits = len(raw) == len(kept) == len(right) and _rising(raw[::-1])
    whole = fits and all((each % 1 == 0).all() and each[-1] < 2.0**53 for each in (kept, right))
    steps = whole and kept[0] >= 1 and (np.diff(kept) >= 1).all()
    if not steps or right[0] < 0 or (np.diff(right) < 0).any() or (right > kept).any():
        raise ParameterError(
            "'curve' must have 'raw' probabilities that never rise, with whole numbers 'kept', which rise, and "
            "'right', which never fall and are at most as many"
        )
    return raw, kept.astype(np.int64), right.astype(np.int64)


def _rising(values: Floats) -> bool:
    """Whether probabilities never fall."""
    return bool(values[0] >= 0 and values[-1] <= 1 and (np.diff(values) >= 0).all())


def _numbers(name: str, values: Any) -> Floats:
    if not isinstance(values, list) or not 1 <= len(values) <= _MOST:
        raise ParameterError(f"{name!r} must be a list of 1 to {_MOST:,} numbers, got {shown(values)}")
    return np.array([number_of(name, value) for value in values])


def _error(value: Any) -> float:
    """A loss may be infinite, which JSON keeps as text."""
    return math.inf if value == "inf" or value == math.inf else number_of("errors", value, 0.0)
