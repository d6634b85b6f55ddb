"""Four numbers at a time inside of kernels: see `numba_lanes`."""

from __future__ import annotations

from nbest.compute.plain import HAS_NUMBA

if HAS_NUMBA:
    from nbest.compute.numba_lanes import lane, load, spread, store
else:
    from nbest.compute.plain import lane, load, spread, store  # type: ignore[assignment]

WIDTH = 4

__all__ = ["WIDTH", "lane", "load", "padded", "spread", "store"]


def padded(size: int) -> int:
    """The next multiple of the width."""
    return -(-size // WIDTH) * WIDTH
