"""What segments belong to, from a file of its own: documents, speakers."""

from __future__ import annotations

from collections.abc import Sequence

from nbest.base.errors import FormatError
from nbest.base.files import decode, read_bytes, split_lines
from nbest.corpus.order import whole_numbers
from nbest.formats.column_names import GROUPS, IDS
from nbest.formats.tabular import BINARY, CellTable, mark_of, read_table
from nbest.formats.texts_by_id import own_ids, texts_after_blanks, without_blank_end


def read_groups(path: str, segments: Sequence[str] | int) -> list[str]:
    """The group of each segment; `segments` are their ids, or their number, where they have none.

    By id: lines `id<TAB>group` or `id group`, or a table with a header (CSV, TSV, JSON lines, Parquet) that has a
    column of ids and one of groups; lines of other segments may be there. Else a group a line, as many lines as there
    are segments. What is neither is refused, and so are lines that are all different, which are no groups.
    """
    data = read_bytes(path)
    if data.startswith(BINARY):
        return _chosen(path, _of_table(read_table(path, data)), segments)
    lines = without_blank_end(split_lines(decode(path, data)))
    if not lines:
        raise FormatError(path, None, "the file is empty; expected id TAB group, or a group a line")
    if lines[0].lstrip()[:1] in ("{", "[") or _is_header(lines[0], segments):
        return _chosen(path, _of_table(read_table(path, data)), segments)
    known = own_ids(path, lines) or _after_blanks(lines, segments)
    return _by_line(path, lines, segments) if known is None else _chosen(path, known, segments)


def _is_header(line: str, segments: Sequence[str] | int) -> bool:
    """Whether a line names a column of ids."""
    mark = mark_of(line)
    names = [name.strip().strip('"') for name in line.split(mark)] if mark else []
    return any(name in IDS for name in names) and names[0] not in _ids(segments)


def _of_table(table: CellTable) -> dict[str, str]:
    """The group of each id; an id may have several rows of one group, as where rows are of hypotheses."""
    name = table.first_of(*IDS)
    if name is None:
        raise FormatError(table.path, None, f"there is no column of ids ({', '.join(IDS)})")
    others = [each for each in table.names if each != name]
    column = table.first_of(*GROUPS) or (others[0] if len(others) == 1 else None)
    if column is None:
        what = f"which column holds the groups? it has {', '.join(table.names)}"
        raise FormatError(table.path, None, f"{what}; call one of them {' or '.join(GROUPS)}")
    known: dict[str, str] = {}
    for row, (segment, group) in enumerate(zip(table.strings(name), table.strings(column), strict=True)):
        if known.setdefault(segment, group) != group:
            table.complain(row, f"segment {segment!r} is of {known[segment]!r} before, and here of {group!r}")
    return known


def _after_blanks(lines: list[str], segments: Sequence[str] | int) -> dict[str, str] | None:
    """Groups of lines `id group`, where most segments are there."""
    found = texts_after_blanks(lines) if all(len(line.split()) == 2 for line in lines) else None
    ids = _ids(segments)
    return found if found is not None and 2 * sum(name in found for name in ids) > len(ids) else None


def _ids(segments: Sequence[str] | int) -> list[str]:
    return list(map(str, range(segments))) if isinstance(segments, int) else list(segments)


def _chosen(path: str, known: dict[str, str], segments: Sequence[str] | int) -> list[str]:
    """The groups in the order of the segments, which must all be there."""
    ids = _ids(segments)
    if isinstance(segments, int):
        if sorted(whole_numbers(list(known)) or ()) == list(range(1, len(ids) + 1)):  # they count from one
            ids = [str(number + 1) for number in range(len(ids))]
        elif known.keys() != set(ids):
            what = f"{len(known)} segments have a group ({next(iter(known))!r}, ...)"
            why = f"while {len(ids)} outputs have no ids; nbest rerank --ids writes them"
            raise FormatError(path, None, f"{what}, {why}")
    missing = [name for name in ids if not known.get(name)]
    if missing:
        raise FormatError(
            path, None, f"there is no group for {len(missing)} of {len(ids)} segments, the first is {missing[0]!r}"
        )
    return [known[name] for name in ids]


def _by_line(path: str, lines: list[str], segments: Sequence[str] | int) -> list[str]:
    size = segments if isinstance(segments, int) else len(segments)
    if len(lines) != size:
        what = f"expected id TAB group, a table with columns id and group, or a group for each of {size} segments"
        raise FormatError(path, None, f"{what}, one a line; got {len(lines)} lines")
    if len(set(lines)) == size > 1:
        what = f"{size} lines that are all different are no groups of {size} segments"
        raise FormatError(path, None, f"{what}; expected id TAB group, or a group a line")
    return lines
