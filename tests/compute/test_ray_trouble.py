"""What goes wrong on a Ray cluster is said once, and nothing that comes after waits for it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

ray = pytest.importorskip("ray", reason="needs the extra ray: pip install 'nbest[ray]'")

import nbest  # noqa: E402
from nbest.base.errors import CapabilityError, ParameterError, WorkerError  # noqa: E402
from nbest.compute import parallel, ray_crew  # noqa: E402
from nbest.compute.executors import HeldShard, current, using  # noqa: E402
from nbest.compute.ray_executor import Ray  # noqa: E402
from nbest.compute.ray_worker import Item, Worker, _MissingError  # noqa: E402
from nbest.testing import toy_lists  # noqa: E402
from tests.nodes import three_nodes  # noqa: E402

ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import tests
pytestmark = pytest.mark.filterwarnings("ignore")  # of Ray's own


@pytest.fixture(scope="module")
def cluster():
    with three_nodes() as found:
        yield found


@dataclass
class Number(HeldShard):
    """A shard for these tests."""

    value: int


def same(item):
    return item


def plus(array, item):
    return float(array.sum()) + item


class Unknown:
    """Something of a package that workers do not have."""

    def __reduce__(self):
        return __import__, ("no_such_package",)

    def __call__(self, item):
        raise AssertionError


def in_time(function, seconds=60.0):
    """What a function returns; an error where it does not return."""
    found = []

    def run():
        try:
            found.append((function(), None))
        except Exception as error:
            found.append((None, error))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    assert found, "it hangs"
    if found[0][1] is not None:
        raise found[0][1]
    return found[0][0]


def test_what_cannot_be_sent_keeps_no_worker_busy(cluster):
    with Ray(workers=1) as workers:
        with pytest.raises(TypeError, match="cannot pickle"):
            workers.map(same, [threading.Lock()])
        assert in_time(lambda: workers.map(same, [1, 2])) == [1, 2]


def test_what_a_worker_cannot_load_is_one_line_and_keeps_it_not_busy(cluster):
    with Ray(workers=1) as workers:
        for function, items in ((Unknown(), [1]), (same, [Unknown()])):
            with pytest.raises(
                WorkerError, match="cannot load what it is sent: No module named 'no_such_package'"
            ) as e:
                workers.map(function, items)
            assert "\n" not in str(e.value)
        assert in_time(lambda: workers.map(same, [1, 2])) == [1, 2]


def ends_at_first(where, times, shard):
    """Ends its worker so often where the shard is 3; the shards behind it wait for the first of these ends."""
    if shard.value == 3:
        with open(where, "a") as file:
            file.write(f"{os.getpid()}\n")
        if len(_pids(where)) <= times:
            time.sleep(0.1)  # what does not wait comes back first
            os.kill(os.getpid(), signal.SIGKILL)
    until = time.monotonic() + 30
    while shard.value > 3 and _pids(where)[:1] in ([], [os.getpid()]) and time.monotonic() < until:
        time.sleep(0.01)
    return shard.value


def _pids(where):
    return [int(line) for line in open(where)] if os.path.exists(where) else []


def test_workers_that_others_may_have_ended_do_not_count(cluster, tmp_path):
    """At first all shards go to one worker, each in a call of its own, and several are at work when it ends."""
    numbers = [Number(value=i) for i in range(6)]
    with Ray(workers=1) as workers:
        found = workers.map(partial(ends_at_first, str(tmp_path / "ends"), 3), numbers)
        with pytest.raises(WorkerError, match="part 4 of 6 ended its worker 3 times"):
            workers.map(partial(ends_at_first, str(tmp_path / "others"), 4), numbers)
    assert found == list(range(6))


def test_a_worker_with_other_versions_is_never_used(cluster, monkeypatch):
    with Ray(workers=1) as workers:
        own = ray_crew.versions()
        monkeypatch.setattr(ray_crew, "versions", lambda: {**own, "numpy": "0.1"})
        for _ in range(2):
            with pytest.raises(CapabilityError, match=r"this process 0\.1"):
                workers.map(same, [1])


def test_a_file_that_is_not_there_is_sent_for_every_pass(cluster, tmp_path):
    """Several passes at a time, whose functions have mapped numbers."""
    nbest.write(toy_lists(200), tmp_path / "lists.store")
    features = nbest.read(tmp_path / "lists.store").features
    for path in (tmp_path / "lists.store").rglob("*"):
        if path.is_file():
            path.unlink()
    with Ray(workers=1) as workers:
        before = workers.crew.packer.pack
        met = threading.Barrier(2)

        def pack(*words):
            packed = before(*words)
            if workers.crew.packer.files and isinstance(words[0], partial):
                met.wait(60)  # both are packed as files
            return packed

        workers.crew.packer.pack = pack
        found = {}

        def one(number):
            found[number] = workers.map(partial(plus, features), [number])

        threads = [threading.Thread(target=one, args=(number,), daemon=True) for number in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert found == {number: [float(np.asarray(features).sum()) + number] for number in range(2)}


def test_a_shard_that_is_forgotten_meanwhile_is_missing():
    """Another call may be told to forget it between a look and the next."""
    worker = SimpleNamespace(shards={})
    with pytest.raises(_MissingError):
        Worker._held(worker, Item("key", None))


def slowly(item):
    time.sleep(0.1)
    return item


def test_who_is_interrupted_waits_for_no_passes_of_other_threads(cluster):
    """Folds side by side, of which this thread does one."""
    passes = []

    def fold(number):
        current().map(slowly, [number])
        if number == 0:
            raise KeyboardInterrupt
        for _ in range(100):
            passes.append(current().map(slowly, [number]))

    with Ray(workers=2) as workers, using(workers):
        with pytest.raises(KeyboardInterrupt):
            parallel.each(fold, [0, 1], 2)
        assert len(passes) < 50
        assert workers.map(slowly, [1]) == [1]


def test_a_connection_that_is_lost_is_said_and_nothing_more_is_asked(cluster, monkeypatch):
    def wait(*words, **named):
        raise ConnectionError("Client is shutting down.")

    with Ray(workers=1) as workers:
        assert workers.map(same, [1]) == [1]
        actor = workers.crew.members[0].actor
        monkeypatch.setattr(ray, "wait", wait)
        with pytest.raises(WorkerError, match=r"connection to the Ray cluster is lost: Client is shutting down\."):
            workers.map(same, [1])
        monkeypatch.undo()
        monkeypatch.setattr(ray, "kill", lambda actor: pytest.fail("asked"))
    monkeypatch.undo()
    ray.kill(actor)


def complaining(item):
    warnings.warn("the same", UserWarning, stacklevel=1)
    return item


def test_the_same_warning_of_many_items_is_said_as_often_as_here(cluster):
    with Ray(workers=2) as workers:
        for action, count in (("default", 1), ("always", 6)):
            with warnings.catch_warnings(record=True) as seen:
                warnings.simplefilter(action)
                workers.map(complaining, range(6))
            assert len(seen) == count


def test_another_address_is_not_ignored(cluster):
    with pytest.raises(ParameterError, match=r"connected to another Ray cluster than 127\.0\.0\.1:1;"):
        Ray("127.0.0.1:1")
    with Ray(cluster.address, workers=1) as workers:
        assert workers.map(same, [1]) == [1]
    assert ray.is_initialized()  # the connection is the program's


@pytest.mark.slow
def test_a_machine_without_processors_waits_for_others():
    """The head of many clusters has none; those that can grow do so when workers are asked for."""
    code = """
import threading, warnings
warnings.simplefilter("ignore")
import ray
from ray.cluster_utils import Cluster
import nbest
few = {"num_cpus": 1, "object_store_memory": 100 * 2**20}
found = Cluster(initialize_head=True, head_node_args={**few, "num_cpus": 0, "include_dashboard": False})
ray.init(found.address, logging_level=40, log_to_driver=False)
with nbest.Ray(workers=1) as workers:
    assert workers.crew.members
    got = []
    thread = threading.Thread(target=lambda: got.extend(workers.map(str, [1])), daemon=True)
    thread.start()
    found.add_node(**few)
    thread.join(60)
    assert got == ["1"], got
ray.shutdown()
found.shutdown()
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


@pytest.mark.slow
def test_executors_share_a_connection_that_the_last_one_ends():
    code = """
import warnings
warnings.simplefilter("ignore")
from functools import partial
import numpy, ray, nbest
one, other = nbest.Ray(workers=1, cores=1), nbest.Ray(workers=1, cores=1)
one.close()
assert ray.is_initialized()
assert other.map(str, [1]) == ["1"]
other.close()
assert not ray.is_initialized()
try:
    one.map(partial(numpy.add, numpy.zeros(100_000)), [1])
except nbest.WorkerError as error:
    assert "was closed" in str(error)
else:
    raise AssertionError
assert not ray.is_initialized(), "another cluster was started"
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=200)


@pytest.mark.parametrize("address", ["127.0.0.1:1", "ray://127.0.0.1:1"])
def test_nobody_answers(address):
    code = f"""
import nbest
try:
    nbest.Ray({address!r})
except nbest.WorkerError as error:
    print(error)
"""
    words = [sys.executable, "-W", "ignore", "-c", code]
    found = subprocess.run(words, capture_output=True, text=True, timeout=25, check=True)
    assert found.stdout == f"no Ray cluster could be reached at {address}: [Errno 111] Connection refused\n"
