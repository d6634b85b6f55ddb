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
from typing import IO, Any

from nbest.base.errors import DecoderError

_WAITS = 'read go && exec "$@" </dev/null'
"""A shell that becomes the program once it is told to, and ends where nobody is left to tell it."""
_GUARDS = 'read end; kill -9 -"$1"'
"""A shell that waits until nobody holds the other end of its input, and ends the group of a process then: so the
program goes when we are killed, at whatever moment, with all that it started."""


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
        process, guard = self._begun(words, folder, out, errors), None
        try:
            guard = _shell(_GUARDS, [str(process.pid)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            _tell(process, b"go\n")
            return process.wait(limit)
        except subprocess.TimeoutExpired:
            raise RunError(f"it took more than {limit:g} seconds") from None
        finally:
            with self._lock:
                self._running.discard(process)
                _kill(process)
            process.wait()
            _tell(process, b"")
            if guard is not None:
                guard.kill()
                guard.communicate()

    def _begun(self, words: Sequence[str], folder: Path, out: IO[bytes], errors: IO[bytes]) -> subprocess.Popen[bytes]:
        """A process that waits to become the program."""
        with self._lock:
            self._go_on()
            process = _shell(_WAITS, words, stdout=out, stderr=errors, cwd=folder)
            self._running.add(process)
            return process

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


def _shell(script: str, words: Sequence[str], **how: Any) -> subprocess.Popen[bytes]:
    """A shell in a session of its own, whose input we hold the other end of."""
    try:
        command = ["/bin/sh", "-c", script, "sh", *words]
        return subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True, **how)
    except OSError as error:
        raise DecoderError(f"the decoder {words[0]!r} cannot be started: {error.strerror}") from None


def _tell(process: subprocess.Popen[bytes], words: bytes) -> None:
    """Say something to a process, and no more, if it still listens."""
    assert process.stdin is not None
    with suppress(BrokenPipeError):
        if words:
            process.stdin.write(words)
        process.stdin.close()


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
