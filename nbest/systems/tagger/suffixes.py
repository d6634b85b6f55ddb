"""Tags of words that were never seen, by their endings: successive abstraction over rare words.

    p_0(t) = share of t among rare words,  p_m(t) = (f_m(t) + weight p_{m-1}(t)) / (f_m + weight)

f_m counts the tags of rare words that are spelled alike (capitalised, first of the sentence, with digits) and share
their last m letters (m = 0: only the spelling). Brants (2000), section 2.3, after Samuelsson (1993). Differs: Brants
mixes (share_m + theta p_{m-1}) / (1 + theta), one theta for endings seen once or a thousand times; here an ending
counts by how often it was seen (what that changed: docs/tagger.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from nbest.base.types import Floats, Ints
from nbest.compute import segments
from nbest.compute.compilation import kernel


def spelling(word: str, *, first: bool) -> str:
    """A letter for how a word is written: numbers, capitals, capitals at the head of a sentence, anything else."""
    if any(letter.isdigit() for letter in word):
        return "0"
    if not word[:1].isupper():
        return "a"
    return "B" if first else "A"


def endings(word: str, first: bool, longest: int) -> list[str]:
    """Keys of a word from its spelling to its longest ending; digits are all 0."""
    kind = spelling(word, first=first)
    text = "".join("0" if letter.isdigit() else letter for letter in word) if kind == "0" else word
    return [kind, *(kind + text[-size:] for size in range(1, min(longest, len(text)) + 1))]


@dataclass(frozen=True)
class Suffixes:
    """Tags of rare words by ending: those of ending k are `tags[offsets[k]:offsets[k + 1]]`, with their counts."""

    keys: tuple[str, ...]  # K
    offsets: Ints  # [K+1]
    tags: Ints  # [X] int32
    counts: Ints  # [X] int64
    prior: Floats  # [T] p_0
    longest: int
    weight: float

    @classmethod
    def train(
        cls, words: Sequence[tuple[str, bool]], tags: Ints, counts: Ints, tag_count: int, longest: int, weight: float
    ) -> Suffixes:
        """From rare words (and whether they are first in their sentence) with a tag and a count each."""
        numbers: dict[str, int] = {}
        keys, owners = [], []
        for row, (word, first) in enumerate(words):
            for key in endings(word, first, longest):
                keys.append(numbers.setdefault(key, len(numbers)))
                owners.append(row)
        cells, where = np.unique(
            np.array(keys, np.int64) * tag_count + tags[np.array(owners, np.int64)], return_inverse=True
        )
        total = np.bincount(where, counts[np.array(owners, np.int64)], len(cells))
        sizes = np.bincount(cells // tag_count, minlength=len(numbers))
        prior = np.bincount(tags, counts, tag_count) + 1.0
        return cls(
            keys=tuple(numbers),
            offsets=segments.offsets_of(sizes),
            tags=(cells % tag_count).astype(np.int32),
            counts=total.astype(np.int64),
            prior=prior / prior.sum(),
            longest=longest,
            weight=weight,
        )

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {key: at for at, key in enumerate(self.keys)}

    def probabilities(self, words: Sequence[tuple[str, bool]]) -> Floats:
        """[len(words), T] p(tag | word), rows sum to 1; O(T + tags of its endings) a word."""
        chains = np.full((len(words), self.longest + 1), -1, np.int64)
        for row, (word, first) in enumerate(words):
            for at, key in enumerate(endings(word, first, self.longest)):
                found = self._numbers.get(key, -1)
                if found < 0:
                    break
                chains[row, at] = found
        return _abstract(chains, self.offsets, self.tags, self.counts, self.prior, weight=self.weight)


@kernel
def _abstract(chains, offsets, tags, counts, prior, weight):
    """[rows, T] probabilities at the end of each chain of endings."""
    out = np.empty((len(chains), len(prior)))
    for row in range(len(chains)):
        p = out[row]
        p[:] = prior
        for key in chains[row]:
            if key < 0:
                break
            total = weight
            for x in range(offsets[key], offsets[key + 1]):
                total += counts[x]
            for tag in range(len(p)):
                p[tag] *= weight / total
            for x in range(offsets[key], offsets[key + 1]):
                p[tags[x]] += counts[x] / total
    return out
