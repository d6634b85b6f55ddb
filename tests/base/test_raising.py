"""Signal handlers that raise do not do so in the middle of what Numba does."""

from __future__ import annotations

import signal
import time

import pytest

from nbest.base.ending import raising


class ToldError(Exception):
    """What the handler raises."""


def tell(number, frame):
    raise ToldError


def _numba_unpickle(calls):
    """As Numba calls it where it takes over a result; an exception here crashes the process there."""
    inner(calls)
    return "survived"


def inner(calls):
    signal.raise_signal(signal.SIGUSR1)
    calls.append(1)


def test_later():
    before = signal.signal(signal.SIGUSR1, raising(tell))
    calls = []
    try:
        with pytest.raises(ToldError):
            inner(calls)
        assert calls == []
        assert _numba_unpickle(calls) == "survived"
        with pytest.raises(ToldError):
            time.sleep(10)
        assert calls == [1]
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_numba_still_calls_it_so():
    from numba.core import serialize

    assert callable(serialize._numba_unpickle)
