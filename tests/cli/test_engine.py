"""Commands on a Ray cluster: the same files, and nothing is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from uuid import uuid4

import pytest

from nbest.cli import console
from nbest.cli.main import main
from nbest.compute.executors import Serial, using
from nbest.formats import write
from nbest.testing import toy_lists


def run(*words):
    assert main([str(word) for word in words]) == 0


def test_wrong_options(capsys):
    assert main(["tune", "dev.jsonl", "--workers", "2"]) == 2
    assert "--workers is for --engine ray" in capsys.readouterr().err
    assert main(["tune", "dev.jsonl", "--engine", "rya"]) == 2
    assert "did you mean 'ray'" in capsys.readouterr().err
    assert main(["tune", "dev.jsonl", "--engine", "threads", "--workers", "2"]) == 2
    assert "has no workers" in capsys.readouterr().err
    assert main(["tune", "dev.jsonl", "--engine", "serial", "--threads", "2"]) == 2
    assert "--engine serial has one thread" in capsys.readouterr().err


def test_engines_of_this_process(tmp_path):
    write(toy_lists(), tmp_path / "dev.jsonl")
    for number, engine in enumerate((["--engine", "serial"], ["--engine", "threads", "-j", "2"], [])):
        run("tune", tmp_path / "dev.jsonl", "-m", "accuracy", *engine, "-o", tmp_path / f"{number}.json", "-q")
    assert len({(tmp_path / f"{number}.json").read_bytes() for number in range(3)}) == 1


def test_without_ray(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    assert main(["tune", "dev.jsonl", "--engine", "ray"]) == 2
    assert "pip install 'nbest[ray]'" in capsys.readouterr().err


class Watched(Serial):
    status = "3 workers, 7 passes"


def test_progress_shows_workers_and_passes(capfd, monkeypatch):
    monkeypatch.setattr(console, "_BETWEEN", 0.0)
    with using(Watched()), console.Console().progress("tuning") as update:
        update(1, 4)
    with console.Console().progress("tuning") as update:
        update(1, 4)
    assert capfd.readouterr().err == "tuning (3 workers, 7 passes): 1 of 4\ntuning: 1 of 4\n"


def left(mark):
    """The processes that were started with this mark."""
    found = []
    for each in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (each / "environ").read_bytes() and (each / "stat").read_text().split()[2] != "Z":
                found.append((each / "cmdline").read_bytes().replace(b"\0", b" ").strip().decode())
        except OSError:
            pass
    return found


def patiently(question, seconds=180):
    """Whether something becomes true."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if question():
            return True
        time.sleep(0.1)
    return False


def with_workers(words, mark):
    """The process of a command, once two workers are there; anew where Ray cannot start on a busy machine."""

    def both():
        return sum("ray::Worker" in each for each in left(mark)) == 2

    for _ in range(3):
        process = subprocess.Popen(
            [sys.executable, "-m", "nbest", *words],
            env={**os.environ, "NBEST_MARK": mark},
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        if patiently(lambda process=process: both() or process.poll() is not None) and process.poll() is None:
            return process
        process.kill()
        said = process.communicate()[1].decode()
        assert patiently(lambda: not left(mark), 60), left(mark)
    raise AssertionError(said)


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")
@pytest.mark.parametrize(
    "number",
    [signal.SIGTERM, *(pytest.param(each, marks=pytest.mark.slow) for each in (signal.SIGINT, signal.SIGKILL))],
)
def test_an_interrupted_command_leaves_no_process(number, tmp_path):
    pytest.importorskip("ray", reason="needs the extra ray: pip install 'nbest[ray]'")
    write(toy_lists(60), tmp_path / "dev.jsonl")
    mark = uuid4().hex
    long = ["--method", "mert", "--restarts", "100000", "--engine", "ray", "--workers", "2"]
    words = ["tune", str(tmp_path / "dev.jsonl"), "-m", "accuracy", *long, "-o", str(tmp_path / "model.json")]
    process = with_workers(words, mark)
    try:
        time.sleep(1.0)
        if number == signal.SIGINT:
            os.killpg(process.pid, number)  # as a terminal does
        else:
            process.send_signal(number)
        process.wait(60)
        assert process.returncode != 0
        own = "" if number != signal.SIGKILL else "ray::Worker"  # Ray's agents take their time where nobody ends them
        assert patiently(lambda: not [each for each in left(mark) if own in each], 30), left(mark)
        assert not (tmp_path / "model.json").exists()
    finally:
        process.kill()
        process.communicate()
