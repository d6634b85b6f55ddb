"""Files are read in every guise and replaced as a whole or not at all."""

import gzip
import io
import lzma
import os
import sys
from types import SimpleNamespace

import pytest

from nbest.base.errors import FormatError
from nbest.base.files import decode, read_bytes, read_lines, replacing, split_lines, write_text

TEXT = "größer\n日本\u2028x\n\nend\n"


@pytest.mark.parametrize("pack", [bytes, gzip.compress, lzma.compress])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_every_guise(tmp_path, pack, mark, ends):
    path = tmp_path / "file"
    path.write_bytes(pack(mark + TEXT.replace("\n", ends).encode()))
    assert read_lines(path) == ["größer", "日本\u2028x", "", "end"]
    assert read_lines(str(path)) == read_lines(path)


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress])
def test_cut_short(tmp_path, pack):
    path, data = tmp_path / "file", pack(TEXT.encode() * 20)
    for size in range(6, len(data)):
        path.write_bytes(data[:size])
        with pytest.raises(FormatError, match="file: compressed file is damaged or cut short"):
            read_bytes(path)


def test_standard_input(monkeypatch):
    for data in (TEXT.encode(), gzip.compress(TEXT.encode())):
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(data)))
        assert read_bytes("-") == TEXT.encode()


def test_broken_text_has_a_line():
    with pytest.raises(FormatError, match=r"^here:3: not valid UTF-8: .* at byte 1 of the line$") as caught:
        decode("here", b"a\nb\n\xff\n")
    assert (caught.value.path, caught.value.line) == ("here", 3)


@pytest.mark.parametrize("path", ["missing", "."])
def test_what_cannot_be_read(tmp_path, path):
    with pytest.raises(FormatError, match="cannot be read"):
        read_bytes(tmp_path / path)


def test_lines():
    assert split_lines("") == []
    assert split_lines("\n") == [""]
    assert split_lines("a\r\nb\r") == ["a", "b"]
    assert split_lines("a\rb\x0bc\n\nd") == ["a\rb\x0bc", "", "d"]


# writing --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["plain", "packed.gz", "packed.xz"])
def test_written_and_read(tmp_path, name):
    path = tmp_path / name
    write_text(path, "old")
    write_text(path, TEXT)
    assert read_bytes(path) == TEXT.encode()
    assert os.listdir(tmp_path) == [name]
    first = path.read_bytes()
    assert first.startswith({"plain": b"g", "packed.gz": b"\x1f\x8b", "packed.xz": b"\xfd7zXZ"}[name])
    write_text(path, TEXT)
    assert path.read_bytes() == first


@pytest.mark.parametrize("name", ["plain", "packed.gz", "packed.xz"])
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_failure_leaves_the_old_file(tmp_path, name, error):
    path = tmp_path / name
    write_text(path, "old")

    def fail():
        with replacing(path) as file:
            file.write(b"half of it")
            raise error

    with pytest.raises(error):
        fail()
    assert read_bytes(path) == b"old"
    assert os.listdir(tmp_path) == [name]


def test_a_failure_leaves_no_file(tmp_path):
    with pytest.raises(UnicodeEncodeError):
        write_text(tmp_path / "new", "a\ud800")
    assert os.listdir(tmp_path) == []


def test_permissions_are_the_usual_ones(tmp_path):
    (tmp_path / "usual").write_text("x")
    write_text(tmp_path / "ours", "x")
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_a_link_stays_one(tmp_path):
    (tmp_path / "there").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "there")
    write_text(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "there").read_text() == "new"


def test_devices(tmp_path):
    write_text("/dev/null", "x")
    assert not os.path.isfile("/dev/null")
    reader, writer = os.pipe()
    write_text(f"/dev/fd/{writer}", "through a pipe")
    os.close(writer)
    assert os.read(reader, 100) == b"through a pipe"
    os.close(reader)


def test_an_open_file_by_its_number(tmp_path):
    """As /dev/stdout is when the shell sends it to a file: written to, not renamed over."""
    with open(tmp_path / "out", "wb") as file:
        write_text(f"/dev/fd/{file.fileno()}", "text")
    assert (tmp_path / "out").read_text() == "text"


def test_standard_output(monkeypatch):
    buffer = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", SimpleNamespace(buffer=buffer, flush=lambda: None))
    write_text("-", TEXT)
    assert buffer.getvalue() == TEXT.encode()


@pytest.mark.parametrize(("name", "reason"), [("", "it is a directory"), ("no/file", "No such file or directory")])
def test_what_cannot_be_written(tmp_path, name, reason):
    with pytest.raises(FormatError, match=f"cannot be written: {reason}"):
        write_text(tmp_path / name, "x")
