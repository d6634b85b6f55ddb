"""Commands on a Ray cluster of three nodes, one of which is killed on the way: the same files as on one machine."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path

import pytest

ray = pytest.importorskip("ray", reason="needs the extra ray: pip install 'nbest[ray]'")

from nbest.corpus import blocks  # noqa: E402
from nbest.formats import write, write_forests  # noqa: E402
from nbest.testing import toy_lists  # noqa: E402
from tests.cli.conftest import Run, sausages  # noqa: E402
from tests.nodes import FEW, three_nodes  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")  # of Ray's own


@pytest.fixture(scope="module")
def cluster():
    with three_nodes() as found:
        yield found


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(blocks, "BLOCK", 8)  # many shards of few lists
    write(toy_lists(60), "dev.jsonl")
    write_forests(sausages(1), "dev.forests.jsonl")
    return tmp_path


LISTS = ("tune", "dev.jsonl", "--metric", "accuracy")
FORESTS = ("tune", "dev.forests.jsonl", "--metric", "bleu")
COMMANDS = {
    "risk": (*LISTS, "--method", "risk"),
    "folds": (*LISTS, "--method", "risk", "--folds", "3"),
    "likelihood": (*LISTS, "--method", "likelihood"),
    "grid": (*LISTS, "--method", "likelihood", "--grid", "variance=0.1,1", "--split", "0.3"),
    "mert": (*LISTS, "--method", "mert", "--restarts", "3", "--hops", "1"),
    "mbr": (*LISTS, "--method", "likelihood", "--decision", "mbr"),
    "cobleu on forests": (*FORESTS, "--method", "cobleu"),
    "risk on forests": (*FORESTS, "--method", "risk"),
    "mert on forests": (*FORESTS, "--method", "mert", "--restarts", "3", "--hops", "1"),
}


def leaving(cluster, after, done):
    """A node goes, with its workers; another one comes when all is done."""
    time.sleep(after)
    cluster.remove_node(next(iter(cluster.worker_nodes)), allow_graceful=False)
    done.wait()
    cluster.add_node(**FEW)


_SLOW = ("folds", "grid", "likelihood", "mbr", "mert on forests", "risk on forests")


@pytest.mark.parametrize("name", [pytest.param(each, marks=[pytest.mark.slow] * (each in _SLOW)) for each in COMMANDS])
def test_tuning(run: Run, cluster, name: str) -> None:
    words = COMMANDS[name]
    assert run(*words, "-o", "here.json").code == 0
    done = threading.Event()
    node = threading.Thread(target=leaving, args=(cluster, 1.0, done))
    node.start()
    try:
        ran = run(*words, "--engine", "ray", "-o", "there.json")
    finally:
        done.set()
        node.join()
    assert ran.code == 0, ran.err
    assert Path("there.json").read_bytes() == Path("here.json").read_bytes()


@pytest.mark.parametrize(
    "decision", ["mbr", *(pytest.param(name, marks=pytest.mark.slow) for name in ("1best", "consensus"))]
)
def test_choosing(run: Run, cluster, decision: str) -> None:
    assert run(*COMMANDS["likelihood"], "-o", "model.json").code == 0
    words = ("rerank", "dev.jsonl", "--model", "model.json", "--decision", decision)
    here, there = run(*words), run(*words, "--engine", "ray", "--workers", "2")
    assert there.code == 0, there.err
    assert there.out == here.out


@pytest.mark.slow
def test_comparing(run: Run, cluster) -> None:
    words = (
        "compare",
        "dev.jsonl",
        "--methods",
        "likelihood,risk",
        "--metric",
        "accuracy",
        "--test",
        "dev.jsonl",
        "--json",
    )
    here, there = run(*words), run(*words, "--engine", "ray")
    assert there.code == 0, there.err
    assert [row | {"seconds": 0} for row in json.loads(there.out)["rows"]] == [
        row | {"seconds": 0} for row in json.loads(here.out)["rows"]
    ]
