"""Parquet files with one hypothesis a row (`tables.py` says which columns). Needs pyarrow, the extra `arrow`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nbest.formats.lists.table_files import table_format

BUFFER = 1 << 20
"""Bytes of a column that are read at once."""


def _batches(file: Any, size: int) -> Iterator[tuple[Any, int, int]]:
    from pyarrow.parquet import ParquetFile

    table, done = ParquetFile(file, pre_buffer=False, buffer_size=BUFFER), 0  # else all columns are read ahead
    for batch in table.iter_batches(size):
        done += batch.num_rows
        yield batch, done, table.metadata.num_rows


def _writer(sink: Any, schema: Any) -> Any:
    from pyarrow.parquet import ParquetWriter

    return ParquetWriter(sink, schema, compression="zstd")


FORMAT = table_format(
    "parquet",
    b"PAR1",
    _batches,
    _writer,
    suffixes=(".parquet", ".pq"),
    summary="a Parquet table, one hypothesis a row",
)
