"""Interpolated modified Kneser-Ney smoothing.

    p(w | h) = max(a(h w) - D(a(h w)), 0) / sum_v a(h v) + gamma(h) p(w | h'),    h' = h without its oldest word
    gamma(h) = (sum_v D(a(h v)) + sum of a(h v) over n-grams cut off) / sum_v a(h v)

a is the count for the highest order and for n-grams that begin with <s>, else the number of distinct words seen before
the n-gram. D has three values an order, for a = 1, 2, and 3 or more, from the numbers n_k of n-grams with a = k:

    Y = n_1 / (n_1 + 2 n_2),    D_k = k - (k + 1) Y n_{k+1} / n_k

Below the words is the uniform distribution over all words, </s> and <unk>. Chen & Goodman (1998), TR-10-98, eq. 19 to
26; everything else as in lmplz (Heafield et al. 2013, ACL short papers 690-696): cut-offs by count, n_k before cutting.
Differs from lmplz: rare words become <unk> before counting (`cutoffs[0]`), empty lines are left out, and discounts that
n_k do not give (some n_k is 0, or some D_k <= 0) fall back to 1/2, 1, 3/2, which lmplz does when asked
(`nbest train lm` says so). Cost: one sort of the corpus an order, some 60 bytes a place and order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from nbest.base.errors import ParameterError
from nbest.base.types import Bools, Floats, Ints
from nbest.corpus import Texts
from nbest.lm.count import CountLevel, NgramCounts, count_ngrams
from nbest.lm.model import LanguageModel
from nbest.lm.prune import entropy_prune
from nbest.lm.query import START
from nbest.lm.trie import Level, assemble_trie, kept_rows

FALLBACK = (0.5, 1.0, 1.5)
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class KneserNey:
    """Estimates a language model.

    `cutoffs`: the least count of an n-gram of each order that is kept, never falling; the last holds for higher orders.
    `threshold`: n-grams whose removal changes the perplexity by less than this share are pruned (0: none).
    """

    order: int = 4
    cutoffs: Sequence[int] = (1,)
    threshold: float = 0.0

    def __post_init__(self) -> None:
        if self.order < 1:
            raise ParameterError(f"'order' of KneserNey must be >= 1, got {self.order}")
        cuts = list(self.cutoffs)
        if not cuts or cuts[0] < 1 or len(cuts) > self.order or cuts != sorted(cuts):
            rule = f"be 1 to {self.order} (the order) whole numbers >= 1 that never fall"
            raise ParameterError(f"'cutoffs' of KneserNey must {rule}, got {cuts}")
        if not 0 <= self.threshold < np.inf:
            raise ParameterError(f"'threshold' of KneserNey must be >= 0, got {self.threshold}")

    def fit(self, texts: Texts, progress: Progress = lambda done, total: None) -> LanguageModel:
        """The model of these sentences."""
        steps = 2 * self.order + 1

        def counting(done: int, total: int) -> None:
            progress(done, steps)

        counts = count_ngrams(texts, self.order, least=self.cutoffs[0], progress=counting)
        return self.estimate(counts, progress)

    def estimate(self, counts: NgramCounts, progress: Progress = lambda done, total: None) -> LanguageModel:
        """The model of these counts."""
        steps = 2 * self.order + 1
        adjusted = adjusted_counts(counts)
        masks = self._kept(counts)
        levels: list[Level] = []
        below = _uniform(counts)
        for n, level in enumerate(counts.levels):
            below, gammas = _interpolated(level, adjusted[n], masks[n], below, n)
            if n:
                levels[-1] = _with_backoffs(levels[-1], gammas)
            with np.errstate(divide="ignore"):
                logs = np.log(below).astype(np.float32)
            levels.append(Level(level.words, level.suffixes, logs, np.zeros(len(logs), np.float32)))
            progress(self.order + n + 1, steps)
        model = assemble_trie(counts.vocabulary, kept_rows(levels, masks))
        if self.threshold:
            histories = [np.log(np.maximum(level.counts, 1) / counts.tokens) for level in counts.levels]
            chosen = np.concatenate([history[mask] for history, mask in zip(histories, masks, strict=True)])
            model = entropy_prune(model, self.threshold, histories=chosen)
        progress(steps, steps)
        return model

    def _kept(self, counts: NgramCounts) -> list[Bools]:
        """Which n-grams of each order reach their cut-off; words were cut before counting."""
        cuts = [1, *self.cutoffs[1:]] + [self.cutoffs[-1]] * self.order
        return [np.ones(len(counts.vocabulary), bool)] + [
            level.counts >= cut for level, cut in zip(counts.levels[1:], cuts[1:], strict=False)
        ]


def adjusted_counts(counts: NgramCounts) -> list[Ints]:
    """a of every n-gram: how many words were seen before it; its count in the highest order and where <s> is first."""
    out = []
    for n, level in enumerate(counts.levels):
        adjusted = level.counts.copy()
        if n + 1 < len(counts.levels):
            inner = level.words != START
            before = np.bincount(counts.levels[n + 1].suffixes, minlength=len(adjusted))
            adjusted[inner] = before[inner]
        if n == 0:
            adjusted[START] = 0
        out.append(adjusted)
    return out


def discounts(adjusted: Ints) -> Floats:
    """[4] D for a = 0, 1, 2, and 3 or more: estimated, or where that fails `FALLBACK`."""
    found = estimated_discounts(adjusted)
    return np.array([0.0, *FALLBACK]) if found is None else found


def estimated_discounts(adjusted: Ints) -> Floats | None:
    """[4] D by the formula at the top of this file; None where some n_k is 0 or some D_k is not positive."""
    n = np.bincount(np.minimum(adjusted, 5), minlength=6).astype(np.float64)
    if (n[1:5] > 0).all():
        y = n[1] / (n[1] + 2 * n[2])
        found = np.array([0.0] + [k - (k + 1) * y * n[k + 1] / n[k] for k in (1, 2, 3)])
        if (found[1:] > 0).all():
            return found
    return None


def _uniform(counts: NgramCounts) -> Floats:
    """[1] probability of any word but <s> before anything is counted."""
    return np.array([1.0 / (len(counts.vocabulary) - 1)])


def _interpolated(level: CountLevel, adjusted: Ints, keep: Bools, below: Floats, n: int) -> tuple[Floats, Floats]:
    """Probabilities of the n-grams of a level, and gamma of each n-gram of the level below (1 if nothing follows)."""
    discounted = adjusted - discounts(adjusted)[np.minimum(adjusted, 3)]
    lost = np.where(keep, adjusted - discounted, adjusted)
    totals = np.bincount(level.prefixes, weights=adjusted, minlength=len(below))
    freed = np.bincount(level.prefixes, weights=lost, minlength=len(below))
    gammas: Floats = np.divide(freed, totals, out=np.ones(len(below)), where=totals > 0)
    found = discounted / totals[level.prefixes] + gammas[level.prefixes] * below[level.suffixes]
    if n == 0:
        found[START] = 0.0
    return found, gammas


def _with_backoffs(level: Level, gammas: Floats) -> Level:
    with np.errstate(divide="ignore"):
        return Level(level.words, level.suffixes, level.logprobs, np.log(gammas).astype(np.float32))
