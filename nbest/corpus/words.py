"""Words and characters of texts as numbers.

Words are those of `str.split()`: maximal runs without Unicode white space. Each distinct word is hashed from its
bytes in a kernel and becomes a Python string once, however often it occurs, so that anything slow (a tokeniser,
lower-casing) is done once per distinct word. Kernels are imported when they are first called.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from nbest.base.types import Ints
from nbest.compute import segments
from nbest.corpus.texts import Texts, concatenate

if TYPE_CHECKING:
    from nbest.compute.row_tables import Table


@dataclass(frozen=True)
class Words:
    """Words of H texts: those of text h are `ids[offsets[h]:offsets[h + 1]]`, numbers into a shared vocabulary."""

    offsets: Ints  # [H+1]
    ids: npt.NDArray[np.int32]  # [T]

    def __repr__(self) -> str:
        return f"Words({len(self.offsets) - 1} texts, {len(self.ids)} words)"

    def lengths(self) -> Ints:
        """[H] number of words of each text."""
        return np.diff(self.offsets)

    def of(self, index: int) -> npt.NDArray[np.int32]:
        """Word numbers of one text."""
        return self.ids[self.offsets[index] : self.offsets[index + 1]]


def intern(*parts: Texts) -> tuple[list[Words], list[str]]:
    """Words of each part, and the vocabulary that their numbers point into (in order of first appearance)."""
    from nbest.corpus.text_kernels import distinct_words

    joined = concatenate(list(parts))
    offsets, ids, starts, ends = distinct_words(*joined.for_kernels())
    vocabulary = list(Texts(joined.buffer, starts, ends))
    return _cut(parts, offsets, ids), vocabulary


class WordIndex(NamedTuple):
    """A vocabulary in which words of texts are looked up, by two hashes of their bytes as in `row_tables`."""

    table: Table
    numbers: npt.NDArray[np.int32]  # [V] what is said for each word


def index_words(vocabulary: Sequence[str], numbers: npt.NDArray[np.int32]) -> WordIndex:
    """The index of a vocabulary; of equal words the last counts."""
    from nbest.corpus.text_kernels import fill_index

    texts = Texts.of(vocabulary)
    table = np.zeros((1 << max(4, (3 * len(texts) // 2).bit_length()), 3), np.uint64)
    fill_index(table, texts.buffer, texts.starts, texts.ends)
    return WordIndex(table, numbers)


def look_up(texts: Texts, index: WordIndex, other: int) -> Words:
    """Words of texts as the numbers of an index, `other` for those that it does not have."""
    from nbest.corpus.text_kernels import numbers_of_words

    most = int(((texts.ends - texts.starts + 1) // 2).sum())
    offsets, ids = np.zeros(len(texts) + 1, np.int64), np.empty(most, np.int32)
    buffer, starts, ends = texts.for_kernels()
    total = numbers_of_words(buffer, (starts, ends), index, other, ids, offsets=offsets)
    return Words(offsets, ids[:total].copy())


def join_words(parts: Sequence[Words]) -> Words:
    """All texts of all parts, one after the other."""
    if len(parts) == 1:
        return parts[0]
    lengths = np.concatenate([np.zeros(0, np.int64), *(part.lengths() for part in parts)])
    ids = np.concatenate([np.zeros(0, np.int32), *(part.ids for part in parts)])
    return Words(segments.offsets_of(lengths), ids)


def characters(*parts: Texts, spaces: bool = False) -> list[Words]:
    """Code points of each part, white space left out unless `spaces`."""
    from nbest.corpus.text_kernels import code_points

    out = []
    for part in parts:
        offsets, ids = code_points(*part.for_kernels(), spaces)
        out.append(Words(offsets, ids))
    return out


def _cut(parts: tuple[Texts, ...], offsets: Ints, ids: npt.NDArray[np.int32]) -> list[Words]:
    out, at = [], 0
    for part in parts:
        low, high = offsets[at], offsets[at + len(part)]
        out.append(Words(offsets[at : at + len(part) + 1] - low, ids[low:high]))
        at += len(part)
    return out
