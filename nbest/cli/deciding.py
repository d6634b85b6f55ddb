"""With which model and by which decision `nbest rerank` chooses, as its options say it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from nbest.base.errors import ParameterError, look_up
from nbest.cli.console import Console
from nbest.cli.further import named_numbers, refuse_rest, take
from nbest.cli.rerank import Rerank
from nbest.corpus.contract import Corpus, need_lists
from nbest.corpus.metric import Metric
from nbest.decisions import BY_METRIC, DECISIONS, needs_model, takes
from nbest.decisions.choose import decision_of
from nbest.decisions.vote import POOLS, votes_of
from nbest.model.loglinear import LogLinear, load


def model_of(call: Rerank) -> LogLinear:
    """The model, or one of weights that are said; none is needed where scores do not count."""
    if call.model is not None and call.weights is not None:
        raise ParameterError("--model and --weights both say what to choose by; leave one of them out")
    if call.weights is not None:
        return LogLinear(named_numbers("--weights", call.weights))
    if call.model is not None:
        return load(call.model, call.lm or ())
    name = call.decision or "1best"
    if needs_model(name):
        raise ParameterError(f"nbest rerank --decision {name} needs --model FILE, or --weights NAME=VALUE,NAME=VALUE")
    return LogLinear({})


def decision_said(call: Rerank, model: LogLinear, further: dict[str, str]) -> dict[str, Any]:
    """The decision that is said, or the model's, with the options that are said; takes those of its own alone."""
    own = decision_of(model, call.decision)
    if further:
        function = DECISIONS[own["kind"]]
        own |= take(function, further)
        refuse_rest(further, function, own=Rerank)
    given = {"gain": call.gain, "order": call.order, "gamma": call.gamma, "evidence": call.evidence}
    given |= {"pool": call.pool, "share": call.share, "among": call.among}
    for name in ("pool", "gamma"):
        if given[name] and not model.weights and takes(own["kind"], name):
            raise ParameterError(f"--{name} says how scores count: give --model FILE, or --weights NAME=VALUE")
    if call.pool is not None:
        look_up(dict.fromkeys(POOLS), call.pool, "pool")
    for name, value in given.items():
        if value is not None and not takes(own["kind"], name):
            wanted = " or ".join(each for each in DECISIONS if takes(each, name))
            raise ParameterError(f"--{name} is for --decision {wanted}, not for {own['kind']}")
    own |= {name: value for name, value in given.items() if value is not None}
    if call.answer is not None and own["kind"] == "consensus":
        raise ParameterError("--answer is not for consensus, which compares n-grams of texts; use mbr --gain exact")
    if call.normalize is not None and takes(own["kind"], "normalize"):
        own["normalize"] = call.normalize
    elif call.normalize is not None:
        own["gain"] = _normalised(own, model, call.normalize)
    return own


def say_alone(console: Console, path: str, corpus: Corpus, normalize: str) -> None:
    """Say that votes tell nothing, where no two hypotheses of a list have the same answer."""
    if corpus.whole and getattr(corpus, "compared", None) is not None:
        votes = votes_of(need_lists(corpus, path), normalize).votes
        if len(votes) and votes.max() < 2:
            alone = "no two hypotheses of a list have the same answer, so that votes tell nothing"
            console.say(f"{path}: {alone}; --answer RULE says what of a text is compared")


def _normalised(decision: dict[str, Any], model: LogLinear, how: str) -> Metric:
    """What a decision measures, with texts normalised first."""
    from nbest.metrics import make_metric
    from nbest.metrics.normalise import OfTexts

    if not takes(decision["kind"], "gain"):
        raise ParameterError(
            f"--normalize is for --decision vote, best-of-majority, mbr or consensus, not for {decision['kind']}"
        )
    if decision["kind"] in BY_METRIC:
        from nbest.decisions.mbr import gain_of

        gain = decision.get("gain", gain_of(model))
    else:
        gain = decision.get("gain", "bleu")
    metric = make_metric(gain) if isinstance(gain, str) else gain
    if not isinstance(metric, OfTexts):
        raise ParameterError(f"metric {metric.name} has no --normalize")
    return replace(metric, normalize=how)  # type: ignore[return-value]
