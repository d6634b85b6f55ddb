"""Files of `key value` lines, as Kaldi and ESPnet write them."""

from __future__ import annotations

from pathlib import Path

from nbest.errors import FormatError
from nbest.files import read_lines


def read_archive(path: Path) -> dict[str, tuple[int, str]]:
    """Line number and value of each key; the value may be empty, a key twice is an error."""
    entries: dict[str, tuple[int, str]] = {}
    lines = read_lines(path)
    while lines and not lines[-1].strip():
        lines.pop()
    for at, line in enumerate(lines, 1):
        pieces = line.replace("\t", " ", 1).split(" ", 1) if "\t" in line[: line.find(" ")] else line.split(" ", 1)
        key = pieces[0]
        if not key:
            raise FormatError(path, at, "expected a key and a value, got a line that starts with white space")
        if key in entries:
            raise FormatError(path, at, f"key {key!r} is already on line {entries[key][0]}")
        entries[key] = (at, pieces[1].strip(" \t") if len(pieces) > 1 else "")
    return entries


def check_same_keys(
    first: Path, entries: dict[str, tuple[int, str]], second: Path, others: dict[str, tuple[int, str]]
) -> None:
    """Every key of either file must be in the other too."""
    for path, here, other, there in ((first, entries, second, others), (second, others, first, entries)):
        for key, (line, _) in here.items():
            if key not in there:
                raise FormatError(path, line, f"key {key!r} is not in {other}")
