"""What `nbest rerank` does, once its arguments are known."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from nbest.base.errors import CapabilityError, ParameterError, listed, look_up
from nbest.base.files import write_text
from nbest.base.types import Ints
from nbest.cli.console import Console
from nbest.cli.loading import Source, read_corpus
from nbest.cli.rerank import Rerank
from nbest.cli.targets import refuse_overwriting
from nbest.corpus import Forests, NBest
from nbest.corpus.order import first_number, gaps, whole_numbers
from nbest.decisions import BY_METRIC, DECISIONS, decide, needs_model, needs_one, takes
from nbest.forests.kbest import kbest
from nbest.metrics import METRICS
from nbest.model.loglinear import LogLinear, load


def run(call: Rerank) -> None:
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
    if unused and call.model is not None:
        console.say(f"{call.test[0]}: the model has no weight for {listed(unused)}; not used")
    forests = None
    if isinstance(corpus, Forests):
        model = _own(call, corpus) if call.decision == "first" else model
        corpus = model.complete(corpus)
        forests, corpus = corpus, _best(call, model, corpus)
    if corpus.texts is None:
        raise CapabilityError(f"{call.test[0]}: these lists carry no texts to choose from")
    choice = _choose(call, model, corpus, forests, console)
    write_text(call.output, "".join(f"{line}\n" for line in _lines(call, model, corpus, choice, console)))


def _own(call: Rerank, forests: Forests) -> LogLinear:
    """The model of the system that made the forests."""
    if not forests.own_weights:
        raise CapabilityError(
            f"{call.test[0]}: forests have no first hypothesis, and these do not tell the weights of the system that "
            "made them; give --model with its weights"
        )
    return LogLinear(forests.own_weights)


def _best(call: Rerank, model: LogLinear, forests: Forests) -> NBest:
    """The strings of forests that the decision is among."""
    k = 1 if needs_one(call.decision) else call.k
    return kbest(forests, model.edge_scores(forests), k, distinct=k > 1).lists()


def _choose(call: Rerank, model: LogLinear, corpus: NBest, forests: Forests | None, console: Console) -> Ints:
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


def _lines(call: Rerank, model: LogLinear, corpus: NBest, choice: Ints, console: Console) -> list[str]:
    assert corpus.texts is not None
    texts = ["" if h < 0 else " ".join(corpus.texts[h].splitlines()) for h in choice]
    if call.as_json:
        return _json_lines(model, corpus, choice, texts)
    empty = int((choice < 0).sum())
    if empty:
        console.warn(
            f"{call.test[0]}: {empty} segments have nothing to choose from, and their lines are empty; {_EMPTY}"
        )
    if call.ids:
        return _with_ids(corpus.ids, texts)
    if whole_numbers(corpus.ids) is None:
        console.say(f"{call.test[0]}: segments have names; --ids writes them too, for references by name")
    return _by_number(call.test[0], corpus.ids, texts, console)


_EMPTY = "nbest score counts an empty line as an empty output, inspect, tune and compare leave such segments out"


def _with_ids(ids: Sequence[str], texts: list[str]) -> list[str]:
    odd = next((name for name in ids if not name.strip() or any(c in name for c in "\t\n\r")), None)
    if odd is not None:
        raise CapabilityError(f"--ids cannot write the id {odd!r} before a tab; use --json")
    return [f"{name}\t{text}" for name, text in zip(ids, texts, strict=True)]


def _by_number(path: str, ids: Sequence[str], texts: list[str], console: Console) -> list[str]:
    """Lines in step with those of references: an empty one for a number that is missing among the ids."""
    missing, first = gaps(ids)
    numbers = whole_numbers(ids)
    if not missing or numbers is None:
        return texts
    what = f"{path}: {missing} segments are missing (the first is {first})"
    if missing > len(ids):
        console.warn(f"{what}: lines are in the order of the ids, not in step with references; --ids writes the ids")
        return texts
    console.warn(f"{what}: empty lines stand for them; {_EMPTY}; --ids writes the others only")
    begin = first_number(numbers)
    known = dict(zip(numbers, texts, strict=True))
    return [known.get(number, "") for number in range(begin, max(numbers) + 1)]


def _json_lines(model: LogLinear, corpus: NBest, choice: Ints, texts: list[str]) -> list[str]:
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
