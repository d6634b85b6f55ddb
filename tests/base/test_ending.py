"""A process that is told to end removes what it has half written, and ends as it would have."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from nbest.base.ending import cleaning_up

WRITE = """
import sys, time
from nbest.base.files import replacing
from nbest.base.folders import replacing_directory
from nbest.formats.lists.store import write_store_blocks
from nbest.testing import toy_lists
from dataclasses import replace

def wait():
    print("writing", flush=True)
    for _ in range(6000):  # a signal just before one long sleep would wait for its end
        time.sleep(0.1)

def blocks():
    lists = replace(toy_lists(segments_=6), stats=None, metric=None)
    yield lists.between(0, 3)
    wait()

def file(path):
    with replacing(path) as out:
        out.write(b"half")
        wait()

def folder(path):
    with replacing_directory(path) as out, replacing_directory(out) as inner:
        (inner / "half").write_text("half")
        wait()

def lost(path):
    with replacing(path) as out:
        out.write(b"whole")
        try:
            wait()
        except BaseException:
            print("lost", flush=True)
    print("never said", flush=True)

def store(path):
    write_store_blocks(blocks(), path)

globals()[sys.argv[1]]("goal")
"""


@pytest.fixture(autouse=True)
def nobody_else() -> Iterator[None]:
    """SIGTERM as a program begins: commands that ran here before (nbest loop) may have left something."""
    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.mark.parametrize("what", ["file", "folder", "store"])
def test_nothing_half_written_is_left(what: str, tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", WRITE, what], cwd=tmp_path, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"writing\n"
        assert [path.suffix for path in tmp_path.iterdir()].count(".part") == 1 + (what == "folder")
        process.terminate()
        process.terminate()
        assert process.wait(60) == -signal.SIGTERM
    assert list(tmp_path.iterdir()) == []


def test_it_ends_where_the_exception_is_lost(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", WRITE, "lost"], cwd=tmp_path, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"writing\n"
        process.terminate()
        assert process.stdout.read() == b"lost\n"
        assert process.wait(60) == -signal.SIGTERM
    assert (tmp_path / "goal").read_bytes() == b"whole"


def test_signals_are_as_before_at_the_end() -> None:
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    with cleaning_up():
        assert signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
        with cleaning_up():
            pass
        assert signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    with pytest.raises(ValueError, match="wrong"), cleaning_up():
        raise ValueError("wrong")
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_what_others_do_about_it_is_left_alone() -> None:
    def own(number: int, frame: object) -> None:
        """Of the program."""

    before = signal.signal(signal.SIGTERM, own)
    try:
        with cleaning_up():
            assert signal.getsignal(signal.SIGTERM) is own
    finally:
        signal.signal(signal.SIGTERM, before)
    seen = []

    def inside() -> None:
        with cleaning_up():
            seen.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=inside)
    thread.start()
    thread.join()
    assert seen == [signal.SIG_DFL]
