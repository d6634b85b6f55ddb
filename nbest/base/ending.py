"""What is half written is removed when the process is told to end."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Any

_TOGETHER = 1.0  # seconds in which several are one: they come to a process and to its group


class _EndedError(BaseException):
    """SIGTERM has come; nobody is to catch it but those who clean up."""


@contextmanager
def cleaning_up() -> Iterator[None]:
    """While something is written inside, SIGTERM first lets those inside clean up as after any exception; then the
    process ends by it, as it would have. Where the program itself does something about SIGTERM, that is left alone.
    """
    ours = threading.current_thread() is threading.main_thread()
    if not ours or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return

    told: list[float] = []

    def end(number: int, frame: Any) -> None:
        if not told or monotonic() > told[-1] + _TOGETHER:
            told.append(monotonic())
            raise _EndedError

    signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        if told:  # also where the exception was lost on its way, as in a finaliser
            os.kill(os.getpid(), signal.SIGTERM)
