"""Locks of directories, which the system takes back from a process however it ends: a dead one never keeps any."""

from __future__ import annotations

import errno
import os
import socket
import time
from pathlib import Path

from nbest.base.errors import FormatError

try:
    import fcntl
except ImportError:  # pragma: no cover
    fcntl = None  # type: ignore[assignment]


_PAUSE = 0.1  # seconds between two tries
_UNKNOWN = (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS)
"""Errors of file systems without locks."""


class Lock:
    """A lock file: held alone, or together with others. It says who had it alone at last."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> Lock:
        try:
            self._file = open(self.path, "a+", encoding="utf-8")
        except OSError as error:
            raise FormatError(self.path, None, f"cannot be written: {error.strerror}") from None
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def take(self) -> bool:
        """Whether it is held alone now; it never waits. Where the file system knows no locks, anybody may have it."""
        if fcntl is not None:
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                if error.errno not in _UNKNOWN:
                    return False
        self._file.truncate(0)
        self._file.write(f"{os.getpid()} on {socket.gethostname()}\n")
        self._file.flush()
        return True

    def wait(self, seconds: float) -> bool:
        """Whether it is held alone now, after that many seconds at most."""
        end = time.monotonic() + seconds
        while not (taken := self.take()) and time.monotonic() < end:
            time.sleep(_PAUSE)
        return taken

    def share(self) -> None:
        """Hold it together with others, once nobody holds it alone."""
        if fcntl is not None:
            try:
                fcntl.flock(self._file, fcntl.LOCK_SH)
            except OSError as error:
                if error.errno not in _UNKNOWN:
                    raise

    def holder(self) -> str:
        """Who held it alone at last."""
        self._file.seek(0)
        return self._file.readline().strip() or "unknown"
