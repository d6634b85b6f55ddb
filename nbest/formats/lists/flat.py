"""Plain text: n lines for each segment, or blocks of any length after a line `NC=<k>`. No ids, no scores."""

from __future__ import annotations

import re
from pathlib import Path

from nbest.base.errors import CapabilityError, FormatError, ParameterError
from nbest.base.files import replacing, split_lines
from nbest.corpus import NBest
from nbest.formats.lists.base import Format, head_lines, need_one_line, need_texts, shown, text_of
from nbest.formats.lists.builder import Builder

_COUNT = re.compile(r"NC=([0-9]{1,9})[ \t]*").fullmatch


def read_flat(path: str | Path, *, data: bytes | None = None, n: int | None = None) -> NBest:
    """Read texts, `n` for each segment, or blocks when `n` is not given. Segments are called 0, 1, ...

    The only feature is `rank`: -1 for the first of a list, -2 for the second, and so on. White space stays.
    """
    if n is not None and n < 1:
        raise ParameterError(f"'n' of read_flat must be >= 1, got {n}")
    lines = split_lines(text_of(path, data))
    if not lines:
        raise FormatError(path, None, "the file is empty; expected texts, one a line")
    builder = Builder(path)
    if n is None:
        _read_blocks(builder, lines)
    else:
        _read_equal(builder, lines, n)
    return builder.build()


def _read_equal(builder: Builder, lines: list[str], n: int) -> None:
    surplus = len(lines) % n
    if surplus and not any(line.strip() for line in lines[-surplus:]):
        del lines[-surplus:]
        surplus = 0
    if surplus or not lines:
        raise FormatError(builder.path, None, f"{len(lines)} lines cannot be lists of {n}; expected a multiple of {n}")
    for at, text in enumerate(lines):
        builder.hypothesis(str(at // n), text, {"rank": -1.0 - at % n}, at + 1)


def _read_blocks(builder: Builder, lines: list[str]) -> None:
    at = segment = 0
    while at < len(lines):
        found = _COUNT(lines[at])
        if not found:
            if any(line.strip() for line in lines[at:]):
                raise FormatError(builder.path, at + 1, f"expected 'NC=' and a number, got {shown(lines[at])}; {_HINT}")
            break  # blank lines at the end
        size = int(found[1])
        if at + 1 + size > len(lines):
            left = len(lines) - at - 1
            raise FormatError(builder.path, at + 1, f"expected {size} lines after NC={size}, got {left}")
        builder.segment(str(segment), line=at + 1)
        for k in range(size):
            builder.hypothesis(str(segment), lines[at + 1 + k], {"rank": -1.0 - k}, at + 2 + k)
        at, segment = at + 1 + size, segment + 1


_HINT = "for lists of one length say n="


def write_flat(corpus: NBest, path: str | Path, *, n: int | None = None) -> None:
    """Write texts in blocks, or `n` for each segment without headings. Keeps only texts and their order."""
    texts = need_texts(corpus, "flat")
    if n is not None and (corpus.lengths != n).any():
        odd = int((corpus.lengths != n).argmax())
        size = int(corpus.lengths[odd])
        raise CapabilityError(f"flat with n={n} needs {n} hypotheses each; segment {corpus.ids[odd]!r} has {size}")
    with replacing(path) as file:
        for i, name in enumerate(corpus.ids):
            low, high = int(corpus.offsets[i]), int(corpus.offsets[i + 1])
            if n is None:
                file.write(f"NC={high - low}\n".encode())
            for h in range(low, high):
                file.write(need_one_line(texts[h], "flat", f"segment {name!r}").encode() + b"\n")


def _sniff(path: Path, head: bytes) -> bool:
    lines = head_lines(head)
    return bool(lines) and _COUNT(lines[0]) is not None


FORMAT = Format(
    name="flat",
    read=read_flat,
    write=write_flat,
    sniff=_sniff,
    suffixes=(".flat",),
    summary="plain text, n lines for each segment (n=) or blocks headed NC=<k>",
    keeps=frozenset({"ragged", "empty"}),
    example={"dev.flat": "NC=2\na house\na mouse\nNC=0\nNC=1\ngrößer\n"},
)
