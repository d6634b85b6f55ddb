"""Steps side by side on the workers of a real Ray cluster: killed workers, and a command that is interrupted."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

ray = pytest.importorskip("ray", reason="needs the extra ray: pip install 'nbest[ray]'")

from nbest.base.errors import FormatError  # noqa: E402
from nbest.compute.executors import Serial, using  # noqa: E402
from nbest.compute.ray_executor import Ray  # noqa: E402
from nbest.papers.jagarlamudi.paper import PAPER  # noqa: E402
from nbest.papers.run import Run  # noqa: E402
from nbest.runs import Step  # noqa: E402
from tests.papers.needs import records  # noqa: E402
from tests.papers.test_jagarlamudi import make_data  # noqa: E402
from tests.runs.toy_steps import do_all, do_marked, left, place_of  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")  # of Ray's own


@pytest.fixture(scope="module")
def workers() -> Iterator[Ray]:
    """Two workers, each a node of its own."""
    from ray.cluster_utils import Cluster

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
        cluster.add_node(num_cpus=1)
        ray.init(cluster.address, logging_level=40, log_to_driver=False)
    with Ray(workers=2) as found:
        yield found
    ray.shutdown()
    cluster.shutdown()


def test_the_same_files_as_one_after_the_other(workers: Ray, tmp_path: Path) -> None:
    do_all(tmp_path / "one", 1, Serial())
    do_all(tmp_path / "two", 1, workers)
    assert left(tmp_path / "two") == left(tmp_path / "one")


def test_a_failure_on_a_worker_names_the_step(workers: Ray, tmp_path: Path) -> None:
    path = tmp_path / "run"
    path.mkdir()
    (path / "run.json").write_text("{}")
    (path / "fail").write_text("s03")
    with pytest.raises(FormatError, match=r"step 's03': .*is no good"):
        do_all(path, 1, workers)


def kill(path: Path) -> None:
    """Kill whoever is at the step "killed", twice."""
    end = time.monotonic() + 60
    for number in range(2):
        file = path / f"killed.{number}"
        while not (file.exists() and file.read_text()) and time.monotonic() < end:
            time.sleep(0.05)
        os.kill(int(file.read_text()), signal.SIGKILL)


def test_the_step_of_a_killed_worker_is_done_again(workers: Ray, tmp_path: Path) -> None:
    place, steps = place_of(tmp_path), [Step(name, dict, 1.0, needs=()) for name in ("killed", "other", "third")]
    lost = workers.crew.lost_count
    thread = threading.Thread(target=kill, args=(tmp_path,))
    with using(workers), place.opened({}, {}, resume=False, say=print):
        thread.start()
        elsewhere = partial(do_marked, tmp_path)
        place.do_all(steps, steps, say=print, after=lambda: None, elsewhere=elsewhere)
    thread.join()
    assert workers.crew.lost_count == lost + 2
    found = {name: json.loads((tmp_path / "steps" / f"{name}.json").read_text()) for name in ("killed", "other")}
    assert [found["killed"]["tries"], found["other"]["tries"]] == [2, 0]
    assert sorted(file.name for file in (tmp_path / "work").iterdir()) == ["killed.txt", "other.txt", "third.txt"]


@pytest.mark.slow
def test_a_paper_while_workers_are_killed(workers: Ray, tmp_path: Path) -> None:
    """Same results and files as one step after the other, and the same report but for its seconds."""
    data = make_data(tmp_path / "data")
    one, two = (Run(tmp_path / name, data, quick=True) for name in ("one", "two"))
    one.reproduce(PAPER)
    over, before = threading.Event(), workers.crew.lost_count

    def disturb() -> None:
        rng = random.Random(1)
        while not over.wait(0.5) and workers.crew.lost_count < before + 3:
            there = [member.process for member in workers.crew.there]
            if there:
                os.kill(rng.choice(there), signal.SIGKILL)
                over.wait(4)

    thread = threading.Thread(target=disturb)
    thread.start()
    try:
        with using(workers):
            two.reproduce(PAPER)
    finally:
        over.set()
        thread.join()
    assert workers.crew.lost_count > before
    assert records(two) == records(one)
    reports = [json.loads((run.folder / "report.json").read_text()) for run in (one, two)]
    assert reports[0]["tables"] == reports[1]["tables"]
    assert reports[0]["figures"] == reports[1]["figures"]


@pytest.mark.slow
def test_an_interrupted_command_is_resumed_and_leaves_no_process(tmp_path: Path) -> None:
    data = make_data(tmp_path / "data")
    words = ["reproduce", PAPER.name, "--quick", "--data", str(data), "-o", str(tmp_path / "run")]
    command = [sys.executable, "-m", "nbest", *words, "--engine", "ray", "--workers", "2"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("step 3 "):
                process.send_signal(signal.SIGINT)
                break
        process.communicate(timeout=60)
    assert process.returncode == 130
    assert 0 < len(list((tmp_path / "run" / "steps").glob("*.json"))) < 13
    one, two = Run(tmp_path / "one", data, quick=True), Run(tmp_path / "run", data, quick=True)
    one.reproduce(PAPER)
    said = subprocess.run([*command, "--resume"], capture_output=True, text=True, timeout=120, check=True).stderr
    assert "0 at work, 0 to begin" in said
    assert records(two) == records(one)
    assert _of_session(process.pid) == []


def _of_session(session: int) -> list[int]:
    """Processes of a session that are there."""
    found = subprocess.run(["ps", "-o", "pid=", "-s", str(session)], capture_output=True, text=True, check=False)
    return [int(each) for each in found.stdout.split()]
