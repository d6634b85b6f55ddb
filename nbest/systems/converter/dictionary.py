"""Words by reading, in flat arrays that kernels search: the dictionary of a converter."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from nbest.base.errors import ParameterError
from nbest.base.types import Floats, Ints
from nbest.compute import segments
from nbest.compute.compilation import kernel
from nbest.corpus import Texts
from nbest.lm.mixture import Mixture, word_ids
from nbest.lm.model import LanguageModel
from nbest.lm.query import UNKNOWN

ARRAYS = {
    "reading_offsets": (np.int64, 1),
    "reading_codes": (np.int32, 1),
    "entry_offsets": (np.int64, 1),
    "surfaces": (np.int32, 1),
    "numbers": (np.int32, 2),
    "spellings": (np.float32, 1),
}
"""Fields of a dictionary that are arrays: type and number of axes."""


@dataclass(frozen=True)
class Dictionary:
    """R readings and their P entries; a reading is found by narrowing a range of the sorted readings by its characters.

    Entries of a reading: those that the language model knows, then the others from the likeliest spelling down.
    """

    words: tuple[str, ...]  # W surfaces
    reading_offsets: Ints  # [R+1]
    reading_codes: npt.NDArray[np.int32]  # code points of the readings, sorted
    entry_offsets: Ints  # [R+1]: entries of reading r
    surfaces: npt.NDArray[np.int32]  # [P] number into words
    numbers: npt.NDArray[np.int32]  # [P, 2] numbers in the language models
    spellings: Floats  # [P] float32: log probability of the surface's characters; 0 for words that a model knows

    def __post_init__(self) -> None:
        fits = (
            len(self.reading_offsets) == len(self.entry_offsets) >= 1
            and self.reading_offsets[-1] == len(self.reading_codes)
            and self.entry_offsets[-1] == len(self.surfaces) == len(self.spellings)
            and self.numbers.shape == (len(self.surfaces), 2)
            and self.surfaces.max(initial=-1) < len(self.words)
        )
        if not fits:
            raise ParameterError("the arrays of Dictionary do not fit each other")

    def __len__(self) -> int:
        return len(self.surfaces)

    @property
    def readings(self) -> int:
        """R."""
        return len(self.reading_offsets) - 1

    def arrays(self) -> tuple[np.ndarray, ...]:
        """The arrays, as kernels take them."""
        return tuple(getattr(self, field.name) for field in fields(self) if field.name != "words")

    def look_up(self, reading: str) -> list[str]:
        """The surfaces of a reading, in the order of their entries."""
        low, high = 0, self.readings
        for depth, character in enumerate(reading):
            low, high = narrowed(
                self.reading_offsets, codes=self.reading_codes, low=low, high=high, depth=depth, code=ord(character)
            )
        if low == high or self.reading_offsets[low + 1] - self.reading_offsets[low] != len(reading):
            return []
        return [self.words[w] for w in self.surfaces[self.entry_offsets[low] : self.entry_offsets[low + 1]]]


def token(surface: str, reading: str, tokens: str) -> str:
    """What the language model sees of a word."""
    return surface if tokens == "surface" else f"{surface}|{reading}"


def build_dictionary(
    entries: Iterable[tuple[str, str]], lm: LanguageModel | Mixture, spelling: LanguageModel, tokens: str
) -> Dictionary:
    """The dictionary of (surface, reading) pairs; repeated ones count once."""
    pairs = sorted(set(entries), key=lambda pair: (pair[1], pair[0]))
    numbers = word_ids(lm, [token(*pair, tokens) for pair in pairs])
    unknown = (numbers == UNKNOWN).all(axis=1)
    spelled = spelling.score(Texts.of(" ".join(surface) for surface, _ in pairs)).logprobs
    spellings = np.where(unknown, spelled, 0.0).astype(np.float32)
    words = {surface: at for at, surface in enumerate(dict.fromkeys(surface for surface, _ in pairs))}
    readings = list(dict.fromkeys(reading for _, reading in pairs))
    places = {reading: at for at, reading in enumerate(readings)}
    owner = np.array([places[reading] for _, reading in pairs], np.int64)
    order = np.lexsort((np.arange(len(pairs)), -spellings, unknown, owner))
    surfaces = np.array([words[surface] for surface, _ in pairs], np.int32)
    return Dictionary(
        words=tuple(words),
        reading_offsets=segments.offsets_of(np.array([len(reading) for reading in readings], np.int64)),
        reading_codes=np.array([ord(c) for reading in readings for c in reading], np.int32),
        entry_offsets=segments.offsets_of(np.bincount(owner, minlength=len(readings))),
        surfaces=surfaces[order],
        numbers=np.ascontiguousarray(numbers[order], np.int32),
        spellings=spellings[order],
    )


@kernel
def narrowed(offsets, codes, low, high, depth, code):
    """The readings of low:high, which agree in `depth` characters, that go on with `code`."""
    first = _bound(offsets, codes, low, high, depth, code=code)
    return first, _bound(offsets, codes, low=first, high=high, depth=depth, code=code + 1)


@kernel
def _bound(offsets, codes, low, high, depth, code):
    """The first reading of low:high whose character at `depth` (-1: it has ended) is at least `code`."""
    while low < high:
        middle = (low + high) >> 1
        at = offsets[middle] + depth
        if at >= offsets[middle + 1] or codes[at] < code:
            low = middle + 1
        else:
            high = middle
    return low
