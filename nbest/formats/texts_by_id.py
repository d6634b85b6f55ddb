"""Lines of text that carry ids: `id<TAB>text`, `id text`, or `{"id": ..., "text": ...}`; one parser for references and
outputs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from nbest.base.errors import FormatError
from nbest.formats.json_text import loads, need, need_number

_KEYS = {"id", "text", "index", "score", "gain", "group", "confidence", "calibrated", "abstained"}
"""What `nbest rerank --json` writes."""
_BLANK = re.compile(r"[ \t]")


def without_blank_end(lines: list[str]) -> list[str]:
    """The lines without blank ones at the end."""
    size = len(lines)
    while size and not lines[size - 1].strip():
        size -= 1
    return lines[:size]


def own_ids(path: str | Path, lines: list[str]) -> dict[str, str] | None:
    """Texts by id where every line says for sure that it carries one: before a tab, or as JSON; else None."""
    lines = without_blank_end(lines)
    rows = json_rows(path, lines)
    if rows is not None:
        return {str(row["id"]): row["text"] for row in rows}
    pairs = [line.partition("\t") for line in lines]
    names = [name for name, _, _ in pairs]
    tabs = sum(tab != "" for _, tab, _ in pairs)
    if 2 * tabs < len(lines) or not tabs or not all(names) or len(set(names)) < len(names):
        return None
    if any(not tab and _BLANK.search(name) for name, tab, _ in pairs):  # only an empty text may have lost its tab
        return None
    return {name: text for name, _, text in pairs}


def json_rows(path: str | Path, lines: list[str]) -> list[dict[str, Any]] | None:
    """The rows of JSON lines as `nbest rerank --json` writes them, at least "id" and "text"; None of other lines."""
    lines = without_blank_end(lines)
    if not lines or not all(line.startswith("{") and '"id"' in line and '"text"' in line for line in lines):
        return None
    rows, known = list[dict[str, Any]](), set[str]()
    for at, line in enumerate(lines, 1):
        row: dict[str, Any] = need(path, at, "a line", loads(path, at, line), dict)
        if not {"id", "text"} <= row.keys() <= _KEYS or type(row["id"]) not in (str, int):
            return None
        need(path, at, '"text"', row["text"], str)
        if row.get("gain") is not None:
            row["gain"] = need_number(path, at, '"gain"', row["gain"])
        if "group" in row:
            row["group"] = need(
                path, at, '"group"', str(row["group"]) if type(row["group"]) is int else row["group"], str
            )
        if str(row["id"]) in known:
            raise FormatError(path, at, f"segment {str(row['id'])!r} is there twice")
        known.add(str(row["id"]))
        rows.append(row)
    return rows


def texts_after_blanks(lines: list[str]) -> dict[str, str] | None:
    """Texts by first word, when the first words differ; None when one is there twice or a line has none."""
    texts: dict[str, str] = {}
    for line in lines:
        name = _BLANK.split(line, maxsplit=1)[0]
        if not name or name in texts:
            return None
        texts[name] = line[len(name) :].strip(" \t")
    return texts


_NAME = re.compile(r"(?=.*[0-9])(?:[A-Za-z]|[^A-Za-z]*[_-]).*")  # no ordinal, percentage or plain number


_LETTERS = re.compile(r"[A-Za-z]*")
_LONG = re.compile(r"[0-9]{3}")


def ids_before_blanks(lines: list[str]) -> list[str] | None:
    """The first words of lines where they look like ids (`utt1`, `utt2`; `1089-134686-0000`), else None: all different,
    none of them in any text, each with a digit and a letter in front or `-` or `_`; and all begin with the same
    letters, or have three digits in a row."""
    texts = texts_after_blanks(lines)
    if texts is None or len(texts) < 2 or not any(texts.values()) or not all(map(_NAME.fullmatch, texts)):
        return None
    if any(word in texts for text in texts.values() for word in text.split()):
        return None
    begins = {found[0] for found in map(_LETTERS.match, texts) if found}
    family = len(begins) == 1 and begins != {""}
    return list(texts) if family or all(map(_LONG.search, texts)) else None
