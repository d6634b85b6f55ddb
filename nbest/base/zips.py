"""Members of zip archives, bounded as all that is unpacked is (`unpacking.py`)."""

from __future__ import annotations

import io
import struct
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator
from typing import Any

from nbest.base.errors import FormatError
from nbest.base.unpacking import limit, too_large

ZIP = b"PK\x03\x04"
_ZSTD = 93  # the method's number; Python's own zip files know it from 3.14 on
_PIECE = 2**20
_WRONG = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    NotImplementedError,
    RuntimeError,
    ValueError,
    OSError,
)


def members(path: object, data: bytes, wanted: Callable[[str], bool]) -> Iterator[tuple[str, bytes]]:
    """(name, contents) of the members of an archive that are wanted, in its order."""
    most = limit(len(data))
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for info in archive.infolist():
                if wanted(info.filename):
                    most -= info.file_size
                    if most < 0:
                        raise too_large(path, len(data), limit(len(data)))
                    yield info.filename, _contents(path, data, archive, info)
    except FormatError:
        raise
    except _WRONG as error:
        raise FormatError(path, None, f"the archive is damaged or cut short: {error}") from None


def _contents(path: object, data: bytes, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """What a member holds; no more than its announced size is ever unpacked."""
    if info.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return archive.read(info)
    if info.compress_type != _ZSTD:
        raise FormatError(path, None, f"{info.filename} is packed by method {info.compress_type}, not known here")
    made = _unpacked(path, data, info)
    if len(made) != info.file_size or zlib.crc32(made) != info.CRC:
        raise zipfile.BadZipFile(f"{info.filename} is not what was packed")
    return made


def _unpacked(path: object, data: bytes, info: zipfile.ZipInfo) -> bytes:
    """A member packed by zstd: it stands behind a header, a name and more, whose lengths the header tells."""
    name, more = struct.unpack_from("<HH", data, info.header_offset + 26)
    start = info.header_offset + 30 + name + more
    pieces, left = list[bytes](), info.file_size + 1
    with _unpacker(path)(io.BytesIO(data[start : start + info.compress_size])) as file:
        while left and (piece := file.read(min(left, _PIECE))):
            pieces.append(piece)
            left -= len(piece)
    return b"".join(pieces)


def _unpacker(path: object) -> Callable[[io.BytesIO], Any]:
    """A reader of zstd: Python's own from 3.14 on, or that of pyarrow."""
    if sys.version_info >= (3, 14):
        from compression.zstd import ZstdFile

        return ZstdFile
    try:
        from pyarrow import CompressedInputStream
    except ImportError:
        hint = "needs Python 3.14 or pyarrow (pip install 'nbest[arrow]')"
        raise FormatError(path, None, f"the archive is packed by zstd, which {hint}") from None
    return lambda packed: CompressedInputStream(packed, "zstd")
