"""Strict JSON: no NaN, no key twice, no half surrogates, every complaint with its line."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nbest.base.errors import FormatError
from nbest.formats.lists.base import shown

_SPACE = re.compile(r"[ \t\r\n]*")
_KINDS = {dict: "an object", list: "a list", str: "a string", bool: "a boolean", type(None): "null"}


class RefusedError(ValueError):
    """Something the JSON grammar allows (or Python's reader does) and we do not."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise RefusedError(f"{shown(twice)} is named twice in one object")
    return made


def whole_number(digits: str) -> int | float:
    """A whole number, as a float where it is too long to be one of ours."""
    return int(digits) if len(digits) < 20 else float(digits)  # no quadratic time, no overflow


def refuse_constant(name: str) -> float:
    """NaN and Infinity are not JSON."""
    raise RefusedError(f"{name} is not a number in JSON; values must be finite")


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_int=whole_number, parse_constant=refuse_constant)


def loads(path: str | Path, line: int, text: str) -> Any:
    """The value of one line of JSON."""
    value, end = _value(path, line, text, _after(text, 0))
    if end != len(text):
        raise FormatError(path, line, f"more text after the end of the JSON value: {shown(text[end:])}")
    return value


def entries(path: str | Path, text: str, opening: str) -> Iterator[tuple[int, str, Any]]:
    """(line, key, value) of each entry of a file that is one JSON object (`opening` "{") or list ("[", keys "")."""
    place = _Place(text)
    at = _after(text, 0)
    if at == len(text):
        raise FormatError(path, None, f"the file is empty; expected a JSON {_kind_of(opening)}")
    if text[at] != opening:
        raise FormatError(path, place.line(at), f"expected a JSON {_kind_of(opening)}, got {shown(text[at : at + 20])}")
    closing = "}" if opening == "{" else "]"
    at = _after(text, at + 1)
    seen: set[str] = set()
    more = text[at : at + 1] != closing
    while more:
        line, key = place.line(at), ""
        if opening == "{":
            key, at = _value(path, line, text, at)
            if not isinstance(key, str) or text[at : at + 1] != ":":
                raise FormatError(path, line, "expected a key in quotes and a colon")
            if key in seen:
                raise FormatError(path, line, f"{shown(key)} is named twice in one object")
            seen.add(key)
            at = _after(text, at + 1)
        value, at = _value(path, place.line(at), text, at)
        yield line, key, value
        more = text[at : at + 1] == ","
        if more:
            at = _after(text, at + 1)
    if text[at : at + 1] != closing:
        raise FormatError(path, place.line(at), f"expected ',' or '{closing}', got {shown(text[at : at + 20])}")
    end = _after(text, at + 1)
    if end != len(text):
        raise FormatError(path, place.line(end), "more text after the end of the JSON value")


class _Place:
    """Line numbers of places that only go forward, so that counting is linear in all."""

    def __init__(self, text: str) -> None:
        self._text, self._at, self._line = text, 0, 1

    def line(self, at: int) -> int:
        self._line += self._text.count("\n", self._at, at)
        self._at = max(at, self._at)
        return self._line


def _kind_of(opening: str) -> str:
    return "object" if opening == "{" else "list"


def _after(text: str, at: int) -> int:
    """The first place from `at` on that is not white space."""
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _value(path: str | Path, line: int, text: str, at: int) -> tuple[Any, int]:
    """A value that starts at `at` (on `line`), and the place after it and the space that follows."""
    try:
        value, end = _DECODER.raw_decode(text, at)
    except json.JSONDecodeError as error:
        where = line + text.count("\n", at, error.pos)
        raise FormatError(path, where, f"not valid JSON: {error.msg} at column {error.colno}") from None
    except RefusedError as error:
        raise FormatError(path, line, str(error)) from None
    except RecursionError:
        raise FormatError(path, line, "JSON nested too deeply") from None
    if "\\u" in text[at:end]:
        check_unicode(path, line, value)
    return value, _after(text, end)


def check_unicode(path: str | Path, line: int, value: Any) -> None:
    """Refuse half a surrogate pair (`\\ud800` alone): no UTF-8 can hold it."""
    try:
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        raise FormatError(path, line, "half of a surrogate pair (\\ud800 to \\udfff) in a string") from None
    except RecursionError:
        raise FormatError(path, line, "JSON nested too deeply") from None


def kind(value: object) -> str:
    """What a JSON value is, for messages: 'a string', 'an object', ..."""
    return _KINDS.get(type(value), "a number")


def need(path: str | Path, line: int, what: str, value: Any, wanted: type) -> Any:
    """`value`, which must be of type `wanted` (dict, list or str)."""
    if type(value) is not wanted:
        raise FormatError(path, line, f"{what} must be {_KINDS[wanted]}, got {kind(value)}: {shown(value)}")
    return value


def need_number(path: str | Path, line: int, what: str, value: Any) -> float:
    """`value` as a float, booleans as 0 and 1; strings and what is not finite are refused."""
    if type(value) not in (int, float, bool):
        raise FormatError(path, line, f"{what} must be a finite number, got {kind(value)}: {shown(value)}")
    if not math.isfinite(value):
        raise FormatError(path, line, f"{what} must be a finite number, got one too large for a float")
    return float(value)
