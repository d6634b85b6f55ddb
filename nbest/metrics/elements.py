"""Precision, recall and F of elements: white-space tokens as a multiset (brackets, chunks, entities, words)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nbest.base.parameters import check, parameter
from nbest.base.types import Floats, Ints, References
from nbest.compute import segments
from nbest.compute.jets import Value
from nbest.corpus.texts import Texts
from nbest.metrics import ngrams
from nbest.metrics.normalise import OfTexts
from nbest.metrics.rates import percent, smooth_log_rate, versioned
from nbest.metrics.references import ranks
from nbest.metrics.tokenise import tokens


@dataclass(frozen=True, kw_only=True)
class _Elements(OfTexts):
    """What precision, recall and F share: statistics correct, guessed, gold.

    Of several references the one with the best F1 of the hypothesis counts, ties to the first. A total of 0 elements
    scores 0; a hypothesis without elements for a reference without any has no loss.
    """

    lowercase: bool = parameter(False, "ignore case")

    higher_is_better = True
    stat_names = ("correct", "guessed", "gold")

    def stats(self, texts: Texts, offsets: Ints, references: References) -> Floats:
        """[H, 3] elements in both, in the hypothesis, in the reference."""
        texts, flat, groups = self.prepared(texts, offsets, references)
        (hyps, refs), vocabulary = tokens("none", texts, flat, lowercase=self.lowercase)
        best = np.zeros((len(texts), 3))
        best_f = np.full(len(texts), -1.0)
        for rank, (has, reference) in enumerate(ranks(segments.owners(offsets), groups)):
            first = groups[:-1] + rank
            last = np.minimum(first + 1, groups[1:])
            correct = ngrams.matches(
                hyps, offsets=offsets, references=refs, first=first, last=last, order=1, vocabulary=vocabulary
            )[:, 0]
            found = np.stack([correct, hyps.lengths(), refs.lengths()[reference]], axis=1)
            sizes = found[:, 1] + found[:, 2]
            f = np.where(sizes > 0, percent(2 * correct, sizes), 100.0)
            better = has & (f > best_f)
            best[better], best_f[better] = found[better], f[better]
        return best

    def score(self, totals: Floats) -> Floats:
        """[...] score of totals [..., 3]."""
        raise NotImplementedError

    def smooth(self, s: Sequence[Value]) -> Value:
        """The logarithm of the score of expected totals."""
        raise NotImplementedError

    def losses(self, stats: Floats) -> Floats:
        """[H] 100 - score of the hypothesis alone; 0 where neither side has elements."""
        return np.where(stats[:, 1] + stats[:, 2] > 0, 100.0 - self.score(stats), 0.0)

    def signature(self, references: int = 1) -> str:
        """Options in sacrebleu's form."""
        return self.signed(versioned(references, case="lc" if self.lowercase else "mixed", unit="element"))


@dataclass(frozen=True, kw_only=True)
class Precision(_Elements):
    """Precision of elements in percent, higher is better: 100 correct / guessed."""

    name = "precision"

    def score(self, totals: Floats) -> Floats:
        """[...] precision of totals [..., 3]."""
        return percent(totals[..., 0], totals[..., 1])

    def smooth(self, s: Sequence[Value]) -> Value:
        """log precision of expected totals."""
        return smooth_log_rate(s[0], s[1])


@dataclass(frozen=True, kw_only=True)
class Recall(_Elements):
    """Recall of elements in percent, higher is better: 100 correct / gold."""

    name = "recall"

    def score(self, totals: Floats) -> Floats:
        """[...] recall of totals [..., 3]."""
        return percent(totals[..., 0], totals[..., 2])

    def smooth(self, s: Sequence[Value]) -> Value:
        """log recall of expected totals."""
        return smooth_log_rate(s[0], s[2])


@dataclass(frozen=True, kw_only=True)
class F1(_Elements):
    """F of elements in percent, higher is better: 100 (1 + beta^2) correct / (beta^2 gold + guessed).

    `beta` > 1 weighs recall more; the reference is chosen by F1 whatever `beta` is.
    """

    beta: float = parameter(1.0, "how much recall counts against precision", above=0)

    def __post_init__(self) -> None:
        super().__post_init__()
        check(self)

    @property
    def name(self) -> str:
        """F1, or F with its beta."""
        return f"F{self.beta:g}"

    def score(self, totals: Floats) -> Floats:
        """[...] F of totals [..., 3]."""
        factor = self.beta**2
        return percent((1.0 + factor) * totals[..., 0], factor * totals[..., 2] + totals[..., 1])

    def smooth(self, s: Sequence[Value]) -> Value:
        """log F of expected totals."""
        factor = self.beta**2
        return smooth_log_rate((1.0 + factor) * s[0], factor * s[2] + s[1])

    def signature(self, references: int = 1) -> str:
        """Options in sacrebleu's form."""
        case = "lc" if self.lowercase else "mixed"
        return self.signed(versioned(references, case=case, unit="element", beta=f"{self.beta:g}"))
