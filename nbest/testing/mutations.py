"""Damage done to valid files: bits, bytes, lines, fields, numbers and values of JSON, by chance and by malice."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Sequence
from typing import Any

_NUMBER = re.compile(rb"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
_SPACE = re.compile(rb"\s+|[|=,:;/{}()\[\]]+")
_NUMBERS = (
    *(
        b"0",
        b"-0.0",
        b"-1",
        b"1",
        b"2147483648",
        b"-9223372036854775809",
        b"18446744073709551616",
        b"1e308",
        b"-1.7e308",
    ),
    *(b"1e400", b"5e-324", b"nan", b"-inf", b"Infinity", b"1_000", b"0x10", b"1.", b".5", b"1e", "\u0663".encode()),
    *(b"9" * 400, b"9" * 4400, b"1e99999999999", b"99999999999", b"1,5"),
)
_TEXTS = (
    *(b"", b" ", b"\0", b"\n", b"\r\n", b"\r", b"\t", b"\xff", b"\xed\xa0\x80", b"\xef\xbb\xbf", "\u2028".encode()),
    *(b"|||", b" ||| ", b"=", b"\x1b[31m", b"../../etc/passwd", b"/dev/zero", b"%s%n", b"<script>", b"x" * 5000),
    *(b"[" * 3000, b"{" * 600, b'{"a":' * 700, b"(" * 600, b"\\", b"\\u", b'\\ud800"', b"\x1f\x8b", b"\xfd7zXZ\x00"),
)
_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2**31, 2**63, 2**70, 10**4000, 1e308, -0.5, float("nan"), float("inf")),
    *("", "x", "\0", "\ud800", "nan", "../x", "/dev/zero", "a" * 3000, [], {}, [[]], [None], {"": None}, [1, "a"]),
)

Mutation = Callable[[bytes, random.Random, Sequence[bytes]], bytes]


def mutate(data: bytes, rng: random.Random, others: Sequence[bytes] = ()) -> bytes:
    """A damaged copy; pieces of `others` may be put in."""
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        data = rng.choice(MUTATIONS)(data, rng, others)
    return data


def _place(data: bytes, rng: random.Random) -> int:
    """A place, more often near the beginning, where headers are."""
    return int(len(data) * rng.random() ** rng.choice((1, 1, 3)))


def _flip(data: bytes, rng: random.Random, others: Sequence[bytes]) -> bytes:
    if not data:
        return b"\x01"
    at = min(_place(data, rng), len(data) - 1)
    return data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :]


def _byte(data: bytes, rng: random.Random, others: Sequence[bytes]) -> bytes:
    at = _place(data, rng)
    return data[:at] + bytes([rng.choice((0, 9, 10, 32, 48, 127, 128, 255, rng.randrange(256)))]) + data[at + 1 :]


def _cut(data: bytes, rng: random.Random, others: Sequence[bytes]) -> bytes:
    return data[: _place(data, rng)]


def _remove(data: bytes, rng: random.Random, others: Sequence[bytes]) -> bytes:
    at = _place(data, rng)
    return data[:at] + data[at + rng.choice((1, 2, 8, 64, 1000)) :]


def _insert(data: bytes, rng: random.Random, others: Sequence[bytes]) -> bytes:
    at = _place(data, rng)
    return data[:at] + rng.choice(_TEXTS) + data[at:]


def _repeat(data: bytes, rng: random.Random, others: Sequence[bytes]) -> bytes:
    at = _place(data, rng)
    return data[:at] + data[at : at + rng.choice((1, 4, 50, 1000))] * rng.choice((2, 3, 30)) + data[at:]


def _splice(data: bytes, rng: random.Random, others: Sequence[bytes]) -> bytes:
    other = rng.choice(others) if others else data
    low = _place(other, rng)
    at = _place(data, rng)
    return data[:at] + other[low : low + rng.choice((8, 100, 10000))] + data[at + rng.choice((0, 8, 100)) :]


def _number(data: bytes, rng: random.Random, others: Sequence[bytes]) -> bytes:
    return _replaced(data, rng, _NUMBER, _NUMBERS)


def _field(data: bytes, rng: random.Random, others: Sequence[bytes]) -> bytes:
    return _replaced(data, rng, _SPACE, _TEXTS)


def _replaced(data: bytes, rng: random.Random, pattern: re.Pattern[bytes], by: Sequence[bytes]) -> bytes:
    found = pattern.search(data, _place(data, rng)) or pattern.search(data)
    return data if found is None else data[: found.start()] + rng.choice(by) + data[found.end() :]


def _lines(data: bytes, rng: random.Random, others: Sequence[bytes]) -> bytes:
    """Lines in another order, twice, left out, or joined."""
    lines = data.split(b"\n")
    first, second = rng.randrange(len(lines)), rng.randrange(len(lines))
    match rng.randrange(4):
        case 0:
            lines[first], lines[second] = lines[second], lines[first]
        case 1:
            lines.insert(first, lines[second])
        case 2:
            del lines[first]
        case _:
            lines[first : first + 2] = [b" ".join(lines[first : first + 2])]
    return b"\n".join(lines)


def _json(data: bytes, rng: random.Random, others: Sequence[bytes]) -> bytes:
    """One value of a file or line of JSON replaced, removed or put in twice; the rest as it was."""
    lines = data.split(b"\n")
    at = rng.randrange(len(lines))
    for low, high in ((0, len(lines)), (at, at + 1)):
        try:
            value = json.loads(b"\n".join(lines[low:high]))
        except (ValueError, RecursionError):
            continue
        changed = json.dumps(_changed(value, rng)).encode("utf-8", "surrogatepass")
        return b"\n".join([*lines[:low], changed, *lines[high:]])
    return _flip(data, rng, others)


def _changed(value: Any, rng: random.Random) -> Any:
    """The value with one of its parts, or itself, replaced."""
    if not isinstance(value, dict | list) or not value or rng.random() < 0.1:
        return rng.choice(_VALUES)
    keys = list(value) if isinstance(value, dict) else list(range(len(value)))
    key = rng.choice(keys)
    if rng.random() < 0.15:
        del value[key]
    elif rng.random() < 0.1 and isinstance(value, dict):
        value[rng.choice(("", "x", "array", "kind", "\ud800"))] = value.pop(key)
    else:
        value[key] = _changed(value[key], rng)
    return value


MUTATIONS: tuple[Mutation, ...] = (
    *(_flip, _byte, _cut, _remove, _insert, _repeat, _splice, _number, _number, _field, _lines, _json, _json),
)
"""Ways to damage a file, those more often that find more."""
