"""When a reader compiles its kernel: not for files that are read sooner than it is compiled.

Both ways give the same lists, to the bit. A kernel that was compiled before, here or in an earlier run, is always used.
"""

from __future__ import annotations

from typing import Any

from nbest.compute.plain import HAS_NUMBA

thrifty = True
"""Whether small files are read without a kernel; `nbest warmup` switches it off, to have all of them compiled."""


class Plainly:
    """How many bytes are read plainly by this process, until the kernel is worth its compilation."""

    def __init__(self, limit: int) -> None:
        self.limit, self.read = limit, 0

    def suits(self, kernel: Any, size: int) -> bool:
        """Whether the next bytes are read plainly."""
        if not HAS_NUMBA:
            return True
        from nbest.compute.kernel_cache import is_kept  # with Numba, which who reads a stream does not need

        if not thrifty or getattr(kernel, "signatures", None) or is_kept(kernel):
            return False
        self.read += size
        return self.read <= self.limit
