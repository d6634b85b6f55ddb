"""`LanguageModel`: an n-gram model with backoff in flat arrays, and perplexity."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from nbest.base.errors import ParameterError
from nbest.base.types import Floats, Ints
from nbest.compute.parallel import counter, each, thread_count
from nbest.corpus import Texts
from nbest.corpus.container import frozen_view
from nbest.corpus.words import WordIndex, Words, index_words, join_words, look_up
from nbest.lm.query import END, START, UNKNOWN, lm_arrays, word_logprob
from nbest.lm.scoring import score_sentences

SPECIAL = ("<unk>", "<s>", "</s>")
"""The first words of every vocabulary: unknown, start and end of a sentence."""
_TYPES = {
    "levels": np.int64,
    "words": np.int32,
    "children": np.int32,
    "logprobs": np.float32,
    "backoffs": np.float32,
}
_BLOCKS = 2000, 8000  # least and most texts a piece of work: n-grams that occur again are looked up once in each


@dataclass(frozen=True)
class LanguageModel:
    """p(w | h) = p of the longest known suffix of (h, w) times the backoff of each longer known context.

    Nodes are n-grams, numbered by order, within an order by parent (the n-gram without its first word), then by first
    word; the first V nodes are the words. How they are queried: `nbest.lm.query`. Logarithms are natural.
    """

    vocabulary: tuple[str, ...]  # V, beginning with SPECIAL
    levels: Ints  # [order+1]: n-grams of order n are the nodes levels[n-1]:levels[n]
    words: npt.NDArray[np.int32]  # [nodes] first word
    children: npt.NDArray[np.int32]  # [inner+1]: children of node i are children[i]:children[i+1]; inner: below the top
    logprobs: npt.NDArray[np.float32]  # [nodes] log p(last word | the words before it)
    backoffs: npt.NDArray[np.float32]  # [inner]

    def __post_init__(self) -> None:
        if tuple(self.vocabulary[:3]) != SPECIAL:
            raise ParameterError(
                f"the vocabulary of LanguageModel must begin with {SPECIAL}, got {self.vocabulary[:3]}"
            )
        inner, nodes = int(self.levels[-2]), int(self.levels[-1])
        got = (len(self.words), len(self.logprobs), len(self.children), len(self.backoffs), int(self.levels[1]))
        if got != (nodes, nodes, inner + 1, inner, len(self.vocabulary)):
            raise ParameterError(f"the arrays of LanguageModel do not fit each other: sizes {got}")
        for name, kind in _TYPES.items():
            object.__setattr__(self, name, frozen_view(np.ascontiguousarray(getattr(self, name), kind), kind))

    @property
    def order(self) -> int:
        """The longest n of its n-grams."""
        return len(self.levels) - 1

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of n-grams of each order."""
        return tuple(np.diff(self.levels).tolist())

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The number of each word."""
        return {word: at for at, word in enumerate(self.vocabulary)}

    def ids(self, words: Iterable[str]) -> npt.NDArray[np.int32]:
        """Numbers of words of a text; those that are not in the vocabulary, and the marks <s> and </s>, are UNKNOWN."""
        find = self.numbers.get
        found = np.array([find(word, UNKNOWN) for word in words], np.int32)
        return np.where((found == START) | (found == END), np.int32(UNKNOWN), found)

    def logprob(self, context: Iterable[str], word: str) -> float:
        """Natural log p(word | context); <s> may begin the context, </s> may be the word."""
        before = np.array([self.numbers.get(w, UNKNOWN) for w in context], np.int64)
        return float(word_logprob(lm_arrays(self), before, len(before), self.numbers.get(word, UNKNOWN)))

    def score(
        self, texts: Texts, threads: int | None = None, progress: Callable[[int, int], None] = lambda done, total: None
    ) -> TextScores:
        """Log probabilities of whole texts, each as one sentence, and their unknown words."""
        out = np.zeros((len(texts), 4))
        size = min(max(len(texts) // (2 * thread_count(threads)), _BLOCKS[0]), _BLOCKS[1])
        arrays, index, tell = lm_arrays(self), self._index, counter(progress, len(texts))

        def work(low: int) -> Words:
            part = slice(low, low + size)
            found = look_up(texts.take(part), index, UNKNOWN)
            score_sentences(arrays, found.offsets, found.ids, out[part])
            tell(len(found.offsets) - 1)
            return found

        return TextScores(out, join_words(each(work, range(0, len(texts), size), threads)))

    @cached_property
    def _index(self) -> WordIndex:
        return index_words(self.vocabulary, self.ids(self.vocabulary))


@dataclass(frozen=True)
class TextScores:
    """Of H texts: log probabilities of known and of unknown words, and how many are unknown or of probability 0."""

    columns: Floats  # [H, 4] as `score_sentences` says
    words: Words

    @property
    def logprobs(self) -> Floats:
        """[H] log probability of each text with its end; words of probability 0 are left out (see `zero`)."""
        return self.columns[:, 0] + self.columns[:, 1]

    @property
    def unknown(self) -> Floats:
        """[H] number of words that are not in the vocabulary."""
        return self.columns[:, 2]

    @property
    def zero(self) -> Floats:
        """[H] number of words of probability 0, which only models without <unk> have."""
        return self.columns[:, 3]

    def perplexity(self, *, unknown: bool = True) -> float:
        """exp(-mean log probability of a word or an end); without `unknown`, of known words and ends only.

        inf where a word has probability 0 and unknown words count, nan where there are no texts.
        """
        known, unk, out, zero = self.columns.sum(axis=0)
        tokens = len(self.words.ids) + len(self.columns)
        if unknown and zero:
            return float("inf")
        count, total = (tokens, known + unk) if unknown else (tokens - out, known)
        return float(np.exp(-total / count)) if count else float("nan")
