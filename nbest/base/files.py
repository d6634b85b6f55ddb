"""Reading and writing files with care: compression, standard input and output, and replacing by rename."""

from __future__ import annotations

import errno
import gzip
import lzma
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from nbest.base.ending import cleaning_up
from nbest.base.errors import FormatError, NbestError
from nbest.base.unpacking import read_stream, unpack

_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)
_IN_MEMORY = 2**26  # bytes for standard output that are kept in memory; more go to a temporary file
_DEVICES = (Path("/dev"), Path("/dev/fd"))


def read_bytes(path: str | Path) -> bytes:
    """All bytes of a file, unpacked when its first bytes say gzip or xz; `-` is standard input.

    Packed files and pipes are read up to a limit (`nbest.base.unpacking`).
    """
    try:
        if str(path) == "-":
            if sys.stdin is None:
                raise FormatError("standard input", None, "cannot be read: it is closed")
            return unpack("standard input", read_stream("standard input", sys.stdin.buffer))
        with open(path, "rb") as file:
            return unpack(path, read_stream(path, file))
    except NbestError:
        raise
    except (OSError, ValueError) as error:
        raise FormatError(path, None, f"cannot be read: {reason_of(error)}") from None
    except MemoryError:
        raise FormatError(path, None, "does not fit in memory") from None


def reason_of(error: Exception) -> str:
    """Why a file could not be opened, read or written, in words."""
    if isinstance(error, OSError):
        return error.strerror or str(error)
    if isinstance(error, RuntimeError):
        return str(error)
    return f"its name is none of a file ({error})"  # NUL, or what the system's encoding lacks


def decode(path: str | Path, data: bytes, before: int = 0) -> str:
    """UTF-8 text of `data` without a byte order mark; broken UTF-8 is a `FormatError` with its line, where `before`
    lines of the file stand before the data."""
    try:
        return data.decode("utf-8" if before else "utf-8-sig")
    except UnicodeDecodeError as error:
        line = before + data.count(b"\n", 0, error.start) + 1
        byte = error.start - data.rfind(b"\n", 0, error.start)
        raise FormatError(path, line, f"not valid UTF-8: {error.reason} at byte {byte} of the line") from None


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

    `.gz` and `.xz` are packed on the way; `-` is standard output, which gets all at the end. A full disk is a
    `FormatError` that names the path.
    """
    if str(path) == "-":
        with naming("standard output"), tempfile.SpooledTemporaryFile(_IN_MEMORY) as kept:
            yield kept
            kept.seek(0)
            sys.stdout.flush()
            shutil.copyfileobj(kept, sys.stdout.buffer)
            sys.stdout.buffer.flush()
        return
    goal, device = goal_of(path)
    if device:
        with naming(path), open(goal, "wb") as file:
            yield file
        return
    try:
        handle, name = tempfile.mkstemp(prefix=f".{goal.name}.", suffix=".part", dir=goal.parent)
    except OSError as error:
        raise FormatError(path, None, f"cannot be written: {error.strerror}") from None
    with cleaning_up():
        try:
            with naming(path):
                with os.fdopen(handle, "wb") as raw, _packing(goal, raw) as file:
                    yield file
                os.chmod(name, 0o666 & ~_umask())
                os.replace(name, goal)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise


def goal_of(path: str | Path) -> tuple[Path, bool]:
    """The file to write (where a link leads, so that it stays one), and whether it is one that cannot be renamed
    over: a pipe, /dev/null or /dev/stdout."""
    goal = Path(path)
    try:
        if goal.is_dir():
            raise FormatError(path, None, "cannot be written: it is a directory")
        if goal.exists() and (not goal.is_file() or goal.parent in _DEVICES):
            return goal, True
        return goal.resolve(), False
    except (OSError, ValueError, RuntimeError) as error:  # RuntimeError: links that lead to each other
        if isinstance(error, FormatError):
            raise
        raise FormatError(path, None, f"cannot be written: {reason_of(error)}") from None


@contextmanager
def naming(path: str | Path) -> Iterator[None]:
    """Turns an error of the disk, which does not say what was written, into a `FormatError` that names `path`."""
    try:
        yield
    except OSError as error:
        short = error.errno is None and "written" in str(error)  # NumPy: "10 requested and 0 written"
        if error.filename is None and (short or error.errno in _DISK):
            reason = f"the disk may be full ({error})" if short else error.strerror
            raise FormatError(path, None, f"cannot be written: {reason}") from None
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
