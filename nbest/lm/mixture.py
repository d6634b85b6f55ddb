"""Linear interpolation of two n-gram language models, its weight by EM, and states for decoders.

    p(w | h) = lambda p_1(w | h) + (1 - lambda) p_2(w | h)

over the words of both vocabularies and <unk>. A model has one probability for all words that it does not know: half of
it stays with <unk>, half is shared evenly by the words that only the other model knows (all stays with <unk> where
there are none), so that the mixture sums to one. EM on held-out text, which finds the one maximum of the likelihood:

    lambda <- mean over words of lambda p_1(w | h) / p(w | h)

Jelinek & Mercer (1980); the adaptation that Yuan, Gao & Bu (2007), section 4.3, compare with ("LI").

A state of a model is the node of the longest known n-gram that ends the context, -1 in a model of single words.
Contexts of equal state have equal continuations (a context that the model does not know has backoff 1), so decoders may
join them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from nbest.base.errors import ParameterError
from nbest.base.types import Floats, Ints
from nbest.compute import segments
from nbest.compute.compilation import kernel
from nbest.compute.parallel import each
from nbest.corpus import Texts, intern
from nbest.lm.model import LanguageModel
from nbest.lm.query import END, START, UNKNOWN, Arrays, find_child, lm_arrays
from nbest.lm.trie import suffix_nodes

_BLOCK = 2000  # sentences a piece of work


class Side(NamedTuple):
    """One model of a mixture, for kernels."""

    arrays: Arrays
    parents: Ints  # [inner nodes] the node of an n-gram without its first word
    unknown: float  # log share that <unk> keeps of the probability of unknown words
    other: float  # log share of a word that only the other model knows


class Sides(NamedTuple):
    """A mixture, for kernels; a single model is both sides with weight 1."""

    first: Side
    second: Side
    weight: float  # of the first


@dataclass(frozen=True)
class Mixture:
    """weight * first + (1 - weight) * second."""

    first: LanguageModel
    second: LanguageModel
    weight: float

    def __post_init__(self) -> None:
        if not 0 <= self.weight <= 1:
            raise ParameterError(f"'weight' of Mixture must be between 0 and 1, got {self.weight}")

    @property
    def order(self) -> int:
        """The longest n of the n-grams of both models."""
        return max(self.first.order, self.second.order)

    @cached_property
    def vocabulary(self) -> tuple[str, ...]:
        """Words of either model; those of the first come first."""
        known = self.first.numbers
        return self.first.vocabulary + tuple(word for word in self.second.vocabulary if word not in known)

    def logprob(self, context: Iterable[str], word: str) -> float:
        """Natural log p(word | context); <s> may begin the context, </s> may be the word."""
        both = list(context), word
        logs = [model.logprob(*both) for model in (self.first, self.second)]
        unknown = [model.numbers.get(word, UNKNOWN) == UNKNOWN for model in (self.first, self.second)]
        sides = self.sides
        for m, side in enumerate((sides.first, sides.second)):
            if unknown[m]:
                logs[m] += side.unknown if unknown[1 - m] else side.other
        with np.errstate(divide="ignore"):
            return float(np.logaddexp(np.log(self.weight) + logs[0], np.log(1 - self.weight) + logs[1]))

    @cached_property
    def sides(self) -> Sides:
        """The mixture as kernels take it."""
        total = len(self.vocabulary)
        first, second = (_side(m, total - len(m.vocabulary)) for m in (self.first, self.second))
        return Sides(first, second, float(self.weight))

    def score(self, texts: Texts, threads: int | None = None) -> Floats:
        """[H] natural log probability of each text with its end."""
        offsets, columns = token_logprobs(self.sides, *self._numbers(texts), threads)
        with np.errstate(divide="ignore"):
            logs = np.logaddexp(np.log(self.weight) + columns[:, 0], np.log(1 - self.weight) + columns[:, 1])
        return segments.sums(logs, offsets)

    def _numbers(self, texts: Texts) -> tuple[Ints, Ints]:
        """Offsets and numbers [T, 2] of the words of texts, in both models."""
        (words,), vocabulary = intern(texts)
        numbers = np.stack([self.first.ids(vocabulary), self.second.ids(vocabulary)], axis=1).reshape(-1, 2)
        return words.offsets, numbers[words.ids]


def sides_of(model: LanguageModel | Mixture) -> Sides:
    """A model or a mixture as the kernels here take it."""
    if isinstance(model, Mixture):
        return model.sides
    side = _side(model, 0)
    return Sides(side, side, 1.0)


def word_ids(model: LanguageModel | Mixture, words: Iterable[str]) -> Ints:
    """[W, 2] numbers of words in both models (twice the same for a single one)."""
    words = list(words)
    first, second = (model.first, model.second) if isinstance(model, Mixture) else (model, model)
    one = first.ids(words)
    return np.stack([one, one if second is first else second.ids(words)], axis=1).reshape(-1, 2)


def _side(model: LanguageModel, missing: int) -> Side:
    """`missing`: words of the mixture that this model does not know."""
    parents = suffix_nodes(model)[: int(model.levels[-2])].astype(np.int32)
    if not missing:
        return Side(lm_arrays(model), parents, 0.0, 0.0)
    return Side(lm_arrays(model), parents, float(np.log(0.5)), float(np.log(0.5 / missing)))


def fit_mixture(
    first: LanguageModel, second: LanguageModel, texts: Texts, *, start: float = 0.5, threads: int | None = None
) -> Mixture:
    """The mixture whose weight makes held-out texts most likely."""
    even = Mixture(first, second, start)
    _, columns = token_logprobs(even.sides, *even._numbers(texts), threads)
    return Mixture(first, second, em_weight(columns[:, 0], columns[:, 1], start=start)[0])


def em_weight(
    first: Floats, second: Floats, *, start: float = 0.5, tolerance: float = 1e-9, rounds: int = 10_000
) -> tuple[float, list[float]]:
    """The weight of the first of two models with these log probabilities [T] of the same words, by EM.

    Also the mean log probability before each round, which never falls. Stops where the weight moves by less than
    `tolerance`.
    """
    if not 0 < start < 1:
        raise ParameterError(f"'start' of em_weight must lie between 0 and 1, got {start}")
    if len(first) == 0:
        raise ParameterError("the held-out text has no words; a weight cannot be estimated from it")
    top = np.maximum(first, second)
    if np.isneginf(top).any():
        raise ParameterError("the held-out text has a word of probability 0 in both models; leave its sentence out")
    p, q = np.exp(first - top), np.exp(second - top)
    weight, history = start, []
    for _ in range(rounds):
        mixed = weight * p + (1 - weight) * q
        history.append(float(np.mean(top + np.log(mixed))))
        before, weight = weight, float(np.clip(np.mean(weight * p / mixed), 0.0, 1.0))
        if abs(weight - before) < tolerance:
            break
    return weight, history


def token_logprobs(sides: Sides, offsets: Ints, ids: Ints, threads: int | None = None) -> tuple[Ints, Floats]:
    """Offsets [H+1] and natural log probabilities [T+H, 2] of the words and ends of texts, in both models."""
    texts = len(offsets) - 1
    out = np.empty((len(ids) + texts, 2))
    each(
        lambda low: _score_texts(sides, offsets, ids, low, high=min(low + _BLOCK, texts), out=out),
        range(0, texts, _BLOCK),
        threads,
    )
    return offsets + np.arange(texts + 1), out


@kernel
def start_state(side):
    """The state before the first word of a sentence."""
    return np.int64(START if len(side.arrays[0]) > 2 else -1)


@kernel
def next_state(side, state, word, chain):
    """(log probability of `word` in `state`, the state after it); `chain` has as many places as the order."""
    levels, words, children, logprobs, backoffs = side.arrays
    size = 0  # chain[size - n]: the node of the last n words of the context
    node = state
    while node >= 0:
        chain[size] = node
        size += 1
        node = np.int64(side.parents[node]) if node >= levels[1] else np.int64(-1)
    node = np.int64(word)
    after = node if len(levels) > 2 else np.int64(-1)
    matched = 0
    while matched < size:
        child = find_child(words, children, node, words[chain[size - 1 - matched]])
        if child < 0:
            break
        node = child
        matched += 1
        if matched + 1 < len(levels) - 1:
            after = node
    value = np.float64(logprobs[node])
    for longer in range(matched + 1, size + 1):
        value += backoffs[chain[size - longer]]
    return value, after


@kernel
def both_logprobs(sides, states, words, chain, out):
    """`out` [2] log probabilities of a word in both models, and the two states after it."""
    first, after = next_state(sides.first, states[0], words[0], chain)
    if sides.weight == 1.0:
        if words[0] == UNKNOWN:
            first += sides.first.unknown if words[1] == UNKNOWN else sides.first.other
        out[0], out[1] = first, -np.inf
        return after, np.int64(-1)
    second, later = next_state(sides.second, states[1], words[1], chain)
    if words[0] == UNKNOWN:
        first += sides.first.unknown if words[1] == UNKNOWN else sides.first.other
    if words[1] == UNKNOWN:
        second += sides.second.unknown if words[0] == UNKNOWN else sides.second.other
    out[0], out[1] = first, second
    return after, later


@kernel
def mixed(weight, out):
    """The log of the mixture of two log probabilities."""
    if weight == 1.0:
        return out[0]
    top = max(out[0], out[1])
    return top + np.log(weight * np.exp(out[0] - top) + (1.0 - weight) * np.exp(out[1] - top))


@kernel
def _score_texts(sides, offsets, ids, low, high, out):
    chain = np.empty(max(len(sides.first.arrays[0]), len(sides.second.arrays[0])), np.int64)
    for h in range(low, high):
        one, two = start_state(sides.first), start_state(sides.second)
        for at in range(offsets[h], offsets[h + 1] + 1):
            inside = at < offsets[h + 1]
            words = (np.int64(ids[at, 0]), np.int64(ids[at, 1])) if inside else (np.int64(END), np.int64(END))
            one, two = both_logprobs(sides, (one, two), words, chain, out[at + h])
