"""What a worker of `nbest.Ray` does: it holds shards and runs functions on them."""

from __future__ import annotations

import os
import pickle
import platform
import socket
import traceback
import warnings
from collections.abc import Callable
from contextvars import ContextVar
from functools import partial
from importlib.metadata import version
from threading import Lock
from typing import Any, NamedTuple

from nbest.base.errors import NbestError, WorkerError
from nbest.base.mapped import ElsewhereError
from nbest.base.version import VERSION
from nbest.compute.blas import ONE_BLAS_THREAD
from nbest.compute.executors import Threads, current, using
from nbest.compute.messages import Message, unpacked

Seen = tuple[Any, type[Warning], str, int]
_caught: ContextVar[list[Seen] | None] = ContextVar("caught", default=None)  # warnings of the item at work


class Item(NamedTuple):
    """What a function is to be called with: a message, or what a worker has by this key."""

    key: str | None
    message: Message | None


class Outcome(NamedTuple):
    """What became of an item."""

    kind: str  # done, failed, or what has to be sent again: missing, elsewhere
    value: Any = None
    warnings: tuple[Seen, ...] = ()


def versions() -> dict[str, str]:
    """What results may depend on, and pickles do."""
    packages = {name: version(name) for name in ("numpy", "scipy", "numba")}
    return {"nbest": VERSION, "python": platform.python_version(), **packages}


class Worker:
    """An actor. It may run several calls at once, on threads that share its cores."""

    def __init__(self, cores: int) -> None:
        self.cores, self.running = cores, 0
        self.shards: dict[str, Any] = {}
        self.lock = Lock()
        ONE_BLAS_THREAD.__enter__()  # for good: results must not depend on who computes them
        warnings.simplefilter("always")
        warnings.showwarning = _note  # type: ignore[assignment]

    def hello(self) -> dict[str, Any]:
        """Who it is, and how many shards it holds."""
        own = {"host": socket.gethostname(), "process": os.getpid(), "shards": len(self.shards)}
        return {**own, "versions": versions()}

    def work(self, function: Message, items: list[Item], forget: list[str]) -> bytes:
        """The outcomes of a function on all items, pickled; shards of these keys are not met again."""
        for key in forget:
            self.shards.pop(key, None)
        with self.lock:
            self.running += 1
            cores = max(1, self.cores // self.running)
        try:
            with using(Threads(cores)):
                return self._outcomes(function, items)
        finally:
            with self.lock:
                self.running -= 1

    def _outcomes(self, function: Message, items: list[Item]) -> bytes:
        try:
            call = _loaded(function)
        except ElsewhereError as error:
            return pickle.dumps([Outcome("elsewhere", str(error))] * len(items))
        except WorkerError as error:
            return pickle.dumps([Outcome("failed", error)] * len(items))
        outcomes = current().map(partial(self._outcome, call), items)
        try:
            return pickle.dumps(outcomes, protocol=5)
        except Exception as error:
            failed = TypeError(f"what {call!r} returns cannot be sent back: {error}")
            return pickle.dumps([Outcome("failed", failed)] * len(items))

    def _outcome(self, call: Callable[[Any], Any], item: Item) -> Outcome:
        seen: list[Seen] = []
        before = _caught.set(seen)
        try:
            return Outcome("done", call(self._held(item)), tuple(seen))
        except _MissingError:
            return Outcome("missing")
        except ElsewhereError as error:
            return Outcome("elsewhere", str(error))
        except Exception as error:
            return Outcome("failed", _sendable(error), tuple(seen))
        finally:
            _caught.reset(before)

    def _held(self, item: Item) -> Any:
        """The shard of an item: the one that was met before, if any was, with what is left in its room."""
        if item.key is None:
            assert item.message is not None
            return _loaded(item.message)
        found = self.shards.get(item.key)  # asked once: another call may be told to forget it
        if found is not None:
            return found
        if item.message is None:
            raise _MissingError
        return self.shards.setdefault(item.key, _loaded(item.message))


class _MissingError(Exception):
    """A worker does not have what it is believed to hold."""


def _loaded(message: Message) -> Any:
    """What a message stands for; an error that says what workers need where they cannot make it."""
    try:
        return unpacked(message, _get)
    except ElsewhereError:
        raise
    except Exception as error:
        place = f"worker {os.getpid()} on {socket.gethostname()}"
        raise WorkerError(
            f"{place} cannot load what it is sent: {error}; it needs the same packages as this process"
        ) from error


def _get(place: Any) -> Any:
    import ray

    return ray.get(place)


def _sendable(error: Exception) -> Exception:
    """An exception as the caller can raise it, with where it was raised unless it was foreseen."""
    if not isinstance(error, NbestError):
        error.add_note("on a worker:\n" + "".join(traceback.format_exception(error)))
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__} on a worker: {error}")
    return error


def _note(message: Warning | str, category: type[Warning], filename: str, lineno: int, *more: Any) -> None:
    """Keep a warning for the caller; what concerns no item is nobody's."""
    seen = _caught.get()
    if seen is not None:
        seen.append((message, category, filename, lineno))
