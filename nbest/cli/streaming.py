"""What `nbest rerank --stream` does: JSON lines in, each answered before the next is read. Nothing heavy is imported
unless the decision or the model's features need it."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from nbest.base.errors import CapabilityError, FormatError, ParameterError, look_up
from nbest.cli.abstaining import abstention_of, need_calibrated
from nbest.cli.console import Console
from nbest.cli.deciding import decision_said, model_of
from nbest.cli.further import separate
from nbest.cli.rerank import Rerank
from nbest.cli.streams import foreseen
from nbest.corpus import NBest
from nbest.corpus.answers import answer_rule
from nbest.decisions import DECISIONS
from nbest.decisions.choose import calibration_for
from nbest.decisions.online import ALWAYS, ONLINE
from nbest.formats.candidates import features_beside
from nbest.formats.json_text import loads, need, need_number
from nbest.formats.lists.jsonl import check_keys, group_of, id_of
from nbest.formats.lists.openai import read_openai
from nbest.model.abstention import Abstention
from nbest.model.loglinear import LogLinear
from nbest.model.online import Chosen

INPUT = "standard input"
_KEYS = ("id", "hypotheses", "candidates", "choices", "custom_id", "response", "group", "doc")


def run(call: Rerank) -> None:
    """Answer line by line until the input ends."""
    paths, further = separate(list(call.test), needed=False)
    _refuse(call, paths)
    look_up(DECISIONS, call.decision or "1best", "decision")
    model = model_of(call)
    decision = decision_said(call, model, further)
    console = Console(quiet=call.quiet, compiling=decision["kind"] not in ONLINE)
    abstention = abstention_of(call, model, decision, console)
    if call.answer is not None:
        answer_rule(call.answer)  # a wrong one is told before lines come
    stream = _Stream(call, replace(model, decision=decision, answer=call.answer or model.answer), abstention)
    for line, raw in enumerate(sys.stdin.buffer, 1):
        sys.stdout.buffer.write(json.dumps(stream.answer(line, raw), ensure_ascii=False).encode("utf-8") + b"\n")
        sys.stdout.buffer.flush()
    if stream.failed:
        first = f"the first: {stream.first}"
        raise FormatError(INPUT, None, f"{stream.failed} of {stream.lines} lines could not be answered; {first}")


def _refuse(call: Rerank, paths: Sequence[str]) -> None:
    """Options that make no sense here."""
    if [path for path in paths if path != "-"]:
        raise ParameterError(f"--stream reads lists from standard input, not from {paths[0]}; leave it out")
    if call.model == "-":
        raise ParameterError("only one input can come from standard input (-)")
    others = {"--output": call.output != "-", "--ids": call.ids, "--format": call.format, "--option": call.option}
    others |= {"--top": call.top is not None, "--to": call.to is not None}
    for name, given in others.items():
        if given:
            raise ParameterError(
                f"{name} is not for --stream: JSON objects come on standard input and go to its output"
            )


class _Stream:
    """Answers lines, and counts those that it cannot answer."""

    def __init__(self, call: Rerank, model: LogLinear, abstention: Abstention | None) -> None:
        self.call, self.model, self.abstention = call, model, abstention
        self.calibrated = calibration_for(model, model.decision, model.answer) is not None
        self.lines, self.failed, self.first = 0, 0, ""

    def answer(self, line: int, raw: bytes) -> dict[str, Any]:
        """What is written for a line."""
        self.lines, name = line, str(line - 1)
        try:
            segment = need(INPUT, line, "a line", loads(INPUT, line, _text(line, raw)), dict)
            name = _name(line, segment)
            return self._chosen(line, name, segment)
        except Exception as error:
            message = foreseen(error)
            if message is None or isinstance(error, OSError):
                raise
            self.failed += 1
            self.first = self.first or message
            return {"id": name, "error": message}

    def _chosen(self, line: int, name: str, segment: dict[str, Any]) -> dict[str, Any]:
        candidates = self._answered(_candidates(line, segment))
        found = self.model.choose(candidates, abstain=self.abstention or ALWAYS)
        without = found.abstained or found.index is None
        row: dict[str, Any] = {
            "id": name,
            "text": "" if without else found.text,
            "index": None if without else found.index,
            "score": None if without else found.score,
        }
        calibrated = self.calibrated if found.index is None else found.calibrated
        need_calibrated(self.call, calibrated)
        row |= {"confidence": _sure(found), "calibrated": calibrated}
        if self.abstention is not None:
            row["abstained"] = found.abstained and found.index is not None
        gains = _gains(line, candidates)
        if gains:
            row["gain"] = None if without else gains[found.index or 0]
        group = group_of(INPUT, line, segment)
        return row if group is None else row | {"group": group}

    def _answered(self, candidates: list[Any]) -> list[Any]:
        """Without answers of their own where a rule is given, which finds them."""
        if self.call.answer is None:
            return candidates
        return [{key: value for key, value in each.items() if key != "answer"} for each in candidates]


def _gains(line: int, candidates: Sequence[dict[str, Any]]) -> list[float]:
    """What each hypothesis is worth, where that is told."""
    name = "gain" if candidates and features_beside(candidates[0]) else "score"
    given = [candidate.get(name) for candidate in candidates]
    if all(value is None for value in given):
        return []
    return [need_number(INPUT, line, f'"{name}"', value) for value in given]


def _sure(found: Chosen) -> float | None:
    """The confidence; null where answers, which the model compares, are not known."""
    try:
        return found.confidence
    except CapabilityError:
        return None


def _text(line: int, raw: bytes) -> str:
    try:
        text = raw.decode("utf-8-sig" if line == 1 else "utf-8").rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise FormatError(INPUT, line, f"is not UTF-8: {error.reason}") from None
    if not text.strip():
        raise FormatError(INPUT, line, "a blank line; expected one JSON object a line")
    return text


def _name(line: int, segment: dict[str, Any]) -> str:
    return id_of(INPUT, line, segment.get("custom_id", segment.get("id")))


def _candidates(line: int, segment: dict[str, Any]) -> list[Any]:
    """The hypotheses of a line: those of our format, `candidates`, or the choices of a response."""
    check_keys(INPUT, line, segment, _KEYS)
    several = [name for name in ("hypotheses", "candidates", "choices", "response") if name in segment]
    if len(several) > 1:
        raise FormatError(INPUT, line, f'has "{several[0]}" and "{several[1]}"; give one of them')
    if "hypotheses" in segment:
        given: list[Any] = need(INPUT, line, '"hypotheses"', segment["hypotheses"], list)
        return [{"features": {}, **need(INPUT, line, "a hypothesis", each, dict)} for each in given]
    if "candidates" in segment:
        given = need(INPUT, line, '"candidates"', segment["candidates"], list)
        return [need(INPUT, line, "a candidate", each, dict) for each in given]
    if "choices" in segment or "response" in segment:
        return _of_lists(read_openai(INPUT, data=json.dumps(segment).encode("utf-8")))
    raise FormatError(INPUT, line, 'no "hypotheses", "candidates" or "choices" in it')


def _of_lists(lists: NBest) -> list[dict[str, Any]]:
    """The hypotheses of lists of one segment, as dictionaries."""
    rows = zip(lists.texts or (), lists.features.tolist(), strict=True)
    return [{"text": text, "features": dict(zip(lists.feature_names, row, strict=True))} for text, row in rows]
