"""Threads change neither order nor results; every segment is handled once."""

import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbest.base.errors import ParameterError
from nbest.compute.parallel import counter, each, over_ranges, sharing, thread_count, worth
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


def test_little_work_is_done_by_one_thread():
    assert worth(1e3, 8) == 1
    assert worth(1e9, 8) == 8
    counts = [worth(work, 8) for work in np.geomspace(1e3, 1e9, 50)]
    assert counts == sorted(counts)
    assert 1 < worth(2e6, 8) < 8
    ranges = []
    for cost in (1.0, 1e9):
        over_ranges(lambda *ends: ranges.append(ends), np.arange(0, 900, 100), 4, cost=cost)
    assert ranges[0] == (0, 8)
    assert sorted(ranges[1:]) == [(0, 2), (2, 4), (4, 6), (6, 8)]


def test_a_share_of_the_threads():
    assert sharing(2, lambda: thread_count(8)) == 2
    assert thread_count(8) == 8


def test_the_caller_works_too_and_threads_are_kept():
    def threads():
        ready = threading.Barrier(3)
        return {each_id for _, each_id in each(lambda _: (ready.wait(30), threading.get_ident()), range(3), 3)}

    first = threads()
    assert threading.get_ident() in first
    assert len(first) == 3
    assert threads() == first
