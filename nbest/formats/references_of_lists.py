"""References that JSON lines carry under "references", as nbest's own lists do; lists that carry none are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nbest.base.errors import FormatError
from nbest.formats.json_text import loads, need
from nbest.formats.lists.base import shown
from nbest.formats.texts_by_id import json_rows, without_blank_end

_KEYS = ("references", "reference")
_HEAD = 100  # lines that are looked at to know a format again
_WANTED = (
    'expected one text a line, \'id<TAB>text\', or JSON lines with "id" and "references"; lists that carry references '
    "themselves need no --refs"
)


def references_by_id(path: str | Path, lines: list[str]) -> dict[str, tuple[str, ...]] | None:
    """The references of each id, which may be on several lines (a hypothesis each), where every line is a JSON object
    with "references", or "reference"; None of other texts. The number of a line, from 0, is the id where none is said.
    """
    lines = without_blank_end(lines)
    if json_rows(path, lines) is not None:
        return None
    if not lines or not _is_json(lines) or not any(_mentioned(line) for line in lines):
        _refuse_lists(path, lines)
        return None
    found: dict[str, tuple[str, ...]] = {}
    for at, line in enumerate(lines, 1):
        row: dict[str, Any] = need(path, at, "a line", loads(path, at, line, lenient=True), dict)
        name = str(row["id"]) if type(row.get("id")) in (str, int) else str(at - 1)
        mine = _of_row(path, at, row)
        if found.setdefault(name, mine) != mine:
            raise FormatError(path, at, f"segment {name!r} is there twice, with other references")
    return found


def _is_json(lines: list[str]) -> bool:
    return all(line.startswith("{") for line in lines)


def _mentioned(line: str) -> bool:
    return any(f'"{key}"' in line for key in _KEYS)


def _of_row(path: str | Path, at: int, row: dict[str, Any]) -> tuple[str, ...]:
    value = next((row[key] for key in _KEYS if row.get(key) is not None), None)
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or not texts or not all(isinstance(each, str) for each in texts):
        raise FormatError(path, at, f'"references" must be a list of strings, at least one, got {shown(value)}')
    return tuple(texts)


def _refuse_lists(path: str | Path, lines: list[str]) -> None:
    """Complain of lists in the place of references."""
    if not lines or not (lines[0].startswith(("{", "[")) or all(line.count(" ||| ") > 1 for line in lines)):
        return
    from nbest.formats import sniff_contents

    kind = sniff_contents(path, "\n".join([*lines[:_HEAD], ""]).encode())
    if kind is not None:
        raise FormatError(path, None, f"holds lists (format {kind}) without references, not references; {_WANTED}")
