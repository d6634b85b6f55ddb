"""How `nbest tune` says by which decision its model chooses, and what else was tried."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from nbest.base.errors import ParameterError, look_up
from nbest.cli.moses import WEIGHTS
from nbest.cli.tune import Tune
from nbest.decisions import DECISIONS
from nbest.decisions.confidence import AT_GAMMA, NO_MODEL
from nbest.model.settled import Settled, TriedDecision
from nbest.report.page import probability, telling
from nbest.trainers.deciding import AMONG, AUTO


def decision_asked(call: Tune) -> str | None:
    """The decision of the pipeline; complains of one that is unknown or needs no model. A Moses weight file, which
    holds none, has that of the trainer."""
    check_decision(call.decision)
    if not call.output.endswith(WEIGHTS):
        return call.decision
    if call.decision != AUTO:
        raise ParameterError("a Moses weight file cannot hold a decision; write .json, or tune without --decision")
    return None


def check_decision(name: str) -> None:
    """Complain of a decision that is unknown or needs no model."""
    look_up(dict.fromkeys((AUTO, *DECISIONS)), name, "decision")
    if name in NO_MODEL:
        raise ParameterError(f"--decision {name} needs no model, so there is nothing to tune")


def words(known: Settled, decision: Mapping[str, Any]) -> str:
    """What was settled, in a sentence: the decision that is taken, and others with their scores."""
    first, *others = known.tried
    form = telling(each.score for each in known.tried)
    how = f"{'across' if known.how.endswith('folds') else 'on'} {known.how}, {known.segments} segments"
    taken = decision.get("kind", "1best"), decision.get("gamma")
    own = next((each for each in others if (each.kind, each.gamma) == taken), None)
    rest = [f"{each.words} {each.score:{form}}{_how(each)}" for each in others if each != own]
    if own is None:
        return f"decision: {first.words}, {first.score:{form}} {how}; not surely better: {', '.join(rest)}"
    better = f"better than {first.score:{form}} of {first.words}{_how(replace(own, gamma=None))}"
    return "; ".join([f"decision: {own.words}{_how(replace(own, p=None))}, {own.score:{form}} {how}, {better}", *rest])


def _how(tried: TriedDecision) -> str:
    """How sharply and among how many hypotheses it was tried, as options of nbest rerank say it, and p."""
    said = [] if not tried.gamma else [f"gamma {tried.gamma:g}"]
    said += [f"among {AMONG}"] if tried.gamma and tried.kind in AT_GAMMA else []
    said += [] if tried.p is None else [f"p {probability(tried.p)}"]
    return f" ({', '.join(said)})" if said else ""
