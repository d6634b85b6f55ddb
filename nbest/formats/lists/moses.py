"""Moses n-best lists and their relatives: fields between `|||`, one hypothesis a line.

    0 ||| some text ||| LM0= -1.75 TM0= -1.38 -2.19 ||| -4.42         Moses; more fields may follow
    0||| some text  ||| d: 0 -7.66 lm: -41.3 w: -9 ||| -14.6          Moses, old
    0 ||| some text ||| -3.1 ||| lm=-1.7 tm=-2.2                      Travatar, cdec, dreamt; the score may be absent
    0 ||| some text ||| 0-0 ||| WordScores= -1 ||| F0= -1.38 ||| -0.4  Marian

A bar is `|||` between white space (or at an end of the line); the first may follow the id at once. The features are
the first field from the third on with a `name=` or `name:` in it, `WordScores=` and phrase alignments apart.
This plain reader is the judge of what a file means.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from nbest.base.errors import FormatError, ParameterError
from nbest.base.files import decode, read_bytes, split_lines
from nbest.corpus import NBest
from nbest.formats.lists import moses_fast
from nbest.formats.lists.base import Format, head_lines, is_number, lines_of, number, shown
from nbest.formats.lists.builder import Builder
from nbest.formats.lists.lines import OutOfStepError, Piece, stream_lines, whole_lines
from nbest.formats.lists.moses_writer import BAR, write_blocks, write_moses
from nbest.formats.lists.plainly import Plainly

_ID = re.compile(r"[ \t]*[^ \t|]+(?=\|\|\|(?:[ \t]|$))").match
_PHRASES = re.compile(r"(?:[0-9]+(?:-[0-9]+)?=[0-9]+(?:-[0-9]+)?[ \t]*)+").fullmatch
_EXPECTED = "lines of 'id ||| text ||| features'"
_PLAINLY = Plainly(12 * 2**20)  # some 4 s, as long as the kernel takes to compile

Row = tuple[str, str, dict[str, list[float]], str | None]
"""Segment id, text, values of each name, and the total, which is only checked where it is wanted."""


def read_moses(
    path: str | Path,
    *,
    data: bytes | None = None,
    total: bool = False,
    sparse: bool | str | None = None,
    absent: int | None = None,
) -> NBest:
    """Read an n-best list of Moses or a relative of it.

    A name with several values becomes `Name_0`, `Name_1`, ...; with one it keeps its name. Columns without any name
    (`0 ||| text ||| -1 -2 ||| -3`) become `f_0`, `f_1`, ...; a list with nothing but a total has the feature `score`.
    The total mixes the other features, so it is kept (as `total`) only when asked for.

    A name that every hypothesis has is dense. One that some lack is an error, unless it may be sparse (absent is 0):
    by default names that contain `_`, which is Moses' own rule; `sparse=True` allows any name, `sparse=False` none,
    and `sparse="prefix"` also makes every name that starts so sparse, even when no hypothesis lacks it.
    Names with several values are always dense. With `absent=0`, as in lists of Phrasal, all names are dense, and 0
    where a hypothesis lacks them.
    """
    if absent not in (None, 0) or isinstance(absent, bool):
        raise ParameterError(f"'absent' of read_moses must be 0, got {absent!r}")
    if absent is not None:
        return _with_zeros(path, read_bytes(path) if data is None else data, total)
    if not isinstance(sparse, bool | str | None):
        raise ParameterError(f"'sparse' of read_moses must be True, False, a prefix or None, got {sparse!r}")
    return _parsed(Piece(path, read_bytes(path) if data is None else data), total=total, sparse=sparse)


def _stream(
    path: str | Path, *, total: bool = False, sparse: bool | str | None = None, absent: int | None = None, **how: Any
) -> Iterator[NBest]:
    """As `read_moses`, in blocks. Which names are sparse is a matter of the whole file: where a block says otherwise
    than the first, its lists are out of step."""
    if absent is not None:
        raise OutOfStepError
    return stream_lines(path, parse=partial(_parsed, total=total, sparse=sparse), cut=_cut, **how)


def _cut(data: bytes) -> int:
    """Where the lines of the last segment begin: before it, all segments are whole (if its lines stand together)."""
    end = whole_lines(data)
    last, own = end, None
    while last > 0:
        begin = data.rfind(b"\n", 0, last - 1) + 1
        segment = data[begin:last].partition(b"|||")[0].strip()
        if own is not None and segment != own:
            return last
        own, last = segment, begin
    return 0


def _parsed(part: Piece, total: bool, sparse: bool | str | None) -> NBest:
    text = decode(part.path, part.data, part.before)
    regular = None if total or isinstance(sparse, str) else _regular(part)
    if regular is None or (part.names is not None and set(part.names) != set(regular.feature_names)):
        return _parse(part, text, total, sparse)
    return regular


def _with_zeros(path: str | Path, data: bytes, total: bool) -> NBest:
    """The lists of a file in which features that are 0 are left out."""
    lines = lines_of(path, data, _EXPECTED)
    rows = [_row(path, at, line) for at, line in enumerate(lines, 1)]
    features = [_columns(path, at, row[2]) for at, row in enumerate(rows, 1)]
    zeros = dict.fromkeys((name for row in features for name in row), 0.0)
    builder = Builder(path)
    for at, ((segment, words, _, last), own) in enumerate(zip(rows, features, strict=True), 1):
        dense = zeros | own
        if total:
            _add_total(path, at, dense, "total", last)
        builder.hypothesis(segment, words, dense, at)
    return builder.build()


def _regular(part: Piece) -> NBest | None:
    """The lists by the fast way, or None where a line is not regular; an error in that line is raised at once."""
    path, data = part.path, part.data
    fields = split_fields(data[: data.find(b"\n") + 1 or None].decode("utf-8").rstrip("\r\n"))
    if len(fields) < 3 or not _has_names(fields[2], 2) or "\t" in fields[2] or not fields[0].isdigit():
        return None
    if _PLAINLY.suits(moses_fast.parse_lines, len(data)):
        return None
    lists = moses_fast.parse(data, moses_fast.template(fields[2]))
    if isinstance(lists, int):
        line = split_lines(data.split(b"\n", lists + 1)[lists].decode("utf-8-sig") + "\n")[0]
        if line.strip():  # a blank one may stand at the end
            _row(path, part.before + lists + 1, line)
        return None
    return lists


def _parse(part: Piece, text: str, total: bool, sparse: bool | str | None) -> NBest:
    path, before = part.path, part.before
    lines = split_lines(text)
    while lines and not lines[-1].strip():
        lines.pop()
    if not lines:
        raise FormatError(path, None, f"the file is empty; expected {_EXPECTED}")
    rows = [_row(path, at, line) for at, line in enumerate(lines, before + 1)]
    features = [_columns(path, at, row[2]) for at, row in enumerate(rows, before + 1)]
    apart = _sparse_names(rows, sparse) if part.names is None else _sparse_later(part, rows, features, sparse)
    score = "score" if _is_bare(part, features) else None
    builder = Builder(path, part.names)
    for at, ((segment, words, _, last), columns) in enumerate(zip(rows, features, strict=True), before + 1):
        dense = {name: value for name, value in columns.items() if name not in apart}
        if total or (score is not None and last is not None):
            _add_total(path, at, dense, "total" if total else "score", last)
        few = {name: columns[name] for name in columns if name in apart} if apart else None
        builder.hypothesis(segment, words, dense, at, few)
    return builder.build()


def _is_bare(part: Piece, features: list[dict[str, float]]) -> bool:
    """Whether the total is the only feature, since no hypothesis of the file has any."""
    if part.names is None:
        return not any(features)
    bare = part.names == ("score",) and not _row(part.path, 1, part.head.decode("utf-8-sig").rstrip("\r"))[2]
    if bare and any(features):
        raise OutOfStepError
    return bare


def _sparse_later(
    part: Piece, rows: list[Row], features: list[dict[str, float]], sparse: bool | str | None
) -> set[str]:
    """The names of a later piece that are sparse: such as some hypothesis before lacks. Where one lacks a name that all
    before have, and that may be sparse, only the whole file tells."""
    known = set(part.names or ())
    if any(_may_be_sparse(name, sparse) for row in features for name in known - row.keys()):
        raise OutOfStepError
    several = {name for _, _, row, _ in rows for name, given in row.items() if len(given) > 1}
    names = {name for _, _, row, _ in rows for name in row} - several
    prefix = sparse if isinstance(sparse, str) else None
    return {
        name
        for name in names
        if (name not in known and _may_be_sparse(name, sparse)) or (prefix is not None and name.startswith(prefix))
    }


def _may_be_sparse(name: str, sparse: bool | str | None) -> bool:
    return sparse is True or (sparse is not False and "_" in name)


def _add_total(path: str | Path, line: int, features: dict[str, float], name: str, value: str | None) -> None:
    if value is None:
        raise FormatError(path, line, "no total score, which total=True asks for")
    if name in features:
        raise FormatError(path, line, f"feature {name!r} is named twice: it is also what the total is called")
    features[name] = number(path, line, "the total score", value)


# lines ----------------------------------------------------------------------------------------------------------


def split_fields(line: str) -> list[str]:
    """The fields of a line, without white space at their ends."""
    glued = _ID(line)
    if glued:
        line = f"{glued[0]} {line[glued.end() :]}"
    return [field.strip(" \t") for field in BAR.split(line)]


def _row(path: str | Path, line: int, text: str) -> Row:
    fields = split_fields(text)
    if len(fields) < 3:
        raise FormatError(path, line, f"expected at least 3 fields separated by ' ||| ', got {len(fields)}")
    segment, words, *rest = fields
    if not segment or " " in segment or "\t" in segment:
        raise FormatError(path, line, f"expected one segment id before the first bar, got {shown(segment)}")
    place = next((i for i, field in enumerate(rest) if _has_names(field, i + 2)), None)
    if place is not None:
        values = _values(path, line, rest[place])
        return segment, words, values, _total([*rest[place + 1 :], *rest[:place][::-1]])
    unnamed = next((field for field in rest if len(_tokens(field)) > 1 and all(map(is_number, _tokens(field)))), None)
    if unnamed is not None:
        numbers = [number(path, line, f"column {i} of the features", v) for i, v in enumerate(_tokens(unnamed))]
        return segment, words, {"f": numbers}, _total(rest[rest.index(unnamed) + 1 :])
    last = _total(rest)
    if last is None and rest[0]:
        raise FormatError(path, line, f"expected features such as 'Name= value' in field 3, got {shown(rest[0])}")
    return segment, words, {}, last


def _has_names(field: str, place: int) -> bool:
    """Whether this field (the `place`-th, from 0) holds features with names."""
    if "=" not in field and ":" not in field:
        return False
    if field.startswith("WordScores=") or (place > 3 and _PHRASES(field)):
        return False
    return any(token.rfind("=") > 0 or (token.endswith(":") and len(token) > 1) for token in _tokens(field))


def _total(fields: list[str]) -> str | None:
    """The first field that is one number (or would be, were it finite)."""
    return next((f for f in fields if is_number(f) or f.lower().lstrip("+-") in ("nan", "inf", "infinity")), None)


def _tokens(field: str) -> list[str]:
    """Pieces between spaces and tabs; other white space may be part of a name."""
    return [token for token in field.replace("\t", " ").split(" ") if token]


def _values(path: str | Path, line: int, field: str) -> dict[str, list[float]]:
    """The values after each name; `name=value` is cut at its last `=`."""
    values: dict[str, list[float]] = {}
    name = None
    for token in _tokens(field):
        head, equals, tail = token.rpartition("=")
        if not equals and token.endswith(":"):
            head, equals, tail = token[:-1], ":", ""
        if equals:
            name = head
            if not name:
                raise FormatError(path, line, f"expected a feature name before '{equals}', got {shown(token)}")
            if name in values:
                raise FormatError(path, line, f"feature {name!r} is named twice in one hypothesis")
            values[name] = []
            if not tail:
                continue
        if name is None:
            raise FormatError(path, line, f"expected a feature name such as 'Name=' first, got {shown(token)}")
        values[name].append(number(path, line, f"feature {name!r}", tail if equals else token))
    for name, given in values.items():
        if not given:
            raise FormatError(path, line, f"feature {name!r} has no value")
    return values


# columns --------------------------------------------------------------------------------------------------------


def _columns(path: str | Path, line: int, values: dict[str, list[float]]) -> dict[str, float]:
    """One column a value: `Name` for a single one, else `Name_0`, `Name_1`, ..."""
    columns: dict[str, float] = {}
    for name, given in values.items():
        for i, value in enumerate(given):
            column = name if len(given) == 1 else f"{name}_{i}"
            if column in columns:
                raise FormatError(path, line, f"feature {column!r} is named twice in one hypothesis")
            columns[column] = value
    return columns


def _sparse_names(rows: list[Row], sparse: bool | str | None) -> set[str]:
    """The names that become columns of the sparse matrix."""
    counts: dict[str, int] = {}
    many: set[str] = set()
    for _, _, values, _ in rows:
        for name, given in values.items():
            counts[name] = counts.get(name, 0) + 1
            if len(given) > 1:
                many.add(name)
    prefix = sparse if isinstance(sparse, str) else None
    return {
        name
        for name, count in counts.items()
        if name not in many
        and ((prefix is not None and name.startswith(prefix)) or (count < len(rows) and _may_be_sparse(name, sparse)))
    }


def _sniff(path: Path, head: bytes) -> bool:
    return any(len(split_fields(line)) > 2 for line in head_lines(head)[:20])


FORMAT = Format(
    name="moses",
    read=read_moses,
    write=write_moses,
    stream=_stream,
    write_blocks=write_blocks,
    sniff=_sniff,
    suffixes=(".nbest", ".moses"),
    summary="fields between |||: Moses old and new, Travatar, cdec, Marian",
    keeps=frozenset({"ids", "features", "sparse", "ragged"}),
    example={
        "dev.nbest": "0 ||| the small house ||| LM0= -1.75 TM0= -1.38 -2.19 pp_a= 1 ||| -4.42 ||| 0-0 1-1\n"
        "1 ||| größer ||| LM0= -2e-3 TM0= 0 .5 ||| 0.1 ||| 0=0\n"
        "0 |||  ||| LM0= +3 TM0= -1 -2 ||| -4 |||\n"
    },
)
