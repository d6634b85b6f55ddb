"""What a format is, and what all readers share: contents, lines and strict numbers."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from nbest.base.errors import CapabilityError, FormatError, shown
from nbest.base.files import decode, read_bytes, split_lines
from nbest.base.types import Floats
from nbest.corpus import NBest, Texts

_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?").fullmatch
EVERYTHING = frozenset(
    {"ids", "features", "sparse", "references", "sources", "groups", "gains", "answers", "systems", "ragged", "empty"}
)
"""All that a format may keep."""
HEAD = 65536
"""How many bytes of a file are looked at to find its format."""


@dataclass(frozen=True)
class Format:
    """One file format. `read(path, *, data=None, **options)` takes bytes already read; `write(corpus, path, ...)`.

    `keeps` says what a corpus has still after writing and reading, besides texts: "ids", "features" (all dense ones) or
    "score" (one, which is called so afterwards), "sparse", "references" or "reference" (the first), "sources",
    "groups", "gains", "answers", "systems", "ragged" (lists of several lengths), "empty" (lists without hypotheses).
    `example` is a small valid input, contents by file name; it is read from the first file, or from the directory that
    holds them all. The contract tests use both; of a format that is `binary`, no lines of text, they write their own
    example.
    `stream(path, **options)` gives the lists block by block, whole segments each; `write_blocks(blocks, path,
    **options)` writes them as they come. Both need memory for one block; without them all lists are held at once.
    """

    name: str
    read: Callable[..., NBest]
    write: Callable[..., None] | None  # None: this format is only read
    sniff: Callable[[Path, bytes], bool]  # does it look like this format? `b""` for a directory or a prefix
    suffixes: tuple[str, ...]  # the first is the one to write; compression comes after it
    summary: str
    read_suffixes: tuple[str, ...] = ()  # further ones of files that are read; another format may write them
    directory: bool = False  # the path is a directory or a prefix of several files
    binary: bool = False
    needs: str = ""  # a module that is not installed with nbest
    stream: Callable[..., Iterator[NBest]] | None = None
    write_blocks: Callable[..., None] | None = None
    keeps: frozenset[str] = frozenset()
    example: Mapping[str, str] = field(default_factory=dict, repr=False)


def text_of(path: str | Path, data: bytes | None, before: int = 0) -> str:
    """The text of a file: of `data` when it was already read (after `before` lines), or of what `path` holds."""
    return decode(path, read_bytes(path) if data is None else data, before)


def lines_of(path: str | Path, data: bytes | None, expected: str, before: int = 0) -> list[str]:
    """The lines of a file without blank ones at its end; an empty file is an error that says what was expected."""
    lines = split_lines(text_of(path, data, before))
    while lines and not lines[-1].strip():
        lines.pop()
    if not lines:
        raise FormatError(path, None, f"the file is empty; expected {expected}")
    return lines


def number(path: str | Path, line: int | None, what: str, text: str) -> float:
    """A finite decimal number. Narrower than `float`: no 'nan', '1_000', digits of other scripts or white space."""
    value = float(text) if _NUMBER(text) else math.nan
    if not math.isfinite(value):
        raise FormatError(path, line, f"{what} must be a finite number, got {shown(text)}")
    return value


def is_number(text: str) -> bool:
    """Whether `text` is written as a decimal number (which may still be too large to be finite)."""
    return _NUMBER(text) is not None


def head_lines(head: bytes) -> list[str]:
    """The first lines of a file, to find its format by; not the last one of them when the head was cut."""
    lines = split_lines(head.decode("utf-8-sig", "replace"))
    return lines[:-1] if len(head) >= HEAD and len(lines) > 1 else lines


def need_texts(corpus: NBest, name: str) -> Texts:
    """The texts of a corpus, which a format without them cannot be written from."""
    if corpus.texts is None:
        raise CapabilityError(f"{name} needs the texts of the hypotheses and these lists carry none")
    return corpus.texts


def need_one_line(text: str, name: str, what: str) -> str:
    """`text`, which a format of lines can only hold when there is no line break in it."""
    if "\n" in text or text.endswith("\r"):
        raise CapabilityError(
            f"{name} cannot hold a line break, and there is one in {what}: {shown(text)}; write jsonl"
        )
    return text


def one_score(corpus: NBest, name: str, score: str | None) -> Floats:
    """[H] the one column that a format with a single score keeps: `score`, or the one so called, or the only one."""
    if score is not None:
        return corpus.column(score)
    if "score" in corpus.feature_names:
        return corpus.column("score")
    if len(corpus.feature_names) == 1:
        return corpus.column(corpus.feature_names[0])
    if corpus.hypotheses == 0:
        return np.empty(0)
    raise CapabilityError(
        f"{name} holds one score for each hypothesis and these lists have {len(corpus.feature_names)} features; "
        f"say which with score=NAME ({', '.join(corpus.feature_names) or 'none are there'})"
    )


def sparse_row(corpus: NBest, h: int) -> dict[str, float]:
    """The sparse features of one hypothesis."""
    if corpus.sparse is None:
        return {}
    low, high = corpus.sparse.indptr[h], corpus.sparse.indptr[h + 1]
    columns, values = corpus.sparse.indices[low:high], corpus.sparse.data[low:high]
    row: dict[str, float] = {}
    for column, value in zip(columns, values, strict=True):  # a matrix may hold a column twice: they add up
        name = corpus.sparse_names[column]
        row[name] = row[name] + float(value) if name in row else float(value)
    return row
