"""What the ITG decoder is given for a sentence: the phrase pairs that apply to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nbest.base.errors import ParameterError
from nbest.base.types import Floats, Ints
from nbest.compute import segments
from nbest.compute.bounds import rises
from nbest.corpus.container import frozen_view
from nbest.systems.translator.itg.cube import PhraseOptions
from nbest.systems.translator.phrases.table import FEATURES


@dataclass(frozen=True)
class SentenceOptions:
    """The P options of a sentence of `words` words: option p translates words `starts[p]` to `ends[p]` - 1.

    Its target side is `targets[target_offsets[p]:target_offsets[p + 1]]`, numbers into a vocabulary that the decoder is
    given (no words: the source words are dropped). An unknown word has to have an option of its own to be passed
    through; it is whatever the caller makes it, usually itself with features 0. Checked once, arrays are read-only.
    """

    words: int
    starts: Ints  # [P]
    ends: Ints  # [P]
    target_offsets: Ints  # [P+1]
    targets: Ints  # [W]
    features: Floats  # [P, 5], the columns of nbest.systems.translator.phrases.table.FEATURES

    def __post_init__(self) -> None:
        put = object.__setattr__
        for name, kind in _FIELDS.items():
            put(self, name, frozen_view(getattr(self, name), kind))
        _check(self)

    def __len__(self) -> int:
        return len(self.starts)

    @classmethod
    def of(cls, words: int, options: Sequence[tuple[int, int, Sequence[int], Sequence[float]]]) -> SentenceOptions:
        """From rows of (start, end, target words, features)."""
        sizes = np.array([len(row[2]) for row in options], np.int64)
        return cls(
            words=words,
            starts=np.array([row[0] for row in options], np.int32),
            ends=np.array([row[1] for row in options], np.int32),
            target_offsets=segments.offsets_of(sizes),
            targets=np.array([word for row in options for word in row[2]], np.int32),
            features=np.array([row[3] for row in options], np.float32).reshape(
                len(options), -1 if options else len(FEATURES)
            ),
        )

    def arranged(self, limit: int, weights: Floats, length_weight: float) -> tuple[PhraseOptions, Ints]:
        """The options as the kernels read them, and the number of each; those of over `limit` words are left out.

        Their scores are `weights` [5] . features + `length_weight` x target words.
        """
        limit = min(limit, self.words)
        sizes = self.ends - self.starts
        spans = np.where(sizes <= limit, self.starts * limit + sizes - 1, np.iinfo(np.int64).max)
        order = np.argsort(spans, kind="stable")[: int((sizes <= limit).sum())]
        rows, offsets = segments.rows_of(self.target_offsets, order)
        total = self.words * limit + self.words - limit
        scores = self.features[order].astype(np.float64) @ weights + length_weight * segments.lengths(offsets)
        starts = np.searchsorted(spans[order], np.arange(total + 1))
        return PhraseOptions(starts, scores, offsets, self.targets[rows]), order


_FIELDS = {
    "starts": np.int64, "ends": np.int64, "target_offsets": np.int64, "targets": np.int32, "features": np.float32,
}  # fmt: skip


def _check(options: SentenceOptions) -> None:
    size = len(options)
    if options.words < 0:
        raise ParameterError(f"'words' of SentenceOptions must be >= 0, got {options.words}")
    if options.features.shape != (size, len(FEATURES)):
        raise ParameterError(
            f"'features' of SentenceOptions must be [{size}, {len(FEATURES)}], got {options.features.shape}"
        )
    if not np.isfinite(options.features).all():
        raise ParameterError(
            f"'features' of SentenceOptions must be finite; option {_worst(options)} has another value"
        )
    if len(options.ends) != size or len(options.target_offsets) != size + 1:
        raise ParameterError(f"'ends' and 'target_offsets' of SentenceOptions must have {size} and {size + 1} entries")
    if options.target_offsets[0] != 0 or not rises(options.target_offsets):
        raise ParameterError("'target_offsets' of SentenceOptions must start at 0 and never fall")
    if options.target_offsets[-1] != len(options.targets):
        raise ParameterError(f"'targets' of SentenceOptions must have {options.target_offsets[-1]} entries")
    wrong = (options.starts < 0) | (options.starts >= options.ends) | (options.ends > options.words)
    if wrong.any():
        at = int(wrong.argmax())
        raise ParameterError(
            f"option {at} of a sentence of {options.words} words covers words {options.starts[at]} to "
            f"{options.ends[at]}; expected 0 <= start < end <= {options.words}"
        )


def _worst(options: SentenceOptions) -> int:
    return int((~np.isfinite(options.features)).any(axis=1).argmax())
