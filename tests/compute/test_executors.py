"""Executors keep the contract, and the check rejects those that break it."""

import os
import threading
import time
import warnings

import numpy as np
import pytest

from nbest.base.errors import ParameterError
from nbest.compute.executors import EXECUTORS, HeldShard, Serial, Threads, Told, current, executor_of, new_key, using
from nbest.compute.parallel import each, thread_count
from nbest.testing import check_executor
from tests.compute.elsewhere import Elsewhere, copied


@pytest.mark.parametrize("name", [name for name in EXECUTORS if name != "ray"])  # which has tests of its own
def test_contract(name):
    kind = EXECUTORS[name]
    check_executor(lambda workers: kind(workers) if kind is Threads else kind())


def test_workers_that_share_nothing():
    check_executor(Elsewhere)


class Unordered(Threads):
    def map(self, function, shards, told=None):
        return super().map(function, shards[::-1], told)


class Silent(Threads):
    def map(self, function, shards, told=None):
        try:
            return super().map(function, shards, told)
        except ZeroDivisionError:
            return []


class Forgetful(Elsewhere):
    """Sends shards anew for every pass."""

    def map(self, function, shards, told=None):
        self.kept.clear()
        return super().map(function, shards, told)


class OneRoom(Threads):
    """All shards share what one leaves."""

    def map(self, function, shards, told=None):
        for shard in shards[1:]:
            shard.room = shards[0].room
        return super().map(function, shards, told)


class Rounding(Threads):
    def map(self, function, shards, told=None):
        found = super().map(function, shards, told)
        return [x * (1 + 1e-15) if isinstance(x, np.ndarray) else x for x in found]


class Sleeper(Threads):
    def __init__(self, workers):
        super().__init__(workers)
        self.threads = 0


class Secretive(Threads):
    """Tells nobody how much is done."""

    def map(self, function, shards, told=None):
        return super().map(function, shards)


REASONS = {
    Secretive: "must be told of every shard",
    Unordered: "in the order of the shards",
    Silent: "must be raised by map",
    Forgetful: "what the one before left",
    OneRoom: "what the one before left",
    Rounding: "must have the bits",
    Sleeper: "'threads' of an executor must be|'threads' must be >= 1",
}


@pytest.mark.parametrize("broken", REASONS)
def test_broken_ones_are_rejected(broken):
    with pytest.raises((AssertionError, ParameterError), match=REASONS[broken]):
        check_executor(broken)


def test_the_current_executor_and_what_threads_mean():
    assert isinstance(current(), Threads)
    assert executor_of(None) is current()
    with using(Elsewhere(3)) as there:
        assert executor_of(None) is there
        assert executor_of(2).threads == 2
        assert thread_count(None) == 3
        with using(Serial()):
            assert thread_count(None) == 1
            assert thread_count(4) == 4
    with pytest.raises(ParameterError, match="'threads' must be >= 1, got 0"):
        executor_of(0)
    assert repr(Threads(3)) == "Threads(3)"


def test_threads_of_a_pool_know_the_executor_and_share_what_is_left():
    with using(Threads(6)) as six:
        found = each(lambda _: (current() is six, thread_count(None), thread_count(9)), range(3))
        assert found == [(True, 2, 2)] * 3
        inner = each(lambda _: each(lambda _: (time.sleep(0.05), threading.get_ident())[1], range(2)), range(3))
        assert len({ident for own in inner for ident in own} | {threading.get_ident()}) > 1
        assert each(lambda _: thread_count(None), range(1)) == [6]
        assert each(lambda _: thread_count(None), range(100)) == [1] * 100


def test_a_shard_pickles_without_what_it_holds():
    shard = HeldShard(room={"left": 3})
    again = copied(shard)
    assert again.key == shard.key
    assert again.room == {}
    assert shard.room == {"left": 3}
    assert HeldShard().key != HeldShard().key


def test_keys_differ_between_processes() -> None:
    def told() -> str:
        """The next key of a forked process, which has counted as far as this one."""
        here, there = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(there, new_key().encode())
            os._exit(0)
        os.waitpid(child, 0)
        os.close(there)
        with open(here) as answer:
            return answer.read()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of a fork where there are threads
        keys = [told(), told(), new_key()]
    assert len({key.rpartition("-")[2] for key in keys}) == 1
    assert len(set(keys)) == 3


def test_progress_is_told_here_only():
    told = []
    Told(told.append)(3)
    copied(Told(told.append))(4)
    Told()(5)
    assert told == [3]
