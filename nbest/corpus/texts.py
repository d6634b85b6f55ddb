"""Texts kept as one byte buffer, decoded when asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from nbest.base.mapped import part_of, taken
from nbest.base.types import Ints

_SPARE = 1 << 16  # bytes that may be copied for nothing
Bytes = npt.NDArray[np.uint8]
A = TypeVar("A", bound=npt.NDArray[Any])


@dataclass(frozen=True, eq=False)
class Texts:
    """H UTF-8 texts: text h is `buffer[starts[h]:ends[h]]`."""

    buffer: Bytes  # [B]
    starts: Ints  # [H]
    ends: Ints  # [H]

    @classmethod
    def of(cls, texts: Iterable[str]) -> Texts:
        """Texts from strings (lone surrogates, which UTF-8 cannot hold, become '?')."""
        pieces = [text.encode("utf-8", "replace") for text in texts]
        ends = np.cumsum([len(piece) for piece in pieces], dtype=np.int64)
        starts = np.concatenate([np.zeros(1, np.int64), ends[:-1]])[: len(pieces)]
        return cls(np.frombuffer(b"".join(pieces), np.uint8), starts, ends)

    def __repr__(self) -> str:
        return f"Texts({len(self)} texts in {len(self.buffer)} bytes)"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Texts):
            return NotImplemented
        return len(self) == len(other) and all(self.raw(h) == other.raw(h) for h in range(len(self)))

    __hash__ = None  # type: ignore[assignment]  # arrays have none

    def __reduce__(self) -> tuple[Any, ...]:
        low, high = int(self.starts.min(initial=len(self.buffer))), int(self.ends.max(initial=0))
        if part_of(self.buffer) is None and 2 * (high - low) < len(self.buffer):  # a part of others' texts
            arrays = self.buffer[low : max(low, high)], self.starts - low, self.ends - low
        else:
            arrays = self.buffer, self.starts, self.ends
        return _restored, (arrays, tuple(array.flags.writeable for array in arrays))

    def __len__(self) -> int:
        return len(self.starts)

    def __getitem__(self, index: int) -> str:
        return self.raw(index).decode("utf-8")

    def __iter__(self) -> Iterator[str]:
        whole = self.buffer.data
        ends = zip(self.starts.tolist(), self.ends.tolist(), strict=True)
        return (str(whole[start:end], "utf-8") for start, end in ends)

    def raw(self, index: int) -> bytes:
        """The bytes of one text."""
        return self.buffer[self.starts[index] : self.ends[index]].tobytes()

    def take(self, index: Ints | slice) -> Texts:
        """The texts at these places, in this order; shares the buffer."""
        return Texts(self.buffer, taken(self.starts, index), taken(self.ends, index))

    def compact(self) -> Texts:
        """The same texts in a buffer that holds nothing else."""
        from nbest.corpus.text_kernels import compact

        return Texts(*compact(*self.for_kernels()))

    def for_kernels(self) -> tuple[Bytes, Ints, Ints]:
        """Buffer, starts and ends in one kind of arrays, read-only ones, or kernels would be compiled for several."""
        return _read_only(self.buffer), _read_only(self.starts), _read_only(self.ends)

    @property
    def scattered(self) -> bool:
        """Whether most of the buffer, between the first and the last of the texts, is none of theirs."""
        size = int(self.ends.max(initial=0)) - int(self.starts.min(initial=len(self.buffer)))
        return size > _SPARE + 2 * int((self.ends - self.starts).sum())

    def numbers(self) -> Ints:
        """[H] a number for each text, equal for equal texts, counting up from 0 in order of first appearance."""
        seen: dict[bytes, int] = {}
        whole, bounds = self.buffer.data, zip(self.starts.tolist(), self.ends.tolist(), strict=True)
        return np.array([seen.setdefault(bytes(whole[low:high]), len(seen)) for low, high in bounds], np.int64)


def _read_only(array: A) -> A:
    same: A = np.ascontiguousarray(array).view()  # type: ignore[assignment]
    same.flags.writeable = False
    return same


def as_kept(text: str) -> str:
    """A text as `Texts` gives it back."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _restored(arrays: tuple[Any, ...], writeable: tuple[bool, ...]) -> Texts:
    """Texts of arrays that may be written to, or not, as before."""
    for array, may_be in zip(arrays, writeable, strict=True):
        if not may_be:
            array.flags.writeable = False
    return Texts(*arrays)


def concatenate(parts: list[Texts]) -> Texts:
    """All texts of all parts, one after the other; of a buffer only what lies between its first and last text."""
    parts = [part.compact() if part.scattered else part for part in parts]
    used = [(int(part.starts.min(initial=len(part.buffer))), int(part.ends.max(initial=0))) for part in parts]
    pieces = [part.buffer[low:high] for part, (low, high) in zip(parts, used, strict=True)]
    shifts = np.cumsum([0] + [len(piece) for piece in pieces[:-1]], dtype=np.int64) - [low for low, _ in used]
    starts = np.concatenate([part.starts + shift for part, shift in zip(parts, shifts, strict=True)])
    ends = np.concatenate([part.ends + shift for part, shift in zip(parts, shifts, strict=True)])
    return Texts(np.concatenate(pieces), starts, ends)
