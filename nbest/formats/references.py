"""References from text files: one text a line, one file for each set of references."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from nbest.errors import FormatError, ParameterError
from nbest.files import read_lines

_INTEGER = re.compile(r"0|[1-9][0-9]{0,17}").fullmatch


def read_references(
    paths: str | Path | Sequence[str | Path], segments: int | Sequence[str]
) -> tuple[tuple[str, ...], ...]:
    """For each segment its references, one from each file. `segments` is their number or their ids.

    A file is aligned by id when each of its lines is `id<TAB>text` or `id text` and these ids are those of the
    segments, all of them and no others, each once. Else it is aligned by line: when the ids are numbers (as in Moses
    lists), a segment's number is its line from 0 and a segment may be absent from the lists, but there must be a line
    for every number up to the largest and no more; other ids go by order. Blank lines too many at the end are ignored.
    """
    paths = [paths] if isinstance(paths, str | Path) else list(paths)
    if not paths:
        raise ParameterError("'paths' of read_references must name at least one file")
    ids = [str(i) for i in range(segments)] if isinstance(segments, int) else list(segments)
    columns = [_aligned(path, read_lines(path), ids, not isinstance(segments, int)) for path in paths]
    return tuple(zip(*columns, strict=True)) if ids else ()


def _aligned(path: str | Path, lines: list[str], ids: list[str], named: bool) -> list[str]:
    """The text of each id."""
    if named:
        for separator in ("\t", None):
            texts = _by_id(lines, ids, separator)
            if texts is not None:
                return [texts[name] for name in ids]
    numbers = [int(name) for name in ids if _INTEGER(name)]
    by_number = len(numbers) == len(ids) and ids and not (named and _from_one(numbers))
    wanted = max(numbers) + 1 if by_number else len(ids)
    while len(lines) > wanted and not lines[-1].strip():
        lines.pop()
    if len(lines) != wanted:
        raise FormatError(path, None, _complaint(lines, ids, wanted))
    if by_number:
        return [lines[i] for i in numbers]
    return [lines[i - 1] for i in numbers] if named and numbers and _from_one(numbers) else lines


def _from_one(numbers: list[int]) -> bool:
    """Whether these are 1 to N, in any order: lists that count from one."""
    return sorted(numbers) == list(range(1, len(numbers) + 1))


def _by_id(lines: list[str], ids: list[str], separator: str | None) -> dict[str, str] | None:
    """Texts by their first field, when these are exactly the ids; None when they are not.

    A lone number before a space is no id: "0 degrees" may be the text of the only segment.
    """
    while len(lines) > len(ids) and not lines[-1].strip():
        lines = lines[:-1]
    if len(lines) != len(ids) or (separator is None and len(ids) == 1 and _INTEGER(ids[0])):
        return None
    texts: dict[str, str] = {}
    for line in lines:
        name, _, text = line.partition("\t") if separator else _first_word(line)
        texts[name] = text
    return texts if texts.keys() == set(ids) else None


def _first_word(line: str) -> tuple[str, str, str]:
    name = re.split(r"[ \t]", line, maxsplit=1)[0]
    return name, " ", line[len(name) :].strip(" \t")


def _complaint(lines: list[str], ids: list[str], wanted: int) -> str:
    kind = "fewer references than segments" if len(lines) < wanted else "more references than segments"
    text = f"{kind}: {len(lines)} lines for {len(ids)} segments"
    if wanted != len(ids):
        text += f" numbered up to {wanted - 1}, which need {wanted} lines"
    known = set(ids)
    first = [line.replace("\t", " ").partition(" ")[0] for line in lines]
    found = sum(name in known for name in first)
    if not all(map(_INTEGER, ids)) and 2 * found > min(len(lines), len(ids)):
        text += _name_difference(first, known)
    return text


def _name_difference(first: list[str], known: set[str]) -> str:
    """Where lines look like `id text`: an id too many or missing."""
    extra = [name for name in first if name not in known]
    missing = sorted(known - set(first))
    if extra:
        return f"; no segment is called {extra[0]!r}"
    return f"; there is no line for segment {missing[0]!r}" if missing else ""
