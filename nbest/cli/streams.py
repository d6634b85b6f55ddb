"""Standard output and error as they may come: closed, in any encoding, full; and what is said when a command fails."""

from __future__ import annotations

import errno
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from nbest.base.errors import FormatWarning, NbestError, shortened, visible

_OUTPUT = "standard output"


def put(text: str) -> None:
    """A line of a result that people read, on stdout."""
    print(visible(text))


def complain(message: str) -> None:
    """One line on stderr: what is wrong, and what to do."""
    print(f"nbest: {visible(shortened(message))}", file=sys.stderr)


@contextmanager
def warning_of_files() -> Iterator[None]:
    """What readers leave out is one line on stderr each, also when quiet; other warnings are shown as ever."""
    with warnings.catch_warnings():
        warnings.simplefilter("default", FormatWarning)
        others = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *more: Any) -> None:
            if issubclass(category, FormatWarning):
                print(f"warning: {visible(shortened(str(message)))}", file=sys.stderr, flush=True)
            else:
                others(message, category, *more)

        warnings.showwarning = show  # type: ignore[assignment]
        yield


def foreseen(error: Exception) -> str | None:
    """What to say of an error that is none of nbest's making; None for one that nobody has foreseen."""
    if isinstance(error, NbestError):
        return str(error)
    if isinstance(error, MemoryError) or _lacks_memory(error):
        return "not enough memory for this; take smaller lists or fewer features, or allow more (ulimit -v)"
    if isinstance(error, OSError):  # a full disk, a name too long
        return f"{error.filename or _OUTPUT}: {error.strerror or error}"
    if isinstance(error, UnicodeEncodeError):
        return f"{_OUTPUT} or a file cannot hold {error.object[error.start : error.end][:20]!r}: {error.reason}"
    if isinstance(error, RecursionError):
        return "something in the input is nested too deeply"
    return None


def _lacks_memory(error: Exception) -> bool:
    """Whether a library or a thread could not be had for lack of memory."""
    signs = ("failed to map segment", "Cannot allocate memory", "cannot allocate memory", "can't start new thread")
    return isinstance(error, ImportError | RuntimeError | OSError) and any(sign in str(error) for sign in signs)


def make_ready() -> None:
    """Streams that take any text; those that were closed (`>&-`) complain when something is written, or swallow it."""
    for number in (0, 1, 2):  # or the next file that is opened would take the number, and get what is printed
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    if sys.stdout is None:
        sys.stdout = _Closed()
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def give_up_output() -> None:
    """Let the interpreter end in silence when what is left of the output cannot be written."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


class _Closed:
    """Standard output that was closed: nothing can be written to it."""

    encoding = "utf-8"

    def write(self, text: Any) -> int:
        raise OSError(errno.EBADF, "cannot be written: it is closed", _OUTPUT)

    @property
    def buffer(self) -> _Closed:
        return self

    def flush(self) -> None:
        """Nothing was written."""

    def isatty(self) -> bool:
        """Never a terminal."""
        return False
