"""Reading and writing files with care: compression, standard input and output, and replacing by rename."""

from __future__ import annotations

import gzip
import lzma
import os
import sys
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from nbest.errors import FormatError

_DEVICES = (Path("/dev"), Path("/dev/fd"))
_GZIP, _XZ = b"\x1f\x8b", b"\xfd7zXZ\x00"


def read_bytes(path: str | Path) -> bytes:
    """All bytes of a file, unpacked when its first bytes say gzip or xz; `-` is standard input."""
    try:
        data = sys.stdin.buffer.read() if str(path) == "-" else Path(path).read_bytes()
    except OSError as error:
        raise FormatError(path, None, f"cannot be read: {error.strerror or error}") from None
    return _unpack(path, data)


def _unpack(path: str | Path, data: bytes) -> bytes:
    try:
        if data.startswith(_GZIP):
            return gzip.decompress(data)
        if data.startswith(_XZ):
            return lzma.decompress(data)
    except (EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError) as error:
        raise FormatError(path, None, f"compressed file is damaged or cut short: {error}") from None
    return data


def decode(path: str | Path, data: bytes) -> str:
    """UTF-8 text of `data` without a byte order mark; broken UTF-8 is a `FormatError` with its line."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise FormatError(path, line, f"not valid UTF-8: {error.reason} at byte {error.start}") from None


def read_lines(path: str | Path) -> list[str]:
    """Lines of a text file without their ends (LF or CRLF)."""
    return split_lines(decode(path, read_bytes(path)))


def split_lines(text: str) -> list[str]:
    """Lines cut at LF only, a CR before it dropped: U+2028 and other separators may stand inside a text."""
    lines = text.split("\n")
    if lines and lines[-1] == "":
        lines.pop()
    return [line[:-1] if line.endswith("\r") else line for line in lines]


@contextmanager
def replacing(path: str | Path) -> Iterator[IO[bytes]]:
    """A binary file that takes the place of `path` when the block ends well, and leaves no trace when it does not.

    `.gz` and `.xz` are packed on the way; `-` is standard output.
    """
    if str(path) == "-":
        sys.stdout.flush()
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    goal = Path(path)
    if goal.is_dir():
        raise FormatError(path, None, "cannot be written: it is a directory")
    if goal.exists() and (not goal.is_file() or goal.parent in _DEVICES):
        with open(goal, "wb") as device:  # a pipe, /dev/null or /dev/stdout cannot be renamed over
            yield device
        return
    goal = goal.resolve()  # a link stays one
    try:
        handle, name = tempfile.mkstemp(prefix=f".{goal.name}.", suffix=".part", dir=goal.parent)
    except OSError as error:
        raise FormatError(path, None, f"cannot be written: {error.strerror}") from None
    try:
        with os.fdopen(handle, "wb") as raw, _packing(goal, raw) as file:
            yield file
        os.chmod(name, 0o666 & ~_umask())
        os.replace(name, goal)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


@contextmanager
def _packing(path: Path, raw: IO[bytes]) -> Iterator[IO[bytes]]:
    if path.suffix == ".gz":  # no time stamp, so that equal contents give equal files
        with gzip.GzipFile(fileobj=raw, mode="wb", mtime=0, filename="") as file:
            yield file  # type: ignore[misc]
    elif path.suffix == ".xz":
        with lzma.LZMAFile(raw, "wb") as file:
            yield file
    else:
        yield raw


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def write_text(path: str | Path, text: str) -> None:
    """Write UTF-8 text beside `path`, then rename."""
    with replacing(path) as file:
        file.write(text.encode("utf-8"))
