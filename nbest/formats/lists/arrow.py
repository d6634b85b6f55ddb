"""Arrow files (Feather) with one hypothesis a row (`tables.py` says which columns). Needs pyarrow, the extra `arrow`.

They are written without compression, so that other programs can map them into memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nbest.formats.lists.table_files import table_format


def _batches(file: Any, size: int) -> Iterator[tuple[Any, int, int]]:
    from pyarrow import ipc

    table = ipc.open_file(file)
    for number in range(table.num_record_batches):
        yield table.get_batch(number), number + 1, table.num_record_batches


def _writer(sink: Any, schema: Any) -> Any:
    from pyarrow import ipc

    return ipc.new_file(sink, schema)


FORMAT = table_format(
    "arrow",
    b"ARROW1",
    _batches,
    _writer,
    mapped=True,
    suffixes=(".arrow", ".feather"),
    summary="an Arrow table (Feather), one hypothesis a row",
)
