"""Linearised BLEU: the mean of the BLEU of sentences, which is a sum over segments."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nbest.base.limits import LONGEST
from nbest.base.parameters import check, parameter
from nbest.base.types import Floats, Ints, References
from nbest.corpus.texts import Texts
from nbest.metrics.bleu import BLEU
from nbest.metrics.normalise import OfTexts
from nbest.metrics.rates import Mean, values_as_stats
from nbest.metrics.tokenise import check_tokeniser


@dataclass(frozen=True, kw_only=True)
class SentenceBLEU(Mean, OfTexts):
    """The mean of the BLEU of sentences, in percent, higher is better.

    Each sentence as sacrebleu's sentence_bleu: exp smoothing, orders up to the length of the output. Statistics: value,
    count. A sum over segments, so its expectation is exact; what to tune for is better corpus BLEU: this is the
    "linearized" BLEU that Smith & Eisner (2006), section 6.1, found worse to train with, as Kumar & Byrne (2004) use it
    in decisions.
    """

    tokenize: str = parameter("13a", "tokeniser: 13a, none, intl, char, zh, ...")
    lowercase: bool = parameter(False, "ignore case")
    max_ngram_order: int = parameter(4, "longest n-grams", least=1, most=LONGEST)

    name = "sentence-BLEU"
    higher_is_better = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_tokeniser(self.tokenize)
        check(self)

    @classmethod
    def of(cls, metric: BLEU) -> SentenceBLEU:
        """With the tokens and orders of a BLEU."""
        return cls(**{name: getattr(metric, name) for name in _SHARED})

    @property
    def corpus(self) -> BLEU:
        """BLEU with these tokens and orders."""
        return BLEU(**{name: getattr(self, name) for name in _SHARED})

    def stats(self, texts: Texts, offsets: Ints, references: References) -> Floats:
        """[H, 2] BLEU of each hypothesis alone, and 1."""
        return self.from_bleu(self.corpus.stats(texts, offsets, references))

    def from_bleu(self, stats: Floats) -> Floats:
        """[H, 2] the same from statistics of BLEU [H, M]."""
        return values_as_stats(self.name, 100.0 - self.corpus.losses(stats))

    def losses(self, stats: Floats) -> Floats:
        """[H] 100 - BLEU of the hypothesis alone."""
        return np.asarray(100.0 - stats[:, 0])

    def signature(self, references: int = 1) -> str:
        """That of BLEU, as it is of each sentence."""
        return BLEU(effective_order=True, **{name: getattr(self, name) for name in _SHARED}).signature(references)


_SHARED = ("tokenize", "lowercase", "max_ngram_order", "normalize")
