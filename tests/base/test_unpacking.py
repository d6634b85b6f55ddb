"""How much is read: packed files and streams up to a limit, devices without an end not at all."""

import gzip
import io
import lzma
import os
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

import nbest
from nbest.base.errors import FormatError, ParameterError
from nbest.base.files import read_bytes
from nbest.base.unpacking import VARIABLE, limit, need_rereadable

ROOT = str(Path(nbest.__file__).parent.parent)


def child(code, *arguments, memory=None, **more):
    """Run Python code in a process of its own, with so many bytes of memory."""
    limited = f"import resource; resource.setrlimit(resource.RLIMIT_AS, ({memory}, {memory}))\n" if memory else ""
    return subprocess.run(
        [sys.executable, "-c", limited + code, *map(str, arguments)],
        capture_output=True, text=True, env=os.environ | {"PYTHONPATH": ROOT}, timeout=120, **more,
    )  # fmt: skip


# bombs -----------------------------------------------------------------------------------------------------------

PACKS = {
    "gz": gzip.compress,
    "xz": lambda data: lzma.compress(data, preset=0),
    "several gz": lambda data: gzip.compress(data[: len(data) // 2]) + gzip.compress(data[len(data) // 2 :]),
}


def bomb(path, pack, mebibytes):
    """A file that unpacks to so many mebibytes of zeros, made of equal members."""
    member = pack(bytes(2**26))
    path.write_bytes(member * (mebibytes // 64))


@pytest.mark.parametrize(("kind", "most"), [("gz", None), ("xz", "256M"), ("several gz", "256M")])
def test_bombs_stop_at_the_limit(tmp_path, monkeypatch, kind, most):
    """6 GiB in at most 6 MiB: the limit (by itself 1 GiB, or 200 times the packed size) is reached, no more memory is
    used."""
    if most is not None:
        monkeypatch.setenv(VARIABLE, most)
    bomb(tmp_path / "file", PACKS[kind], 6 * 1024)
    size = (tmp_path / "file").stat().st_size
    code = "import sys\nfrom nbest.base.files import read_bytes\nread_bytes(sys.argv[1])"
    ran = child(code, tmp_path / "file", memory=limit(size) * 5 // 2 + 2**29)
    said = f"file: unpacks from {size} bytes to more than the limit of {limit(size)} bytes; "
    assert ran.stderr.splitlines()[-1].startswith("nbest.base.errors.FormatError: "), ran.stderr
    assert said in ran.stderr
    advice = "2G" if most is None else "512M"
    assert f"set the environment variable {VARIABLE} (such as {advice})" in ran.stderr or size * 400 > 2**31


def test_a_bomb_under_little_memory_is_one_line(tmp_path):
    bomb(tmp_path / "dev.nbest.xz", PACKS["xz"], 1024)
    code = "import sys\nfrom nbest.cli.main import run\nrun()"
    ran = child(code, "inspect", tmp_path / "dev.nbest.xz", memory=900 * 2**20)
    assert ran.returncode == 2
    assert ran.stderr.splitlines()[-1].startswith("nbest: ")
    assert "memory" in ran.stderr
    assert "Traceback" not in ran.stderr


@pytest.mark.parametrize("kind", PACKS)
def test_the_limit_can_be_set(tmp_path, monkeypatch, kind):
    data = bytes(3000)
    (tmp_path / "file").write_bytes(PACKS[kind](data))
    monkeypatch.setenv(VARIABLE, "2999")
    with pytest.raises(FormatError, match=f"to more than the limit of 2999 bytes; .*{VARIABLE} .such as 6K"):
        read_bytes(tmp_path / "file")
    for enough in ("3000", "3K", "1g"):
        monkeypatch.setenv(VARIABLE, enough)
        assert read_bytes(tmp_path / "file") == data


def test_plain_files_have_no_limit(tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, "10")
    (tmp_path / "file").write_bytes(b"x" * 1000)
    assert len(read_bytes(tmp_path / "file")) == 1000


@pytest.mark.parametrize("said", ["much", "-1", "1.5G", "9" * 30, "1 G B"])
def test_what_the_variable_may_say(monkeypatch, said):
    monkeypatch.setenv(VARIABLE, said)
    with pytest.raises(ParameterError, match=f"{VARIABLE} must be a number of bytes such as 500M or 8G, got"):
        limit(1)


def test_the_limit_grows_with_the_packed_size():
    assert limit(0) == limit(5 * 2**20) == 2**30
    assert limit(2**30) == 200 * 2**30


# streams and devices -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/urandom", "/dev/full"])
def test_devices_without_an_end(device):
    with pytest.raises(FormatError, match=f"{device}: is a device, not a file with an end"):
        read_bytes(device)
    with pytest.raises(FormatError, match="is a device"):
        nbest.read(device)
    with pytest.raises(FormatError, match="is a device"):
        nbest.load(device)


def test_standard_input_without_an_end():
    with open("/dev/zero", "rb") as endless:
        ran = child("from nbest.base.files import read_bytes\nread_bytes('-')", stdin=endless)
    assert "standard input: is a device" in ran.stderr


def test_the_null_device_is_empty():
    assert read_bytes("/dev/null") == b""


def test_a_stream_stops_at_the_limit(monkeypatch):
    monkeypatch.setenv(VARIABLE, "1M")
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(bytes(2**20))))
    assert len(read_bytes("-")) == 2**20
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(bytes(2**20 + 1))))
    with pytest.raises(FormatError, match=f"standard input: goes on after 1048576 bytes; .*{VARIABLE} .such as 2M"):
        read_bytes("-")


def test_closed_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(FormatError, match="standard input: cannot be read: it is closed"):
        read_bytes("-")


LISTS = b"0 ||| a b ||| f= 1\n0 ||| b ||| f= 2\n"
REFERENCES = b"a b\n"


def feed(path, data):
    """Write to a pipe once, from another thread."""

    def write():
        with open(path, "wb") as file:
            file.write(data)

    thread = threading.Thread(target=write, daemon=True)
    thread.start()
    return thread


@pytest.mark.parametrize("pack", [bytes, gzip.compress, lzma.compress])
def test_pipes_are_read_once(tmp_path, pack):
    for name, data, read in (
        ("lists", LISTS, lambda path: nbest.read(path).hypotheses),
        ("any", LISTS, lambda path: nbest.read_any(path).hypotheses),
        ("given", LISTS, lambda path: nbest.read(path, "moses").hypotheses),
        ("model", b"f= 1\n", lambda path: len(nbest.load(path).weights)),
        ("references", REFERENCES, lambda path: len(nbest.read_references(path, 1))),
    ):
        os.mkfifo(tmp_path / name)
        thread = feed(tmp_path / name, pack(data))
        assert read(tmp_path / name) in (1, 2)
        thread.join(10)
        assert not thread.is_alive()


def test_a_broken_model_from_a_pipe_is_read_once(tmp_path):
    os.mkfifo(tmp_path / "model")
    feed(tmp_path / "model", b"{")
    with pytest.raises(FormatError, match="not valid JSON"):
        nbest.load(tmp_path / "model")


def test_pipes_where_a_file_is_read_twice(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(
        FormatError, match="pipe: is a pipe or a device, and it is read twice; write it to a file first"
    ):
        need_rereadable(tmp_path / "pipe", "it is read twice")
    need_rereadable(tmp_path / "missing", "it is read twice")
    need_rereadable(tmp_path, "it is read twice")


@pytest.mark.parametrize("path", ["a\0b", "\ud800"])
def test_names_that_are_none_of_files(path):
    for call in (read_bytes, nbest.read, nbest.read_forests, nbest.read_any, nbest.load):
        with pytest.raises(FormatError, match="cannot be read: its name is none of a file"):
            call(path)
    with pytest.raises(FormatError, match="cannot be written: its name is none of a file"):
        nbest.LogLinear({}).save(path)
