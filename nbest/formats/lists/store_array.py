"""One array of a store: opened once, then read in parts or mapped, whatever becomes of its folder meanwhile."""

from __future__ import annotations

import os
import weakref
from pathlib import Path
from typing import Any

import numpy as np

from nbest.base.arrays_file import header_of, view_of
from nbest.base.errors import FormatError
from nbest.base.mapped import frozen, named, private
from nbest.formats.lists.store_layout import BEGIN, Array

REMEDY = "convert the lists again"
_CHUNK = 1 << 24  # bytes that are read at a time


class StoredArray:
    """An .npy file whose header is right."""

    def __init__(self, path: Path, array: Array) -> None:
        self.path, self.array = path, array
        try:
            self.handle = os.open(path, os.O_RDONLY)
        except OSError as error:
            raise FormatError(path, None, f"cannot be read: {error.strerror}") from None
        weakref.finalize(self, os.close, self.handle)
        self.header = header_of(path, self.handle)
        if self.header.kind.str not in array.kinds or len(self.header.shape) != array.axes or self.header.fortran:
            raise FormatError(path, None, f"is damaged: expected {array.kinds[0]}, {array.axes} axes; {REMEDY}")
        if self.header.begin != BEGIN:
            raise FormatError(path, None, f"is damaged: its numbers do not begin at {BEGIN}; {REMEDY}")

    def __len__(self) -> int:
        return self.header.shape[0]

    @property
    def width(self) -> int:
        """Bytes of an entry."""
        return int(np.prod(self.header.shape[1:], dtype=np.int64)) * self.header.kind.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all entries."""
        return len(self) * self.width

    def read(self, begin: int, end: int) -> Any:
        """Entries, read into memory."""
        out = np.empty((end - begin, *self.header.shape[1:]), self.header.kind)
        view = out.reshape(-1).view(np.uint8).data
        place, at = BEGIN + begin * self.width, 0
        while at < len(view):
            got = os.preadv(self.handle, [view[at : at + _CHUNK]], place + at)
            if got == 0:
                raise FormatError(self.path, None, f"was cut short while it is in use; {REMEDY}")
            at += got
        return out

    def mapped(self) -> Any:
        """The whole array, mapped; as it would be in memory, read-only or not."""
        how = frozen if self.array.of in ("segments", "references") or self.array.axes > 1 else private
        try:
            return view_of(named(how(self.handle), self.path, self.handle), self.header)
        except OSError as error:
            hint = "ulimit -v counts files that are mapped"
            raise FormatError(self.path, None, f"cannot be mapped: {error.strerror}; {hint}") from None
