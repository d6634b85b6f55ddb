"""Accuracies: texts that equal a reference, tokens that equal those at the same place of a reference."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nbest.base.parameters import parameter
from nbest.base.types import Floats, Ints, References
from nbest.compute import segments
from nbest.corpus.texts import Texts
from nbest.metrics.normalise import OfTexts
from nbest.metrics.places import best_places
from nbest.metrics.rates import Accuracy, versioned
from nbest.metrics.tokenise import tokens


@dataclass(frozen=True, kw_only=True)
class TokenAccuracy(OfTexts, Accuracy):
    """Token accuracy in percent, higher is better: places where hypothesis and reference have the same token.

    Tokens are those of `str.split()`. Statistics: correct, total = the longer of the two lengths. Of several
    references the one with the largest correct / total counts, ties to the first. No tokens at all score 0.
    """

    lowercase: bool = parameter(False, "ignore case")

    name = "accuracy"

    def stats(self, texts: Texts, offsets: Ints, references: References) -> Floats:
        """[H, 2] correct places and all places."""
        return _places(*self.prepared(texts, offsets, references), offsets, self.lowercase)

    def signature(self, references: int = 1) -> str:
        """Options in sacrebleu's form."""
        return self.signed(versioned(references, case="lc" if self.lowercase else "mixed", unit="token"))


@dataclass(frozen=True, kw_only=True)
class Exact(OfTexts, Accuracy):
    """Exact-match accuracy in percent, higher is better: hypotheses that equal a reference.

    Texts are compared as their sequences of words (`str.split()`), so white space is normalised.
    Statistics: correct (0 or 1), total (1).
    """

    lowercase: bool = parameter(False, "ignore case")

    name = "exact"

    def stats(self, texts: Texts, offsets: Ints, references: References) -> Floats:
        """[H, 2] whether correct, and 1."""
        places = _places(*self.prepared(texts, offsets, references), offsets, self.lowercase)
        return np.stack([places[:, 0] == places[:, 1], np.ones(len(places))], axis=1).astype(np.float64)

    def signature(self, references: int = 1) -> str:
        """Options in sacrebleu's form."""
        return self.signed(versioned(references, case="lc" if self.lowercase else "mixed", unit="text"))


def _places(texts: Texts, flat: Texts, groups: Ints, offsets: Ints, lowercase: bool) -> Floats:
    """[H, 2] equal places and all places, against the reference with the largest share of equal ones."""
    (hyps, refs), _ = tokens("none", texts, flat, lowercase=lowercase)
    return best_places(hyps, refs, segments.owners(offsets), groups)
