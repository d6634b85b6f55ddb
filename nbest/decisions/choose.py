"""What a model chooses, by its own decision or another: the last step of its pipeline."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from nbest.base.errors import CapabilityError, ParameterError, look_up
from nbest.base.parameters import keywords_of
from nbest.base.types import Floats, Ints
from nbest.corpus import NBest
from nbest.corpus.answers import rule_of
from nbest.corpus.contract import Corpus, need_corpus
from nbest.decisions import BY_METRIC, DECISIONS, decide, needs_model, needs_one, takes
from nbest.decisions.arguments import normalisation_of
from nbest.decisions.confidence import answer_probabilities, of_chosen
from nbest.model.confidence import Confidence
from nbest.model.loglinear import LogLinear

STRINGS = 1000
"""The best strings of a forest that a decision is among, if it looks at more than one."""

OFFERED = ("forests", "progress")
"""Keywords that a decision gets from `choose`; all others are its options."""


@dataclass(frozen=True)
class Choice:
    """Lists (read out of forests, if need be) and the flat index of what is chosen of each; -1 of an empty one."""

    lists: NBest
    chosen: Ints  # [N]
    model: LogLinear | None = None  # which chose; of forests without one, that of the system that made them
    decision: Mapping[str, Any] = field(default_factory=lambda: {"kind": "1best"})

    @property
    def texts(self) -> list[str]:
        """The chosen texts, one a segment."""
        assert self.lists.texts is not None
        return ["" if h < 0 else self.lists.texts[h] for h in self.chosen]

    def to_pandas(self) -> Any:
        """A data frame with the chosen hypothesis of each segment, and its `score` by the model."""
        frame = self.lists.to_pandas()
        frame["model_score"] = self.scores()
        return frame.iloc[self.chosen[self.chosen >= 0]].reset_index(drop=True)

    @cached_property
    def probability(self) -> Floats:
        """[N] the probability of the answers of what is chosen, by the decision's own votes; not calibrated."""
        return of_chosen(answer_probabilities(self.model, self.lists, self.decision), self.chosen)

    @cached_property
    def calibration(self) -> Confidence | None:
        """What held-out lists told of choices by this decision, where the model knows it (`nbest.calibrate`)."""
        rule = rule_of(self.lists) or ("" if self.model is None else self.model.answer)
        return calibration_for(self.model, self.decision, rule)

    @cached_property
    def confidence(self) -> Floats:
        """[N] how probably each choice is right, as calibrated on held-out data; else the raw `probability`. 0 where
        nothing is chosen."""
        if self.calibration is None:
            return self.probability
        return np.where(self.chosen >= 0, self.calibration.calibrated(self.probability), 0.0)

    def scores(self) -> Floats:
        """[H] the model's scores; 0 without a model."""
        return (self.model or LogLinear({})).scores(self.lists)


def decision_of(model: LogLinear | None, said: str | Mapping[str, Any] | None = None) -> dict[str, Any]:
    """A decision with its options, checked: that which is said, else the model's, else 1best.

    One that is only named has the options of the model's own, where this is of the same kind. Votes are for answers as
    the metric of the model compares them.
    """
    if isinstance(said, str):
        own = {} if model is None else model.decision
        said = own if own.get("kind") == said else {"kind": said}
    found = dict(said or (model.decision if model is not None else {}) or {"kind": "1best"})
    kind = str(found.get("kind"))
    look_up(DECISIONS, kind, "decision")
    how = "none" if model is None else normalisation_of(model.metric)
    if how != "none" and "normalize" not in found and takes(kind, "normalize"):
        found["normalize"] = how
    for name, value in found.items():
        if name != "kind":
            _check_option(kind, name, value)
    if model is None and needs_model(kind):
        raise ParameterError(f"the decision {kind} needs a model")
    return found


def options_of(decision: Mapping[str, Any]) -> dict[str, Any]:
    """All options of a decision: those that are said, the others as they are by default."""
    keywords = keywords_of(DECISIONS[decision["kind"]])
    known = {name: each.default for name, each in keywords.items() if name not in OFFERED}
    return known | {name: value for name, value in decision.items() if name != "kind"}


def calibration_for(model: LogLinear | None, decision: Mapping[str, Any], answer: str) -> Confidence | None:
    """What held-out lists told of choices by this decision, where answers are compared by this rule (`rule_of`)."""
    known = None if model is None else model.calibration
    if known is None or known.answer != answer or known.decision.get("kind") not in DECISIONS:
        return None
    return known if _in_full(known.decision) == _in_full(decision) else None


def _in_full(decision: Mapping[str, Any]) -> dict[str, Any]:
    """A decision with all its options; a gain that is not said is that of the model."""
    options = {name: value for name, value in options_of(decision).items() if value is not None}
    if decision["kind"] in BY_METRIC and "gain" not in decision:
        options.pop("gain", None)
    if decision["kind"] == "vote":
        options.setdefault("gamma", 1.0)
    return {"kind": decision["kind"], **options}


def _check_option(kind: str, name: str, value: Any) -> None:
    """Model files are written by hand, too: an option that the decision has, of its type where it says one."""
    if name in OFFERED or not takes(kind, name):
        wanted = " or ".join(each for each in DECISIONS if name not in OFFERED and takes(each, name))
        raise ParameterError(f"'{name}' is no option of the decision {kind}" + (f" but of {wanted}" if wanted else ""))
    known = keywords_of(DECISIONS[kind])
    if name in known and known[name].hint is not Any:
        known[name].check(value)


def choose(
    model: LogLinear | None,
    corpus: Corpus,
    decision: str | Mapping[str, Any] | None = None,
    *,
    k: int = STRINGS,
    progress: Callable[[int], None] | None = None,
) -> Choice:
    """What a model chooses of lists or forests, by `decision` ("mbr", {"kind": "mbr", "gain": "chrf"}) or its own.

    Of a forest it is chosen among the `k` best strings. `progress` is called with the number of segments done.
    """
    from nbest.decisions.chosen import best_lists

    need_corpus("choose", "corpus", corpus)
    found = decision_of(model, decision)
    kind, options = str(found["kind"]), {name: value for name, value in found.items() if name != "kind"}
    if not corpus.whole and (kind == "first" or model is None):
        model = _own(corpus)
    scoring = model or LogLinear({})
    lists, forests = best_lists(scoring.complete(corpus), scoring, 1 if needs_one(kind) else k)
    if lists.texts is None:
        raise CapabilityError("these lists carry no texts to choose from")
    if kind in BY_METRIC and model is not None:
        from nbest.decisions.mbr import gain_of

        options.setdefault("gain", gain_of(model))
    chosen = decide(kind, model, lists, **options, forests=forests, progress=progress)
    return Choice(lists, chosen, model, found)


def _own(forests: Corpus) -> LogLinear:
    """The model of the system that made the forests."""
    if not forests.own_weights:
        raise CapabilityError(
            "forests have no first hypothesis, and these do not tell the weights of the system that made them; "
            "give a model with its weights (--model)"
        )
    return LogLinear(forests.own_weights)
