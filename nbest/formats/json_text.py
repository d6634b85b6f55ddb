"""Strict JSON: no NaN, no key twice, no half surrogates, every complaint with its line."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from nbest.base.errors import FormatError
from nbest.formats.lists.base import lines_of, shown

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
_LENIENT = json.JSONDecoder(object_pairs_hook=_object, parse_int=whole_number)


def loads(path: str | Path, line: int, text: str, *, lenient: bool = False) -> Any:
    """The value of one line of JSON. `lenient`: NaN and Infinity may stand where nobody asks for a number."""
    value, end = _value(path, line, text, _after(text, 0), _LENIENT if lenient else _DECODER)
    if end != len(text):
        raise FormatError(path, line, f"more text after the end of the JSON value: {shown(text[end:])}")
    return value


def json_lines(
    path: str | Path, data: bytes | None, expected: str, *, lenient: bool = False
) -> Iterator[tuple[int, dict[str, Any]]]:
    """(line, object) of each line of a file."""
    for line, text in enumerate(lines_of(path, data, f"one JSON object a line, {expected}"), 1):
        if not text.strip():
            raise FormatError(path, line, "a blank line between others; expected one JSON object a line")
        yield line, need(path, line, "a line", loads(path, line, text, lenient=lenient), dict)


def entries(path: str | Path, text: str, opening: str, *, lenient: bool = False) -> Iterator[tuple[int, str, Any]]:
    """(line, key, value) of each entry of a file that is one JSON object (`opening` "{") or list ("[", keys "")."""
    place, decoder = _Place(text), _LENIENT if lenient else _DECODER
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
            key, at = _value(path, line, text, at, decoder)
            if not isinstance(key, str) or text[at : at + 1] != ":":
                raise FormatError(path, line, "expected a key in quotes and a colon")
            if key in seen:
                raise FormatError(path, line, f"{shown(key)} is named twice in one object")
            seen.add(key)
            at = _after(text, at + 1)
        value, at = _value(path, place.line(at), text, at, decoder)
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


def _value(path: str | Path, line: int, text: str, at: int, decoder: json.JSONDecoder) -> tuple[Any, int]:
    """A value that starts at `at` (on `line`), and the place after it and the space that follows."""
    try:
        value, end = decoder.raw_decode(text, at)
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
    return _KINDS.get(type(value)) or ("a number" if isinstance(value, int | float) else f"a {type(value).__name__}")


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
        got = "NaN" if math.isnan(value) else "one too large for a float"
        raise FormatError(path, line, f"{what} must be a finite number, got {got}")
    return float(value)


_TOKEN = re.compile(rb'"((?:[^"\\]|\\.)*)"(\s*:)?|[{}\[\]]', re.DOTALL)


@lru_cache(maxsize=4)
def top_keys(head: bytes) -> frozenset[str]:
    """The keys of the first object of a file, on its own or first in a list, as far as its first bytes tell: formats
    are found by them. No keys where the file is something else."""
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    found, depth, wanted = set[str](), 0, 1 + start.startswith(b"[")
    if not start.startswith((b"{", b"[")):
        return frozenset()
    for token in _TOKEN.finditer(start):
        text = token[0]
        if text in b"{[":
            depth += 1
        elif text in b"}]":
            depth -= 1
            if depth < wanted:
                break
        elif token[2] and depth == wanted:
            found.add(token[1].decode("utf-8", "replace"))
    return frozenset(found)
