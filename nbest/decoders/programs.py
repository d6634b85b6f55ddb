"""Programs that are run with all that they start, and that end with the process that runs them, however it ends."""

from __future__ import annotations

import os
import platform
import shutil
import signal
import subprocess
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from nbest.base.errors import DecoderError

_GUARDED = 'exec 3<&0 </dev/null; ( ( read end <&3; kill -9 -$$ ) >/dev/null 2>&1 & ); exec 3<&-; exec "$@"'
"""A shell that becomes the program. Beside it waits a process until nobody holds the other end of the pipe that is
standard input, and ends the group of both then: so they go when we are killed, at whatever moment. It is nobody's
child: the program does not wait for it, and who ends all children of a worker (Ray does) does not end it."""


class RunError(Exception):
    """A run that may be tried again."""


class Programs:
    """Programs that run side by side, on several threads, and can be ended together.

    reason   why they were ended, if they were
    """

    def __init__(self) -> None:
        self.reason: BaseException | None = None
        self._ended = threading.Event()
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[bytes]] = set()

    def run(
        self, words: Sequence[str], folder: Path, out: IO[bytes], errors: IO[bytes], limit: float | None = None
    ) -> int:
        """Exit code of a program that runs in a folder, in a process group of its own, which ends with it."""
        _check(words[0], folder)
        watched, held = os.pipe()
        try:
            process = self._begun(words, folder, watched, out, errors)
            try:
                return process.wait(limit)
            except subprocess.TimeoutExpired:
                raise RunError(f"it took more than {limit:g} seconds") from None
            finally:
                with self._lock:
                    self._running.discard(process)
                    _kill(process)
                process.wait()
        finally:
            os.close(held)

    def _begun(
        self, words: Sequence[str], folder: Path, watched: int, out: IO[bytes], errors: IO[bytes]
    ) -> subprocess.Popen[bytes]:
        try:
            with self._lock:
                self._go_on()
                command = ["/bin/sh", "-c", _GUARDED, "sh", *words]
                process = subprocess.Popen(
                    command, stdin=watched, stdout=out, stderr=errors, cwd=folder, start_new_session=True
                )
                self._running.add(process)
                return process
        except OSError as error:
            raise DecoderError(f"the decoder {words[0]!r} cannot be started: {error.strerror}") from None
        finally:
            os.close(watched)

    def pause(self, seconds: float) -> None:
        """Wait, unless programs are ended."""
        self._ended.wait(seconds)
        self._go_on()

    def _go_on(self) -> None:
        if self._ended.is_set():
            raise DecoderError("the decoder was ended")

    def end(self, reason: BaseException) -> None:
        """End all programs, and begin no more."""
        with self._lock:
            self.reason = self.reason or reason
            self._ended.set()
            for process in self._running:
                _kill(process)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End what is left of a program and of all it started."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def _check(program: str, folder: Path) -> None:
    """Complain of a program that is not there: a shell would only say so on standard error."""
    if not folder.is_dir():
        raise DecoderError(
            f"there is no folder {folder} on {platform.node()}, where the decoder is to run; workers need the same "
            "paths as this machine, as on a shared file system"
        )
    place = folder / program
    found = os.access(place, os.X_OK) and place.is_file() if os.sep in program else shutil.which(program) is not None
    if not found:
        reason = "Permission denied" if os.sep in program and place.exists() else "No such file or directory"
        raise DecoderError(f"the decoder {program!r} cannot be started: {reason}")
