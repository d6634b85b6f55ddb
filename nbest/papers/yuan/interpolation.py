"""Linear interpolation as Yuan, Gao & Bu (2007) compare with it: a fixed vocabulary, and the lists of the background.

    p(w | h) = weight p_1(w | h) + (1 - weight) p_2(w | h)

over the words that the background model p_1 knows. p_2 is a model of the text to adapt to, in which all others are
`OTHER`; words that it lacks share the probability of its unknown word evenly. A hypothesis with a word that p_1 does
not know (of the dictionary, a run of kana) keeps p_1 for it, so that p_2 sums to one less its share of `OTHER`: weights
for unknown words belong to p_1, and nothing new is preferred. The weight makes a tenth of the text most likely (EM).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from nbest.base.types import Floats, Ints
from nbest.compute import segments
from nbest.corpus import NBest, Texts, intern, merge
from nbest.forests.derivations import Derivations
from nbest.forests.kbest import kbest
from nbest.lm.estimate import KneserNey
from nbest.lm.mixture import em_weight, sides_of, token_logprobs
from nbest.lm.model import LanguageModel
from nbest.lm.query import UNKNOWN
from nbest.systems.converter.converter import Converter, in_characters
from nbest.systems.converter.dictionary import token
from nbest.systems.converter.text import ReadSentence, every_tenth

OTHER = "|"
"""Stands for words that the background model does not know; no word and its reading look like this."""
_BLOCK = 500  # sentences whose forests are in memory at once


# lists with readings ----------------------------------------------------------------------------------------------


def with_readings(converter: Converter) -> Converter:
    """The same converter, whose words are written as its language model sees them, `surface|reading`."""
    entries = converter.dictionary
    codes = entries.reading_codes.tolist()
    words = []
    for at in range(entries.readings):
        reading = "".join(map(chr, codes[entries.reading_offsets[at] : entries.reading_offsets[at + 1]]))
        own = entries.surfaces[entries.entry_offsets[at] : entries.entry_offsets[at + 1]].tolist()
        words += [token(entries.words[surface], reading, converter.tokens) for surface in own]
    numbers = np.arange(len(words), dtype=np.int32)
    return replace(converter, dictionary=replace(entries, words=tuple(words), surfaces=numbers))


def surface_of(word: str) -> str:
    """The surface of `surface|reading`, or of a run of characters without a reading."""
    return word.rpartition("|")[0] or word


def token_lists(converter: Converter, kana: Sequence[str], k: int, threads: int | None = None) -> NBest:
    """The k best of each text, as `Converter.best` has them, in words with their readings."""
    own, found = with_readings(converter), []
    for at in range(0, len(kana), _BLOCK):
        some = kana[at : at + _BLOCK]
        forests = own.forests(some, ids=[str(at + i) for i in range(len(some))], threads=threads)
        spoken = replace(forests, vocabulary=tuple(map(surface_of, forests.vocabulary)))
        scores = forests.features @ np.array([forests.own_weights[name] for name in forests.feature_names])
        best = kbest(in_characters(spoken), scores, k, distinct=True, threads=threads)
        found.append(Derivations(forests, best.offsets, best.edge_offsets, best.edges).lists())
    return merge(*found)


# the mixture ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FixedMixture:
    """Two models over the vocabulary of the first."""

    first: LanguageModel
    second: LanguageModel
    weight: float  # of the first

    def scores(self, texts: Texts) -> tuple[Floats, Floats]:
        """[H] natural log probability of each text with its end: by the mixture, and by the first model."""
        offsets, columns = both_logprobs(self.first, self.second, texts)
        with np.errstate(divide="ignore"):
            mixed = np.logaddexp(np.log(self.weight) + columns[:, 0], np.log(1 - self.weight) + columns[:, 1])
        return segments.sums(mixed, offsets), segments.sums(columns[:, 0], offsets)


def fit_fixed(converter: Converter, adapt: Sequence[ReadSentence], order: int = 3) -> FixedMixture:
    """The converter's model and one of the text to adapt to; its weight by a tenth, which then is trained on, too."""
    first = converter.lm
    assert isinstance(first, LanguageModel)
    rest, heldout = every_tenth(adapt)

    def lines(sentences: Sequence[ReadSentence]) -> Texts:
        return Texts.of(" ".join(_known(first, sentence, converter.tokens)) for sentence in sentences)

    _, columns = both_logprobs(first, KneserNey(order).fit(lines(rest)), lines(heldout))
    weight = em_weight(columns[:, 0], columns[:, 1])[0]
    return FixedMixture(first, KneserNey(order).fit(lines(adapt)), weight)


def _known(model: LanguageModel, sentence: ReadSentence, tokens: str) -> list[str]:
    words = (token(*pair, tokens) for pair in zip(sentence.surfaces, sentence.readings, strict=True))
    return [word if word in model.numbers else OTHER for word in words]


def both_logprobs(first: LanguageModel, second: LanguageModel, texts: Texts) -> tuple[Ints, Floats]:
    """Offsets [H+1] and log probabilities [T+H, 2] of the words and ends of texts, in both models."""
    (words,), vocabulary = intern(texts)
    one = first.ids(vocabulary)
    two = second.ids([word if at != UNKNOWN else OTHER for word, at in zip(vocabulary, one, strict=True)])
    offsets, left = token_logprobs(sides_of(first), words.offsets, np.stack([one, one], axis=1)[words.ids])
    _, right = token_logprobs(sides_of(second), words.offsets, np.stack([two, two], axis=1)[words.ids])
    missing = sum(word not in second.numbers for word in first.vocabulary)
    columns = np.stack([left[:, 0], right[:, 0]], axis=1)
    owners = np.repeat(np.arange(len(words.offsets) - 1), words.lengths())
    places = np.arange(len(words.ids)) + owners  # of words, not of ends
    columns[places[(two == UNKNOWN)[words.ids]], 1] -= np.log(max(missing, 1))
    unknown = places[(one == UNKNOWN)[words.ids]]
    columns[unknown, 1] = columns[unknown, 0]
    return offsets, columns
