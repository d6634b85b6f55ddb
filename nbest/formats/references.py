"""References from text files: one text a line, one file for each set of references, by id where lines carry ids."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from nbest.base.errors import FormatError, ParameterError, need_kind
from nbest.base.files import read_lines
from nbest.corpus.order import first_number, whole_numbers
from nbest.formats.lists.base import shown
from nbest.formats.references_of_lists import references_by_id
from nbest.formats.texts_by_id import ids_before_blanks, own_ids, texts_after_blanks, without_blank_end

_PATHS = (str, Path, Sequence)


def read_references(
    paths: str | Path | Sequence[str | Path], segments: int | Sequence[str]
) -> tuple[tuple[str, ...], ...]:
    """For each segment its references, one from each file. `segments` is their number (0, 1, ... are then their ids)
    or their ids.

    A file is aligned by id when each of its lines is `id<TAB>text`, `id text` or `{"id": ..., "text": ...}`, each id
    once, and all of the segments are there; others may be absent from the lists. Else it is aligned by line: when the
    ids are numbers (as in Moses lists), a segment's number is its line from 0 (from 1 where the numbers are exactly 1
    to N), and there must be a line for every number up to the largest; more only where number 0 is there, so that it
    is known what they count from. Other ids go by order, and have as many lines. Blank lines too many at the end are
    ignored. Lines that carry other ids than the segments are refused.

    JSON lines with "references" (nbest's own lists) give these, by id; lists without references are refused.
    """
    return align_references(paths, segments)[0]


def align_references(
    paths: str | Path | Sequence[str | Path], segments: int | Sequence[str]
) -> tuple[tuple[tuple[str, ...], ...], int]:
    """As `read_references`, and how many lines of the first file belong to none of the segments."""
    need_kind("read_references", "paths", paths, *_PATHS)
    paths = [paths] if isinstance(paths, str | Path) else list(paths)
    if not paths:
        raise ParameterError("'paths' of read_references must name at least one file")
    return align_lines([(path, read_lines(path)) for path in paths], segments)


def align_lines(
    files: Sequence[tuple[str | Path, list[str]]], segments: int | Sequence[str]
) -> tuple[tuple[tuple[str, ...], ...], int]:
    """`align_references` of files that were read: their names, for errors, and their lines."""
    ids = [str(i) for i in range(segments)] if isinstance(segments, int) else list(segments)
    columns = [_column(path, lines, ids, not isinstance(segments, int)) for path, lines in files]
    sides = zip(*(texts for texts, _ in columns), strict=True)
    references = tuple(tuple(text for side in each for text in side) for each in sides) if ids else ()
    return references, columns[0][1]


def _column(path: str | Path, lines: list[str], ids: list[str], named: bool) -> tuple[Sequence[tuple[str, ...]], int]:
    """The references of each id in one file, and how many segments in it are of no id."""
    carried = references_by_id(path, lines)
    if carried is None:
        texts, left_out = _aligned(path, lines, ids, named)
        return [(text,) for text in texts], left_out
    if set(ids) <= carried.keys() and (named or len(carried) == len(ids)):
        return [carried[name] for name in ids], len(carried) - len(ids)
    if not named and len(carried) == len(ids):  # no ids here: in their order
        return list(carried.values()), 0
    raise FormatError(path, None, _difference(list(carried), ids, named, "lines carry the ids"))


def _aligned(path: str | Path, lines: list[str], ids: list[str], named: bool) -> tuple[list[str], int]:
    """The text of each id, and how many lines are of no id."""
    own = own_ids(path, lines)
    for found in (own, _after_blanks(lines, ids)):
        texts = None if found is None else _by_id(found, ids, named, sure=found is own)
        if texts is not None and found is not None:
            return texts, len(found) - len(ids)
    if own is not None:
        raise FormatError(path, None, _difference(list(own), ids, named, "lines carry the ids"))
    begin = ids_before_blanks(without_blank_end(lines)) or _mostly_known(lines, ids)
    if begin is not None and _have_blanks(lines):
        raise FormatError(path, None, _difference(begin, ids, named, "lines look like 'id text' with the ids"))
    return _by_line(path, lines, ids, named)


def _after_blanks(lines: list[str], ids: list[str]) -> dict[str, str] | None:
    """Texts of lines `id text`. A lone number before a blank is no id: "0 degrees" may be the only segment's text."""
    if (len(ids) == 1 and whole_numbers(ids) is not None) or not _have_blanks(lines):
        return None
    return texts_after_blanks(without_blank_end(lines))


def _have_blanks(lines: list[str]) -> bool:
    """Whether any line has two words; where none has, they are texts (right answers, say), and no ids without any."""
    return any(len(line.split(None, 1)) > 1 for line in lines)


def _mostly_known(lines: list[str], ids: list[str]) -> list[str] | None:
    """The first words of lines when they all differ, are as many as the ids, and most of them are ids; else None."""
    texts = _after_blanks(lines, ids)
    if texts is None or len(texts) != len(ids) or 2 * len(texts.keys() & set(ids)) <= len(ids):
        return None
    return list(texts) if whole_numbers(ids) is None or whole_numbers(list(texts)) is not None else None


def _by_id(texts: dict[str, str], ids: list[str], named: bool, *, sure: bool) -> list[str] | None:
    """The texts in the order of the ids, when they are for these ids and perhaps others; None when they are not. One
    first word that is an id, where it is not `sure` that these are ids, may be chance."""
    known = set(ids)
    gaps = whole_numbers(ids) is None or (sure and not _counted(ids) and not _counted(list(texts)))
    more = named and texts.keys() > known and gaps
    if texts.keys() == known or (more and (sure or len(ids) > 1)):
        return [texts[name] for name in ids]
    numbers, others = whole_numbers(ids), whole_numbers(list(texts))
    if not numbers or not others:
        return None
    if not named and sorted(others) == list(range(1, len(ids) + 1)):  # no ids here, and these count from one
        return [texts[str(number + 1)] for number in numbers]
    complete = sorted(others) == list(range(max(others) + 1))
    return [texts[name] for name in ids] if named and complete and texts.keys() >= known else None


def _counted(ids: list[str]) -> bool:
    """Whether ids are 0, 1, ... or 1, 2, ... without gaps: perhaps numbers of lines."""
    numbers = sorted(whole_numbers(ids) or ())
    return bool(numbers) and numbers[0] in (0, 1) and numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def _by_line(path: str | Path, lines: list[str], ids: list[str], named: bool) -> tuple[list[str], int]:
    """The line of each id, and how many lines are of no id."""
    numbers = whole_numbers(ids)
    begin = first_number(numbers) if named and numbers else 0
    wanted = max(numbers) + 1 - begin if numbers else len(ids)
    while len(lines) > wanted and not lines[-1].strip():
        lines = lines[:-1]
    more_allowed = named and numbers is not None and 0 in numbers
    if len(lines) < wanted or (len(lines) > wanted and not more_allowed):
        raise FormatError(path, None, _complaint(lines, ids, wanted))
    return [lines[i - begin] for i in numbers] if numbers else lines, len(lines) - len(ids)


def _complaint(lines: list[str], ids: list[str], wanted: int) -> str:
    kind = "fewer references than segments" if len(lines) < wanted else "more references than segments"
    text = f"{kind}: {len(lines)} lines for {len(ids)} segments"
    if wanted != len(ids):
        text += f" numbered up to {wanted - 1}, which need {wanted} lines"
    known = set(ids)
    first = [line.replace("\t", " ").partition(" ")[0] for line in lines]
    found = sum(name in known for name in first)
    if whole_numbers(ids) is None and 2 * found > min(len(lines), len(ids)):
        text += _name_difference(first, known)
    return text


def _name_difference(first: list[str], known: set[str]) -> str:
    """Where lines look like `id text`: an id too many or missing."""
    extra = [name for name in first if name not in known]
    missing = sorted(known - set(first))
    if extra:
        return f"; no segment is called {extra[0]!r}"
    return f"; there is no line for segment {missing[0]!r}" if missing else ""


def _difference(found: list[str], ids: list[str], named: bool, what: str) -> str:
    """Lines that carry other ids than the segments."""
    begin = f"{what} {shown(found[0])}, ..., "
    if not named:
        return (
            f"{begin}while outputs (or inputs) carry none; nbest rerank --ids writes them; if these are words, "
            "write the references as 'number<TAB>text', from 0"
        )
    known, size = set(ids), f"{len(found)} lines for {len(ids)} segments"
    missing = [name for name in ids if name not in set(found)] if known & set(found) else ids
    extra = next((name for name in found if name not in known), None)
    other = "" if extra is None else f"; no segment is called {extra!r}"
    if len(missing) == len(ids):
        return f"{begin}which are not those of the segments ({shown(ids[0])}, ...): {size}{other}"
    if missing:
        lacking = f"there is no line for {len(missing)} of {len(ids)} segments, the first is {missing[0]!r}{other}"
        return f"{lacking}; add the missing lines, or take these segments out of the lists"
    return (
        f"{begin}more than those of the segments, which numbers may be only where they are 0, 1, ... without gaps: "
        f"{size}{other}; leave out the lines of others"
    )
