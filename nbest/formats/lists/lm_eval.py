"""Samples of lm-evaluation-harness (`--log_samples`): JSON lines, one for each document and filter.

{"doc_id": 0, "target": "5", "resps": [["It is 5", "6"]], "filtered_resps": ["5"], "filter": "none", ...}
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nbest.base.errors import FormatError, FormatWarning, shown
from nbest.corpus import NBest
from nbest.formats.json_text import json_lines, kind, need, need_number, top_keys
from nbest.formats.lists.base import Format, number
from nbest.formats.lists.builder import Builder

_TRUTH = {"True": 1.0, "False": 0.0, True: 1.0, False: 0.0}


def read_lm_eval(
    path: str | Path, *, data: bytes | None = None, filter: str | None = None, metric: str | None = None
) -> NBest:
    """Read samples. A segment is a document, by its `doc_id`; the target is the reference, the prompt the source.

    Of several filters, whose lines repeat the documents, `filter` names one; by default it is the first. Answers that
    were generated are hypotheses; what the filter made of them is their `answers` where it left one each. `metric`
    (by default the first) is the gain where there is one hypothesis, or a value for each. Tasks with choices have a
    hypothesis a choice, with the features `logprob` and `greedy`, and the gain 1 for the right one.
    """
    builder, filters = Builder(path), dict[str, int]()
    for line, entry in json_lines(path, data, 'with "doc_id" and "resps"', lenient=True):
        sample = _Document(path, line, entry)
        filters.setdefault(sample.filter, line)
        if sample.filter != (next(iter(filters)) if filter is None else str(filter)):
            continue
        if builder.has(sample.name):
            raise FormatError(path, line, f"document {sample.name} is already on line {builder.line(sample.name)}")
        sample.add_to(builder, metric)
    if filter is not None and str(filter) not in filters:
        raise FormatError(path, None, f"no filter {shown(filter)} in it; it has {', '.join(map(shown, filters))}")
    corpus = builder.build()
    if filter is None and len(filters) > 1:
        first, *others = map(shown, filters)
        what = (
            f"read the samples of filter {first}; filter= (--option filter=NAME) names another one: {', '.join(others)}"
        )
        warnings.warn(f"{path}: {what}", FormatWarning, stacklevel=2)
    return corpus


@dataclass(frozen=True)
class _Document:
    """One line."""

    path: str | Path
    line: int
    entry: Mapping[str, Any]

    @property
    def name(self) -> str:
        name = self.entry.get("doc_id")
        if type(name) not in (str, int):
            raise FormatError(self.path, self.line, f'"doc_id" must be a whole number, got {kind(name)}: {shown(name)}')
        return str(name)

    @property
    def filter(self) -> str:
        return str(need(self.path, self.line, '"filter"', self.entry.get("filter", "none"), str))

    def add_to(self, builder: Builder, metric: str | None) -> None:
        """Add the document and its hypotheses."""
        requests = self._list("resps", self.entry.get("resps"))
        kept = [self._list("resps", responses) for responses in requests]
        if kept and all(len(each) == 1 and isinstance(each[0], list) for each in kept):
            self._add_choices(builder, [each[0] for each in kept])
        elif len(kept) == 1:
            self._add_generated(builder, kept[0], metric)
        else:
            raise FormatError(self.path, self.line, f'"resps" must be one list of texts, got {shown(requests)}')

    def _add_generated(self, builder: Builder, texts: list[Any], metric: str | None) -> None:
        target = self._target()
        builder.segment(self.name, [target] if target else None, self._argument(0, 0), self.line)
        gains, answers = self._gains(metric, len(texts)), self._answers(len(texts))
        for text, gain, answer in zip(texts, gains, answers, strict=True):
            need(self.path, self.line, 'a text of "resps"', text, str)
            builder.hypothesis(self.name, text, {}, self.line, gain=gain, answer=answer)

    def _add_choices(self, builder: Builder, choices: list[list[Any]]) -> None:
        target = self._target()
        right = int(target) if target.isascii() and target.isdigit() and len(target) < 9 else None
        texts = [(self._argument(k, 1) or "").strip() for k in range(len(choices))]
        reference = [texts[right]] if right is not None and right < len(texts) else [target]
        builder.segment(self.name, reference, self._argument(0, 0), self.line)
        for k, (text, values) in enumerate(zip(texts, choices, strict=True)):
            if len(values) != 2 or type(values[1]) not in (str, bool) or values[1] not in _TRUTH:
                raise FormatError(
                    self.path, self.line, f"a choice must have a log-probability and a truth value, got {shown(values)}"
                )
            logprob = number(self.path, self.line, "a log-probability", str(values[0]))
            features = {"logprob": logprob, "greedy": _TRUTH[values[1]]}
            builder.hypothesis(self.name, text, features, self.line, gain=None if right is None else float(k == right))

    def _target(self) -> str:
        target = self.entry.get("target")
        return "" if target is None else str(target)

    def _argument(self, request: int, place: int) -> str | None:
        """What a request was asked: `{"gen_args_0": {"arg_0": ...}}`, or lists in older files."""
        given = self.entry.get("arguments")
        for key, at in ((f"gen_args_{request}", request), (f"arg_{place}", place)):
            if isinstance(given, dict):
                given = given.get(key)
            elif isinstance(given, list):
                given = given[at] if at < len(given) else None
        return given if isinstance(given, str) else None

    def _gains(self, metric: str | None, count: int) -> list[float | None]:
        """What each hypothesis is worth, where the metric has a value for each."""
        names = self._list("metrics", self.entry.get("metrics") or [])
        name = str(metric) if metric is not None else next(iter(names), None)
        if metric is not None and metric not in self.entry:
            raise FormatError(
                self.path, self.line, f"no metric {shown(metric)} in it; it has {', '.join(map(shown, names))}"
            )
        value = self.entry.get(name) if isinstance(name, str) else None
        values = value if isinstance(value, list) else [value]
        if len(values) != count or any(not isinstance(each, bool | int | float) for each in values):
            return [None] * count
        return [need_number(self.path, self.line, f"metric {shown(name)}", each) for each in values]

    def _answers(self, count: int) -> list[str | None]:
        """What the filter made of each hypothesis, where it left one each."""
        kept = self._list("filtered_resps", self.entry.get("filtered_resps") or [])
        if len(kept) == 1 and isinstance(kept[0], list):
            kept = kept[0]
        return kept if len(kept) == count and all(isinstance(each, str) for each in kept) else [None] * count

    def _list(self, what: str, value: Any) -> list[Any]:
        made: list[Any] = need(self.path, self.line, f'"{what}"', value, list)
        return made


def _sniff(path: Path, head: bytes) -> bool:
    return {"doc_id", "resps"} <= top_keys(head)


FORMAT = Format(
    name="lm-eval",
    read=read_lm_eval,
    write=None,
    sniff=_sniff,
    suffixes=(),
    summary="samples of lm-evaluation-harness: JSON lines with resps, one a document and filter",
    example={
        "samples_sums.jsonl": '{"doc_id": 0, "target": "5", "arguments": {"gen_args_0": {"arg_0": "2 + 3?"}}, '
        '"resps": [["It is 5"]], "filtered_resps": ["5"], "filter": "none", "metrics": ["em"], "em": 1.0}\n'
        '{"doc_id": 1, "target": "ja", "arguments": {"gen_args_0": {"arg_0": "größer?"}}, '
        '"resps": [["größer"]], "filtered_resps": ["[invalid]"], "filter": "none", "metrics": ["em"], "em": false}\n'
    },
)
