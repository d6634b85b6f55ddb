"""What evidence of a model says, in a sentence that people can act on."""

from __future__ import annotations

from nbest.model.evidence import Evidence
from nbest.model.loglinear import LogLinear
from nbest.report.page import probability, telling

_UNSAID = "version:", "nrefs:"  # parts of a signature that may differ between the metrics of models and lists
_MORE = "add features (--add), or give more lists"
_REMEDY = f"keep the first hypotheses, {_MORE}"


def keeps_first(model: LogLinear) -> bool:
    """Whether a model only takes the first hypotheses: all its weights are 0, and it does not vote."""
    return not any(model.weights.values()) and not model.decision


def words(known: Evidence, *, kept: bool = False, metric: str = "") -> tuple[str, bool]:
    """What evidence says, in a sentence, and whether tuning surely helped, as far as anything tells; `kept`: the model
    takes the first hypotheses; `metric`: what to call that of the scores."""
    form = telling((known.tuned, known.first, known.low, known.high))
    where = f"{known.groups} groups of {known.segments} segments" if known.groups else f"{known.segments} segments"
    how = f"{'across' if known.how.endswith('folds') else 'on'} {known.how}"
    between = f"(95 % from {known.low:{form}} to {known.high:{form}})"
    score = f"{metric} {known.tuned:{form}} {between} {how}, {where}".lstrip()
    if kept:
        return f"tuning did not help, and the first hypotheses are kept: {score}; {_MORE}", False
    if known.first is None or known.p is None:
        return f"the model is worth {score}", True
    first = f"{known.first:{form}} of the first hypotheses"
    p = f"p {probability(known.p)}"
    said = {
        "helped": f"tuning helped: {score}, against {first} ({p})",
        "unsure": f"tuning may have helped, or it is chance: {score}, against {first} ({p}); more lists would tell",
        "no help": f"tuning did not help: {score}, against {first} ({p}): {_REMEDY}",
        "hurt": f"tuning hurt: {score}, against {first} ({p}): {_REMEDY}",
    }
    return said[known.verdict], known.verdict == "helped"


def same_metric(first: str, second: str) -> bool:
    """Whether two signatures are of one metric, up to the version of a program and the number of references."""
    own, other = ([part for part in each.split("|") if not part.startswith(_UNSAID)] for each in (first, second))
    return own == other
