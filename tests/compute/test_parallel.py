"""Threads change neither order nor results; every segment is handled once."""

import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbest.base.errors import ParameterError
from nbest.compute.parallel import counter, each, over_ranges, thread_count
from nbest.compute.segments import offsets_of


@settings(deadline=None, max_examples=100)
@given(st.lists(st.integers(0, 5), max_size=12), st.integers(1, 5))
def test_ranges_cover_every_segment_once(lengths, threads):
    seen, lock = [], threading.Lock()

    def note(low, high):
        with lock:
            seen.extend(range(low, high))

    over_ranges(note, offsets_of(np.array(lengths, np.int64)), threads)
    assert sorted(seen) == list(range(len(lengths)))


@pytest.mark.parametrize("threads", [None, 1, 2, 7])
def test_each_keeps_order(threads):
    assert each(lambda x: x * x, range(20), threads) == [x * x for x in range(20)]
    assert each(lambda x: x, [], threads) == []


def test_exceptions_come_through():
    with pytest.raises(ZeroDivisionError):
        each(lambda x: 1 // x, [1, 0, 2], 2)


def test_thread_count():
    assert thread_count(3) == 3
    assert thread_count(None) >= 1
    for bad in (0, -1):
        with pytest.raises(ParameterError, match=f"'threads' must be >= 1, got {bad}"):
            thread_count(bad)


def test_the_first_exception_comes_through_and_little_is_begun_after_it():
    begun = []

    def fail(x):
        begun.append(x)
        raise KeyError(x)

    with pytest.raises(KeyError, match="0"):
        each(fail, range(1000), 4)
    assert len(begun) <= 8
    assert each(lambda x: x, range(3), 4) == [0, 1, 2]


def test_a_counter_tells_every_number_once_and_in_order():
    told = []
    tell = counter(lambda done, total: (time.sleep(0.001), told.append((done, total))), 40)
    each(lambda _: tell(1), range(40), 4)
    assert told == [(done, 40) for done in range(1, 41)]
    counter(None, 3)(1)  # nobody is told
