"""Files of `key value` lines, as Kaldi and ESPnet write them."""

from __future__ import annotations

import re
from pathlib import Path

from nbest.base.errors import FormatError
from nbest.base.files import read_lines

_PAIR = re.compile(r"([^ \t]*)(.*)", re.DOTALL).fullmatch


def read_archive(path: Path) -> dict[str, tuple[int, str]]:
    """Line number and value of each key; the value may be empty, a key twice is an error."""
    entries: dict[str, tuple[int, str]] = {}
    lines = read_lines(path)
    while lines and not lines[-1].strip():
        lines.pop()
    for at, line in enumerate(lines, 1):
        key, value = _PAIR(line).groups()  # type: ignore[union-attr]
        if not key:
            raise FormatError(path, at, "expected a key and a value, got a line that starts with white space")
        if key in entries:
            raise FormatError(path, at, f"key {key!r} is already on line {entries[key][0]}")
        entries[key] = (at, value.strip(" \t"))
    return entries


def check_same_keys(
    first: Path, entries: dict[str, tuple[int, str]], second: Path, others: dict[str, tuple[int, str]]
) -> None:
    """Every key of either file must be in the other too."""
    for path, here, other, there in ((first, entries, second, others), (second, others, first, entries)):
        for key, (line, _) in here.items():
            if key not in there:
                raise FormatError(path, line, f"key {key!r} is not in {other}")
