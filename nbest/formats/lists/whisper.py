"""JSON of recognisers: results of Whisper and its relatives, and lists of alternatives.

{"text": "a house", "segments": [{"text": "a house", "avg_logprob": -0.25, ...}], "language": "en"}
{"id": "utt1", "alternatives": [{"text": "a house", "confidence": 0.9}, ...], "reference": "a house"}
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nbest.base.errors import FormatError, shown
from nbest.corpus import NBest
from nbest.formats.json_text import entries, json_lines, kind, loads, need, need_number, top_keys
from nbest.formats.lists.base import Format, text_of
from nbest.formats.lists.builder import Builder

_IDS = ("id", "utt", "utt_id", "audio", "audio_filepath", "audio_path", "wav", "file", "key", "name")
_LISTS = ("nbest", "n_best", "alternatives", "hypotheses")
_TEXTS = ("text", "transcript", "transcription", "sentence", "hypothesis", "lexical", "display")
_REFERENCES = ("reference", "ref", "target")
_NUMBERED = re.compile(rb'"hypotheses"\s*:\s*\[\s*\{[^{}\[\]]*"\s*:\s*-?[0-9]')
_MEANS = ("compression_ratio", "no_speech_prob", "temperature")


def read_whisper(path: str | Path, *, data: bytes | None = None, missing: float | None = None) -> NBest:
    """Read JSON lines, one JSON list, or one JSON object; what has the same id is one list.

    Of Whisper's segments the features are `logprob` (avg_logprob times tokens), `tokens`, and the means over the tokens
    of `compression_ratio`, `no_speech_prob` and `temperature`, those that are there. Of alternatives every number is
    a feature, and `tokens` the number of tokens; without any number it is `rank`. `missing` stands for numbers that an
    alternative lacks.
    """
    builder, found = Builder(path), list[_Spoken]()
    given = list(_entries(path, data))
    for line, entry in given:
        alone = len(given) == 1 and "segments" in entry and str(path) != "-"  # Whisper calls the file as the audio
        name = _id_of(path, line, entry, Path(path).stem if alone else str(len(found)))
        spoken = _Spoken(name, line, entry.get("segments") == [])
        found.append(spoken)
        reference = next((entry[key] for key in _REFERENCES if entry.get(key) is not None), None)
        builder.segment(
            name, None if reference is None else [need(path, line, "a reference", reference, str)], line=line
        )
        if "segments" in entry:
            spoken.add(*_of_segments(path, line, entry))
        else:
            for alternative in _alternatives(path, line, entry):
                spoken.add(*_of_alternative(path, line, alternative))
    told = [spoken for spoken in found if not spoken.silent] or found
    names = dict.fromkeys(name for spoken in told for _, features in spoken.hypotheses for name in features)
    for spoken in found:
        for rank, (text, features) in enumerate(spoken.hypotheses, 1):
            if spoken.silent:
                features = {name: value for name, value in features.items() if name in names}
            if missing is not None:
                features = {name: features.get(name, float(missing)) for name in names}
            builder.hypothesis(spoken.name, text, features if names else {"rank": -float(rank)}, spoken.line)
    return builder.build()


@dataclass
class _Spoken:
    """What one entry says: texts with their numbers."""

    name: str
    line: int
    silent: bool  # a result of Whisper without segments, which has 0 for whatever others tell
    hypotheses: list[tuple[str, dict[str, float]]] = field(default_factory=list)

    def add(self, text: str, features: dict[str, float]) -> None:
        self.hypotheses.append((text, features))


def _entries(path: str | Path, data: bytes | None) -> Iterator[tuple[int, dict[str, Any]]]:
    """(line, object) of JSON lines, of one list, or of one object on many lines; their keys in small letters."""
    text = text_of(path, data)
    start = text.lstrip()
    if start.startswith("["):
        for line, _, value in entries(path, text, "["):
            yield line, _small(need(path, line, "an entry of the list", value, dict))
    elif start and not _whole(start.partition("\n")[0]):
        yield 1, _small(need(path, 1, "the file", loads(path, 1, text), dict))
    else:
        for line, value in json_lines(path, text.encode(), 'with "segments" or "alternatives"'):
            yield line, _small(value)


def _whole(line: str) -> bool:
    """Whether a line is a JSON value by itself."""
    try:
        loads("", 1, line)
    except FormatError:
        return False
    return True


def _small(entry: dict[str, Any]) -> dict[str, Any]:
    """The entry with keys in small letters: Azure writes NBest and Lexical."""
    return {key.lower(): value for key, value in entry.items()}


def _id_of(path: str | Path, line: int, entry: dict[str, Any], otherwise: str) -> str:
    name = next((entry[key] for key in _IDS if entry.get(key) is not None), None)
    if name is None:
        return otherwise
    if type(name) not in (str, int):
        raise FormatError(path, line, f"the id must be a string or an integer, got {kind(name)}: {shown(name)}")
    return str(name)


def _of_segments(path: str | Path, line: int, entry: dict[str, Any]) -> tuple[str, dict[str, float]]:
    """A result of Whisper: its text, and what its segments say together."""
    given = need(path, line, '"segments"', entry["segments"], list)
    segments = [need(path, line, "a segment", segment, dict) for segment in given]
    texts = [need(path, line, '"text" of a segment', segment.get("text"), str) for segment in segments]
    whole = entry.get("text")
    text = "".join(texts) if whole is None else need(path, line, '"text"', whole, str)
    counts = [_count(path, line, segment) for segment in segments]
    total = sum(counts)
    features: dict[str, float] = {}
    for name in ("avg_logprob", *_MEANS):
        if all(segment.get(name) is not None for segment in segments):
            values = [need_number(path, line, f'"{name}" of a segment', segment[name]) for segment in segments]
            weighted = sum(value * count for value, count in zip(values, counts, strict=True))
            features[name] = weighted if name == "avg_logprob" else weighted / total if total else 0.0
    if "avg_logprob" in features:
        features = {"logprob": features.pop("avg_logprob"), "tokens": total, **features}
    return text.strip(), features


def _count(path: str | Path, line: int, segment: dict[str, Any]) -> float:
    """The number of tokens of a segment; of words where it tells none."""
    tokens = segment.get("tokens")
    return float(len(str(segment["text"]).split() if tokens is None else need(path, line, '"tokens"', tokens, list)))


def _alternatives(path: str | Path, line: int, entry: dict[str, Any]) -> list[Any]:
    key = next((key for key in _LISTS if key in entry), None)
    if key is None:
        raise FormatError(path, line, f"no list of hypotheses; expected one of the keys segments, {', '.join(_LISTS)}")
    made: list[Any] = need(path, line, f'"{key}"', entry[key], list)
    return made


def _of_alternative(path: str | Path, line: int, given: Any) -> tuple[str, dict[str, float]]:
    """A hypothesis and its numbers."""
    if isinstance(given, str):
        return given, {}
    hypothesis = _small(need(path, line, "a hypothesis", given, dict))
    key = next((key for key in _TEXTS if key in hypothesis), "text")
    text = need(path, line, f'"{key}" of a hypothesis', hypothesis.get(key), str)
    features: dict[str, float] = {}
    for name, value in hypothesis.items():
        if isinstance(value, bool | int | float):
            features[name] = need_number(path, line, f"feature {name!r}", value)
        elif name == "tokens" and isinstance(value, list):
            features[name] = float(len(value))
    return text, features


def _sniff(path: Path, head: bytes) -> bool:
    keys = {key.lower() for key in top_keys(head)}
    whisper = {"text", "segments"} <= keys and re.search(rb'"segments"\s*:\s*\[', head) is not None
    if (
        "hypotheses" in keys
    ):  # our own lines, unless they call the segment otherwise and have numbers where we have none
        return "id" not in keys and not keys.isdisjoint(_IDS[1:]) and _NUMBERED.search(head) is not None
    return whisper or not keys.isdisjoint(_LISTS[:3])


FORMAT = Format(
    name="whisper",
    read=read_whisper,
    write=None,
    sniff=_sniff,
    suffixes=(),
    summary="JSON of recognisers: segments of Whisper, or lists of alternatives with numbers",
    example={
        "speech.jsonl": '{"id": "u1", "alternatives": [{"text": "a house", "confidence": 0.75, "final": true}, '
        '{"transcript": "a mouse", "confidence": 0.5, "final": false}], "reference": "a house"}\n'
        '{"audio": "u2", "nbest": [{"Lexical": "größer", "Confidence": 1, "final": false}], "ref": "größer"}\n'
    },
)
