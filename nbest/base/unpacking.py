"""How much is read: packed files unpack to a limit, streams end at one, endless devices are refused.

A packed file may unpack to 200 times its size, and to 1 GiB in any case; a pipe or standard input may deliver 4 GiB.
The environment variable `NBEST_MAX_INPUT` (bytes, or 8G, 500M) sets another limit for both. Plain files have none.
"""

from __future__ import annotations

import gzip
import io
import lzma
import os
import re
import stat
import zlib
from pathlib import Path
from typing import IO, Any

from nbest.base.errors import FormatError, ParameterError

VARIABLE = "NBEST_MAX_INPUT"
GZIP, XZ = b"\x1f\x8b", b"\xfd7zXZ\x00"
_RATIO, _FLOOR, _STREAM = 200, 2**30, 2**32
_PIECE = 2**20
_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def limit(packed: int | None = None) -> int:
    """Most bytes that may come out of `packed` bytes, or of a stream (None)."""
    said = os.environ.get(VARIABLE, "").strip()
    if not said:
        return _STREAM if packed is None else max(_FLOOR, _RATIO * packed)
    found = re.fullmatch(r"([1-9][0-9]{0,14})([KMGT]?)", said.upper())
    if not found:
        raise ParameterError(f"{VARIABLE} must be a number of bytes such as 500M or 8G, got {said[:40]!r}")
    return int(found[1]) * _UNITS[found[2]]


def unpack(path: object, data: bytes) -> bytes:
    """The bytes, unpacked when the first of them say gzip or xz; more than the limit is a `FormatError`."""
    try:
        if data.startswith(GZIP):
            return _all(path, gzip.GzipFile(fileobj=io.BytesIO(data)), len(data))
        if data.startswith(XZ):
            return _all(path, lzma.LZMAFile(io.BytesIO(data)), len(data))
    except (EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError) as error:
        raise FormatError(path, None, f"compressed file is damaged or cut short: {error}") from None
    return data


def _all(path: object, file: Any, packed: int | None) -> bytes:
    """What a file holds, up to the limit."""
    most, size, pieces = limit(packed), 0, []
    while piece := file.read(_PIECE):
        size += len(piece)
        if size > most:
            raise too_large(path, packed, most)
        pieces.append(piece)
    return b"".join(pieces)


def too_large(path: object, packed: int | None, most: int) -> FormatError:
    """The error for more than the limit, of `packed` bytes or of a stream."""
    what = "goes on after" if packed is None else f"unpacks from {packed} bytes to more than the limit of"
    hint = f"if it should, set the environment variable {VARIABLE} (such as {_rounded(2 * most)})"
    return FormatError(path, None, f"{what} {most} bytes; {hint}")


def _rounded(size: int) -> str:
    """A number of bytes, at least as large, as the variable takes it."""
    unit = next(name for name in "TGMK" if size >= _UNITS[name]) if size >= 1024 else ""
    return f"{-(-size // _UNITS[unit])}{unit}"


def read_stream(path: object, file: IO[bytes]) -> bytes:
    """All bytes of an open file that is not a plain one: bounded, and not from a device that never ends."""
    try:
        mode = os.fstat(file.fileno()).st_mode
    except (AttributeError, OSError, ValueError):  # no real file
        mode = stat.S_IFIFO
    if stat.S_ISREG(mode):
        return file.read()
    refuse_endless(path, file)
    return _all(path, file, None)


def refuse_endless(path: object, file: IO[bytes]) -> None:
    """Refuse a device that never ends."""
    try:
        mode = os.fstat(file.fileno()).st_mode
    except (AttributeError, OSError, ValueError):  # no real file
        return
    if stat.S_ISBLK(mode) or (stat.S_ISCHR(mode) and not _ends(file)):
        raise FormatError(path, None, "is a device, not a file with an end")


def _ends(file: IO[bytes]) -> bool:
    """Whether a device has an end: a terminal, or the null device."""
    null = Path(os.devnull).stat().st_rdev
    return file.isatty() or os.fstat(file.fileno()).st_rdev == null


def need_rereadable(path: str | Path, why: str) -> None:
    """Refuse a pipe where a file is read more than once: the second time would wait for ever."""
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return  # whoever reads it says what is wrong
    if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or stat.S_ISCHR(mode):
        raise FormatError(path, None, f"is a pipe or a device, and {why}; write it to a file first")
