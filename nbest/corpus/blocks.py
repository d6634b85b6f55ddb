"""Where a corpus is cut into shards."""

from __future__ import annotations

BLOCK = 4096
"""Segments of a shard. Sums over a corpus are made shard by shard, so it must not depend on who runs the passes; large
enough that most development sets are one shard (with exactly the sums of no shards at all), and that a pass over one
takes far longer than handing it out; small enough that a worker holds one with thousands of hypotheses a segment."""


def blocks(count: int, block: int | None = None) -> list[tuple[int, int]]:
    """Ranges of `block` segments (default `BLOCK`) that cover `count`; the last may be shorter, a single one empty."""
    block = BLOCK if block is None else block
    return [(low, min(low + block, count)) for low in range(0, max(count, 1), block)]
