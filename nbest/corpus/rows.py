"""Rows that are made shard by shard, or block by block, and put one below the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from nbest.base.mapped import room, root_of
from nbest.base.types import Ints
from nbest.compute import parallel
from nbest.compute.executors import current
from nbest.corpus.blocks import blocks


def stacked(function: Callable[[Any], Any], parts: Sequence[Any], count: int, of: Any) -> Any:
    """The rows that a function makes of every part, in a pass; where `of` is mapped they go to disk as they come."""
    if len(parts) == 1 or root_of(of) is None:
        found = current().map(function, parts)
        return found[0] if len(found) == 1 else np.concatenate(found)
    out, at, some = None, 0, 2 * current().workers
    for low in range(0, len(parts), some):
        for rows in current().map(function, parts[low : low + some]):
            out = room((count, *rows.shape[1:]), rows.dtype, of) if out is None else out
            out[at : at + len(rows)] = rows
            at += len(rows)
    return out


def row_by_row(function: Callable[[Any], Any], rows: Any, offsets: Ints) -> Any:
    """[H] what a function gives for each row, a block of segments at a time; on disk where the rows are mapped."""
    cuts = blocks(len(offsets) - 1)
    if len(cuts) == 1:
        return function(rows)
    out = room(len(rows), np.float64, rows)

    def fill(ends: tuple[int, int]) -> None:
        low, high = offsets[list(ends)]
        out[low:high] = function(rows[low:high])

    parallel.each(fill, cuts)
    return out
