"""Answers: the part of a text that counts where hypotheses are compared with references and with each other.

A rule has a name, or is a regular expression. It finds the answer in a text, and writes it in one way:

| rule | finds | writes |
| --- | --- | --- |
| `last-number` | the last number (digits, a decimal point, thousands separators, an exponent) | a plain decimal: no separators, no zeros in front or at the end, no + |
| `boxed` | what the last balanced `\\boxed{...}` or `\\fbox{...}` holds | without `$`, spaces and their commands, `\\left` and `\\right`; `\\dfrac`, `\\tfrac` as `\\frac` |
| `choice` | a letter from A to J: after "answer", "option" or "choice", boxed, in brackets, or in front of a line | the letter |
| `code` | the last block between lines of ```, or from an opening line to the end | without spaces at the ends of lines |
| `json:PATH` | in the last JSON value, what is at a path such as `final.answer` or `0.text` | text as it is, all else as JSON with sorted keys |
| a regular expression | its last match, of this the first group if it has one | without spaces at the ends |
"""  # noqa: E501

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np

from nbest.base.errors import ParameterError, _known, shown
from nbest.base.types import Floats
from nbest.corpus.texts import Texts

Find = Callable[[str], str | None]
Write = Callable[[str], str]


@dataclass(frozen=True)
class AnswerRule:
    """How an answer is found in a text, and in which one way it is written."""

    find: Find
    write: Write = str.strip

    def answer(self, text: str) -> str:
        """The answer in a text; "" where there is none."""
        found = self.find(text)
        if found is not None and not isinstance(found, str):
            raise ParameterError(f"an answer must be a text, or None where there is none, got {shown(found)}")
        return "" if found is None else self.write(found)

    def of_reference(self, text: str) -> str:
        """The answer in a reference, which is all of it where nothing is found."""
        return self.answer(text) or self.write(text)

    def answers(self, texts: Texts) -> Texts:
        """The answers of texts; each distinct text is looked at once."""
        numbers = texts.numbers()
        _, first = np.unique(numbers, return_index=True)
        return Texts.of([self.answer(texts[index]) for index in first]).take(numbers)


def answer_rule(how: str | Find) -> AnswerRule:
    """The rule of a name, a regular expression or a function that returns an answer or None."""
    if callable(how):
        return AnswerRule(how)
    if how in RULES:
        return RULES[how]
    if how.startswith("json:"):
        return AnswerRule(_at_path(how.removeprefix("json:")))
    if re.fullmatch(r"[\w-]*", how):
        known = _known([*RULES, "json:PATH"], how)
        raise ParameterError(f"unknown answer {how!r}; {known}; or a regular expression: 'Answer: (.*)'")
    try:
        pattern = re.compile(how)
    except (re.error, OverflowError, RecursionError) as error:
        raise ParameterError(f"the answer {how!r} is no regular expression: {error}") from None
    return AnswerRule(lambda text: _last(pattern, text))


def _last(pattern: re.Pattern[str], text: str) -> str | None:
    """The first group of the last match, or all of it where the pattern has no group."""
    found = deque(pattern.finditer(text), maxlen=1)
    return found[0][1 if pattern.groups else 0] if found else None


OWN = "own"
"""Instead of a rule: answers that came with the lists."""
FUNCTION = "function"
"""Instead of a rule: answers that a function found."""


def rule_of(corpus: Any) -> str:
    """How answers of a corpus were found, for models: a rule, `OWN`, or "" where there are none."""
    if getattr(corpus, "answers", None) is None:
        return ""
    return OWN if corpus.answer_rule in ("", FUNCTION) else str(corpus.answer_rule)


def voting(answers: Texts | None, weights: Floats) -> Floats:
    """Weights [H] of hypotheses as evidence: one without an answer is none."""
    return weights if answers is None else np.where(answers.ends > answers.starts, weights, 0.0)


# numbers --------------------------------------------------------------------------------------------------------

_MINUS = "\N{MINUS SIGN}"
_NUMBER = re.compile(
    rf"(?:(?<![\w.)\]-])[+-]|{_MINUS})?"
    r"(?:(?:[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]+)(?:\.[0-9]+)?|(?<![\w.])\.[0-9]+)(?:[eE][+-]?[0-9]+(?!\w))?"
)
_TAIL = 100  # characters at the end that are looked at first
_EXPONENT = 3  # characters of an exponent up to which a number is written out


def _number(found: str) -> str:
    found = found.replace(",", "").replace(_MINUS, "-").lstrip("+").lower()
    exponent = found.partition("e")[2]
    if len(exponent) > _EXPONENT:  # written out it would be as long as it says
        return found
    value = Decimal(found)
    if value == 0:
        return "0"
    plain = format(value, "f")
    return plain.rstrip("0").rstrip(".") if "." in plain else plain


def _last_number(text: str) -> str | None:
    tail = text[text.rfind(" ", 0, max(0, len(text) - _TAIL)) + 1 :]  # no number goes across a blank
    found = _last(_NUMBER, tail) or _last(_NUMBER, text)
    return None if found is None else _number(found)


# formulas and letters -------------------------------------------------------------------------------------------

_BOX = re.compile(r"\\(?:boxed|fbox)\s*\{")
_NOTHING = re.compile(r"\$|\\left(?![a-z])|\\right(?![a-z])|\\[!,;: ]|~|\s")
_FRACTION = re.compile(r"\\[dt]frac(?![a-z])")


def _boxed(text: str) -> str | None:
    """What the last box with balanced braces holds."""
    for box in reversed(list(_BOX.finditer(text))):
        depth, at = 1, box.end()
        while at < len(text) and depth:
            step = text[at]
            depth += (step == "{") - (step == "}")
            at += 2 if step == "\\" else 1
        if depth == 0:
            return text[box.end() : at - 1]
    return None


def _formula(found: str) -> str:
    return _FRACTION.sub(r"\\frac", _NOTHING.sub("", found)).rstrip(".")


_REASONS = r"(?:because|since|as|for|and|or|which|with|is|from|on)\b"
_WORD = rf"(?<=[AI])\s+(?!{_REASONS})[a-z]"  # "A dog", "I think"; "A because" is a letter
_LETTER = rf"[\s*_$(\[{{]*([A-J])(?![\w'’]|{_WORD})"  # noqa: RUF001
_SAID = r"(?i:\b(?:answer|choice|option)(?:\s+is|\s+would be)?(?:\s*[:=])?)(?:\s*(?i:option|choice))?"
_CHOICES = (
    re.compile(_SAID + _LETTER),
    re.compile(r"\\boxed\s*\{(?:\\text\w*\{)?" + _LETTER),
    re.compile(r"\(([A-J])\)"),
    re.compile(r"(?m)^[\s*_]*([A-J])(?:[).:*_\s]*$|[).:]\s)"),
)


def _choice(text: str) -> str | None:
    return next((found for found in (_last(form, text) for form in _CHOICES) if found), None)


# code and JSON --------------------------------------------------------------------------------------------------

_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})[^\n`]*(?:\n|\Z)", re.MULTILINE)


def _code(text: str) -> str | None:
    """The last block between fences; an opening one without its end goes to the end of the text."""
    fences = list(_FENCE.finditer(text))
    if not fences:
        return None
    last = (len(fences) - 1) // 2 * 2  # of each pair the first opens
    return text[fences[last].end() : fences[last + 1].start() if last + 1 < len(fences) else len(text)]


def _lines(found: str) -> str:
    return "\n".join(line.rstrip() for line in found.strip("\r\n").split("\n")).rstrip()


def _at_path(path: str) -> Find:
    keys = [key for key in path.split(".") if key]

    def find(text: str) -> str | None:
        value = _last_json(text)
        for key in keys:
            if isinstance(value, dict) and key in value:
                value = value[key]
            elif isinstance(value, list) and key.isdecimal() and int(key) < len(value):
                value = value[int(key)]
            else:
                return None
        if value is None or isinstance(value, str):
            return value
        return json.dumps(value, ensure_ascii=False, sort_keys=True)

    return find


def _last_json(text: str) -> Any:
    """The last object or array in a text, or the text itself where it is JSON; None where there is none."""
    decoder, found, at = json.JSONDecoder(), None, 0
    for begin in re.finditer(r"[{\[]", text):
        if begin.start() < at:
            continue  # inside of the one before
        try:
            found, at = decoder.raw_decode(text, begin.start())
        except (ValueError, RecursionError):
            continue
    if found is None and at == 0:
        try:
            return decoder.decode(text)
        except (ValueError, RecursionError):
            return None
    return found


RULES = {
    "last-number": AnswerRule(_last_number),
    "boxed": AnswerRule(_boxed, _formula),
    "choice": AnswerRule(_choice),
    "code": AnswerRule(_code, _lines),
}
"""Rules by name."""
