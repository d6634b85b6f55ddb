"""Accuracies: texts that equal a reference, tokens that equal those at the same place of a reference."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nbest import segments
from nbest.corpus.texts import Texts
from nbest.metrics.rates import Accuracy, versioned
from nbest.metrics.references import flatten, ranks
from nbest.metrics.tokenise import tokens
from nbest.parallel import kernel
from nbest.types import Floats, Ints, References


@dataclass(frozen=True, kw_only=True)
class TokenAccuracy(Accuracy):
    """Token accuracy in percent, higher is better: places where hypothesis and reference have the same token.

    Tokens are those of `str.split()`. Statistics: correct, total = the longer of the two lengths. Of several
    references the one with the largest correct / total counts, ties to the first. No tokens at all score 0.
    """

    lowercase: bool = False

    name = "accuracy"

    def stats(self, texts: Texts, offsets: Ints, references: References) -> Floats:
        """[H, 2] correct places and all places."""
        return _places(texts, offsets, references, self.lowercase)

    def signature(self, references: int = 1) -> str:
        """Options in sacrebleu's form."""
        return versioned(references, case="lc" if self.lowercase else "mixed", unit="token")


@dataclass(frozen=True, kw_only=True)
class Exact(Accuracy):
    """Exact-match accuracy in percent, higher is better: hypotheses that equal a reference.

    Texts are compared as their sequences of words (`str.split()`), so white space is normalised.
    Statistics: correct (0 or 1), total (1).
    """

    lowercase: bool = False

    name = "exact"

    def stats(self, texts: Texts, offsets: Ints, references: References) -> Floats:
        """[H, 2] whether correct, and 1."""
        places = _places(texts, offsets, references, self.lowercase)
        return np.stack([places[:, 0] == places[:, 1], np.ones(len(places))], axis=1).astype(np.float64)

    def signature(self, references: int = 1) -> str:
        """Options in sacrebleu's form."""
        return versioned(references, case="lc" if self.lowercase else "mixed", unit="text")


def _places(texts: Texts, offsets: Ints, references: References, lowercase: bool) -> Floats:
    """[H, 2] equal places and all places, against the reference with the largest share of equal ones."""
    flat, groups = flatten(texts, offsets, references)
    (hyps, refs), _ = tokens("none", texts, flat, lowercase=lowercase)
    correct, total = np.full(len(texts), -1, np.int64), np.ones(len(texts), np.int64)
    for has, reference in ranks(segments.owners(offsets), groups):
        equal = _equal(hyps.offsets, hyps.ids, refs.offsets, refs.ids, reference)
        longer = np.maximum(hyps.lengths(), refs.lengths()[reference])
        # two empty texts agree on all of their 0 places: the best there is
        better = has & ((equal * total > correct * longer) | ((longer == 0) & (correct < total)))
        correct, total = np.where(better, equal, correct), np.where(better, longer, total)
    return np.stack([correct, total], axis=1).astype(np.float64)


@kernel
def _equal(hyp_offsets, hyp_ids, ref_offsets, ref_ids, reference):
    """[H] number of places with the same token in each hypothesis and its reference."""
    out = np.zeros(len(reference), np.int64)
    for h in range(len(reference)):
        at = hyp_offsets[h]
        other = ref_offsets[reference[h]]
        size = min(hyp_offsets[h + 1] - at, ref_offsets[reference[h] + 1] - other)
        for k in range(size):
            out[h] += hyp_ids[at + k] == ref_ids[other + k]
    return out
