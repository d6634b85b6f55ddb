"""What `nbest rerank` does, once its arguments are known."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from nbest.base.errors import CapabilityError, ParameterError, listed, look_up
from nbest.base.files import write_text
from nbest.cli.console import Console
from nbest.cli.further import refuse_rest, separate, take
from nbest.cli.loading import Source, read_corpus
from nbest.cli.rerank import Rerank
from nbest.cli.targets import refuse_overwriting
from nbest.compute.parallel import counter
from nbest.corpus.order import first_number, gaps, whole_numbers
from nbest.decisions import DECISIONS, needs_model, takes
from nbest.decisions.choose import Choice, choose, decision_of
from nbest.model.loglinear import LogLinear, load


def run(call: Rerank) -> None:
    """Read, choose, write."""
    console = Console(quiet=call.quiet)
    paths, further = separate(call.test)
    call = replace(call, test=paths)
    if call.model == "-" and "-" in call.test:
        raise ParameterError("only one input can come from standard input (-)")
    refuse_overwriting([call.output], [call.test, call.model, call.lm])
    look_up(DECISIONS, call.decision or "1best", "decision")
    if call.model is None and needs_model(call.decision or "1best"):
        raise ParameterError(f"nbest rerank --decision {call.decision or '1best'} needs --model FILE")
    model = LogLinear({}) if call.model is None else load(call.model, call.lm or ())
    decision = _decision(call, model, further)
    corpus = read_corpus(Source(call.test, None, call.format), console)
    unused = [name for name in corpus.feature_names if name not in model.weights]
    if unused and call.model is not None:
        console.say(f"{call.test[0]}: the model has no weight for {listed(unused)}; not used")
    with console.progress("deciding") as update:
        try:
            found = choose(model, corpus, decision, k=call.k, progress=counter(update, len(corpus)))
        except CapabilityError as error:
            raise CapabilityError(f"{call.test[0]}: {error}") from None
    write_text(call.output, "".join(f"{line}\n" for line in _lines(call, found, console)))


def _decision(call: Rerank, model: LogLinear, further: dict[str, str]) -> dict[str, Any]:
    """The decision that is said, or the model's, with the options that are said; takes those of its own alone."""
    own = decision_of(model, call.decision)
    if further:
        function = DECISIONS[own["kind"]]
        own |= take(function, further)
        refuse_rest(further, function, own=Rerank)
    given = {"gain": call.gain, "order": call.order, "gamma": call.gamma, "evidence": call.evidence}
    for name, value in given.items():
        if value is not None and not takes(own["kind"], name):
            wanted = " or ".join(each for each in DECISIONS if takes(each, name))
            raise ParameterError(f"--{name} is for --decision {wanted}, not for {own['kind']}")
    return own | {name: value for name, value in given.items() if value is not None}


def _lines(call: Rerank, found: Choice, console: Console) -> list[str]:
    corpus, texts = found.lists, [" ".join(text.splitlines()) for text in found.texts]
    if call.as_json:
        return _json_lines(found, texts)
    empty = int((found.chosen < 0).sum())
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


def _json_lines(found: Choice, texts: list[str]) -> list[str]:
    corpus, choice, scores = found.lists, found.chosen, found.scores()
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
