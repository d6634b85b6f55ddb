"""What `nbest decode translator` does, once its arguments are known."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from nbest.base.errors import ParameterError, look_up
from nbest.base.files import read_lines, write_text
from nbest.cli.console import Console
from nbest.cli.targets import refuse_overwriting, written
from nbest.corpus import Forests
from nbest.decisions import DECISIONS, decide, needs_one
from nbest.forests.kbest import kbest
from nbest.formats import FOREST_FORMATS, FORMATS, format_of_target, read_references, write, write_forests
from nbest.model.loglinear import LogLinear, load
from nbest.systems.translator.translator import Translator

_BATCH = 200  # sentences decoded at a time where only texts are wanted
_STRINGS = 1000  # that consensus and mbr choose from


@dataclass(frozen=True)
class DecodeCall:
    """The arguments of `nbest decode translator`."""

    system: str
    text: str
    output: str
    to: str | None
    model: str | None
    refs: list[str] | None
    beam: int
    span_limit: int
    k: int
    decision: str
    longest: int
    raw: bool
    threads: int | None
    quiet: bool


def run(call: DecodeCall) -> None:
    """Read, translate, write."""
    console = Console(quiet=call.quiet)
    wanted = _wanted(call)
    refuse_overwriting(written(call.output, wanted), [call.system, call.text, call.model, call.refs])
    system = Translator.load(call.system)
    model = LogLinear(system.weights) if call.model is None else load(call.model)
    texts = read_lines(call.text)
    references = _references(call, system, len(texts))
    look_up(DECISIONS, call.decision, "decision")
    with console.progress("translating") as update:
        if wanted == "text":
            lines: list[str] = []
            for forests in _batches(call, system, model, texts, update):
                k = 1 if needs_one(call.decision) else _STRINGS
                lists = kbest(forests, model.edge_scores(forests), k, distinct=k > 1, threads=call.threads).lists()
                assert lists.texts is not None
                chosen = decide(call.decision, model, lists, forests=forests)
                lines += [lists.texts[h] if h >= 0 else "" for h in chosen]
            write_text(call.output, "".join(f"{line if call.raw else system.text(line)}\n" for line in lines))
        else:
            forests = _forests(call, system, model, texts, 0, len(texts), update)
            forests = replace(forests, references=references)
            _write(call, forests, model, wanted)
    console.say(f"{call.output}: {len(texts)} sentences")


def _wanted(call: DecodeCall) -> str:
    """text, or a format."""
    if call.to == "text":
        return "text"
    if call.to is None and call.output == "-":
        return "text"
    return format_of_target(call.output, call.to) or "text"


def _references(call: DecodeCall, system: Translator, count: int) -> tuple[tuple[str, ...], ...] | None:
    if not call.refs:
        return None
    sides = zip(*read_references(call.refs, count), strict=True)
    tokens = [[" ".join(words) for words in system.tokens(side, of_target=True)] for side in sides]
    return tuple(zip(*tokens, strict=True))


def _batches(
    call: DecodeCall, system: Translator, model: LogLinear, texts: list[str], update: Any
) -> Iterator[Forests]:
    for low in range(0, len(texts), _BATCH):
        yield _forests(call, system, model, texts, low, min(low + _BATCH, len(texts)), update)


def _forests(
    call: DecodeCall, system: Translator, model: LogLinear, texts: list[str], low: int, high: int, update: Any
) -> Forests:
    return system.forests(
        texts[low:high],
        weights=model.weights,
        ids=[str(i) for i in range(low, high)],
        beam=call.beam,
        span_limit=call.span_limit,
        longest=call.longest,
        threads=call.threads,
        progress=lambda done, total: update(low + done, len(texts)),
    )


def _write(call: DecodeCall, forests: Forests, model: LogLinear, wanted: str) -> None:
    if wanted in FOREST_FORMATS:
        write_forests(forests, call.output, wanted)
    elif wanted in FORMATS:
        best = kbest(forests, model.edge_scores(forests), call.k, distinct=True, threads=call.threads)
        write(best.lists(), call.output, wanted)
    else:
        raise ParameterError(f"--to must be text or a format of lists or forests, got {wanted!r}")
