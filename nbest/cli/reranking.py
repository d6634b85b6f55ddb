"""What `nbest rerank` does, once its arguments are known: block by block, so that lists may be of any size."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from tempfile import SpooledTemporaryFile
from typing import IO, Any

import numpy as np

from nbest.base.errors import CapabilityError, ParameterError, listed, look_up
from nbest.base.files import replacing
from nbest.base.types import Bools
from nbest.cli.abstaining import abstention_of, need_calibrated
from nbest.cli.console import Console, Pace
from nbest.cli.deciding import decision_said, model_of, say_alone
from nbest.cli.further import separate
from nbest.cli.loading import answered, files_of_options, over_blocks, source_of
from nbest.cli.rerank import Rerank
from nbest.cli.targets import refuse_overwriting, written
from nbest.cli.topping import TopLists
from nbest.cli.topping import format_of as format_of_top
from nbest.corpus import NBest
from nbest.corpus.contract import Corpus
from nbest.corpus.order import SegmentNumbers, first_number, gaps
from nbest.decisions import DECISIONS
from nbest.decisions.choose import Choice, choose
from nbest.decisions.confidence import AT_GAMMA
from nbest.model.abstention import Abstention
from nbest.model.blocks import BlockNames
from nbest.model.loglinear import LogLinear

_IN_MEMORY = 2**26  # bytes of chosen lines that are kept in memory; more go to a temporary file


def run(call: Rerank) -> None:
    """Read, choose, write."""
    console = Console(quiet=call.quiet)
    paths, further = separate(list(call.test))
    call = replace(call, test=paths)
    if call.model == "-" and "-" in call.test:
        raise ParameterError("only one input can come from standard input (-)")
    outputs = [call.output] if call.top is None else written(call.output, format_of_top(call))
    if call.to is not None and call.top is None:
        raise ParameterError("--to is the format of lists, which --top K writes; give --top, too")
    refuse_overwriting(outputs, [call.test, call.model, call.lm, files_of_options(call.option)])
    look_up(DECISIONS, call.decision or "1best", "decision")
    model = model_of(call)
    decision = decision_said(call, model, further)
    abstention = abstention_of(call, model, decision, console)
    if call.model is None and call.weights is None and decision["kind"] == "mbr":
        console.say("no model and no weights are given: every hypothesis counts alike")
    with console.progress("deciding") as update:
        pace = Pace(update)
        reranking = _Reranking(call, model, decision, abstention, console=console, pace=pace)
        how = reranking if call.top is None else TopLists(call, model, console, reranking.say_unused, reranking.chosen)
        over_blocks(source_of(call, paths), console, how.lists, whole=how.whole, progress=pace.read)
    if model.weights and decision["kind"] in AT_GAMMA and "gamma" not in decision:
        own = "the model's own" if call.model is not None else "as none is given"
        console.say(f"{decision['kind']} at gamma {model.gamma:g}, {own}; --gamma takes another")


@dataclass(frozen=True)
class _Reranking:
    """Chooses, and writes when everything is chosen."""

    call: Rerank
    model: LogLinear
    decision: dict[str, Any]
    abstention: Abstention | None
    console: Console
    pace: Pace

    def lists(self, blocks: Iterable[NBest]) -> None:
        """Of lists, block by block."""
        names = BlockNames()
        with _Lines(self.call, self.abstention) as lines:
            for number, block in enumerate(blocks):
                if number == 0:
                    self.say_unused(block)
                block = answered(block, self.call.answer)
                if number == 0 and self.decision["kind"] in ("vote", "best-of-majority"):
                    say_alone(
                        self.console,
                        self.call.test[0],
                        self.model.answered(block),
                        self.decision.get("normalize", "none"),
                    )
                lines.add(self.chosen(names.prepared(self.model, block)))
            names.check(self.model)
            lines.write(self.console)

    def whole(self, corpus: Corpus) -> None:
        """Of forests, or of several lists together."""
        self.say_unused(corpus)
        with _Lines(self.call, self.abstention) as lines:
            lines.add(self.chosen(answered(corpus, self.call.answer)))
            lines.write(self.console)

    def say_unused(self, corpus: Corpus) -> None:
        """Features that do not count."""
        unused = [name for name in corpus.feature_names if name not in self.model.weights]
        if unused and self.call.model is not None and self.model.weights:  # a vote may have none
            self.console.say(f"{self.call.test[0]}: the model has no weight for {listed(unused)}; not used")

    def chosen(self, corpus: Corpus) -> Choice:
        """What is chosen of a block, or of all."""
        try:
            tell = self.pace.segments(len(corpus))
            return choose(self.model, corpus, self.decision, k=self.call.k, progress=tell)
        except CapabilityError as error:
            raise CapabilityError(f"{self.call.test[0]}: {error}") from None


_EMPTY = "nbest score counts an empty line as an empty output, inspect, tune and compare leave such segments out"


@dataclass
class _Lines:
    """What is chosen, a line a segment, kept until all is chosen."""

    call: Rerank
    abstention: Abstention | None = None
    file: IO[bytes] = field(default_factory=lambda: SpooledTemporaryFile(_IN_MEMORY))  # noqa: SIM115
    segments: SegmentNumbers = field(default_factory=SegmentNumbers)
    count: int = 0
    empty: int = 0
    abstained: int = 0
    broken: int = 0  # texts that had line breaks

    def __enter__(self) -> _Lines:
        return self

    def __exit__(self, *error: object) -> None:
        self.file.close()

    def add(self, found: Choice) -> None:
        """The lines of a block."""
        ids, texts = found.lists.ids, found.texts
        self.count += len(ids)
        self.empty += int((found.chosen < 0).sum())
        abstained = None if self.abstention is None else ~self.abstention.answers(found.probability, found.confidence)
        if abstained is not None:
            need_calibrated(self.call, found.calibration is not None)
            abstained &= found.chosen >= 0
            self.abstained += int(abstained.sum())
            texts = ["" if without else text for without, text in zip(abstained, texts, strict=True)]
        self.segments.add(ids)
        if self.call.as_json:
            texts = _json_lines(found, texts, abstained)
        else:
            flat = [" ".join(text.splitlines()) for text in texts]
            self.broken += sum(one != other for one, other in zip(flat, texts, strict=True))
            texts = flat
        if self.call.ids and not self.call.as_json:
            odd = next((name for name in ids if not name.strip() or any(c in name for c in "\t\n\r")), None)
            if odd is not None:
                raise CapabilityError(f"--ids cannot write the id {odd!r} before a tab; use --json")
            texts = [f"{name}\t{text}" for name, text in zip(ids, texts, strict=True)]
        self.file.write("".join(f"{text}\n" for text in texts).encode())

    def write(self, console: Console) -> None:
        """All lines to the output, those of segments by their numbers in step with references."""
        path = self.call.test[0]
        if self.empty and not self.call.as_json:
            nothing = f"{self.empty} segments have nothing to choose from, and their lines are empty"
            console.warn(f"{path}: {nothing}; {_EMPTY}")
        if self.abstention is not None:
            how = "" if self.call.as_json or not self.abstained else f"; their lines are empty ({_EMPTY})"
            console.say(f"{path}: no answer to {self.abstained} of {self.count} segments{how}")
        if self.broken:
            console.warn(f"{path}: line breaks in {self.broken} chosen texts are written as blanks; --json keeps them")
        gaps: Iterator[int] = iter(())
        if not (self.call.as_json or self.call.ids):
            if self.segments.named:
                console.say(f"{path}: segments have names; --ids writes them too, for references by name")
            elif self._missing(console):
                gaps = self._gaps()
        self.file.seek(0)
        with replacing(self.call.output) as output:
            for line in self.file:
                output.write(b"\n" * next(gaps, 0))
                output.write(line)

    def _missing(self, console: Console) -> bool:
        """Whether empty lines stand for numbers that are missing."""
        missing, first = gaps(self.segments.numbers)
        if not missing:
            return False
        what = f"{self.call.test[0]}: {missing} segments are missing (the first is {first})"
        if missing > len(self.segments.numbers):
            why = "lines are in the order of the ids, not in step with references; --ids writes the ids"
            console.warn(f"{what}: {why}")
            return False
        console.warn(f"{what}: empty lines stand for them; {_EMPTY}; --ids writes the others only")
        return True

    def _gaps(self) -> Iterator[int]:
        """How many numbers are missing before each segment."""
        before = first_number(self.segments.numbers) - 1
        for number in self.segments.numbers:
            yield number - before - 1
            before = number


def _sure(found: Choice) -> list[float | None]:
    """The confidence of each choice; null where answers, which the model compared, are not known."""
    try:
        return found.confidence.tolist()
    except CapabilityError:
        return [None] * len(found.chosen)


def _json_lines(found: Choice, texts: list[str], abstained: Bools | None) -> list[str]:
    """A row a segment; of one without an answer the index is null, as where there is nothing to choose from."""
    corpus, scores = found.lists, found.scores()
    choice = found.chosen if abstained is None else np.where(abstained, -1, found.chosen)
    rows: list[dict[str, Any]] = [
        {
            "id": name,
            "text": text,
            "index": int(h - low) if h >= 0 else None,
            "score": float(scores[h]) if h >= 0 else None,
        }
        for name, text, h, low in zip(corpus.ids, texts, choice, corpus.offsets[:-1], strict=True)
    ]
    for row, sure in zip(rows, _sure(found), strict=True):
        row |= {"confidence": sure, "calibrated": sure is not None and found.calibration is not None}
    for row, without in zip(rows, () if abstained is None else abstained.tolist(), strict=abstained is not None):
        row["abstained"] = without
    if corpus.gains is not None:
        for row, h in zip(rows, choice, strict=True):
            row["gain"] = float(corpus.gains[h]) if h >= 0 else None
    for row, group in zip(rows, corpus.groups or (), strict=corpus.groups is not None):
        row["group"] = group
    return [json.dumps(row, ensure_ascii=False) for row in rows]
