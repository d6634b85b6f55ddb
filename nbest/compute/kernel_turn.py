"""One process at a time compiles a kernel: the others wait, and load what it kept.

Processes that begin together, as those of a cluster or of `nbest warmup`, want the same kernels at the same time. Two
that keep a kernel at once may also name their files alike: Numba looks for a free name without a lock.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # where there are no such locks everybody compiles
    fcntl = None  # type: ignore[assignment]

_PATIENCE = 120.0  # seconds; no kernel takes as long, so who has the lock has been stopped
_GLANCE = 0.02


class Turn:
    """The right to compile a kernel, by a locked file that is there only meanwhile; it ends with the process, too.

    Taken under Numba's lock of a process, for a kernel before those that it calls, so nobody waits in a circle.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: int | None = None

    def take(self) -> None:
        """Wait until nobody else has it; where no file can be locked, or after minutes, go on without."""
        end = time.monotonic() + _PATIENCE
        while self._file is None and fcntl is not None and time.monotonic() < end:
            try:
                self._file = self._locked()
            except OSError:
                return
            if self._file is None:
                time.sleep(_GLANCE)

    def _locked(self) -> int | None:
        """The locked file; None where another process has it or has just removed it."""
        file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(file), os.stat(self._path)):
                return file
        except (BlockingIOError, FileNotFoundError):
            pass
        except OSError:
            os.close(file)
            raise
        os.close(file)
        return None

    def give_back(self) -> None:
        """Let the next one have it."""
        if self._file is not None:
            with suppress(OSError):
                self._path.unlink()
            os.close(self._file)
            self._file = None
