"""What `nbest rerank` does, once its arguments are known."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from nbest.cli.console import Console
from nbest.cli.loading import Source, read_corpus
from nbest.cli.targets import refuse_overwriting
from nbest.corpus import Forests, NBest
from nbest.decisions import BY_METRIC, DECISIONS, decide, needs_model, needs_one, takes
from nbest.errors import CapabilityError, ParameterError, look_up
from nbest.files import write_text
from nbest.forests.kbest import kbest
from nbest.metrics import METRICS
from nbest.model import LogLinear, load
from nbest.types import Ints


@dataclass(frozen=True)
class RerankCall:
    """The arguments of `nbest rerank`."""

    test: list[str]
    model: str | None
    lm: list[str] | None
    decision: str
    gain: str | None
    gamma: float | None
    evidence: int
    order: int | None
    k: int
    output: str
    format: str | None
    quiet: bool
    as_json: bool


def run(call: RerankCall) -> None:
    """Read, choose, write."""
    console = Console(quiet=call.quiet)
    look_up(DECISIONS, call.decision, "decision")
    if call.model is None and needs_model(call.decision):
        raise ParameterError(f"nbest rerank --decision {call.decision} needs --model FILE")
    for name, value in (("order", call.order), ("gain", call.gain), ("gamma", call.gamma)):
        if value is not None and not takes(call.decision, name):
            wanted = " or ".join(each for each in DECISIONS if takes(each, name))
            raise ParameterError(f"--{name} is for --decision {wanted}, not for {call.decision}")
    if call.model == "-" and "-" in call.test:
        raise ParameterError("only one input can come from standard input (-)")
    refuse_overwriting([call.output], [call.test, call.model, call.lm])
    model = LogLinear({}) if call.model is None else load(call.model, call.lm or ())
    corpus = read_corpus(Source(call.test, None, call.format), console)
    unused = [name for name in corpus.feature_names if name not in model.weights]
    if unused and call.model is not None and len(unused) < len(corpus.feature_names):
        console.say(f"{call.test[0]}: the model has no weight for {', '.join(unused)}; not used")
    forests = corpus if isinstance(corpus, Forests) else None
    if isinstance(corpus, Forests):
        model = _own(call, corpus) if call.decision == "first" else model
        corpus = _best(call, model, corpus)
    if corpus.texts is None:
        raise CapabilityError(f"{call.test[0]}: these lists carry no texts to choose from")
    choice = _choose(call, model, corpus, forests, console)
    write_text(call.output, "".join(f"{line}\n" for line in _lines(call, model, corpus, choice)))


def _own(call: RerankCall, forests: Forests) -> LogLinear:
    """The model of the system that made the forests."""
    if not forests.own_weights:
        raise CapabilityError(
            f"{call.test[0]}: forests have no first hypothesis, and these do not tell the weights of the system that "
            "made them; give --model with its weights"
        )
    return LogLinear(forests.own_weights)


def _best(call: RerankCall, model: LogLinear, forests: Forests) -> NBest:
    """The strings of forests that the decision is among."""
    k = 1 if needs_one(call.decision) else call.k
    return kbest(forests, model.edge_scores(forests), k, distinct=k > 1).lists()


def _choose(call: RerankCall, model: LogLinear, corpus: NBest, forests: Forests | None, console: Console) -> Ints:
    with console.progress("deciding") as update:
        done = 0

        def step(count: int) -> None:
            nonlocal done
            done += count
            update(done, len(corpus))

        gain = call.gain or (_gain(model) if call.decision in BY_METRIC else None)
        given: dict[str, Any] = {"gain": gain, "order": call.order, "gamma": call.gamma, "evidence": call.evidence}
        said = {name: value for name, value in given.items() if value is not None}
        return decide(call.decision, model, corpus, **said, forests=forests, progress=step)


def _gain(model: LogLinear) -> str:
    """The name of the metric that the model was tuned for; bleu where it is none of texts."""
    name = model.metric.split("|")[0].lower()
    return name if name in METRICS and name != "external" else "bleu"


def _lines(call: RerankCall, model: LogLinear, corpus: NBest, choice: Ints) -> list[str]:
    assert corpus.texts is not None
    texts = ["" if h < 0 else " ".join(corpus.texts[h].splitlines()) for h in choice]
    if not call.as_json:
        return texts
    scores = model.scores(corpus)
    rows = [
        {
            "id": name,
            "text": text,
            "index": int(h - low) if h >= 0 else None,
            "score": float(scores[h]) if h >= 0 else None,
        }
        for name, text, h, low in zip(corpus.ids, texts, choice, corpus.offsets[:-1], strict=True)
    ]
    return [json.dumps(row, ensure_ascii=False) for row in rows]
