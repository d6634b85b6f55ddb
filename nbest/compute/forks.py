"""Processes that share what is here: loops of Python side by side, without a fight over the interpreter's lock.

A forked process has all arrays of this one, so nothing is sent to it, and what it finds comes back through a pipe. What
it writes to arrays in memory is its own; room of mapped lists (`nbest.base.mapped`) that was made before is shared, and
not to be written to. Where processes cannot be forked safely it is threads.
"""

from __future__ import annotations

import ctypes
import gc
import os
import pickle
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from io import StringIO
from selectors import EVENT_READ, DefaultSelector
from signal import SIGKILL
from typing import Any, NoReturn, TypeVar

from nbest.compute import parallel
from nbest.compute.executors import Serial, Threads, current
from nbest.compute.plain import HAS_NUMBA

T = TypeVar("T")
R = TypeVar("R")

_END_WITH_PARENT = 1  # PR_SET_PDEATHSIG of Linux
_PLACE = 4  # bytes of a number in a pipe
_PIPE = 4096 // _PLACE  # items that any pipe has room for


def apart(
    function: Callable[[T], R],
    items: Iterable[T],
    *,
    most: int | None = None,
    told: Callable[[], Any] | None = None,
    forking: bool = True,
) -> list[R]:
    """`[function(x) for x in items]`, in order, on several processes (at most `most`), of which this is one.

    On threads where no process can be forked, or none is to be (accelerators do not survive it). `told` is called here,
    after each item. What a function leaves in objects may stay in its process: it has to return all that is wanted,
    small and such that it can be pickled. An item whose process is lost is done again here.
    """
    items = list(items)
    free = parallel.thread_count(None)
    workers = min(free, len(items), most or free)
    if workers > 1 and forking and can_fork() and len(items) <= _PIPE:
        return parallel.sharing(free // workers, _Flock(function, items, workers - 1, told).run)

    def one(item: T) -> R:
        result = function(item)
        if told is not None:
            told()
        return result

    return parallel.each(one, items, workers)


@contextmanager
def meanwhile(jobs: Sequence[Callable[[], Any]]) -> Iterator[None]:
    """Do jobs in other processes, as many as there are threads, while the caller goes on; with it they end.

    For what jobs leave on disk: nothing comes back, errors neither. Where no process can be forked nothing is done.
    """
    workers = min(parallel.thread_count(None), len(jobs))
    if parallel.thread_count(None) < 2 or not can_fork() or len(jobs) > _PIPE:
        yield
        return
    todo = _queue(len(jobs))

    def answers() -> Iterator[bytes]:
        for place in _places(todo):
            with suppress(Exception):
                jobs[place]()
            yield b""

    children: list[_Child] = []
    try:
        with suppress(OSError):
            for _ in range(workers):
                children.append(_Child(answers))
        yield
    finally:
        os.close(todo)
        for child in children:
            child.kill()


def can_fork() -> bool:
    """Whether passes run on threads of this process, and no other thread can hold a lock that a copy would wait for.

    Our own threads hold none between passes. On other systems than Linux libraries break in forked processes.
    """
    here, ours = threading.current_thread(), type(current()) in (Threads, Serial)
    alone = all(thread.daemon for thread in threading.enumerate() if thread is not here)
    return HAS_NUMBA and sys.platform == "linux" and ours and alone and here is threading.main_thread()


def _queue(size: int) -> int:
    """A pipe with the numbers from 0 on, which processes take one by one."""
    todo, end = os.pipe()
    os.write(end, b"".join(place.to_bytes(_PLACE, "big") for place in range(size)))
    os.close(end)
    return todo


def _places(todo: int) -> Iterator[int]:
    while place := os.read(todo, _PLACE):
        yield int.from_bytes(place, "big")


class _Flock:
    """Processes that take the next item, each for itself, until none is left."""

    def __init__(
        self, function: Callable[[Any], Any], items: list[Any], children: int, told: Callable[[], Any] | None
    ) -> None:
        self.function, self.items, self.children, self.told = function, items, children, told
        self.results: dict[int, Any] = {}
        self.running: dict[int, _Child] = {}  # by pipe

    def run(self) -> list[Any]:
        self.todo = _queue(len(self.items))
        try:
            with DefaultSelector() as self.selector:
                with suppress(OSError):  # no more processes, or no memory for them: those that there are do it
                    for _ in range(self.children):
                        child = _Child(self._answers)
                        self.running[child.pipe] = child
                        self.selector.register(child.pipe, EVENT_READ)
                for place in _places(self.todo):
                    self._take(place, self.function(self.items[place]))
                    self._listen(0.0)
                while self.running:
                    self._listen(None)
            for place in sorted(set(range(len(self.items))) - self.results.keys()):
                self._take(place, self.function(self.items[place]))  # a process was lost with it
            return [self.results[place] for place in range(len(self.items))]
        finally:
            os.close(self.todo)
            for child in self.running.values():
                child.kill()

    def _answers(self) -> Iterator[bytes]:
        """What a child has to say: of each item that it takes its place, result, exception and warnings."""
        for place in _places(self.todo):
            result, error = None, None
            with warnings.catch_warnings(record=True) as caught:
                try:
                    result = self.function(self.items[place])
                except Exception as raised:
                    error = raised
            seen = [(each.message, each.category, each.filename, each.lineno) for each in caught]
            answer = pickle.dumps((place, result, error, seen))
            if error is not None:
                pickle.loads(answer)  # fails here where it would there: this process ends, and the item is done again
            yield answer

    def _listen(self, wait: float | None) -> None:
        """Take what the children have said."""
        for key, _ in self.selector.select(wait):
            child = self.running[key.fd]
            for answer in child.heard():
                place, result, error, seen = pickle.loads(answer)
                for warning in seen:
                    warnings.warn_explicit(*warning)
                if error is not None:
                    raise error
                self._take(place, result)
            if child.ended:
                self.selector.unregister(key.fd)
                self.running.pop(key.fd).bury()

    def _take(self, place: int, result: Any) -> None:
        self.results[place] = result
        if self.told is not None:
            self.told()


class _Child:
    """A forked process and the pipe that it writes its answers to."""

    def __init__(self, answers: Callable[[], Iterator[bytes]]) -> None:
        from numba.core.compiler_lock import global_compiler_lock

        self.pipe, end = os.pipe()
        with warnings.catch_warnings(), global_compiler_lock:  # held by none of the threads that the copy will not have
            warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads: see `can_fork`
            try:
                self.process = os.fork()
            except OSError:
                os.close(self.pipe)
                os.close(end)
                raise
        if self.process == 0:
            _say(end, answers)
        os.close(end)
        self.data, self.ended = b"", False

    def heard(self) -> Iterator[bytes]:
        """Answers that have come as a whole; it waits where nothing has come at all."""
        more = os.read(self.pipe, 1 << 20)
        self.data, self.ended = self.data + more, not more
        while len(self.data) >= 8 and len(self.data) >= 8 + (size := int.from_bytes(self.data[:8], "big")):
            yield self.data[8 : 8 + size]
            self.data = self.data[8 + size :]

    def kill(self) -> None:
        """End it."""
        with suppress(ProcessLookupError):
            os.kill(self.process, SIGKILL)
        self.bury()

    def bury(self) -> None:
        """Wait for its end, if nobody else has: where SIGCHLD is ignored the system does."""
        os.close(self.pipe)
        with suppress(ChildProcessError):
            os.waitpid(self.process, 0)


def _say(pipe: int, answers: Callable[[], Iterator[bytes]]) -> NoReturn:
    """What a forked process does. It says nothing on the terminal, whose locks another thread may have held."""
    try:
        ctypes.CDLL(None).prctl(_END_WITH_PARENT, SIGKILL)
        gc.freeze()  # what was there before is not looked through, so it stays shared
        sys.stdout = sys.stderr = StringIO()
        for answer in answers():
            data = memoryview(len(answer).to_bytes(8, "big") + answer)
            while data:
                data = data[os.write(pipe, data) :]
    finally:
        os._exit(0)  # whatever happened: it is not for this process to clean up what the other one has
