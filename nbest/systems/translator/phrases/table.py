"""The phrase table: all translations of every source phrase, as sorted flat arrays that a kernel can search.

Source phrase s is `source_ids[source_offsets[s]:source_offsets[s + 1]]` (numbers into `source_words`); source phrases
are in lexicographic order of their numbers, a phrase before its continuations, so `find_phrase` is a binary search. Its
options are the pairs `option_offsets[s]:option_offsets[s + 1]`, best p(e|f) first. Pair p translates to target phrase
t = `targets[p]`, which is `target_ids[target_offsets[t]:target_offsets[t + 1]]` (numbers into `target_words`; target
phrases are in lexicographic order too), and has the features `features[p]`, natural logarithms in the order of
`FEATURES`. Sizes: S source phrases, P pairs, T target phrases.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from nbest.base.errors import ParameterError
from nbest.base.types import Floats, Ints
from nbest.compute.compilation import kernel
from nbest.compute.segments import lengths, owners, rows_of
from nbest.corpus.words import Words
from nbest.systems.translator.phrases.order import renumbered

FEATURES = ("p(e|f)", "p(f|e)", "lex(e|f)", "lex(f|e)", "phrases")
"""Columns of `PhraseTable.features`; e is the target side, f the source side. `phrases` is 1 for every pair."""


@dataclass(frozen=True)
class PhraseTable:
    """Translations of source phrases, see the top of this file. Plain arrays, read-only or memory-mapped."""

    source_offsets: Ints  # int64 [S+1]
    source_ids: Ints  # int32
    option_offsets: Ints  # int64 [S+1]
    targets: Ints  # int32 [P]
    features: Floats  # float32 [P, 5]
    target_offsets: Ints  # int64 [T+1]
    target_ids: Ints  # int32
    source_words: Sequence[str]
    target_words: Sequence[str]

    def __len__(self) -> int:
        """The number of pairs."""
        return len(self.targets)

    @cached_property
    def source_numbers(self) -> dict[str, int]:
        """The number of each source word."""
        return {word: at for at, word in enumerate(self.source_words)}

    def source(self, phrase: int) -> Ints:
        """Word numbers of a source phrase."""
        return self.source_ids[self.source_offsets[phrase] : self.source_offsets[phrase + 1]]

    def target(self, phrase: int) -> Ints:
        """Word numbers of a target phrase."""
        return self.target_ids[self.target_offsets[phrase] : self.target_offsets[phrase + 1]]

    def look_up(self, words: Sequence[str]) -> list[tuple[str, Floats]]:
        """Target phrases of these source words and their features, best first; empty where there are none."""
        ids = np.array([self.source_numbers.get(word, -1) for word in words], np.int32)
        found = find_phrase(self.source_offsets, self.source_ids, ids, 0, len(ids))
        if found < 0:
            return []
        rows = range(self.option_offsets[found], self.option_offsets[found + 1])
        text = [" ".join(self.target_words[w] for w in self.target(int(self.targets[p]))) for p in rows]
        return [(text[k], self.features[p]) for k, p in enumerate(rows)]

    def limit(self, options: int) -> PhraseTable:
        """The best `options` pairs of each source phrase."""
        if options < 1:
            raise ParameterError(f"'options' of PhraseTable.limit must be >= 1, got {options}")
        sizes = lengths(self.option_offsets)
        rank = np.arange(len(self)) - np.repeat(self.option_offsets[:-1], sizes)
        kept = np.flatnonzero(rank < options)
        return _with_pairs(self, kept, np.minimum(sizes, options))

    def filter(self, source: Words) -> PhraseTable:
        """The source phrases that occur in `source`, whose numbers point into `source_words` (others: -1)."""
        longest = int(lengths(self.source_offsets).max(initial=0))
        seen = np.zeros(len(self.source_offsets) - 1, np.bool_)
        _mark(self.source_offsets, self.source_ids, source.offsets, text_ids=source.ids, longest=longest, seen=seen)
        chosen = np.flatnonzero(seen)
        rows, _ = rows_of(self.option_offsets, chosen)
        ids, offsets = rows_of(self.source_offsets, chosen)
        few = replace(self, source_offsets=offsets, source_ids=self.source_ids[ids])
        return _with_pairs(few, rows, lengths(self.option_offsets)[chosen])

    def save(self, path: str | Path) -> None:
        """Write the table as a directory; see `nbest.systems.translator.phrases.files`."""
        from nbest.systems.translator.phrases.files import save

        save(self, path)

    @staticmethod
    def load(path: str | Path, *, verify: bool = True) -> PhraseTable:
        """The memory-mapped table of a directory; without `verify` its sums are not compared."""
        from nbest.systems.translator.phrases.files import load

        return load(path, verify=verify)


def number_words(texts: Sequence[Sequence[str]], vocabulary: Sequence[str]) -> Words:
    """Words of tokenised sentences as numbers into a vocabulary that exists already; unknown words are -1."""
    numbers = {word: at for at, word in enumerate(vocabulary)}
    ids = np.array([numbers.get(word, -1) for text in texts for word in text], np.int32)
    return Words(np.cumsum([0] + [len(text) for text in texts], dtype=np.int64), ids)


def _with_pairs(table: PhraseTable, rows: Ints, sizes: Ints) -> PhraseTable:
    """The table with these pairs only, `sizes` of them a source phrase, and with no target phrase that is not used."""
    used, targets = renumbered(table.targets[rows], len(table.target_offsets) - 1)
    ids, offsets = rows_of(table.target_offsets, used)
    return replace(
        table,
        option_offsets=np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)]),
        targets=targets,
        features=table.features[rows],
        target_offsets=offsets,
        target_ids=table.target_ids[ids],
    )


@kernel
def compare_rows(offsets, ids, phrase, words, start, end):
    """Below, equal to or above 0 as this phrase of the table sorts before, is or sorts after `words[start:end]`."""
    low = offsets[phrase]
    size = offsets[phrase + 1] - low
    for k in range(min(size, end - start)):
        if ids[low + k] != words[start + k]:
            return -1 if ids[low + k] < words[start + k] else 1
    return size - (end - start)


@kernel
def find_phrase(offsets, ids, words, start, end):
    """Number of the phrase `words[start:end]`, or -1: binary search, O(log S) comparisons."""
    low, high = 0, len(offsets) - 1
    while low < high:
        middle = (low + high) // 2
        if compare_rows(offsets, ids, phrase=middle, words=words, start=start, end=end) < 0:
            low = middle + 1
        else:
            high = middle
    if low < len(offsets) - 1 and compare_rows(offsets, ids, phrase=low, words=words, start=start, end=end) == 0:
        return low
    return -1


@kernel
def _mark(offsets, ids, text_offsets, text_ids, longest, seen):
    for i in range(len(text_offsets) - 1):
        for start in range(text_offsets[i], text_offsets[i + 1]):
            for end in range(start + 1, min(start + longest, text_offsets[i + 1]) + 1):
                found = find_phrase(offsets, ids, text_ids, start, end)
                if found >= 0:
                    seen[found] = True


def pairs_of(table: PhraseTable) -> set[tuple[tuple[str, ...], tuple[str, ...]]]:
    """All (source, target) phrases as words: for comparing tables with different vocabularies."""
    sources = [tuple(table.source_words[w] for w in table.source(s)) for s in range(len(table.source_offsets) - 1)]
    targets = [tuple(table.target_words[w] for w in table.target(t)) for t in range(len(table.target_offsets) - 1)]
    rows = owners(table.option_offsets)
    return {(sources[s], targets[t]) for s, t in zip(rows.tolist(), table.targets.tolist(), strict=True)}
