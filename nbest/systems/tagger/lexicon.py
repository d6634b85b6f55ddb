"""Words and their tags: which tags a word may take, and p(word | tag), p(word | tag before, tag)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from nbest.base.types import Floats, Ints
from nbest.compute import segments
from nbest.systems.tagger.suffixes import Suffixes
from nbest.systems.tagger.transitions import lexical_interpolation


class Guessing(Protocol):
    """Settings of a tagger that say how tags of rare and unknown words are guessed."""

    @property
    def prior(self) -> float: ...
    @property
    def rare(self) -> int: ...
    @property
    def limit(self) -> int: ...
    @property
    def least(self) -> float: ...


@dataclass(frozen=True)
class TagOptions:
    """Tags that words may take: those of token k are `tags[offsets[k]:offsets[k + 1]]`, rising."""

    offsets: Ints  # [tokens+1]
    tags: Ints  # [X] int32
    probabilities: Floats  # [X] p(word | tag), not 0
    entries: Ints  # [X] row of the lexicon, -1 where word and tag were not seen together


@dataclass(frozen=True)
class Lexicon:
    """Words seen in training with their tags (entries), and the tags before them (contexts).

    A word seen f times, f(t) times with tag t:

        p(word | t) = f / (f + prior) (f(t) + prior p(t | ending)) / count of t

    p(t | ending) is that of `Suffixes`; a word never seen has f = 1, f(t) = 0. With `prior` 0 it is f(t) / count of t,
    as in Brants (2000). Words seen over `rare` times take only the tags they were seen with; others the `limit` best
    whose p(t | word) is at least `least` times that of the best.
    A first word of a sentence that was never seen counts as the same word in lower case, if that was.
    With contexts, Thede & Harper (1999), section 3.3, deleted interpolation in place of their weights:

        p(word | b, t) = m1 p(word | t) + m2 f(b, t, word) / f(b, t)
    """

    words: tuple[str, ...]  # W
    offsets: Ints  # [W+1] entries of each word
    tags: Ints  # [X] int32, rising within a word
    counts: Ints  # [X]
    context_offsets: Ints  # [X+1]
    context_tags: Ints  # [C] int32, rising within an entry
    context_counts: Ints  # [C]
    shares: Floats  # [2] m1, m2
    tag_counts: Ints  # [T]

    @classmethod
    def train(cls, words: Sequence[str], ids: Ints, tags: Ints, before: Ints, tag_count: int) -> Lexicon:
        """From tokens: numbers into `words`, tags, and the tag (or boundary) before each."""
        size = tag_count + 1
        cells, counts = np.unique(ids * size + tags, return_counts=True)
        triples, context_counts = np.unique((ids * size + tags) * size + before, return_counts=True)
        owner = np.searchsorted(cells, triples // size)
        tag_counts = np.bincount(tags, minlength=tag_count)
        pairs = np.bincount(before * size + tags, minlength=size * size)
        tag, previous = triples // size % size, triples % size
        won = lexical_interpolation(context_counts, pairs[previous * size + tag], counts[owner], tag_counts[tag])
        return cls(
            words=tuple(words),
            offsets=segments.offsets_of(np.bincount(cells // size, minlength=len(words))),
            tags=(cells % size).astype(np.int32),
            counts=counts,
            context_offsets=segments.offsets_of(np.bincount(owner, minlength=len(cells))),
            context_tags=previous.astype(np.int32),
            context_counts=context_counts,
            shares=(won + 1.0) / (won + 1.0).sum(),
            tag_counts=tag_counts,
        )

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The number of each word."""
        return {word: at for at, word in enumerate(self.words)}

    @cached_property
    def totals(self) -> Ints:
        """[W] how often each word was seen."""
        return segments.sums(self.counts.astype(np.float64), self.offsets).astype(np.int64)

    def options(self, tokens: Iterable[tuple[str, bool]], suffixes: Suffixes, how: Guessing) -> TagOptions:
        """The tags of tokens: words, and whether they are first in their sentence."""
        places: dict[tuple[str, bool], int] = {}
        at = np.array([places.setdefault(token, len(places)) for token in tokens], np.int64)
        kinds = self._distinct([self._as_seen(*token) for token in places], suffixes, how)
        rows, offsets = segments.rows_of(kinds.offsets, at)
        return TagOptions(offsets, kinds.tags[rows], kinds.probabilities[rows], kinds.entries[rows])

    def _as_seen(self, word: str, first: bool) -> tuple[str, bool]:
        """The word in lower case where it begins a sentence and was seen only so."""
        if first and word not in self.numbers and word.lower() in self.numbers:
            word = word.lower()
        return word, first

    def _distinct(self, tokens: list[tuple[str, bool]], suffixes: Suffixes, how: Guessing) -> TagOptions:
        ids = np.array([self.numbers.get(word, -1) for word, _ in tokens], np.int64)
        totals = np.where(ids >= 0, self.totals[ids] if len(self.words) else 0, 0)
        guessed = np.flatnonzero((totals == 0) | ((totals <= how.rare) & (how.prior > 0)))
        looked_up = np.setdiff1d(np.arange(len(tokens)), guessed)
        parts = [self._seen(ids[looked_up], looked_up)]
        for low in range(0, len(guessed), 1000):
            some = guessed[low : low + 1000]
            parts.append(self._guess([tokens[i] for i in some], ids[some], some, suffixes, how))
        owner, tags, probabilities, entries = (np.concatenate([part[k] for part in parts]) for k in range(4))
        order = np.argsort(owner, kind="stable")
        offsets = segments.offsets_of(np.bincount(owner, minlength=len(tokens)))
        return TagOptions(offsets, tags[order].astype(np.int32), probabilities[order], entries[order])

    def _seen(self, ids: Ints, owners: Ints) -> tuple[Ints, Ints, Floats, Ints]:
        """Owner, tag, probability and entry of frequent words with their tags."""
        rows, offsets = segments.rows_of(self.offsets, ids)
        tags = self.tags[rows]
        return np.repeat(owners, segments.lengths(offsets)), tags, self.counts[rows] / self.tag_counts[tags], rows

    def _guess(
        self, tokens: list[tuple[str, bool]], ids: Ints, owners: Ints, suffixes: Suffixes, how: Guessing
    ) -> tuple[Ints, Ints, Floats, Ints]:
        """The same of words never seen, and of rare ones with their endings taken into account."""
        mass = suffixes.probabilities(tokens)
        entries = np.full(mass.shape, -1, np.int64)
        known = np.flatnonzero(ids >= 0)
        rows, offsets = segments.rows_of(self.offsets, ids[known])
        at = np.repeat(known, segments.lengths(offsets)), self.tags[rows]
        entries[at] = rows
        mass[known] *= how.prior
        mass[at] += self.counts[rows]
        totals = self.totals[ids[known]]
        mass[known] *= (totals / (totals + how.prior))[:, None]
        best = np.sort(np.argsort(-mass, axis=1, kind="stable")[:, : how.limit], axis=1)
        line = np.repeat(np.arange(len(mass)), best.shape[1])
        tags = best.ravel()
        kept = mass[line, tags] >= how.least * mass.max(axis=1)[line]
        line, tags = line[kept], tags[kept]
        return owners[line], tags, mass[line, tags] / self.tag_counts[tags], entries[line, tags]
