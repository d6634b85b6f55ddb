"""Passes on workers of a real Ray cluster of three nodes, which are killed on the way."""

from __future__ import annotations

import gc
import os
import random
import signal
import sys
import threading
import time
import warnings
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pytest

ray = pytest.importorskip("ray", reason="needs the extra ray: pip install 'nbest[ray]'")

import nbest  # noqa: E402
from nbest.base.errors import FormatError, ParameterError, WorkerError  # noqa: E402
from nbest.compute.executors import HeldShard, Serial, Threads, current, using  # noqa: E402
from nbest.compute.ray_crew import shares  # noqa: E402
from nbest.compute.ray_executor import Ray  # noqa: E402
from nbest.corpus import blocks  # noqa: E402
from nbest.objectives import Quadratic, Risk, Shard, value_and_gradient  # noqa: E402
from nbest.testing import check_executor, toy_lists  # noqa: E402
from tests.nodes import FEW, three_nodes  # noqa: E402

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


def process(_):
    time.sleep(0.02)
    return os.getpid()


def doubled(shard):
    return 2 * shard.value


def deadly(where, shard):
    """Ends its worker where the shard is 3, and leaves a mark each time."""
    if shard.value == 3:
        with open(where, "a") as file:
            file.write("x")
        os.kill(os.getpid(), signal.SIGKILL)
    return shard.value


def complaining(shard):
    warnings.warn(f"of {shard}", UserWarning, stacklevel=2)
    if shard == 2:
        raise FormatError("lists", 7, "is wrong")
    return shard


class OddError(Exception):
    """One that cannot be made again from its arguments."""

    def __init__(self, one, two):
        super().__init__(f"{one} {two}")


def odd(shard):
    raise OddError(1, 2)


def inner(shard):
    return type(current()), current().map(str, [1, 2]), Threads().threads


def test_contract(cluster):
    check_executor(lambda workers: Ray(workers=workers))


def test_items_are_shared_among_workers(cluster):
    with Ray() as workers:
        assert workers.workers == 3
        assert len({*workers.map(process, range(200))} - {os.getpid()}) == 3
        assert workers.status == "3 workers, 1 passes"


def test_exceptions_and_warnings_come_through(cluster):
    with Ray(workers=2) as workers:
        with pytest.raises(FormatError, match="lists:7: is wrong") as caught:
            workers.map(complaining, [1, 2])
        assert caught.value.line == 7
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            assert workers.map(complaining, [4, 5]) == [4, 5]
        assert sorted(str(each.message) for each in seen) == ["of 4", "of 5"]
        with pytest.raises(RuntimeError, match="OddError on a worker: 1 2"):
            workers.map(odd, [1])
        assert workers.map(inner, [1]) == [(Threads, ["1", "2"], None)]
        assert workers.map(lambda item: item + 1, [1, 2]) == [2, 3]


def test_what_nobody_has_any_more_is_let_go_of(cluster):
    with Ray(workers=1) as workers:
        kept, gone = Number(1), [Number(2), Number(3)]
        workers.map(doubled, [kept, *gone])
        held = lambda: ray.get(workers.crew.members[0].actor.hello.remote())["shards"]  # noqa: E731
        assert held() == 3
        del gone
        gc.collect()
        workers.map(doubled, [kept])
        assert held() == 1
        assert workers.crew.members[0].load > 0


def problem():
    lists = toy_lists(40, noise=0.3)
    width = len(lists.feature_names)
    risk = Risk(lists.need_stats()[1], temperature=0.1, penalty=Quadratic(2.0))
    return risk, [Shard(part, np.ones(width), part.losses()) for part in lists.shards(block=3)], width


def passes(executor, count=100):
    """The bits of many passes."""
    risk, shards, width = problem()
    points = np.random.default_rng(1).normal(size=(count, width))
    found = [value_and_gradient(risk, weights, shards, executor) for weights in points]
    return b"".join(np.float64(value).tobytes() + slope.tobytes() for value, slope in found)


def killing(workers, seed, ended, kills):
    """Kill a worker now and then, at any moment of its work, but not before a pass is done since the last was killed:
    who is killed three times before it has done anything counts as deadly."""
    draw, passes = random.Random(seed), 0
    while not ended.is_set():
        time.sleep(draw.uniform(0.0, 0.5))
        if workers.crew.there and workers.traffic.passes > passes + 1:
            passes = workers.traffic.passes
            try:
                os.kill(draw.choice(workers.crew.there).process, signal.SIGKILL)
                kills.append(time.monotonic())
            except ProcessLookupError:
                pass


def test_killed_workers_change_no_bit(cluster):
    expected = passes(Serial())
    ended, kills = threading.Event(), []
    with Ray(workers=3) as workers:
        killer = threading.Thread(target=killing, args=(workers, 1, ended, kills))
        workers.map(doubled, [Number(1)])
        killer.start()
        try:
            found = [passes(workers)]
            while len(kills) < 5:
                found.append(passes(workers))
            workers.map(process, range(10))
        finally:
            ended.set()
            killer.join()
        assert workers.crew.lost_count >= 5
    assert found == [expected] * len(found)


def test_a_shard_that_ends_every_worker_is_an_error(cluster, tmp_path):
    shards = [Number(value) for value in range(6)]
    with Ray(workers=2) as workers:
        with pytest.raises(WorkerError, match="part 4 of 6 ended its worker 3 times"):
            workers.map(partial(deadly, tmp_path / "deaths"), shards)
        assert (tmp_path / "deaths").read_text() in ("xxx", "xxxx")  # by itself; once more if it was with others first
        assert workers.map(doubled, shards) == [0, 2, 4, 6, 8, 10]
        free = [replace(shard, key=None) for shard in shards]
        with pytest.raises(WorkerError, match="part 4 of 6"):
            workers.map(partial(deadly, tmp_path / "deaths"), free)


@pytest.mark.slow
def test_a_node_leaves_and_a_node_joins(cluster):
    expected = passes(Serial(), 10)
    with Ray() as workers:
        assert passes(workers, 10) == expected
        node = next(each for each in cluster.worker_nodes)
        cluster.remove_node(node, allow_graceful=False)
        assert passes(workers, 10) == expected
        cluster.add_node(**FEW)
        deadline = time.monotonic() + 60
        while len(workers.crew.there) < 3 and time.monotonic() < deadline:
            assert passes(workers, 10) == expected
        assert len(workers.crew.there) == 3
        loads = [member.load for member in workers.crew.there]
        assert max(loads) < 2 * min(loads)  # shards have moved to the new one


def test_several_threads_at_once(cluster):
    expected = [passes(Serial(), 5)] * 4
    found = [b""] * 4

    def one(place):
        found[place] = passes(workers, 5)
        assert workers.map(doubled, [Number(place)]) == [2 * place]

    with Ray(workers=3) as workers:
        threads = [threading.Thread(target=one, args=(place,)) for place in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert found == expected


def test_a_store_is_mapped_by_its_workers(cluster, tmp_path, monkeypatch):
    lists = toy_lists(40)
    many = nbest.merge(*[replace(lists, ids=tuple(f"{i}-{name}" for name in lists.ids)) for i in range(100)])
    bare = replace(many, stats=None, metric=None)
    nbest.write(bare, tmp_path / "lists.store")
    monkeypatch.setattr(blocks, "BLOCK", 1000)
    expected = nbest.features.standardise.within_scale(bare)
    with Ray(workers=2) as workers, using(workers):
        mapped = nbest.read(tmp_path / "lists.store")
        assert nbest.features.standardise.within_scale(mapped).tobytes() == expected.tobytes()
        small = workers.traffic.sent
    said = []
    with Ray(workers=2, say=said.append) as workers, using(workers):
        mapped = nbest.read(tmp_path / "lists.store")
        (tmp_path / "lists.store").rename(tmp_path / "moved.store")
        assert nbest.features.standardise.within_scale(mapped).tobytes() == expected.tobytes()
        assert workers.traffic.sent > small + bare.features.nbytes
    assert len([line for line in said if "numbers of mapped files are sent" in line]) == 1


@pytest.mark.slow
def test_client(cluster):
    """ray://host:port, from another process."""
    import subprocess

    code = """
import sys
import nbest
from nbest.testing import toy_lists
with nbest.Ray(sys.argv[1], workers=2) as workers:
    model = nbest.MaxLikelihood(executor=workers).fit(toy_lists(40))
assert dict(model.weights) == dict(nbest.MaxLikelihood().fit(toy_lists(40)).weights)
"""
    port = "23461"
    options = {"--address": cluster.address, "--host": "127.0.0.1", "--port": port, "--mode": "proxy"}
    server = subprocess.Popen(
        [sys.executable, "-m", "ray.util.client.server", *(word for pair in options.items() for word in pair)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        words = [sys.executable, "-c", code, f"ray://127.0.0.1:{port}"]
        for _ in range(3):  # on a busy machine Ray's own server may not be there in time
            found = subprocess.run(words, capture_output=True, text=True, timeout=120)
            if "no Ray cluster could be reached" not in found.stderr:
                break
        assert found.returncode == 0, found.stderr
    finally:
        server.terminate()
        server.wait()


@pytest.mark.parametrize(
    ("cpus", "workers", "cores", "expected"),
    [
        ([4.0, 4.0], 2, None, (4, 4.0)),
        ([4.0, 4.0], 3, None, (2, 2.0)),
        ([3.0, 3.0], 4, None, (1, 1.0)),
        ([1.0, 1.0, 1.0], 2, None, (1, 1.0)),
        ([2.0], 5, None, (1, 0.4)),
        ([8.0], 2, 3, (3, 3.0)),
    ],
)
def test_shares(cpus, workers, cores, expected):
    assert shares(cpus, workers, cores) == expected


def test_rules(cluster):
    with pytest.raises(ParameterError, match="'workers' of Ray must be >= 1, got 0"):
        Ray(workers=0)
    with Ray(workers=1) as workers:
        import copy
        import pickle

        assert copy.deepcopy(workers) is workers
        assert type(pickle.loads(pickle.dumps(workers))) is Threads
