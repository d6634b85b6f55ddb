"""Results of batches of OpenAI and vLLM: JSON lines, one request each; its choices are hypotheses.

{"custom_id": "q1", "response": {"status_code": 200, "body": {"choices": [{"message": {"content": "..."}}]}}}
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

from nbest.base.errors import FormatError, FormatWarning, shown
from nbest.corpus import NBest
from nbest.formats.json_text import json_lines, kind, need, top_keys
from nbest.formats.lists.base import Format
from nbest.formats.lists.builder import Builder
from nbest.formats.lists.chat import EMPTY, choice_of_response, content_text, filled, last_question, token_features


def read_openai(
    path: str | Path,
    *,
    data: bytes | None = None,
    inputs: str | Path | None = None,
    separator: str | None = None,
    missing: float | None = None,
) -> NBest:
    """Read the output of a batch. `custom_id` is the segment, the lines of one id are taken together.

    Features: `finished` (1 where the model stopped by itself, 0 where it was cut off or filtered), and where
    log-probabilities are told `logprob`, their sum, and `tokens`. Choices stand in the order of their `index`. Failed
    requests are counted, and give no hypotheses. `inputs` is the file that was asked: it gives the order of the
    segments, and sources. `separator`: the segment is what stands before the last one in `custom_id`. `missing` is the
    `logprob` of choices that tell no log-probabilities while others do (one that was filtered, say).
    """
    reading = _Reading(path, separator)
    if inputs is not None:
        reading.ask(inputs)
    for line, entry in json_lines(path, data, 'with "custom_id" and "response"'):
        reading.add(line, entry)
    corpus = reading.built(missing)
    reading.warn()
    return corpus


class _Reading:
    """A file as it is read: what was asked, and what is left out."""

    def __init__(self, path: str | Path, separator: str | None) -> None:
        self.path, self.separator, self.builder = path, separator, Builder(path)
        self.asked: set[str] | None = None
        self.choices: list[tuple[int, str, str, dict[str, float]]] = []  # line, segment, text, features
        self.requests, self.unknown = 0, 0
        self.failures: list[tuple[int, str]] = []

    def ask(self, inputs: str | Path) -> None:
        """Declare the segments of an input file, with their sources."""
        self.asked = set()
        for line, entry in json_lines(inputs, None, 'with "custom_id" and "body"'):
            name, body = self._name(inputs, line, entry), need(inputs, line, '"body"', entry.get("body"), dict)
            if name not in self.asked:
                self.builder.segment(name, source=_question(inputs, line, body))
            self.asked.add(name)

    def add(self, line: int, entry: dict[str, Any]) -> None:
        """Take a line: the choices of a request, or that it failed."""
        name = self._name(self.path, line, entry)
        if self.asked is not None and name not in self.asked:
            raise FormatError(self.path, line, f"the custom_id {shown(name)} is not in the inputs")
        if "response" not in entry and "choices" not in entry and "body" in entry:
            raise FormatError(self.path, line, "a request without its response: this is the input of a batch")
        self.requests += 1
        self.builder.segment(name, line=line)
        body = self._body(line, entry)
        choices = None if body is None else self._choices(line, body)
        if body is not None and not choices:
            self.failures.append((line, "no choices"))
        for choice in choices or ():
            self._hypothesis(line, name, need(self.path, line, "a choice", choice, dict))

    def _choices(self, line: int, body: dict[str, Any]) -> list[Any]:
        if "choices" not in body:
            return [choice_of_response(self.path, line, body)]
        choices: list[Any] = need(self.path, line, '"choices"', body["choices"], list)
        if all(isinstance(choice, dict) and type(choice.get("index")) is int for choice in choices):
            choices.sort(key=lambda choice: choice["index"])
        return choices

    def _name(self, path: str | Path, line: int, entry: dict[str, Any]) -> str:
        name = entry.get("custom_id")
        if name is None:
            return str(line - 1)
        if type(name) not in (str, int):
            raise FormatError(path, line, f'"custom_id" must be a string, got {kind(name)}: {shown(name)}')
        before = str(name).rpartition(str(self.separator))[0] if self.separator else ""
        return before or str(name)

    def _body(self, line: int, entry: dict[str, Any]) -> dict[str, Any] | None:
        """Where the choices are: in the body of the response, in the response, or in the line itself."""
        error = entry.get("error")
        response = need(self.path, line, '"response"', entry.get("response") or {}, dict)
        status = response.get("status_code", 200)
        if error is not None or status != 200:
            body = response.get("body")
            told = error or (body.get("error") if isinstance(body, dict) else None) or f"status {status}"
            told = told.get("message") or told.get("code") if isinstance(told, dict) else told
            self.failures.append((line, str(told)))
            return None
        for place in (response.get("body"), response, entry):
            if isinstance(place, dict) and ("choices" in place or isinstance(place.get("output"), list)):
                return place
        raise FormatError(self.path, line, 'no "choices" in the response')

    def _hypothesis(self, line: int, name: str, choice: dict[str, Any]) -> None:
        path = self.path
        if "message" in choice:
            message = need(path, line, '"message"', choice["message"], dict)
            content = message.get("content")
            text = content_text(path, line, message.get("refusal") if content is None else content)
        else:
            text = need(path, line, '"text" of a choice', choice.get("text"), str)
        features, unknown = token_features(path, line, choice.get("logprobs"))
        self.unknown += unknown
        features["finished"] = float(choice.get("finish_reason") == "stop")
        self.choices.append((line, name, text, features))

    def built(self, missing: float | None) -> NBest:
        """The lists: all choices have the same features."""
        names = next((each for *_, each in self.choices if "logprob" in each), {"finished": 0.0})
        for line, name, text, features in self.choices:
            if len(features) < len(names) and missing is None:
                what = f"feature 'logprob' is missing; every hypothesis needs {', '.join(names)}"
                who = (
                    f"a choice of {shown(name)} tells no log-probabilities; missing= (--option missing=VALUE) gives one"
                )
                raise FormatError(self.path, line, f"{what}, and {who}")
            self.builder.hypothesis(name, text, filled(features, names, missing or 0.0), line)
        return self.builder.build()

    def warn(self) -> None:
        """Say what is left out."""
        if self.failures:
            line, why = self.failures[0]
            what = f"{len(self.failures)} of {self.requests} requests failed (line {line}: {shown(why)})"
            warnings.warn(f"{self.path}: {what}; {EMPTY}", FormatWarning, stacklevel=3)
        if self.unknown:
            what = f"{self.unknown} tokens have no probability (null, or -9999 of vLLM); they add nothing to 'logprob'"
            warnings.warn(f"{self.path}: {what}", FormatWarning, stacklevel=3)


def _question(path: str | Path, line: int, body: dict[str, Any]) -> str:
    """What was asked: the last message of the user, or the prompt."""
    for key in ("messages", "input"):
        if isinstance(body.get(key), list):
            return last_question(path, line, body[key])
    return str(need(path, line, '"prompt"', body.get("prompt", body.get("input")), str))


def _sniff(path: Path, head: bytes) -> bool:
    keys = top_keys(head)
    return {"custom_id", "response"} <= keys or {"object", "choices"} <= keys


FORMAT = Format(
    name="openai",
    read=read_openai,
    write=None,
    sniff=_sniff,
    suffixes=(),
    summary="output of batches of OpenAI and vLLM: JSON lines with choices",
    example={
        "batch-output.jsonl": '{"id": "r1", "custom_id": "q1", "response": {"status_code": 200, "body": {"choices": ['
        '{"index": 0, "message": {"role": "assistant", "content": "größer"}, "finish_reason": "stop", '
        '"logprobs": {"content": [{"token": "gr", "logprob": -0.5}, {"token": "ößer", "logprob": -0.25}]}}, '
        '{"index": 1, "message": {"content": null, "refusal": "no"}, "finish_reason": "length", '
        '"logprobs": {"content": null, "refusal": [{"token": "no", "logprob": -1}]}}]}}, "error": null}\n'
        '{"custom_id": "q2", "response": {"choices": [{"text": "", "finish_reason": "stop", '
        '"logprobs": {"tokens": [], "token_logprobs": []}}]}, "error": null}\n'
    },
)
