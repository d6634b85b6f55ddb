"""What is half written is removed when the process is told to end."""

from __future__ import annotations

import _thread
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from types import FrameType
from typing import Any

_TOGETHER = 1.0  # seconds in which several are one: they come to a process and to its group


_MOMENT = 0.002  # seconds

Handler = Callable[[int, Any], Any]


def raising(handler: Handler) -> Handler:
    """A signal handler that may raise, but not while Numba takes over what a kernel returns, where it would crash: then
    a moment later."""

    def handled(number: int, frame: Any) -> Any:
        if not _within_numba(frame):
            return handler(number, frame)
        later = threading.Timer(_MOMENT, _thread.interrupt_main, (number,))
        later.daemon = True
        later.start()

    return handled


def _within_numba(frame: FrameType | None) -> bool:
    for _ in range(8):  # it does not call far
        if frame is None:
            return False
        if frame.f_code.co_name == "_numba_unpickle":
            return True
        frame = frame.f_back
    return False


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

    signal.signal(signal.SIGTERM, raising(end))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        if told:  # also where the exception was lost on its way, as in a finaliser
            os.kill(os.getpid(), signal.SIGTERM)
