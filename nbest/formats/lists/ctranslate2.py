"""Results of CTranslate2 as JSON lines: `{"hypotheses": [["▁a", "▁house"], ...], "scores": [-0.25, ...]}`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nbest.base.errors import FormatError, ParameterError
from nbest.corpus import NBest, Origin
from nbest.formats.json_text import json_lines, need, need_number, top_keys
from nbest.formats.lists.base import Format
from nbest.formats.lists.builder import Builder
from nbest.formats.lists.jsonl import id_of
from nbest.formats.lists.tokens import LONGEST, joined, raw_sum, scored_length

_LISTS = ("hypotheses", "sequences")  # of translators, of generators


def read_ctranslate2(
    path: str | Path,
    *,
    data: bytes | None = None,
    length_penalty: float = 1.0,
    longest: int = LONGEST,
    pieces: str = "auto",
) -> NBest:
    """Read results, one segment a line. `id`, `source` and `reference` may stand beside them.

    Hypotheses are lists of tokens, or texts. Of tokens the features are `logprob`, the sum that the score was before
    it was divided by length^`length_penalty`, and `tokens`; the length counts the end of the sentence, unless there are
    `longest` tokens (`max_decoding_length`). Of texts, whose tokens nobody knows, the feature is `score` as it is.
    `pieces` says what tokens are: "sentencepiece", "bytes" (byte-level BPE), "bpe" (`@@`) or "words"; by default the
    tokens of the whole file show it.
    """
    check_penalty("read_ctranslate2", length_penalty, longest)
    builder, found = Builder(path), list[_Hypothesis]()
    for line, entry in json_lines(path, data, 'with "hypotheses" and "scores"'):
        key = next((key for key in _LISTS if key in entry), "hypotheses")
        given = need(path, line, f'"{key}"', entry.get(key), list)
        scores = need(path, line, '"scores"', entry.get("scores") or [], list)
        if scores and len(scores) != len(given):
            raise FormatError(path, line, f"{len(given)} hypotheses and {len(scores)} scores; every one needs its own")
        name = id_of(path, line, entry.get("id"))
        if builder.has(name):
            raise FormatError(path, line, f"segment {name!r} is already on line {builder.line(name)}")
        reference, source = (_text(path, line, key, entry) for key in ("reference", "source"))
        builder.segment(name, None if reference is None else [reference], source, line)
        for hypothesis, score in zip(given, scores or [None] * len(given), strict=True):
            found.append(_Hypothesis(name, line, hypothesis, score))
            found[-1].check(path)
    tokens = [each.given for each in found if not isinstance(each.given, str)]
    texts = iter(joined(path, tokens, pieces))
    for each in found:
        features = each.features(length_penalty, longest)
        builder.hypothesis(each.name, each.given if isinstance(each.given, str) else next(texts), features, each.line)
    return builder.build(origins(length_penalty, "logprob" if tokens else "score"))


@dataclass(frozen=True)
class _Hypothesis:
    """Tokens or a text, and the score, as they stand in the file."""

    name: str
    line: int
    given: str | list[str]
    score: float | None

    def check(self, path: str | Path) -> None:
        if not isinstance(self.given, str):
            for token in need(path, self.line, "tokens", self.given, list):
                need(path, self.line, "a token", token, str)
        if self.score is not None:
            need_number(path, self.line, "a score", self.score)

    def features(self, length_penalty: float, longest: int) -> dict[str, float]:
        if not isinstance(self.given, str):
            return tokens_features(self.given, self.score, length_penalty, longest)
        return {} if self.score is None else {"score": float(self.score)}


def tokens_features(
    tokens: Sequence[str], score: float | None, length_penalty: float, longest: int
) -> dict[str, float]:
    """The features of a hypothesis of CTranslate2."""
    length = scored_length(tokens, longest)
    known = {} if score is None else {"logprob": raw_sum(score, length, length_penalty)}
    return {**known, "tokens": float(length)}


def origins(length_penalty: float, feature: str) -> dict[str, Origin]:
    """What is to be said of the scores."""
    if not length_penalty:
        return {}
    done = "; multiplied back" if feature == "logprob" else ""
    return {feature: Origin(normalised=f"length^{length_penalty:g}{done}")}


def check_penalty(owner: str, length_penalty: float, longest: int) -> None:
    """Refuse what no length can be multiplied by."""
    if not 0 <= length_penalty <= 10:
        raise ParameterError(f"'length_penalty' of {owner} must be from 0 to 10, got {length_penalty}")
    if longest < 1:
        raise ParameterError(f"'longest' of {owner} must be >= 1, got {longest}")


def _text(path: str | Path, line: int, key: str, entry: dict[str, Any]) -> str | None:
    value = entry.get(key)
    return None if value is None else str(need(path, line, f'"{key}"', value, str))


def _sniff(path: Path, head: bytes) -> bool:
    keys = top_keys(head)
    lists = re.search(rb'"(?:hypotheses|sequences)"\s*:\s*\[\s*[\["]', head)
    return head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"{" and "scores" in keys and lists is not None


FORMAT = Format(
    name="ctranslate2",
    read=read_ctranslate2,
    write=None,
    sniff=_sniff,
    suffixes=(),
    summary='CTranslate2 results: JSON lines {"hypotheses": [[tokens]], "scores": [...]}',
    example={
        "translated.jsonl": '{"hypotheses": [["▁a", "▁house"], ["▁a", "▁mo", "use"]], "scores": [-0.5, -0.75]}\n'
        '{"hypotheses": [["▁grö", "ßer", "</s>"], []], "scores": [-1, -2.5], "id": "u2"}\n'
    },
)
