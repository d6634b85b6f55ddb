"""Loops whose decoders run on workers of a real Ray cluster, which are killed on the way."""

from __future__ import annotations

import json
import os
import shlex
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ray = pytest.importorskip("ray", reason="needs the extra ray: pip install 'nbest[ray]'")

from nbest.compute.executors import Threads, using  # noqa: E402
from nbest.compute.ray_executor import Ray  # noqa: E402
from nbest.loop import Inputs  # noqa: E402
from nbest.systems.decoder import SystemDecoder  # noqa: E402
from nbest.testing.tiny_systems import tiny_system  # noqa: E402
from tests.decoders.test_parts import all_end  # noqa: E402
from tests.loop.test_workers import alike, command, tagger_loop  # noqa: E402
from tests.loop.toy import DEV, HELD, loop  # noqa: E402

pytestmark = [
    pytest.mark.filterwarnings("ignore"),  # of Ray's own
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc to look at processes"),
]

KILLS = """
import json, os, pathlib, signal, sys, time, zlib
here = pathlib.Path(__file__).parent
mark = here / f"killed-{zlib.crc32(open(sys.argv[4], 'rb').read())}"
with open(here / "processes", "a") as file:
    file.write(json.dumps([os.getpid(), os.getppid()]) + "\\n")
if len(list(here.glob("killed-*"))) < 3 and not mark.exists():
    mark.touch()
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(1000)
os.execv(sys.argv[1], sys.argv[1:])
"""
"""Kills who runs it, three times and once for each part; else runs the program that it is given."""


@pytest.fixture(scope="module")
def workers() -> Iterator[Ray]:
    with Ray(workers=2) as found:
        yield found


@pytest.mark.slow
def test_programs_that_kill_their_workers(tmp_path: Path, workers: Ray) -> None:
    (tmp_path / "kills.py").write_text(KILLS)
    dev, held = (Inputs(tuple(each.segments), each.references) for each in (DEV, HELD))
    with using(Threads(2)):
        loop(tmp_path / "here", command(), rounds=2).run(dev, held)
    killing = command(f"{shlex.join([sys.executable, str(tmp_path / 'kills.py')])} ")
    with using(workers):
        loop(tmp_path / "there", killing, rounds=2).run(dev, held)
    assert alike(tmp_path / "there", tmp_path / "here", but=("loop.json",))  # which has the command
    rows = [json.loads(line) for line in (tmp_path / "processes").read_text().splitlines()]
    assert len({parent for _, parent in rows}) >= 4  # three were killed
    assert os.getpid() not in {parent for _, parent in rows}
    assert all_end([process for process, _ in rows])


PROCESS = "__import__('os').getpid()"
"""For `eval` on a worker, which has the library but not this file."""


def test_workers_that_are_killed_while_a_system_decodes(
    tmp_path: Path, workers: Ray, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny_system("tagger").make(tmp_path / "tagger")
    inputs = Inputs([each for each in tiny_system("tagger").inputs if not isinstance(each, tuple)] * 40)
    with using(Threads(2)):
        tagger_loop(tmp_path / "tagger", tmp_path / "here").run(inputs)
    calls = []

    def decode(decoder: SystemDecoder, *given: Any) -> Any:
        """One worker is killed while each round is decoded, or just after."""
        calls.append(given)
        process = workers.map(eval, [PROCESS] * 2)[0]
        killer = threading.Timer(0.02, os.kill, (process, signal.SIGKILL))
        killer.start()
        try:
            return plain(decoder, *given)
        finally:
            killer.join()

    plain = SystemDecoder.decode
    monkeypatch.setattr(SystemDecoder, "decode", decode)
    lost = workers.crew.lost_count
    with using(workers):
        tagger_loop(tmp_path / "tagger", tmp_path / "there").run(inputs)
        workers.map(eval, [PROCESS] * 4)
    assert alike(tmp_path / "there", tmp_path / "here")
    assert len(calls) == 4
    assert workers.crew.lost_count >= lost + len(calls)


COUNT = """
from nbest.systems import parts
if not hasattr(parts, "counted"):
    parts._kept.clear()
    parts.plain, parts.counted = parts.load_system, []
    parts.load_system = lambda *given, parts=parts: (parts.counted.append(given), parts.plain(*given))[1]
"""
LOADS = "len(__import__('nbest.systems.parts').systems.parts.counted)"


def everywhere(workers: Ray, code: str) -> dict[int, Any]:
    """What code gives in each of two workers."""
    found: dict[int, Any] = {}
    while len(found) < 2:
        slow = f"(__import__('time').sleep(0.05), ({PROCESS}, {code}))[1]"  # so that none of them does it all
        found |= dict(workers.map(eval, [slow] * 8))
    return found


def test_a_worker_loads_a_system_once(tmp_path: Path, workers: Ray) -> None:
    tiny_system("tagger").make(tmp_path / "tagger")
    texts = [each for each in tiny_system("tagger").inputs if not isinstance(each, tuple)] * 150
    decoder = SystemDecoder(tmp_path / "tagger", 3)
    with using(workers):
        everywhere(workers, f"exec({COUNT!r})")
        before = everywhere(workers, LOADS)
        for weight in (1.0, 0.5, 0.2):
            decoder.decode({"transition": 1.0, "lexical": weight}, texts)
        after = everywhere(workers, LOADS)
    assert before.keys() == after.keys()
    assert max(after[process] - before[process] for process in after) == 1
