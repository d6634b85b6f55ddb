"""Lists as tables of Arrow, one hypothesis a row: what writers of Parquet and Arrow files share."""

from __future__ import annotations

import io
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any

import numpy as np

from nbest.base.errors import CapabilityError
from nbest.base.files import replacing
from nbest.base.types import Ints
from nbest.compute import segments
from nbest.corpus import NBest, Texts
from nbest.formats.lists.tables import OWN

_OF_SEGMENTS = ("id", "source", "references", "group")  # columns, the others are of hypotheses


def write_tables(blocks: Iterable[NBest], path: str | Path, name: str, open_writer: Callable[[Any, Any], Any]) -> None:
    """Write blocks as they come to what `open_writer(sink, schema)` gives."""
    writer = None
    with replacing(path) as file, ExitStack() as open_ones:
        for table in _tables(blocks, name):
            if writer is None:
                writer = open_ones.enter_context(closing(open_writer(_Sink(file), table.schema)))
            writer.write(table)
        if writer is None:
            raise CapabilityError(f"format {name} holds at least one segment, and there is none to write")


def _tables(blocks: Iterable[NBest], name: str) -> Iterator[Any]:
    """Tables with the columns of the first block that has hypotheses, those before are held back until then.

    Of several blocks any may have sparse features, and all get a column for them.
    """
    coming, first = iter(blocks), deque[NBest]()
    for corpus in coming:
        first.append(corpus)
        if corpus.hypotheses:
            break
    if not first:
        return
    first.extend(islice(coming, 1))
    several = len(first) > 1
    like = next((corpus for corpus in first if corpus.hypotheses), first[0])
    schema = table_of(like, name, sparse=several).schema
    del like
    for corpus in chain((first.popleft() for _ in range(len(first))), coming):
        table = table_of(corpus, name, sparse=several)
        if not corpus.hypotheses:
            table = _as_in(schema, table)
        if table.schema != schema:
            raise CapabilityError(
                f"format {name} holds the same columns in all rows, and those of segment {corpus.ids[0]!r} are not "
                f"those of the others: {', '.join(table.schema.names)}; write jsonl"
            )
        yield table


def _as_in(schema: Any, table: Any) -> Any:
    """Segments without hypotheses with the columns for these of a schema, all null."""
    import pyarrow as pa

    table = table.select([name for name in table.column_names if name in _OF_SEGMENTS])
    for field in schema:
        if field.name not in _OF_SEGMENTS:
            table = table.append_column(field, pa.nulls(len(table), field.type))
    return table


class _Sink(io.RawIOBase):
    """A file that is only written to, and counts: pipes and packed files do not tell where they are."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file, self.count = file, 0

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self.count

    def write(self, data: Any) -> int:
        self.file.write(data)
        self.count += len(data)
        return len(data)


def table_of(corpus: NBest, name: str, *, sparse: bool = False) -> Any:
    """One row a hypothesis, and one for each segment without any; `sparse` asks for the column in any case."""
    import pyarrow as pa

    taken = next((each for each in corpus.feature_names if each in OWN), None)
    if taken is not None:
        raise CapabilityError(f"format {name} has a column {taken!r} of its own; rename the feature that is called so")
    counts = np.maximum(corpus.lengths, 1)
    owners = pa.array(np.repeat(np.arange(len(corpus)), counts))
    rows = _hypotheses(corpus, counts)
    columns: dict[str, Any] = {"id": pa.array(map(_clean, corpus.ids), pa.string()).take(owners)}
    for column, values in (("source", corpus.sources), ("group", corpus.groups)):
        if values is not None:
            columns[column] = pa.array(map(_clean, values), pa.string()).take(owners)
    if corpus.references is not None:
        lists = [list(map(_clean, each)) for each in corpus.references]
        columns["references"] = pa.array(lists, pa.list_(pa.string())).take(owners)
    for column, texts in (("text", corpus.texts), ("answer", corpus.answers), ("system", corpus.systems)):
        if texts is not None:
            columns[column] = _texts(texts).take(rows).cast(pa.string())
    if corpus.gains is not None:
        columns["gain"] = pa.array(corpus.gains).take(rows)
    for d, feature in enumerate(corpus.feature_names):
        columns[_clean(feature)] = pa.array(np.ascontiguousarray(corpus.features[:, d])).take(rows)
    if sparse or corpus.sparse is not None:
        columns["sparse"] = _sparse(corpus).take(rows)
    return pa.table(columns)


def _hypotheses(corpus: NBest, counts: Ints) -> Any:
    """The hypothesis of each row, null for a segment without any."""
    import pyarrow as pa

    ends = segments.offsets_of(counts)
    empty = np.zeros(int(ends[-1]), bool)
    empty[ends[:-1][corpus.lengths == 0]] = True
    numbers = np.cumsum(~empty) - 1
    return pa.array(numbers, mask=empty)


def _texts(texts: Texts) -> Any:
    import pyarrow as pa

    packed = texts.compact()
    offsets = np.append(np.zeros(1, np.int64), packed.ends)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(packed.buffer))]
    return pa.Array.from_buffers(pa.large_string(), len(packed), buffers)


def _sparse(corpus: NBest) -> Any:
    import pyarrow as pa

    matrix = corpus.sparse
    if matrix is None:
        nothing = pa.array([], pa.string()), pa.array([], pa.float64())
        return pa.MapArray.from_arrays(pa.array(np.zeros(corpus.hypotheses + 1, np.int32)), *nothing)
    names = pa.array(map(_clean, corpus.sparse_names), pa.string())
    keys = names.take(pa.array(matrix.indices.astype(np.int64)))
    offsets = pa.array(matrix.indptr.astype(np.int32))
    return pa.MapArray.from_arrays(offsets, keys, pa.array(matrix.data.astype(np.float64)))


def _clean(text: str) -> str:
    """The text with '?' for lone surrogates, which UTF-8 cannot hold."""
    return text.encode("utf-8", "replace").decode("utf-8")
