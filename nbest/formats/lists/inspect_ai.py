"""Logs of inspect_ai, `.eval` (a zip archive, one JSON file a sample) or `.json` (all samples in one file)."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nbest.base.errors import FormatError, FormatWarning, listed, shown
from nbest.base.files import decode, read_bytes
from nbest.base.zips import ZIP, members
from nbest.corpus import NBest
from nbest.formats.json_text import entries, kind, loads, need, need_number, top_keys
from nbest.formats.lists.base import Format, is_number
from nbest.formats.lists.builder import Builder
from nbest.formats.lists.chat import EMPTY, content_text, last_question, token_features

_GRADES = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
"""Inspect's grades: correct, partly, incorrect, no answer."""
_KEYS = ("id", "epoch", "input", "target", "output", "scores", "error")
_WORDS = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}


def read_inspect(path: str | Path, *, data: bytes | None = None, score: str | None = None) -> NBest:
    """Read a log. A segment is a sample, called by its id; its epochs are the hypotheses, and so are several choices.

    The target is the reference, the input the source. `score` names the scorer whose values are the gains and whose
    answers are the answers, by default the only one; the other scores are features. Features, too: `logprob` and
    `tokens` where log-probabilities are there. Samples that failed are counted, and give no hypotheses.
    """
    contents = read_bytes(path) if data is None else data
    read = _zipped if contents.startswith(ZIP) else _plain
    samples = sorted((_Sample(*sample) for sample in read(path, contents)), key=lambda each: (each.epoch, each.name))
    done = [sample for sample in samples if sample.choices]
    names = dict.fromkeys(name for sample in done for name in sample.scores)
    gain = _gain_of(path, list(names), score)
    several = [sample for sample in done if len(sample.choices) > 1]
    builder = Builder(path)
    for sample in samples:
        builder.path = sample.path
        sample.declare(builder)
    for sample in done:
        builder.path = sample.path
        sample.add_to(builder, gain, scored=not several)
    builder.path = path
    corpus = builder.build()
    if len(done) < len(samples):
        failed = f"{len(samples) - len(done)} of {len(samples)} samples failed or have no output"
        warnings.warn(f"{path}: {failed}; {EMPTY}", FormatWarning, stacklevel=2)
    if several and names:
        why = f"scores are left out: they are of samples, and sample {several[0].name!r} has several choices"
        warnings.warn(f"{path}: {why}", FormatWarning, stacklevel=2)
    return corpus


def _zipped(path: str | Path, data: bytes) -> Iterator[tuple[str, int, Any]]:
    """(path, line, sample) of an archive."""
    for name, contents in members(path, data, lambda name: name.startswith("samples/") and name.endswith(".json")):
        place = f"{path}/{name}"
        yield place, 1, loads(place, 1, decode(place, contents), lenient=True)


def _plain(path: str | Path, data: bytes) -> Iterator[tuple[str | Path, int, Any]]:
    """(path, line, sample) of one JSON file."""
    for line, key, value in entries(path, decode(path, data), "{", lenient=True):
        if key == "samples" and value is not None:
            for sample in need(path, line, '"samples"', value, list):
                yield path, line, sample


def _gain_of(path: str | Path, names: list[str], score: str | None) -> str | None:
    """The score that says what a hypothesis is worth: the one named, or the only one."""
    if score is not None and score not in names:
        raise FormatError(path, None, f"no score {shown(score)} in it; it has {listed(map(shown, names))}")
    return score if score is not None or len(names) != 1 else names[0]


class _Sample:
    """One sample of one epoch."""

    def __init__(self, path: str | Path, line: int, value: Any) -> None:
        self.path, self.line = path, line
        sample = need(path, line, "a sample", value, dict)  # its events, which are long, are let go
        self.entry = {key: sample[key] for key in _KEYS if key in sample}
        name, epoch = self.entry.get("id"), self.entry.get("epoch", 1)
        if type(name) not in (str, int):
            raise FormatError(path, line, f'"id" of a sample must be a string or an integer, got {kind(name)}')
        self.name, self.epoch = str(name), need_number(path, line, '"epoch" of a sample', epoch)
        output = need(path, line, '"output" of a sample', self.entry.get("output") or {}, dict)
        choices = need(path, line, '"choices" of an output', output.get("choices") or [], list)
        self.choices: list[Any] = [] if self.entry.get("error") is not None else choices
        self.scores, self.answers = dict[str, float](), dict[str, str]()
        for scorer, given in need(path, line, '"scores"', self.entry.get("scores") or {}, dict).items():
            self._take_score(scorer, need(path, line, f"score {shown(scorer)}", given, dict))

    def _take_score(self, scorer: str, score: dict[str, Any]) -> None:
        """The values of a score that are numbers, by name, and the answer that was graded."""
        value = score.get("value")
        for name, each in _named(scorer, value):
            graded = _number(each)
            if graded is not None:
                self.scores[name] = need_number(self.path, self.line, f"score {shown(name)}", graded)
                if isinstance(score.get("answer"), str):
                    self.answers[name] = score["answer"]

    def declare(self, builder: Builder) -> None:
        """The segment, which is there even where all of its epochs failed."""
        path, line, target, asked = self.path, self.line, self.entry.get("target"), self.entry.get("input")
        targets = target if isinstance(target, list) else [] if target in (None, "") else [target]
        references = [need(path, line, '"target" of a sample', each, str) for each in targets]
        source = last_question(path, line, asked) if isinstance(asked, list) else asked
        if source is not None:
            need(path, line, '"input" of a sample', source, str)
        builder.segment(self.name, references, source, line)

    def add_to(self, builder: Builder, gain: str | None, *, scored: bool) -> None:
        """The hypotheses: one a choice."""
        path, line, scores = self.path, self.line, self.scores if scored else {}
        for given in self.choices:
            choice = need(path, line, "a choice", given, dict)
            message = need(path, line, '"message" of a choice', choice.get("message"), dict)
            features, _ = token_features(path, line, choice.get("logprobs"))
            features |= {name: value for name, value in scores.items() if name != gain}
            text = content_text(path, line, message.get("content"))
            worth = None if gain is None else (scores.get(gain), self.answers.get(gain) if scored else None)
            builder.hypothesis(self.name, text, features, line, gain=worth and worth[0], answer=worth and worth[1])


def _named(scorer: str, value: Any) -> Iterator[tuple[str, Any]]:
    """The values of a score: one, or several by name or number."""
    if isinstance(value, dict):
        yield from ((f"{scorer}_{key}", each) for key, each in value.items())
    elif isinstance(value, list):
        yield from ((f"{scorer}_{at}", each) for at, each in enumerate(value))
    else:
        yield scorer, value


def _number(value: Any) -> float | None:
    """A grade as a number, as Inspect turns it into one; None for texts."""
    if isinstance(value, str):
        known = _GRADES.get(value, _WORDS.get(value.lower()))
        return float(value) if known is None and is_number(value) else known
    return float(value) if isinstance(value, bool | int | float) else None


def _sniff(path: Path, head: bytes) -> bool:
    if head.startswith(ZIP):
        return head[30:].startswith((b"_journal/", b"samples/", b"header.json")) or path.suffix == ".eval"
    return {"version", "status", "eval"} <= top_keys(head)


FORMAT = Format(
    name="inspect",
    read=read_inspect,
    write=None,
    sniff=_sniff,
    suffixes=(".eval",),
    summary="logs of inspect_ai, .eval or .json: epochs are hypotheses, scores are gains or features",
    example={
        "log.json": '{\n  "version": 2, "status": "success", "eval": {"task": "sums"},\n  "samples": [\n'
        '    {"id": "q1", "epoch": 2, "input": "2 + 3?", "target": "5",\n'
        '     "output": {"choices": [{"message": {"content": "6"}, "stop_reason": "stop",\n'
        '       "logprobs": {"content": [{"token": "6", "logprob": -1.5}]}}]},\n'
        '     "scores": {"match": {"value": "I", "answer": "6"}}},\n'
        '    {"id": "q1", "epoch": 1, "input": "2 + 3?", "target": ["5", "five"],\n'
        '     "output": {"choices": [{"message": {"content": [{"type": "text", "text": "größer: 5"}]},\n'
        '       "logprobs": {"content": []}}]},\n'
        '     "scores": {"match": {"value": "C", "answer": "5"}}}\n  ]\n}\n'
    },
)
