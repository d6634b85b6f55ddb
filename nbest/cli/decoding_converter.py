"""What `nbest decode converter` does, once its arguments are known."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from nbest.base.errors import ParameterError, look_up
from nbest.base.files import read_lines, write_text
from nbest.cli.console import Console
from nbest.cli.targets import refuse_overwriting, written
from nbest.compute import segments
from nbest.corpus import Forests, NBest
from nbest.corpus.operations import stack
from nbest.decisions import DECISIONS, decide, needs_one
from nbest.formats import FOREST_FORMATS, format_of_target, read_references, write, write_forests
from nbest.model.loglinear import LogLinear, load
from nbest.systems.converter.converter import Converter
from nbest.systems.converter.text import read_sentences

INPUTS = ("kana", "read")
_BATCH = 200  # sentences decoded at a time where no forests are written


@dataclass(frozen=True)
class DecodeCall:
    """The arguments of `nbest decode converter`."""

    system: str
    text: str
    output: str
    to: str | None
    input: str
    model: str | None
    refs: list[str] | None
    beam: int
    margin: float
    k: int
    decision: str
    folded: bool
    words: bool
    threads: int | None
    quiet: bool


class _Work:
    """The converter, its weights, and the texts with their references."""

    def __init__(self, call: DecodeCall) -> None:
        self.call = call
        self.system = Converter.load(call.system)
        self.model = LogLinear(dict(self.system.weights)) if call.model is None else load(call.model)
        self.reranks = bool(self.model.features)  # such a model scores lists, which the own weights make
        self.texts, self.references = _inputs(call)

    @property
    def weights(self) -> dict[str, float]:
        """Those of the search."""
        return dict(self.system.weights if self.reranks else self.model.weights)

    def forests(self, low: int, high: int, update: Callable[[int, int], None]) -> Forests:
        """Those of some of the texts."""
        found = self.system.forests(
            self.texts[low:high],
            weights=self.weights,
            ids=[str(i) for i in range(low, high)],
            beam=self.call.beam,
            margin=self.call.margin,
            folded=self.call.folded,
            threads=self.call.threads,
            progress=lambda done, total: update(low + done, len(self.texts)),
        )
        return found if self.references is None else replace(found, references=self.references[low:high])

    def lists(self, k: int, update: Callable[[int, int], None]) -> Iterator[NBest]:
        """Lists, batch by batch."""
        for low in range(0, len(self.texts), _BATCH):
            forests = self.forests(low, min(low + _BATCH, len(self.texts)), update)
            yield self.system.lists(forests, k, threads=self.call.threads)


def run(call: DecodeCall) -> None:
    """Read, convert, write."""
    console = Console(quiet=call.quiet)
    look_up(DECISIONS, call.decision, "decision")
    wanted = "text" if call.to == "text" or (call.to is None and call.output == "-") else _format(call)
    refuse_overwriting(written(call.output, wanted), [call.system, call.text, call.model, call.refs])
    work = _Work(call)
    if work.reranks and wanted != "text":
        raise ParameterError(
            "this model adds features to lists and chooses texts; write lists without --model and use nbest rerank"
        )
    with console.progress("converting") as update:
        if wanted == "text":
            _write_texts(work, update)
        elif wanted in FOREST_FORMATS:
            write_forests(work.forests(0, len(work.texts), update), call.output, wanted)
        else:
            write(_joined(list(work.lists(call.k, update)), work), call.output, wanted)
    console.say(f"{call.output}: {len(work.texts)} sentences")


def _format(call: DecodeCall) -> str:
    return format_of_target(call.output, call.to) or "text"


def _inputs(call: DecodeCall) -> tuple[list[str], tuple[tuple[str, ...], ...] | None]:
    """Kana texts and their references."""
    if call.input not in INPUTS:
        raise ParameterError(f"--input must be one of {', '.join(INPUTS)}, got {call.input!r}")
    if call.input == "read":
        if call.refs:
            raise ParameterError("--input read takes the references from the text itself; leave --refs out")
        sentences = read_sentences(call.text)
        return [sentence.kana for sentence in sentences], tuple((sentence.text,) for sentence in sentences)
    texts = read_lines(call.text)
    return texts, _references(call, len(texts))


def _references(call: DecodeCall, count: int) -> tuple[tuple[str, ...], ...] | None:
    return read_references(call.refs, count) if call.refs else None


def _write_texts(work: _Work, update: Callable[[int, int], None]) -> None:
    call = work.call
    k = 1 if needs_one(call.decision) and not work.reranks else call.k
    lines: list[str] = []
    for lists in work.lists(k, update):
        assert lists.texts is not None
        chosen = [lists.texts[h] if h >= 0 else "" for h in decide(call.decision, work.model, lists)]
        lines += chosen if call.words else ["".join(line.split()) for line in chosen]
    write_text(call.output, "".join(f"{line}\n" for line in lines))


def _joined(parts: Sequence[NBest], work: _Work) -> NBest:
    """The lists of all batches."""
    parts = parts or [work.system.lists(work.forests(0, 0, lambda done, total: None), 1)]
    return replace(
        stack(list(parts)),
        offsets=segments.offsets_of(np.concatenate([part.lengths for part in parts])),
        ids=tuple(name for part in parts for name in part.ids),
        references=work.references,
        sources=tuple(source for part in parts for source in part.sources or ()),
    )
