"""Items on processes that share what is here: the same results in the same order, whatever happens to a process."""

import errno
import os
import signal
import threading
import time
import warnings

import numpy as np
import pytest

from nbest.base.errors import ParameterError
from nbest.compute import forks
from nbest.compute.executors import Threads, using
from nbest.compute.forks import apart, can_fork
from nbest.compute.parallel import each, thread_count
from tests.compute.elsewhere import Elsewhere

HERE = os.getpid()


def nobody_is_left():
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


def meet(folder, count=2):
    """Wait until so many processes have come here."""
    (folder / str(os.getpid())).touch()
    end = time.monotonic() + 60
    while len(list(folder.iterdir())) < count and time.monotonic() < end:
        time.sleep(0.002)


@pytest.fixture(autouse=True)
def _two_threads():
    with using(Threads(2)):
        yield
    nobody_is_left()


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_results_are_in_order_and_come_from_several_processes(threads, tmp_path):
    data = np.arange(1000.0)

    def work(x):
        meet(tmp_path, threads)
        return x, data[x:].sum(), os.getpid()

    with using(Threads(threads)):
        found = apart(work, range(12))
    assert [row[:2] for row in found] == [(x, data[x:].sum()) for x in range(12)]
    processes = {row[2] for row in found}
    assert HERE in processes
    assert len(processes) == threads


def test_nothing_to_do():
    assert apart(str, []) == []
    assert apart(str, [3]) == ["3"]


def test_large_results_come_back():
    found = apart(lambda x: np.full(500_000, x), range(4))
    assert [(len(array), array[0], array[-1]) for array in found] == [(500_000, x, x) for x in range(4)]


@pytest.mark.parametrize("where", ["here", "there"])
def test_an_exception_comes_through(where, tmp_path):
    def fail(x):
        meet(tmp_path)
        if (os.getpid() == HERE) == (where == "here"):
            raise ParameterError(f"no {x}")
        return x

    with pytest.raises(ParameterError, match="no "):
        apart(fail, range(6))


class OddError(Exception):
    """Cannot be made again out of its message."""

    def __init__(self, one, two):
        super().__init__("odd")


def test_an_exception_that_cannot_be_sent_is_raised_here(tmp_path):
    def fail(x):
        meet(tmp_path)
        if x == 1:
            raise OddError(x, x)

    with pytest.raises(OddError):
        apart(fail, range(2))


@pytest.mark.parametrize("lost", [lambda: os._exit(1), lambda: os.kill(os.getpid(), 9)])
def test_the_item_of_a_lost_process_is_done_here(lost, tmp_path):
    told = []

    def work(x):
        meet(tmp_path)
        if os.getpid() != HERE:
            lost()
        return x * x

    assert apart(work, range(6), told=lambda: told.append(1)) == [x * x for x in range(6)]
    assert len(told) == 6


def test_a_result_that_cannot_be_pickled_is_made_here():
    assert [make() for make in apart(lambda x: lambda: x, range(4))] == [0, 1, 2, 3]


def test_warnings_are_given_here(tmp_path):
    def warn(x):
        meet(tmp_path)
        warnings.warn(f"careful {x}", UserWarning, stacklevel=1)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        apart(warn, range(6))
    assert sorted(str(each.message) for each in caught) == [f"careful {x}" for x in range(6)]


def test_processes_share_the_threads():
    with using(Threads(7)):
        assert apart(lambda _: thread_count(None), range(3)) == [2, 2, 2]
        assert thread_count(None) == 7


def test_processes_use_threads_of_their_own():
    with using(Threads(6)):
        each(lambda x: x, range(6))  # threads that no copy will have
        found = apart(lambda x: (os.getpid(), each(lambda y: x * y, range(5), 2)), range(3))
    assert [row[1] for row in found] == [[x * y for y in range(5)] for x in range(3)]


def test_nothing_is_said_by_the_other_processes(capfd, tmp_path):
    def speak(x):
        meet(tmp_path)
        print("here" if os.getpid() == HERE else "there", flush=True)

    apart(speak, range(4))
    assert "there" not in capfd.readouterr().out


def test_an_interrupt_ends_all_processes(tmp_path):
    def work(x):
        meet(tmp_path)
        if os.getpid() == HERE:
            raise KeyboardInterrupt
        time.sleep(600)

    with pytest.raises(KeyboardInterrupt):
        apart(work, range(4))


def test_where_no_process_is_forked(monkeypatch):
    assert can_fork()
    assert set(apart(lambda _: os.getpid(), range(4), forking=False)) == {HERE}
    with using(Elsewhere(2)):
        assert not can_fork()  # its connections would be copied
    inside = []
    thread = threading.Thread(target=lambda: inside.append(can_fork()))
    thread.start()
    thread.join()
    assert inside == [False]
    going = threading.Event()
    thread = threading.Thread(target=going.wait)
    thread.start()
    assert not can_fork()  # who knows what it holds
    assert set(apart(lambda _: os.getpid(), range(4))) == {HERE}
    going.set()
    thread.join()
    monkeypatch.setattr(forks.sys, "platform", "darwin")
    assert not can_fork()


@pytest.fixture
def _nobody_waits():
    """As under supervisors that ignore the end of children."""
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    yield
    signal.signal(signal.SIGCHLD, before)


@pytest.mark.usefixtures("_nobody_waits")
def test_children_for_whom_the_system_waits(tmp_path):
    def work(x):
        meet(tmp_path)
        return x * x, os.getpid()

    found = apart(work, range(6))
    assert [row[0] for row in found] == [x * x for x in range(6)]
    assert len({row[1] for row in found}) == 2


@pytest.mark.usefixtures("_nobody_waits")
def test_an_exception_beside_children_for_whom_the_system_waits(tmp_path):
    def work(x):
        meet(tmp_path)
        if os.getpid() == HERE:
            raise ParameterError("here")
        os._exit(1)

    with pytest.raises(ParameterError, match="here"):
        apart(work, range(6))


@pytest.mark.parametrize("possible", [0, 1])
def test_where_a_fork_fails_those_that_are_there_do_all(possible, monkeypatch):
    fork, forked = os.fork, []

    def limited():
        if len(forked) == possible:
            raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")
        forked.append(1)
        return fork()

    monkeypatch.setattr(os, "fork", limited)
    before = sorted(os.listdir("/proc/self/fd"))
    with using(Threads(4)):
        assert apart(lambda x: x * x, range(8)) == [x * x for x in range(8)]
    assert sorted(os.listdir("/proc/self/fd")) == before
    assert len(forked) == possible
