"""How many threads the BLAS has: one, where results are to be the same whatever runs beside.

The sums of a product depend on the number of its threads in their last bits. On vectors and narrow blocks, which are
all that is multiplied here, threads of the BLAS only wait for each other.
"""

from __future__ import annotations

import sys
import threading
from functools import cache
from importlib.machinery import ExtensionFileLoader, PathFinder
from importlib.util import module_from_spec
from pathlib import Path
from typing import Any


@cache
def scipy_part(name: str) -> Any:
    """A compiled module of SciPy by itself: packages that it is in are not imported. None where there is none."""
    import scipy

    *folders, _ = name.split(".")
    spec = PathFinder.find_spec(f"scipy.{name}", [str(Path(scipy.__file__).parent.joinpath(*folders))])
    if spec is None or not isinstance(spec.loader, ExtensionFileLoader):
        return None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class _OneBlasThread:
    """While anybody is inside, on any thread, the BLAS has one thread."""

    def __init__(self) -> None:
        self._lock, self._users = threading.Lock(), 0
        self._limit: Any = None
        self._found: Any = None
        self._modules = 0

    def __enter__(self) -> None:
        with self._lock:
            self._users += 1
            if self._users == 1:
                self._limit = self._libraries().limit(limits=1, user_api="blas")

    def _libraries(self) -> Any:
        """What has threads, looked for only when modules have been imported since: it takes milliseconds."""
        from threadpoolctl import ThreadpoolController

        scipy_part("optimize._lbfgsb")  # SciPy has a BLAS of its own, which must be there to be told
        if self._found is None or len(sys.modules) != self._modules:
            self._modules = len(sys.modules)
            self._found = ThreadpoolController()
        return self._found

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0:
                self._limit.restore_original_limits()


ONE_BLAS_THREAD = _OneBlasThread()
"""`with ONE_BLAS_THREAD:`"""
