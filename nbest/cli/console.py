"""Messages, tables and progress: everything here goes to stderr, data goes to stdout."""

from __future__ import annotations

import json
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from nbest.base.errors import ConvergenceWarning, shortened, visible
from nbest.base.json_values import json_value
from nbest.compute.executors import current
from nbest.report.page import SCORE, Table
from nbest.report.terminal import show

_PATIENCE = 2.0  # seconds before progress is shown
_BETWEEN = 10.0  # seconds between lines of progress where stderr is no terminal


class Console:
    """Says things on stderr unless quiet, also that kernels are compiled where they may be (`compiling`).

    Tables are plain text when stderr is not a terminal.
    """

    def __init__(self, *, quiet: bool = False, compiling: bool = True) -> None:
        self.quiet = quiet
        if compiling and not quiet:
            _announce_compilation()

    def say(self, message: str) -> None:
        """A line on stderr."""
        if not self.quiet:
            print(visible(shortened(message)), file=sys.stderr, flush=True)

    def warn(self, message: str) -> None:
        """A warning on stderr; shown even when quiet."""
        print(f"warning: {visible(shortened(message))}", file=sys.stderr, flush=True)

    def show(self, table: Table, *, out: bool = False) -> None:
        """A table; `out` puts it on stdout because it is the result."""
        if out or not self.quiet:
            show(table, sys.stdout if out else sys.stderr)

    @contextmanager
    def progress(self, what: str) -> Iterator[Callable[[int, int], None]]:
        """A callback `(done, total)` that shows progress once the work has taken two seconds."""
        bar = _Bar(what) if not self.quiet else None
        try:
            yield bar.update if bar is not None else lambda done, total: None
        finally:
            if bar is not None:
                bar.close()

    @contextmanager
    def convergence(self) -> Iterator[None]:
        """Turns convergence warnings of the library into messages."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ConvergenceWarning)
            yield
        for warning in caught:
            self.warn(str(warning.message))


class Pace:
    """Segments that are done, of as many as a file seems to hold while it is read."""

    def __init__(self, update: Callable[[int, int], Any]) -> None:
        self.update, self.done, self.seen = update, 0, 0
        self.bytes = (1, 1)  # read, of all
        self.lock = threading.Lock()

    def read(self, done: int, total: int) -> None:
        """So many bytes of the file are read."""
        self.bytes = max(done, 1), max(total, 1)

    def segments(self, count: int) -> Callable[[int], None]:
        """What is called with how many more of this many segments are done."""
        with self.lock:
            self.seen += count
        return self._more

    def _more(self, more: int) -> None:
        with self.lock:
            self.done += more
            self.update(self.done, self.seen * self.bytes[1] // self.bytes[0])


class _Bar:
    def __init__(self, what: str) -> None:
        self.what, self.start = what, time.monotonic()
        self.said = self.start
        self.bar: Any = None
        self.task: Any = None
        self.lock = threading.Lock()  # trainers report from several threads

    def update(self, done: int, total: int) -> None:
        with self.lock:
            self._update(done, total)

    def _update(self, done: int, total: int) -> None:
        if not sys.stderr.isatty():
            self._line(done, total)
            return
        if self.bar is None:
            if time.monotonic() - self.start < _PATIENCE or done >= total:
                return
            from rich.console import Console as Rich
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

            columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
            self.bar = Progress(*columns, console=Rich(stderr=True), transient=True)
            self.bar.start()
            self.task = self.bar.add_task(self.what, total=total)
        self.bar.update(self.task, completed=done, total=total, description=self._described())

    def _line(self, done: int, total: int) -> None:
        """In a log file or pipe: a line now and then."""
        now = time.monotonic()
        if now - self.said >= _BETWEEN and done < total:
            print(f"{self._described()}: {done} of {total}", file=sys.stderr, flush=True)
            self.said = now

    def _described(self) -> str:
        """What is done, and by whom where an executor says so."""
        status = getattr(current(), "status", "")
        return f"{self.what} ({status})" if status else self.what

    def close(self) -> None:
        if self.bar is not None:
            self.bar.stop()


@cache
def _announce_compilation() -> None:
    """Say once when Numba has to compile a kernel, so that a first run never looks like a hang."""
    from nbest.compute.plain import HAS_NUMBA

    if not HAS_NUMBA:
        return
    from numba.core import event

    class Listener(event.Listener):
        def on_start(self, happened: Any) -> None:
            say_compiling(quiet=False)

        def on_end(self, happened: Any) -> None:
            pass

    event.register("numba:compile", Listener())


@cache
def say_compiling(*, quiet: bool) -> None:
    """Say once that kernels are compiled."""
    if not quiet:
        print(f"compiling kernels of this command, {_how_often()} ...", file=sys.stderr, flush=True)


def has_compiled() -> bool:
    """Whether that was said, so that seconds have compilation in them."""
    return say_compiling.cache_info().currsize > 0


def _how_often() -> str:
    from nbest.compute import compilation

    if compilation.kept:
        return "once for this installation (nbest warmup compiles all ahead)"
    return "in every run: no folder can be written to keep them; let NUMBA_CACHE_DIR name one"


def print_json(value: Any) -> None:
    """A value as JSON on stdout; what is not finite is null, which JSON can hold."""
    value = json_value(value)
    text = json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(value, indent=2, allow_nan=False)
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def number(value: float) -> str:
    """A score as it is shown."""
    return format(value, SCORE)
