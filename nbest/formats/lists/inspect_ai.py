"""Logs of inspect_ai, `.eval` (a zip archive, one JSON file a sample) or `.json` (all samples in one file)."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nbest.base.errors import FormatError, FormatWarning, listed, shown
from nbest.base.files import decode, read_bytes
from nbest.base.zips import ZIP, members
from nbest.corpus import NBest
from nbest.formats.json_text import entries, kind, loads, need, need_number, top_keys
from nbest.formats.lists.base import Format, is_number
from nbest.formats.lists.builder import Builder
from nbest.formats.lists.chat import EMPTY, content_text, filled, last_question, token_features

_GRADES = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
"""Inspect's grades: correct, partly, incorrect, no answer."""
_KEYS = ("id", "epoch", "input", "target", "output", "scores", "error")
_WORDS = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}


def read_inspect(
    path: str | Path,
    *,
    data: bytes | None = None,
    score: str | None = None,
    unscored: float | None = None,
    missing: float | None = None,
) -> NBest:
    """Read a log. A segment is a sample, called by its id; its epochs are the hypotheses, and so are several choices.

    The target is the reference, the input the source. `score` names the scorer whose values are the gains and whose
    answers are the answers, by default the only one; the other scores are features. Features, too: `logprob` and
    `tokens` where log-probabilities are there. Samples that failed are counted, and give no hypotheses; so are samples
    without a score, unless `unscored` is what they are worth. `missing` stands for features that some samples lack.
    """
    contents = read_bytes(path) if data is None else data
    read = _zipped if contents.startswith(ZIP) else _plain
    samples = sorted((_Sample(*sample) for sample in read(path, contents)), key=lambda each: (each.epoch, each.name))
    done, said = [sample for sample in samples if sample.choices], list[str]()
    if len(done) < len(samples):
        said.append(f"{len(samples) - len(done)} of {len(samples)} samples failed or have no output; {EMPTY}")
    names = dict.fromkeys(name for sample in done for name in sample.scores)
    gain = _gain_of(path, list(names), score)
    several = next((sample for sample in done if len(sample.choices) > 1), None)
    if several and names:
        said.append(f"scores are left out: they are of samples, and sample {several.name!r} has several choices")
        for sample in done:
            sample.scores, sample.answers = {}, {}
    elif names:
        done = _scored(done, gain, unscored if gain is not None else missing, said)
    builder = Builder(path)
    for sample in samples:
        builder.path = sample.path
        sample.declare(builder)
    _add(builder, [(sample, choice) for sample in done for choice in sample.given(gain)], gain, missing)
    builder.path = path
    corpus = builder.build()
    for what in said:
        warnings.warn(f"{path}: {what}", FormatWarning, stacklevel=2)
    return corpus


def _scored(samples: list[_Sample], gain: str | None, value: float | None, said: list[str]) -> list[_Sample]:
    """Samples with the score that counts, or with any; the others have `value`, or are left out."""
    without = {
        id(sample): sample for sample in samples if not (sample.scores if gain is None else gain in sample.scores)
    }
    if value is not None:
        for sample in without.values() if gain is not None else ():
            sample.scores[str(gain)] = float(value)
        return samples
    if without:
        what, option = ("no score", "missing") if gain is None else (f"no score {shown(gain)}", "unscored")
        first = next(iter(without.values()))
        count = f"{len(without)} of {len(samples)} samples have {what} (the first is {first}) and are left out"
        said.append(f"{count}, {option}= (--option {option}=0) gives a value; {EMPTY}")
    return [sample for sample in samples if id(sample) not in without]


def _add(builder: Builder, choices: list[tuple[_Sample, _Said]], gain: str | None, missing: float | None) -> None:
    """Hypotheses with the same features each."""
    names = dict.fromkeys(name for _, choice in choices for name in choice.features)
    for sample, choice in choices:
        lacking = next((name for name in names if name not in choice.features), None)
        if lacking is not None and missing is None:
            what = f"{sample} has no {shown(lacking)} while others have; missing= (--option missing=VALUE) gives one"
            raise FormatError(sample.path, sample.line, what)
        features = filled(choice.features, names, 0.0 if missing is None else missing)
        worth, answer = (None, None) if gain is None else (sample.scores.get(gain), sample.answers.get(gain))
        builder.path = sample.path
        builder.hypothesis(sample.name, choice.text, features, sample.line, gain=worth, answer=answer)


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


@dataclass(frozen=True)
class _Said:
    """What a model said."""

    text: str
    features: dict[str, float]


class _Sample:
    """One sample of one epoch."""

    def __init__(self, path: str | Path, line: int, value: Any) -> None:
        self.path, self.line = path, line
        sample = need(path, line, "a sample", value, dict)  # its events, which are long, are let go
        self.entry = {key: sample[key] for key in _KEYS if key in sample}
        name, epoch = self.entry.get("id"), self.entry.get("epoch", 1)
        if type(name) not in (str, int):
            raise FormatError(path, line, f'"id" of a sample must be a string or an integer, got {kind(name)}')
        self.name, self.epoch = str(name), need_number(path, line, f'"epoch" of sample {shown(name)}', epoch)
        self.scores, self.answers = dict[str, float](), dict[str, str]()
        with self._named():
            output = need(path, line, '"output"', self.entry.get("output") or {}, dict)
            choices = need(path, line, '"choices" of "output"', output.get("choices") or [], list)
            self.choices: list[Any] = [] if self.entry.get("error") is not None else choices
            for scorer, given in need(path, line, '"scores"', self.entry.get("scores") or {}, dict).items():
                self._take_score(scorer, need(path, line, f"score {shown(scorer)}", given, dict))

    def __str__(self) -> str:
        return f"sample {shown(self.name)} of epoch {self.epoch:g}"

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Errors name the sample: a whole log may stand on one line."""
        try:
            yield
        except FormatError as error:
            raise FormatError(error.path, error.line, f"{self}: {error.reason}") from None

    def _take_score(self, scorer: str, score: dict[str, Any]) -> None:
        """The values of a score that are numbers, by name, and the answer that was graded."""
        value = score.get("value")
        for name, each in _values(scorer, value):
            graded = _number(each)
            if graded is not None:
                self.scores[name] = need_number(self.path, self.line, f"score {shown(name)}", graded)
                if isinstance(score.get("answer"), str):
                    self.answers[name] = score["answer"]

    def declare(self, builder: Builder) -> None:
        """The segment, which is there even where all of its epochs failed."""
        path, line, target, asked = self.path, self.line, self.entry.get("target"), self.entry.get("input")
        targets = target if isinstance(target, list) else [] if target in (None, "") else [target]
        with self._named():
            references = [need(path, line, '"target"', each, str) for each in targets]
            source = last_question(path, line, asked) if isinstance(asked, list) else asked
            if source is not None:
                need(path, line, '"input"', source, str)
        builder.segment(self.name, references, source, line)

    def given(self, gain: str | None) -> list[_Said]:
        """What was said; the scores of the sample, but for the one that counts, are features."""
        with self._named():
            return [self._choice(need(self.path, self.line, "a choice", each, dict), gain) for each in self.choices]

    def _choice(self, choice: dict[str, Any], gain: str | None) -> _Said:
        path, line = self.path, self.line
        message = need(path, line, '"message" of a choice', choice.get("message"), dict)
        features, _ = token_features(path, line, choice.get("logprobs"))
        features |= {name: value for name, value in self.scores.items() if name != gain}
        return _Said(content_text(path, line, message.get("content")), features)


def _values(scorer: str, value: Any) -> Iterator[tuple[str, Any]]:
    """The values of a score: one, or several by name or number."""
    if isinstance(value, dict):
        yield from ((f"{scorer}_{key}", each) for key, each in value.items())
    elif isinstance(value, list):
        yield from ((f"{scorer}_{at}", each) for at, each in enumerate(value))
    else:
        yield scorer, value


def _number(value: Any) -> float | None:
    """A grade as a number, as Inspect turns it into one; None for texts, and for NaN, which says "unscored"."""
    if isinstance(value, str):
        known = _GRADES.get(value, _WORDS.get(value.lower()))
        return float(value) if known is None and is_number(value) else known
    return float(value) if isinstance(value, bool | int | float) and not math.isnan(value) else None


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
