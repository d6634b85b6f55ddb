"""Files that are read piece by piece, and more than once if need be."""

from __future__ import annotations

import gzip
import lzma
import os
import sys
import tempfile
import weakref
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from nbest.base.errors import FormatError, NbestError
from nbest.base.files import reason_of
from nbest.base.unpacking import GZIP, XZ, limit, refuse_endless, too_large

_IN_MEMORY = 2**26  # bytes of a stream that are kept in memory; the rest goes to a temporary file
_PIECE = 2**20
Progress = Callable[[int, int], Any]


class Input:
    """A file, unpacked on the way; `-` is standard input, which is kept (on disk where it is long) to be read again.

    Memory is needed for one piece. Packed files and streams are read up to a limit (`nbest.base.unpacking`).
    """

    def __init__(self, path: str | Path) -> None:
        self.path = path
        self._kept: IO[bytes] | None = None

    def head(self, size: int) -> bytes:
        """The first bytes."""
        return next(self.pieces(size), b"")[:size]

    def pieces(self, size: int, progress: Progress | None = None) -> Iterator[bytes]:
        """All bytes, unpacked, in pieces of about `size`; `progress` is told how many of the file's are read."""
        with self._naming(), self._opened() as raw:
            whole = os.fstat(raw.fileno()).st_size if self._kept is None else _size(raw)
            file, packed = _unpacking(raw)
            most, done = limit(whole) if packed else None, 0
            while piece := file.read(size):
                done += len(piece)
                if most is not None and done > most:
                    raise too_large(self.path, whole, most)
                if progress is not None:
                    progress(raw.tell(), whole)
                yield piece

    @contextmanager
    def _opened(self) -> Iterator[IO[bytes]]:
        if self._kept is None and self._is_stream():
            self._kept = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115
            weakref.finalize(self, self._kept.close)
            with self._stream() as stream:
                self._keep(stream, self._kept)
        if self._kept is not None:
            self._kept.seek(0)
            yield self._kept
            return
        with open(self.path, "rb") as file:
            yield file

    def _keep(self, stream: IO[bytes], kept: IO[bytes]) -> None:
        most = limit()
        while piece := stream.read(_PIECE):
            kept.write(piece)
            if kept.tell() > most:
                raise too_large(self._name, None, most)

    @property
    def _name(self) -> object:
        return "standard input" if str(self.path) == "-" else self.path

    def _is_stream(self) -> bool:
        return str(self.path) == "-" or not Path(self.path).is_file()

    @contextmanager
    def _stream(self) -> Iterator[IO[bytes]]:
        if str(self.path) == "-":
            if sys.stdin is None:
                raise FormatError(self._name, None, "cannot be read: it is closed")
            yield sys.stdin.buffer
            return
        with open(self.path, "rb") as file:
            refuse_endless(self.path, file)
            yield file

    @contextmanager
    def _naming(self) -> Iterator[None]:
        """Errors of the system and of packed files as such of this path."""
        try:
            yield
        except NbestError:
            raise
        except (EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError) as error:
            raise FormatError(self._name, None, f"compressed file is damaged or cut short: {error}") from None
        except (OSError, ValueError) as error:
            raise FormatError(self._name, None, f"cannot be read: {reason_of(error)}") from None


def _size(file: IO[bytes]) -> int:
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    return size


def _unpacking(raw: IO[bytes]) -> tuple[Any, bool]:
    """The file to read from, and whether it is packed."""
    start = raw.read(len(XZ))
    raw.seek(0)
    if start.startswith(GZIP):
        return gzip.GzipFile(fileobj=raw, mode="rb"), True
    if start.startswith(XZ):
        return lzma.LZMAFile(raw), True
    return raw, False
