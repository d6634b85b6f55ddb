"""A Ray cluster of three nodes of one processor each, on this machine."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from nbest.compute.ray_connection import _hush

FEW = {"num_cpus": 1, "object_store_memory": 100 * 2**20}
"""What a node has."""


@contextmanager
def three_nodes() -> Iterator[Any]:
    """The cluster; this process is connected to it."""
    import ray
    from ray.cluster_utils import Cluster

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = Cluster(initialize_head=True, head_node_args={**FEW, "include_dashboard": False})
        for _ in range(2):
            found.add_node(**FEW)
        ray.init(found.address, logging_level=40, log_to_driver=False)
        _hush()
    try:
        yield found
    finally:
        ray.shutdown()
        found.shutdown()
