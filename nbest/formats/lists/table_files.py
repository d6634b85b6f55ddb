"""Formats of files that hold a table, one hypothesis a row: how they are read, streamed and written."""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from nbest.base.errors import FormatError
from nbest.base.files import read_bytes
from nbest.base.inputs import Input, Progress
from nbest.base.mapped import MappedFile, frozen
from nbest.corpus import NBest
from nbest.formats.lists.arrow_kinds import NEEDS, complaints, need_arrow
from nbest.formats.lists.base import EVERYTHING, Format
from nbest.formats.lists.lines import PIECE, OutOfStepError
from nbest.formats.lists.rows import read_rows
from nbest.formats.lists.table_writer import write_tables
from nbest.formats.lists.tables import blocks_of, lists_of

BATCH = 1 << 16
"""Rows that are read at once."""


def table_format(
    name: str,
    magic: bytes,
    batches: Callable[[Any, int], Iterator[tuple[Any, int, int]]],
    open_writer: Callable[[Any, Any], Any],
    *,
    mapped: bool = False,
    **described: Any,
) -> Format:
    """A format whose files begin with `magic`.

    `batches(file, size)` gives record batches of this many rows or more, and how much was read with each, of how much;
    `open_writer(sink, schema)` what tables are written to. Of a `mapped` file, also where it is a single batch, only
    the rows that are looked at are in memory.
    """

    def read(path: str | Path, data: bytes | None) -> NBest:
        return lists_of(path, pieces(path, _in_memory(path, read_bytes(path) if data is None else data, magic)))

    def stream(
        path: str | Path, *, source: Input | None = None, progress: Progress | None = None, **options: Any
    ) -> Iterator[NBest]:
        need_arrow(name)
        if options:
            raise OutOfStepError
        if mapped and _is_plain(path, magic):
            with open(path, "rb") as file:
                mapping = frozen(file.fileno())
            yield from blocks_of(path, _released(pieces(path, _in_memory(path, mapping, magic), progress), mapping))
        else:
            yield from blocks_of(path, pieces(path, _opened(path, source or Input(path), magic), progress))

    def pieces(path: str | Path, file: Any, progress: Progress | None = None) -> Iterator[Any]:
        with complaints(path):
            for batch, done, total in batches(file, BATCH):
                for low in range(0, batch.num_rows, BATCH):
                    yield batch.slice(low, BATCH)
                if progress is not None:
                    progress(done, total)

    def write(corpus: NBest, path: str | Path) -> None:
        write_blocks([corpus], path)

    def write_blocks(blocks: Iterable[NBest], path: str | Path) -> None:
        need_arrow(name)
        write_tables(blocks, path, name, open_writer)

    return Format(
        name=name,
        read=_with_options(name, read),
        write=write,
        stream=stream,
        write_blocks=write_blocks,
        sniff=lambda path, head: head.startswith(magic),
        binary=True,
        needs=NEEDS,
        keeps=EVERYTHING,
        **described,
    )


def _with_options(name: str, plainly: Callable[[str | Path, bytes | None], NBest]) -> Callable[..., NBest]:
    """A reader with the options of `read_rows`; with one of them, all rows are read at once, wherever they stand."""

    def read(
        path: str | Path,
        *,
        data: bytes | None = None,
        id: str | None = None,
        text: str | None = None,
        gain: str | None = None,
        references: Sequence[str] | None = None,
        group: str | None = None,
        features: Sequence[str] | None = None,
    ) -> NBest:
        need_arrow(name)
        named = {"id": id, "text": text, "gain": gain, "references": references, "group": group, "features": features}
        if all(value is None for value in named.values()):
            try:
                return plainly(path, data)
            except OutOfStepError:
                pass  # rows that do not stand by their index, or references in several columns
        return read_rows(path, data=data, **named)  # type: ignore[arg-type]

    return read


def _opened(path: str | Path, source: Input, magic: bytes) -> Any:
    """The file itself where it is one, else what it holds, unpacked."""
    import pyarrow as pa

    if _is_plain(path, magic):
        return pa.OSFile(str(path), "rb")
    return _in_memory(path, b"".join(source.pieces(PIECE)), magic)


def _is_plain(path: str | Path, magic: bytes) -> bool:
    """Whether this is a file, and not a packed one."""
    if str(path) == "-" or not Path(path).is_file():
        return False
    with open(path, "rb") as file:
        return file.read(len(magic)) == magic


def _released(batches: Iterable[Any], mapping: MappedFile) -> Iterator[Any]:
    """The batches; what was looked at of a mapped file does not stay in memory, and is read anew where it must be."""
    for batch in batches:
        yield batch
        if hasattr(mmap, "MADV_DONTNEED"):
            mapping.madvise(mmap.MADV_DONTNEED)


def _in_memory(path: str | Path, data: bytes | MappedFile, magic: bytes) -> Any:
    import pyarrow as pa

    head = data[:1024]
    if not head.strip():
        raise FormatError(path, None, "the file is empty; expected a table")
    if not head.startswith(magic):
        raise FormatError(path, None, f"expected a file that begins with {magic.decode()}")
    return pa.BufferReader(pa.py_buffer(data))
