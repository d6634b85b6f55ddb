"""Arrays that are not in memory: mapped files, and room on disk for what is made out of them.

An array is *mapped* where its numbers lie in a `MappedFile`. What is made of a mapped array and as large as it goes
into a file of its own (`room`), which has no name and is gone with the array: the system keeps in memory what is in
use and writes the rest back. So a corpus from a store (`nbest.formats.lists.store`) needs as much memory as a pass
touches, through the same code as any other.
"""

from __future__ import annotations

import mmap
import os
import sys
import tempfile
from collections.abc import Iterator
from functools import lru_cache
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from nbest.base.errors import FormatError, NbestError
from nbest.base.types import Floats, Ints

SMALL = 1 << 20
"""Bytes up to which room is made in memory."""
_CHUNK = 1 << 22  # bytes that are looked at together


class MappedFile(mmap.mmap):
    """A mapping of a file, and what is known of it."""

    folder: Path  # where room for what is made of it may be
    finite: bool = False  # whether its numbers are known to be finite: they are not looked at again
    path: Path | None = None  # of a file that others can open, too
    stamp: tuple[int, int] = (0, 0)  # its size and the time of its last change
    writeable: bool = False


def frozen(handle: int) -> MappedFile:
    """A whole file, read-only."""
    return MappedFile(handle, 0, access=mmap.ACCESS_READ)


def private(handle: int) -> MappedFile:
    """A whole file; what is written to it stays in this process. As arrays in memory are, for kernels compiled for
    these; no memory is set aside for it (MAP_NORESERVE), as nobody writes."""
    flags = mmap.MAP_PRIVATE | getattr(mmap, "MAP_NORESERVE", 0x4000 if sys.platform == "linux" else 0)
    mapping = MappedFile(handle, 0, flags=flags, prot=mmap.PROT_READ | mmap.PROT_WRITE)
    mapping.writeable = True
    return mapping


def named(mapping: MappedFile, path: Path, handle: int) -> MappedFile:
    """A mapping of an open file that other processes find at this path."""
    about = os.fstat(handle)
    mapping.path, mapping.stamp = path.absolute(), (about.st_size, about.st_mtime_ns)
    mapping.folder = path.resolve().parent.parent
    return mapping


class FilePart(NamedTuple):
    """Where the numbers of an array lie in a file, for a process that can open it."""

    path: str
    stamp: tuple[int, int]
    begin: int  # in bytes
    shape: tuple[int, ...]
    kind: str
    writeable: bool
    finite: bool


def part_of(array: Any) -> FilePart | None:
    """Where an array lies; None where it is not, in one piece, in a file that others can open."""
    root = root_of(array)
    if root is None or root.path is None or not array.flags.c_contiguous or array.size == 0:
        return None
    begin = _address(array) - _address(np.frombuffer(root, np.uint8))
    return FilePart(
        str(root.path), root.stamp, begin, array.shape,
        kind=array.dtype.str, writeable=root.writeable, finite=root.finite,
    )  # fmt: skip


def mapped_part(part: FilePart) -> Any:
    """The array that lies there, mapped; `ElsewhereError` where the file is not there, or not as it was."""
    root = _opened(part.path, part.stamp, part.writeable)
    root.finite = part.finite
    return np.frombuffer(root, np.dtype(part.kind), prod(part.shape), part.begin).reshape(part.shape)


class ElsewhereError(NbestError):
    """A file that another process has mapped cannot be found from here."""


@lru_cache(maxsize=64)
def _opened(path: str, stamp: tuple[int, int], writeable: bool) -> MappedFile:
    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError as error:
        raise ElsewhereError(f"{path}: {error.strerror}") from None
    try:
        mapping = named(private(handle) if writeable else frozen(handle), Path(path), handle)
    except (OSError, ValueError) as error:
        raise ElsewhereError(f"{path}: {error}") from None
    finally:
        os.close(handle)
    if mapping.stamp != stamp:
        raise ElsewhereError(f"{path}: is another file here, or was changed")
    return mapping


def _address(array: Any) -> int:
    return int(array.__array_interface__["data"][0])


def root_of(array: Any) -> MappedFile | None:
    """The mapping that an array is a view of; None where it is in memory."""
    while isinstance(array, np.ndarray):
        array = array.base
    base = array.obj if isinstance(array, memoryview) else array
    return base if isinstance(base, MappedFile) else None


def chunks(array: Any) -> Iterator[Any]:
    """An array in parts of some megabytes, by its first axis."""
    step = max(1, _CHUNK // max(1, array[:1].nbytes))
    return (array[low : low + step] for low in range(0, len(array), step))


def all_finite(array: Floats) -> bool:
    """Whether there is no infinity and no nan; what was found of a whole mapped file is kept with it."""
    root = root_of(array)
    if root is not None and root.finite:
        return True
    found = all(bool(np.isfinite(part).all()) for part in chunks(array))
    if root is not None and array.nbytes == len(root):
        root.finite = found
    return found


def room(shape: int | tuple[int, ...], kind: Any, of: Any, *, zero: bool = False) -> Any:
    """An array to write to, where `of`, which it is made of, is: on disk where that is mapped, else in memory.

    The file lies in the folder of TMPDIR where that is set, else beside the store, else in the system's folder for
    temporary files. The bytes are set aside at once: a full disk is an error here, not a crash later. With `zero` all
    numbers are 0, else anything, to be written to.
    """
    root, kind = root_of(of), np.dtype(kind)
    size = prod(shape if isinstance(shape, tuple) else (shape,)) * kind.itemsize
    if root is None or size <= SMALL:
        return np.zeros(shape, kind) if zero else np.empty(shape, kind)
    mapping = _unnamed(root.folder, size)
    return np.frombuffer(mapping, kind).reshape(shape)


def taken(array: Any, rows: Ints | slice) -> Any:
    """`array[rows]`: a view of a slice; of numbers a copy, on disk where the array is mapped."""
    if isinstance(rows, slice) or root_of(array) is None:
        return array[rows]
    out = room((len(rows), *array.shape[1:]), array.dtype, array)
    return np.take(array, rows, axis=0, out=out, mode="clip")  # without a buffer; rows are there


def _set_aside(file: Any, size: int) -> None:
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), 0, size)
    else:
        file.truncate(size)


def _unnamed(folder: Path, size: int) -> MappedFile:
    """A new file of this size, mapped, that nobody else can open."""
    for place in dict.fromkeys(each for each in (os.environ.get("TMPDIR"), str(folder), tempfile.gettempdir()) if each):
        try:
            with tempfile.TemporaryFile(dir=place) as file:
                _set_aside(file, size)
                mapping = MappedFile(file.fileno(), size)
        except OSError as error:
            failed = FormatError(place, None, f"has no room for {size} bytes: {error.strerror}; name another in TMPDIR")
            continue
        mapping.folder = folder
        return mapping
    raise failed
