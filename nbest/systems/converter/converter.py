"""The kana-kanji converter: kana in, forests of Japanese texts out.

    score(W) = w_lm log p(w_1 ... w_n </s>) + w_words n + w_spelling (log p of the characters of unknown words) + ...

The words of W cover the kana one after the other by their readings. p is a modified Kneser-Ney n-gram model (or a
mixture of two) over words with their readings, or over words alone; a word that it does not know (of the dictionary
only, a katakana run, a character passed through) has its probability of <unk> and is spelled by a model of characters.
Gao, Yu, Yuan & Xu (2005), EMNLP; Yuan, Gao & Bu (2007), section 4.1. Differs: readings are part of the words by
default (a joint model of text and reading; theirs has P(A|W) = 1), and there are words beyond a fixed lexicon.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from nbest.base.errors import ParameterError
from nbest.base.types import Floats, Ints
from nbest.compute import segments
from nbest.compute.parallel import counter, each
from nbest.corpus import Forests, NBest
from nbest.forests.derivations import Derivations
from nbest.forests.kbest import kbest
from nbest.lm.mixture import Mixture, Sides, sides_of
from nbest.lm.model import LanguageModel
from nbest.lm.query import lm_arrays
from nbest.model.loglinear import LogLinear
from nbest.systems.base import SILENT, Listener, Progress, System, limits_of
from nbest.systems.converter.dictionary import Dictionary
from nbest.systems.converter.lattice import kinds_of, run_of, word_options
from nbest.systems.converter.search import FEATURES, ConverterForest, search_lattice
from nbest.systems.converter.system import ConverterSearch
from nbest.systems.converter.text import fold, katakana, read_sentences


def default_weights(vocabulary: int) -> dict[str, float]:
    """Weights before tuning, chosen on news text, for a language model of so many words.

    Its <unk> has one share of a uniform distribution over the words, so the bonus of unknown words grows with their
    number.
    """
    size = float(np.log(max(vocabulary, 1)))
    return {
        "lm": 1.0,
        "words": 0.0,
        "spelling": 0.75,
        "dictionary": max(0.0, size - 3.0),
        "kana": 0.0,
        "katakana": max(0.0, size - 4.5),
    }


@dataclass(frozen=True)
class Converter(System):
    """Converts kana into forests of texts."""

    lm: LanguageModel | Mixture
    spelling: LanguageModel  # of characters
    dictionary: Dictionary
    tokens: str = "pair"  # what the language model sees: "pair" surface|reading, "surface"
    weights: Mapping[str, float] = field(default_factory=lambda: default_weights(1))

    reranks: ClassVar[bool] = True

    @classmethod
    def load(cls, path: str | Path) -> Converter:
        """The converter of a directory; what is missing, cut short or of another version is a `FormatError`."""
        from nbest.systems.converter.files import load

        return load(path)

    @cached_property
    def _sides(self) -> Sides:
        return sides_of(self.lm)

    def forests(
        self,
        texts: Sequence[str],
        *,
        weights: Mapping[str, float] | None = None,
        ids: Sequence[str] | None = None,
        threads: int | None = None,
        progress: Progress | None = None,
        **search: Any,
    ) -> Forests:
        """One forest a kana text, with the six `FEATURES`; `search` is that of `ConverterSearch`.

        `beam`: states kept at a position, None all; `margin`: edges are kept that are on a derivation within so much
        of the score of the best, None all; both None: the forest of all segmentations and choices of words.
        White space in the texts is left out. `own_weights` of the forests are the weights.
        """
        how, values = limits_of(ConverterSearch, search), self._values(weights)
        kana = ["".join((fold(text) if how.folded else text).split()) for text in texts]
        limits = (how.beam or 0, np.inf if how.margin is None else float(how.margin))
        tell = counter(progress, len(kana))

        def one(i: int) -> ConverterForest:
            part = self._part(kana[i], values, limits, how.longest_run)
            tell(1)
            return part

        parts = each(one, range(len(kana)), threads)
        names = [str(i) for i in range(len(kana))] if ids is None else ids
        return _joined(parts, kana, names, self.dictionary.words, values)

    def candidates(self, inputs: Sequence[str], weights: Mapping[str, float], **options: Any) -> Forests:
        """The forests of kana texts."""
        return self.forests(inputs, weights=weights, **options)

    def best(
        self, forests: Forests, k: int, weights: Mapping[str, float] | None = None, *, threads: int | None = None
    ) -> NBest:
        """The k best texts of each forest that differ in their characters, by these weights or the forests' own.

        A text that several segmentations give has the words of the best one.
        """
        if weights is None:
            scores = forests.features @ np.array([forests.own_weights[name] for name in forests.feature_names])
        else:
            scores = LogLinear(weights).edge_scores(forests)
        found = kbest(in_characters(forests), scores, k, distinct=True, threads=threads)
        return Derivations(forests, found.offsets, found.edge_offsets, found.edges).lists()

    def inputs(self, asked: Any, listener: Listener = SILENT) -> tuple[list[str], Sequence[Sequence[str]] | None]:
        """Kana texts and their references."""
        if asked.input != "read":
            return super().inputs(asked, listener)
        if asked.refs:
            raise ParameterError("--input read takes the references from the text itself; leave --refs out")
        sentences = read_sentences(asked.text)
        return [sentence.kana for sentence in sentences], [(sentence.text,) for sentence in sentences]

    def lines(self, asked: Any, texts: Iterable[str]) -> Iterable[str]:
        """Texts without spaces, unless these are wanted."""
        return texts if asked.words else ("".join(text.split()) for text in texts)

    def _values(self, weights: Mapping[str, float] | None) -> Floats:
        given = self.weights if weights is None else weights
        strange = next((name for name in given if name not in FEATURES), None)
        if strange is not None:
            raise ParameterError(f"{strange!r} is no feature of a converter; they are {', '.join(FEATURES)}")
        values = np.array([float(given.get(name, 0.0)) for name in FEATURES])
        if not np.isfinite(values).all():
            raise ParameterError(f"'weights' of Converter.forests must be finite, got {dict(given)}")
        return values

    def _part(self, text: str, weights: Floats, limits: tuple[int, float], longest_run: int) -> ConverterForest:
        codes = np.array([ord(character) for character in text], np.int64)
        spelled = np.stack([self.spelling.ids(side) for side in (text, katakana(text))])
        options = word_options(
            codes,
            kinds_of(text),
            spelled,
            self.dictionary.arrays(),
            len(self.dictionary.words),
            spelling=lm_arrays(self.spelling),
            longest_run=longest_run,
        )
        return search_lattice(options, self._sides, weights, *limits)


def in_characters(forests: Forests) -> Forests:
    """The same forests with the characters of each word as its symbols; edges keep their numbers."""
    offsets, symbols = forests.need_words("texts without spaces")
    letters = {c: at for at, c in enumerate(dict.fromkeys("".join(forests.vocabulary)))}
    sizes = np.array([len(word) for word in forests.vocabulary] + [1], np.int64)  # the last for tails, by index -1
    starts = segments.offsets_of(sizes)[:-1]
    flat = np.array([letters[c] for word in forests.vocabulary for c in word] + [0], np.int32)
    index = np.maximum(symbols, -1)
    lengths = sizes[index]
    owners = np.repeat(np.arange(len(symbols)), lengths)
    within = np.arange(len(owners)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    spread = np.where(symbols[owners] < 0, symbols[owners], flat[starts[index][owners] + within])
    return replace(
        forests,
        symbol_offsets=np.concatenate([[0], np.cumsum(lengths)])[offsets],
        symbols=spread.astype(np.int32),
        vocabulary=tuple(letters),
    )


def _joined(
    parts: list[ConverterForest], texts: Sequence[str], ids: Sequence[str], words: Sequence[str], weights: Floats
) -> Forests:
    """The forests of all texts beside each other, with a vocabulary of the words that they use."""
    empty: Ints = np.zeros(0, np.int64)
    edges, tails = (np.concatenate([empty, *(part[k] for part in parts)]) for k in (0, 1))
    numbers: dict[str, int] = {}
    chosen = np.concatenate([empty, *(_numbered(*pair, words, numbers) for pair in zip(parts, texts, strict=True))])
    below, spoken = tails >= 0, chosen >= 0
    symbols = np.stack([np.full(len(tails), -1), chosen], axis=1)[np.stack([below, spoken], axis=1)]
    return Forests(
        node_offsets=segments.offsets_of(np.array([len(part.edges) for part in parts], np.int64)),
        edge_offsets=segments.offsets_of(edges),
        tail_offsets=segments.offsets_of(below.astype(np.int64)),
        tails=tails[below],
        features=np.concatenate([np.zeros((0, len(FEATURES)), np.float32), *(part.features for part in parts)]),
        feature_names=FEATURES,
        ids=tuple(ids),
        symbol_offsets=segments.offsets_of(below.astype(np.int64) + spoken),
        symbols=symbols,
        vocabulary=tuple(numbers),
        sources=tuple(texts),
        own_weights=dict(zip(FEATURES, weights.tolist(), strict=True)),
    )


def _numbered(part: ConverterForest, text: str, words: Sequence[str], numbers: dict[str, int]) -> Ints:
    """[E] the number of the word of each edge among those of all texts, -1 for the goal."""
    used, places = np.unique(part.symbols, return_inverse=True)
    out = np.empty(len(used), np.int64)
    for at, symbol in enumerate(used.tolist()):
        if symbol < 0:
            out[at] = -1
            continue
        word = words[symbol] if symbol < len(words) else _run(symbol, text, len(words))
        out[at] = numbers.setdefault(word, len(numbers))
    return out[places]


def _run(symbol: int, text: str, words: int) -> str:
    start, end, in_katakana = run_of(symbol, words, len(text))
    return katakana(text[start:end]) if in_katakana else text[start:end]
