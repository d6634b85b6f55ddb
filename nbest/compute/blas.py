"""How many threads the BLAS has: one, where results are to be the same whatever runs beside.

The sums of a product depend on the number of its threads in their last bits. On vectors and narrow blocks, which are
all that is multiplied here, threads of the BLAS only wait for each other.
"""

from __future__ import annotations

import threading
from typing import Any


class _OneBlasThread:
    """While anybody is inside, on any thread, the BLAS has one thread."""

    def __init__(self) -> None:
        self._lock, self._users = threading.Lock(), 0
        self._limit: Any = None

    def __enter__(self) -> None:
        from threadpoolctl import threadpool_limits

        with self._lock:
            self._users += 1
            if self._users == 1:
                self._limit = threadpool_limits(limits=1, user_api="blas")

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0:
                self._limit.restore_original_limits()


ONE_BLAS_THREAD = _OneBlasThread()
"""`with ONE_BLAS_THREAD:`"""
