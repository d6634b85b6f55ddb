"""When `nbest rerank` does not answer: its options for it, as a threshold on confidence."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from nbest.base.errors import CapabilityError, ParameterError
from nbest.cli.console import Console
from nbest.cli.rerank import Rerank
from nbest.decisions.choose import calibration_for, decision_of
from nbest.model.abstention import DELTA, Abstention, abstain_below, by_coverage, by_risk
from nbest.model.confidence import Confidence
from nbest.model.loglinear import LogLinear


def abstention_of(
    call: Rerank, model: LogLinear | None, decision: Mapping[str, Any], console: Console
) -> Abstention | None:
    """The threshold that the options ask for, with a message of what it promises; None where all is answered."""
    given = {"--abstain-below": call.abstain_below, "--coverage": call.coverage, "--risk": call.risk}
    said = [name for name, value in given.items() if value is not None]
    if len(said) > 1:
        raise ParameterError(f"{' and '.join(said)} both say when to abstain; give one of them")
    if call.delta is not None and call.risk is None:
        raise ParameterError("--delta is how often the bound of --risk may fail; give --risk, too")
    if said or call.as_json:
        _say_uncalibrated(call, model, decision, console)
    if call.abstain_below is not None:
        return abstain_below(call.abstain_below)
    if not said:
        return None
    known = _known(call, model, decision, said[0])
    if known.order <= 0.5:
        console.warn("wrong choices were as sure as right ones on held-out segments: this confidence tells nothing")
    if call.coverage is not None:
        found = by_coverage(known, call.coverage)
    else:
        assert call.risk is not None
        found = by_risk(known, call.risk, DELTA if call.delta is None else call.delta)
    console.say(found.said)
    return found


def _how(call: Rerank, model: LogLinear | None, decision: Mapping[str, Any]) -> str:
    """The command by which the confidence of choices by a decision is learned."""
    alone = call.model is None and call.weights is None
    named = "" if alone else " --model MODEL"
    own = {"kind": "vote"} if alone else decision_of(model or LogLinear({}))
    more = "" if dict(decision) == dict(own) else f" {_words(decision)}"
    answer = "" if call.answer is None else f" --answer {shlex.quote(call.answer)}"
    return f"nbest calibrate HELDOUT{named}{more} --metric METRIC{answer} -o OUT learns it from held-out lists"


def _known(call: Rerank, model: LogLinear | None, decision: Mapping[str, Any], option: str) -> Confidence:
    known = None if model is None else model.calibration
    if known is None:
        how = _how(call, model, decision)
        raise CapabilityError(f"{option} needs a model that knows how sure its choices are, and this does not; {how}")
    if calibration_for(model, decision, known.answer) is None:
        raise CapabilityError(
            f"{option} needs a model that knows how sure choices by this decision are; it knows of "
            f"{_words(known.decision)}, not of {_words(decision)}; {_how(call, model, decision)}"
        )
    return known


def _say_uncalibrated(call: Rerank, model: LogLinear | None, decision: Mapping[str, Any], console: Console) -> None:
    known = None if model is None else model.calibration
    if known is None or calibration_for(model, decision, known.answer) is None:
        by = "" if known is None else f" by {_words(decision)}"
        how = _how(call, model, decision)
        console.say(f"the confidence of choices{by} is a share of votes or weight, not calibrated; {how}")


def need_calibrated(call: Rerank, calibrated: bool) -> None:
    """Complain of lists whose answers are compared otherwise than those that thresholds are from."""
    if not calibrated and (call.coverage is not None or call.risk is not None):
        option = "--coverage" if call.risk is None else "--risk"
        raise CapabilityError(
            f"{option} needs answers as in the lists that the model was calibrated on, and these are compared "
            "otherwise; give the same --answer, or calibrate on such lists"
        )


def _words(decision: Mapping[str, Any]) -> str:
    options = [f"--{name} {value}" for name, value in decision.items() if name != "kind"]
    return " ".join([f"--decision {decision['kind']}", *options])
