"""When a reader compiles its kernel: when as many bytes were read without it as take as long as compiling it.

So who reads a little never waits for the compiler, and who goes on reading waits once. Both ways give the same lists,
to the bit. A kernel that was compiled before, here or in an earlier run, is always used.
"""

from __future__ import annotations

from typing import Any

from nbest.compute.plain import HAS_NUMBA

thrifty = True
"""Whether small files are read without a kernel; `nbest warmup` switches it off, to have all of them compiled."""

_FILES = 64  # times at most that the sum on disk is written before the limit is reached


class Plainly:
    """How many bytes are read plainly, by this process and earlier ones, until the kernel is worth its compilation."""

    def __init__(self, limit: int) -> None:
        self.limit, self.unsaid = limit, 0

    def suits(self, kernel: Any, size: int) -> bool:
        """Whether the next bytes are read plainly."""
        if not HAS_NUMBA:
            return True
        from nbest.compute.kernel_cache import count, is_kept  # with Numba, which who reads a stream does not need

        if not thrifty or getattr(kernel, "signatures", None) or is_kept(kernel):
            return False
        self.unsaid += size
        if self.unsaid * _FILES < self.limit:
            return True
        said, self.unsaid = self.unsaid, 0
        return count(kernel, said) <= self.limit
