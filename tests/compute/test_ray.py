"""Passes on workers of a real Ray cluster of several machines' worth of nodes."""

from __future__ import annotations

import os
import sys
import warnings

import pytest

ray = pytest.importorskip("ray", reason="needs the extra ray: pip install 'nbest[ray]'")

from nbest.compute.ray_executor import Ray  # noqa: E402
from nbest.testing import check_executor  # noqa: E402

ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import tests
pytestmark = pytest.mark.filterwarnings("ignore")  # of Ray's own


@pytest.fixture(scope="module")
def cluster():
    """Three nodes of one processor each; this process is connected to it."""
    from ray.cluster_utils import Cluster

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
        for _ in range(2):
            found.add_node(num_cpus=1)
        ray.init(found.address, logging_level=40, log_to_driver=False)
    yield found
    ray.shutdown()
    found.shutdown()


def test_contract(cluster):
    check_executor(lambda workers: Ray(workers=workers))


def process(_):
    return os.getpid()


def test_items_are_shared_among_workers(cluster):
    with Ray() as workers:
        assert workers.workers == 3
        assert len({*workers.map(process, range(60))} - {os.getpid()}) == 3
