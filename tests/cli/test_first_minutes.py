"""The first commands after installing: nothing depends on who compiled a kernel, or whether it was there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

from nbest import formats
from nbest.cli.beside import JOBS
from nbest.compute import forks, kernel_cache
from nbest.formats import bundled
from nbest.formats.lists import jsonl, moses, plainly

ROOT = Path(__file__).parents[2]
FEW = 12
ALONE = "from nbest.compute import forks; forks.can_fork = lambda: False; "
WATCHED = """
import sys
from numba.core import event
class Listener(event.Listener):
    def on_start(self, happened):
        print("COMPILED", happened.data["dispatcher"].py_func.__name__, file=sys.stderr)
    def on_end(self, happened):
        pass
event.register("numba:compile", Listener())
from nbest.cli.main import main
code = max(main(line.split()) for line in sys.argv[1:])
sys.exit(code)
"""
COMMANDS = (
    "inspect dev.nbest --refs dev.ref --metric bleu --quiet",
    "tune dev.nbest --refs dev.ref --metric bleu -o model.json --quiet",
    "rerank dev.nbest --model model.json -o out.txt --quiet",
)


@pytest.fixture
def world(tmp_path: Path) -> Path:
    """A folder with lists in the format of Moses and their references."""
    lists = bundled.lists("tune").select(np.arange(FEW), ids=[str(number) for number in range(FEW)])
    assert lists.references is not None
    (tmp_path / "dev.ref").write_text("".join(f"{refs[0]}\n" for refs in lists.references), encoding="utf-8")
    formats.write(lists, tmp_path / "dev.nbest", "moses")
    return tmp_path


def ran(world: Path, cache: Path, before: str = "") -> tuple[bytes, str]:
    """What the three commands give, all of it, and what they say on stderr."""
    place = {**os.environ, "NUMBA_CACHE_DIR": str(cache), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", before + WATCHED, *COMMANDS]
    found = subprocess.run(command, cwd=world, env=place, capture_output=True, check=True)
    files = b"".join((world / name).read_bytes() for name in ("model.json", "out.txt"))
    return found.stdout + files, found.stderr.decode()


@pytest.mark.slow
def test_results_are_the_same_cold_or_warm_side_by_side_or_alone(world: Path, tmp_path: Path) -> None:
    """And the second time nothing is compiled."""
    beside, first = ran(world, tmp_path / "beside")
    alone, _ = ran(world, tmp_path / "alone", ALONE)
    warm, second = ran(world, tmp_path / "beside")
    assert _untimed(beside) == _untimed(alone) == _untimed(warm)
    assert "COMPILED" in first
    assert "COMPILED" not in second


def _untimed(data: bytes) -> bytes:
    return re.sub(rb'"seconds": [0-9.e-]+', b"", data)


@pytest.mark.slow
def test_jobs_compile_what_the_commands_need(world: Path, tmp_path: Path) -> None:
    """The same signatures: after the jobs no kernel of theirs is compiled."""
    jobs = "from nbest.cli.beside import JOBS; [job.run() for job in JOBS.values()]; "
    _, said = ran(world, tmp_path / "jobs", jobs)
    assert not {job.kernel for job in JOBS.values()} & set(said.replace("COMPILED ", "").split())


@pytest.mark.parametrize("name", JOBS)
def test_a_job_runs_its_kernel(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """That by which it is known whether it was done."""
    job, calls = JOBS[name], []
    kernel = getattr(job.module, job.kernel)
    monkeypatch.setattr(job.module, job.kernel, lambda *args, **how: calls.append(name) or kernel(*args, **how))
    job.run()
    assert calls
    monkeypatch.undo()
    assert job.done


def test_a_job_beside_leaves_what_it_did_and_ends_with_the_caller(tmp_path: Path) -> None:
    """Work goes on meanwhile; a job that fails or does not end is no matter."""
    if not forks.can_fork():
        pytest.skip("no process can be forked here")

    def fail() -> None:
        raise ValueError("no")

    ready, end = os.pipe()
    try:
        with forks.meanwhile([fail, lambda: os.write(end, str(os.getpid()).encode()), lambda: os.read(ready, 0)]):
            process = int(os.read(ready, 20))
            assert process != os.getpid()
    finally:
        os.close(ready)
        os.close(end)
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


@pytest.mark.parametrize("kind", ["jsonl", "moses"])
def test_small_files_are_the_same_without_a_kernel(world: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """To the bit, and the kernel is asked only where it is worth it."""
    path = world / f"lists.{kind}"
    formats.write(formats.read(world / "dev.nbest"), path, kind)
    reader = {"jsonl": jsonl, "moses": moses}[kind]
    monkeypatch.setattr(kernel_cache, "is_kept", lambda kernel: False)
    monkeypatch.setattr(plainly, "thrifty", False)
    fast = formats.read(path, kind)
    monkeypatch.setattr(plainly, "thrifty", True)
    asked = []
    monkeypatch.setattr(reader._PLAINLY, "suits", lambda kernel, size: asked.append(size) or True)
    assert formats.read(path, kind) == fast
    assert asked == [path.stat().st_size]


def test_a_kernel_is_compiled_after_so_many_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not before; one that is on disk is used at once."""
    monkeypatch.setattr(plainly, "thrifty", True)
    monkeypatch.setattr(kernel_cache, "is_kept", lambda kernel: kernel == "kept")
    read = []
    monkeypatch.setattr(kernel_cache, "count", lambda kernel, size: read.append(size) or sum(read))
    reading = plainly.Plainly(10)
    assert [reading.suits("new", 4) for _ in range(4)] == [True, True, False, False]
    assert not plainly.Plainly(10).suits("kept", 4)
    assert len(read) == 4
    few = plainly.Plainly(1000)
    assert [few.suits("new", 4) for _ in range(4)] == [True] * 4
    assert read[4:] == [16]  # together


def test_bytes_of_earlier_runs_count(tmp_path: Path) -> None:
    """A number beside the kernel: damaged it is 0, and where it cannot be written only this run counts."""
    code = (
        "from nbest.compute.kernel_cache import count; from nbest.formats.lists.moses_fast import parse_lines; "
        "print(count(parse_lines, 5), count(parse_lines, 2))"
    )

    def counted() -> str:
        place = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "counts"), "PYTHONPATH": str(ROOT)}
        found = subprocess.run([sys.executable, "-c", code], env=place, capture_output=True, check=True, text=True)
        return found.stdout.strip()

    assert counted() == "5 7"
    assert counted() == "12 14"
    (kept,) = (tmp_path / "counts").rglob("*.count")
    kept.write_text("many")
    assert counted() == "5 7"
    kept.unlink()
    kept.mkdir()
    assert counted() == "5 2"


def test_extras_that_messages_name_are_there() -> None:
    """Every `nbest[...]` in the code is an extra."""
    known = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    code = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "nbest").rglob("*.py"))
    named = set(re.findall(r"nbest\[([a-z]+)\]", code))
    assert {"arrow", "ray", "asr", "mt"} <= named <= set(known)
