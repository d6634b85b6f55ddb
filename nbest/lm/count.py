"""Counting the n-grams of a corpus, by sorting.

Every place of the corpus ends one n-gram of each order. With the nodes of order n known at each place, those of order
n + 1 are the distinct pairs (node at the place, word n places before): sorting the pairs counts and numbers them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from nbest.base.errors import FormatError, ParameterError
from nbest.base.files import decode, read_bytes
from nbest.base.types import Ints
from nbest.corpus import Texts, intern
from nbest.corpus.texts import concatenate
from nbest.lm.model import SPECIAL
from nbest.lm.query import END, START, UNKNOWN

_BITS = np.int64(32)


@dataclass(frozen=True)
class CountLevel:
    """The n-grams of one order, sorted by suffix, then by first word. Suffix and prefix: numbers in the order below."""

    words: npt.NDArray[np.int32]  # first word
    suffixes: Ints  # the n-gram without its first word
    prefixes: Ints  # the n-gram without its last word
    counts: Ints  # how often it occurs


@dataclass(frozen=True)
class NgramCounts:
    """N-grams of a corpus, <s> and </s> around each sentence, of orders 1 to `len(levels)`."""

    vocabulary: tuple[str, ...]
    levels: tuple[CountLevel, ...]
    sentences: int
    empty: int  # lines without a word, left out

    @property
    def tokens(self) -> int:
        """Words and ends of sentences."""
        return int(self.levels[0].counts.sum()) - self.sentences


def read_word_lines(paths: Sequence[str | Path]) -> Texts:
    """Lines of text files (packed or not), as texts; <s> and </s>, which mark sentences here, may not be words."""
    return concatenate([_lines(path) for path in paths])


def _lines(path: str | Path) -> Texts:
    data = read_bytes(path)
    decode(path, data)
    buffer = np.frombuffer(data, np.uint8)
    for mark in SPECIAL[1:]:
        at = data.find(mark.encode())
        while at >= 0:
            around = data[max(0, at - 1) : at], data[at + len(mark) : at + len(mark) + 1]
            if all(not side or side.isspace() for side in around):
                line = data.count(b"\n", 0, at) + 1
                raise FormatError(path, line, f"{mark} is a word of this corpus; it marks sentences, take it out")
            at = data.find(mark.encode(), at + 1)
    ends = np.flatnonzero(buffer == 10)
    if len(buffer) and buffer[-1] != 10:
        ends = np.append(ends, len(buffer))
    starts = np.concatenate([[3 if data.startswith(b"\xef\xbb\xbf") else 0], ends[:-1] + 1])[: len(ends)]
    return Texts(buffer, starts, ends)


def count_ngrams(
    texts: Texts,
    order: int,
    *,
    least: int = 1,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> NgramCounts:
    """N-grams up to `order`; words that occur less than `least` times count as <unk>. Empty texts are left out."""
    if order < 1:
        raise ParameterError(f"'order' of count_ngrams must be >= 1, got {order}")
    (words,), found = intern(texts)
    filled = words.lengths()[words.lengths() > 0]
    if not len(filled):
        raise ParameterError("the corpus has no words, and a language model needs some")
    ids, vocabulary = _numbered(words.ids, found, least)
    if len(ids) + 2 * len(filled) >= 2**31:
        raise ParameterError(f"a corpus of {len(ids)} words is too large; 2^31 words and sentence marks can be counted")
    stream, ages = _stream(ids, filled)
    levels = [_words(stream, len(vocabulary))]
    nodes: Ints = stream
    for n in range(2, order + 1):
        progress(n - 1, order)
        level, nodes = _longer(stream, ages, nodes, n)
        levels.append(level)
    progress(order, order)
    return NgramCounts(vocabulary, tuple(levels), len(filled), len(texts) - len(filled))


def _numbered(ids: Ints, found: list[str], least: int) -> tuple[Ints, tuple[str, ...]]:
    """Numbers in a vocabulary that begins with `SPECIAL`, in order of first appearance; rare words are unknown."""
    known = np.bincount(ids, minlength=len(found)) >= least
    if SPECIAL[UNKNOWN] in found:
        known[found.index(SPECIAL[UNKNOWN])] = False
    new = np.where(known, np.cumsum(known) + len(SPECIAL) - 1, UNKNOWN)
    return new[ids], (*SPECIAL, *(word for word, keep in zip(found, known, strict=True) if keep))


def _stream(ids: Ints, lengths: Ints) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """The corpus with its marks as one stream, and how many words (and <s>) each place has before it."""
    sizes = lengths + 2
    ends = np.cumsum(sizes)
    stream = np.empty(int(ends[-1]), np.int32)
    inside = np.ones(len(stream), bool)
    inside[ends - 1] = inside[ends - sizes] = False
    stream[inside] = ids
    stream[ends - 1], stream[ends - sizes] = END, START
    ages = np.arange(len(stream), dtype=np.int64) - np.repeat(ends - sizes, sizes)
    return stream, ages.astype(np.int32)


def _words(stream: Ints, size: int) -> CountLevel:
    nothing = np.zeros(size, np.int64)
    return CountLevel(np.arange(size, dtype=np.int32), nothing, nothing, np.bincount(stream, minlength=size))


def _longer(stream: Ints, ages: Ints, nodes: Ints, n: int) -> tuple[CountLevel, Ints]:
    """The n-grams, given the node of order n - 1 at each place; and the node of order n at each place."""
    places = np.flatnonzero(ages >= n - 1)
    keys = nodes[places].astype(np.int64) << _BITS
    keys |= stream[places - (n - 1)]
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    first = np.ones(len(keys), bool)
    np.not_equal(keys[1:], keys[:-1], out=first[1:])
    starts = np.flatnonzero(first)
    new = np.full(len(stream), -1, np.int32)
    new[places[order]] = np.cumsum(first, dtype=np.int32) - np.int32(1)
    keys = keys[starts]
    prefixes = nodes[places[order[starts]] - 1]
    counts = np.diff(starts, append=len(order)).astype(np.int32)
    words, suffixes = (keys & np.int64(0xFFFFFFFF)).astype(np.int32), (keys >> _BITS).astype(np.int32)
    return CountLevel(words, suffixes, prefixes, counts), new
