"""Array files (.npy, .npz) of which nothing is believed.

A header is matched against what NumPy writes, never evaluated; only plain numbers and texts are taken, no objects; and
a shape must account for exactly the bytes that follow, before anything is allocated or mapped. All that is wrong is a
`FormatError`. What the numbers say is for the reader of each file to check (`nbest.base.folders`).
"""

from __future__ import annotations

import io
import lzma
import mmap
import os
import re
import struct
import zipfile
import zlib
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from nbest.base.errors import FormatError

_MAGIC = b"\x93NUMPY"
_LONGEST_HEADER = 10_000
_MOST_AXES = 8
_MOST_EMPTY = 1 << 24  # numbers a row of an array that has no rows, so that no one makes room for more
_HEADER = re.compile(
    r"\{'descr': '([<>|]?)(b1|[iu][1248]|f[248]|c8|c16|[SU]\d{1,9})', 'fortran_order': (True|False), "
    r"'shape': \(((?:\d{1,18}, )*\d{1,18},?|)\), ?\} *\n"
)
_UNPACKING = (
    ValueError, OSError, EOFError, RuntimeError, OverflowError, MemoryError, struct.error, zipfile.BadZipFile,
    zlib.error, lzma.LZMAError,
)  # fmt: skip


class ArrayHeader(NamedTuple):
    """What an .npy file says of its array, and has room for."""

    kind: np.dtype[Any]
    shape: tuple[int, ...]
    fortran: bool
    begin: int  # of the numbers, in bytes


def read_array(path: str | Path, data: bytes) -> np.ndarray:
    """The array of the bytes of an .npy file, in memory; `path` is for errors."""
    header = _header(path, data, len(data))
    return view_of(data, header).copy(order="K")


def map_array(path: str | Path) -> np.ndarray:
    """The array of an .npy file, mapped into memory, read-only. The file must not be changed while it is in use."""
    try:
        if not Path(path).is_file():
            raise FormatError(path, None, "is no file" if Path(path).exists() else "is missing")
        with open(path, "rb") as file:
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:  # a file of 0 bytes cannot be mapped
        if isinstance(error, FormatError):
            raise
        why = getattr(error, "strerror", None) or error
        raise FormatError(path, None, f"cannot be read: {why}") from None
    return view_of(data, _header(path, data[: 12 + _LONGEST_HEADER], len(data)))


def header_of(path: str | Path, handle: int) -> ArrayHeader:
    """The header of an .npy file that is open."""
    return _header(path, os.pread(handle, 12 + _LONGEST_HEADER, 0), os.fstat(handle).st_size)


def read_npz(path: str | Path, data: bytes, *, most: int) -> dict[str, np.ndarray]:
    """The arrays of the bytes of an .npz file by their names, in memory; unpacked they must be `most` bytes at most."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as packed:
            members = packed.infolist()
            names = [member.filename.removesuffix(".npy") for member in members]
            if len(set(names)) < len(names):
                raise FormatError(path, None, "holds two arrays of one name")
            if any(member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) for member in members):
                raise FormatError(path, None, "is packed in a way that NumPy does not write")
            size = sum(member.file_size for member in members)
            if size > most:
                raise FormatError(path, None, f"would unpack to {size} bytes, more than {most}")
            return {name: read_array(path, packed.read(member)) for name, member in zip(names, members, strict=True)}
    except _UNPACKING as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(path, None, f"is no .npz file of plain arrays: {_short(error)}") from None


def _header(path: str | Path, data: bytes, size: int) -> ArrayHeader:
    """What the first bytes of an .npy file of `size` bytes say, if the file has room for exactly that."""
    version = data[6:8]
    if not data.startswith(_MAGIC) or version not in (b"\x01\x00", b"\x02\x00", b"\x03\x00"):
        raise FormatError(path, None, "is no array file (.npy), or damaged: its first bytes are others")
    wide = 2 if version == b"\x01\x00" else 4
    begin = 8 + wide + int.from_bytes(data[8 : 8 + wide], "little")
    if begin > min(size, 12 + _LONGEST_HEADER):
        raise FormatError(path, None, f"is damaged: its header is to have {begin} bytes")
    text = data[8 + wide : begin].decode("latin-1")
    found = _HEADER.fullmatch(text)
    if found is None:
        raise FormatError(path, None, f"is no file of plain numbers, or damaged: its header is {_short(text.strip())}")
    kind = np.dtype(found[1] + found[2])
    shape = tuple(int(axis) for axis in found[4].replace(",", " ").split())
    _check_shape(path, shape, kind, size - begin)
    return ArrayHeader(kind, shape, found[3] == "True", begin)


def _check_shape(path: str | Path, shape: tuple[int, ...], kind: np.dtype[Any], room: int) -> None:
    told = f"is damaged: its header tells of {' x '.join(map(str, shape)) or 1} {kind}"
    if len(shape) > _MOST_AXES or kind.itemsize == 0:
        raise FormatError(path, None, told)
    if prod(shape) * kind.itemsize != room:
        raise FormatError(path, None, f"{told}, {room} bytes follow")
    if prod(axis for axis in shape if axis) > max(room, _MOST_EMPTY):
        raise FormatError(path, None, f"{told}, which is empty")


def view_of(data: bytes | mmap.mmap, header: ArrayHeader) -> np.ndarray:
    """The array in the bytes of a file, or in a mapping of it."""
    flat = np.frombuffer(data, header.kind, prod(header.shape), header.begin)
    return flat.reshape(header.shape, order="F" if header.fortran else "C")


def _short(what: object) -> str:
    text = repr(what) if isinstance(what, str) else str(what)
    return text if len(text) <= 100 else f"{text[:100]}..."
