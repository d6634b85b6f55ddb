"""What language models answer, in the words of the chat API: contents and log-probabilities of tokens."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from nbest.formats.json_text import need, need_number

NO_PROBABILITY = -9999.0
"""What vLLM writes for a token whose probability is not known, or 0."""
EMPTY = "lists for which nothing else came are empty"
"""What readers say of requests that failed."""


def content_text(path: str | Path, line: int, content: Any) -> str:
    """The text of a message: a string, the parts of a list that are text, or nothing."""
    if content is None:
        return ""
    if not isinstance(content, list):
        return str(need(path, line, "the content of a message", content, str))
    parts = [need(path, line, "a part of a message", part, dict) for part in content]
    texts = [part.get("text", part.get("refusal")) for part in parts]
    return "".join(need(path, line, "the text of a message", text, str) for text in texts if text is not None)


def last_question(path: str | Path, line: int, messages: list[Any]) -> str:
    """The text of the last message of the user, or of the last one."""
    given = [need(path, line, "a message", message, dict) for message in messages]
    asked = [message for message in given if message.get("role") == "user"] or given
    return content_text(path, line, asked[-1].get("content")) if asked else ""


def choice_of_response(path: str | Path, line: int, body: Mapping[str, Any]) -> dict[str, Any]:
    """What the newer API of OpenAI (`/v1/responses`) answers, as a choice: the messages of its output."""
    output = [need(path, line, "an item of the output", item, dict) for item in body["output"]]
    given = [item.get("content") for item in output if item.get("type") == "message"]
    parts = [part for content in given for part in need(path, line, "the content of a message", content, list)]
    told = [need(path, line, "a part of a message", part, dict).get("logprobs") or [] for part in parts]
    tokens = [token for logprobs in told for token in need(path, line, '"logprobs"', logprobs, list)]
    reason = "stop" if body.get("status") == "completed" else body.get("status")
    return {"message": {"content": parts}, "logprobs": {"content": tokens} if tokens else None, "finish_reason": reason}


def token_features(path: str | Path, line: int, logprobs: Any) -> tuple[dict[str, float], int]:
    """`logprob` (the sum) and `tokens` where log-probabilities of tokens are told, and how many of the tokens are
    without one: they add nothing to the sum."""
    values = _values(path, line, logprobs)
    if values is None:
        return {}, 0
    known = [need_number(path, line, "a log-probability", value) for value in values if value is not None]
    known = [value for value in known if value > NO_PROBABILITY]
    return {"logprob": math.fsum(known), "tokens": float(len(values))}, len(values) - len(known)


def filled(features: Mapping[str, float], names: Iterable[str], missing: float) -> dict[str, float]:
    """All of the features: `missing` for those that a hypothesis lacks, and no tokens where it tells none."""
    return {name: features.get(name, 0.0 if name == "tokens" else float(missing)) for name in names}


def _values(path: str | Path, line: int, logprobs: Any) -> list[Any] | None:
    """The log-probability of each token; of chats or of completions."""
    if logprobs is None:
        return None
    given: Mapping[str, Any] = need(path, line, '"logprobs"', logprobs, dict)
    for key in ("content", "refusal"):
        if given.get(key) is not None:
            tokens = need(path, line, f'"{key}" of "logprobs"', given[key], list)
            return [need(path, line, "a token", token, dict).get("logprob") for token in tokens]
    if given.get("token_logprobs") is not None:
        values: list[Any] = need(path, line, '"token_logprobs"', given["token_logprobs"], list)
        return values
    return None
