"""BLEU, with the statistics, options, score and signature of sacrebleu."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nbest.base.limits import LONGEST
from nbest.base.parameters import check, parameter
from nbest.base.types import Bools, Floats, Ints, References
from nbest.compute import segments
from nbest.compute.jets import Value, minimum_zero, sigmoid
from nbest.corpus.texts import Texts
from nbest.metrics import ngrams
from nbest.metrics.normalise import OfTexts
from nbest.metrics.rates import FLOOR, smooth_log_rate
from nbest.metrics.references import ranks
from nbest.metrics.tokenise import check_tokeniser, tokeniser_signature, tokens

SMOOTHING = {"none": 0.0, "exp": 0.0, "floor": 0.1, "add-k": 1.0}
"""Smoothing methods and the default of their value (Chen & Cherry 2014); none and exp use none."""

SMALLEST = 1e-280
"""Products of counts below this lose digits."""


@dataclass(frozen=True, kw_only=True)
class BLEU(OfTexts):
    """BLEU in percent, higher is better.

        score = 100 min(1, exp(1 - ref_len / hyp_len)) exp(1/K sum_n log(correct_n / total_n)),    K = max_ngram_order

    Papineni et al. (2002), ACL 311-318. Statistics: hyp_len, ref_len (of the closest reference, ties to the shorter),
    correct_1..K (clipped by the largest count in one reference), total_1..K.
    Options are sacrebleu's; `smooth_value` is for floor and add-k, None means their default. Where correct_n is 0:
    exp replaces it by 1/2, 1/4, ... in turn, floor by `smooth_value`; add-k adds to counts of n > 1; none scores 0.
    `effective_order` uses only the orders up to the first with total_n = 0. No correct n-gram at all scores 0.
    Differs from sacrebleu: lengths need not be whole (expected statistics), and input is never modified.
    """

    tokenize: str = parameter("13a", "tokeniser: 13a, none, intl, char, zh, ...")
    lowercase: bool = parameter(False, "ignore case")
    smooth_method: str = parameter("exp", "what is done where no n-gram is correct", choices=tuple(SMOOTHING))
    smooth_value: float | None = parameter(None, "of floor and add-k (None: 0.1 and 1)", least=0)
    effective_order: bool = parameter(False, "leave out orders that are too long for the output")
    max_ngram_order: int = parameter(4, "longest n-grams", least=1, most=LONGEST)

    name = "BLEU"
    higher_is_better = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_tokeniser(self.tokenize)
        check(self)

    @property
    def stat_names(self) -> tuple[str, ...]:
        """The M = 2 + 2K statistics."""
        orders = range(1, self.max_ngram_order + 1)
        return ("hyp_len", "ref_len", *(f"correct_{n}" for n in orders), *(f"total_{n}" for n in orders))

    def stats(self, texts: Texts, offsets: Ints, references: References) -> Floats:
        """[H, M] statistics, equal to sacrebleu's. The tokeniser is called once per distinct word."""
        texts, flat, groups = self.prepared(texts, offsets, references)
        (hyps, refs), vocabulary = tokens(self.tokenize, texts, flat, lowercase=self.lowercase)
        order = self.max_ngram_order
        out = np.empty((len(texts), 2 + 2 * order))
        out[:, 0] = hyps.lengths()
        out[:, 1] = _closest(hyps.lengths(), refs.lengths(), segments.owners(offsets), groups)
        out[:, 2 : 2 + order] = ngrams.matches(
            hyps, offsets, references=refs, first=groups[:-1], last=groups[1:], order=order, vocabulary=vocabulary
        )
        out[:, 2 + order :] = ngrams.ngram_totals(hyps.lengths(), order)
        return out

    def score(self, totals: Floats) -> Floats:
        """[...] BLEU of totals [..., M]. Rows with a zero, and add-k, take the slower way through the smoothing."""
        totals = np.asarray(totals, np.float64)
        flat = totals.reshape(-1, totals.shape[-1])
        if self.smooth_method == "add-k":
            return self._smoothed(flat).reshape(totals.shape[:-1])
        scores, ordinary = _plain(flat, self.max_ngram_order)
        if not ordinary.all():
            scores[~ordinary] = self._smoothed(flat[~ordinary])
        return scores.reshape(totals.shape[:-1])

    def smooth(self, s: Sequence[Value], alpha: float | None = None, segments: int = 1) -> Value:
        """log BLEU of expected totals s, without `smooth_method` (FLOOR is added to counts instead).

        The brevity penalty is min(1 - r/h, 0); with `alpha` it is u (1 - r/h), u = sigmoid(alpha (r - h) / segments),
        which is smooth at r = h (Nguyen et al. 2007, eq. 9).
        """
        order = self.max_ngram_order
        logs = smooth_log_rate(s[2], s[2 + order])
        for n in range(1, order):
            logs = logs + smooth_log_rate(s[2 + n], s[2 + order + n])
        shortfall = 1.0 - (s[1] + FLOOR) / (s[0] + FLOOR)
        if alpha is None:
            return logs * (1.0 / order) + minimum_zero(shortfall)
        return logs * (1.0 / order) + sigmoid((s[1] - s[0]) * (alpha / segments)) * shortfall

    def losses(self, stats: Floats) -> Floats:
        """[H] 100 - BLEU of the hypothesis alone, exp smoothing and effective order as in sacrebleu's sentence_bleu."""
        sentence = BLEU(effective_order=True, max_ngram_order=self.max_ngram_order)
        return np.maximum(100.0 - sentence.score(stats), 0.0)

    def signature(self, references: int = 1) -> str:
        """sacrebleu's signature; `order` is added where it is not 4, which sacrebleu leaves out."""
        from sacrebleu.metrics.bleu import BLEUSignature

        args = {
            "num_refs": references,
            "lowercase": self.lowercase,
            "effective_order": self.effective_order,
            "tokenizer_signature": tokeniser_signature(self.tokenize),
            "smooth_method": self.smooth_method,
            "smooth_value": self.smooth_value,
        }
        order = "" if self.max_ngram_order == 4 else f"|order:{self.max_ngram_order}"
        return self.signed(f"{BLEUSignature(args)}{order}")

    def _smoothed(self, totals: Floats) -> Floats:
        """[R] BLEU of totals [R, M] in the order of sacrebleu's `compute_bleu`, all rows at once."""
        order = self.max_ngram_order
        value = SMOOTHING[self.smooth_method] if self.smooth_value is None else self.smooth_value
        logs = np.zeros(len(totals))
        halvings = np.zeros(len(totals))
        effective = np.zeros(len(totals))
        going = np.ones(len(totals), bool)  # no order with total 0 yet
        with np.errstate(divide="ignore", invalid="ignore"):
            for n in range(order):
                correct, total = totals[:, 2 + n], totals[:, 2 + order + n]
                if self.smooth_method == "add-k" and n > 0:
                    correct, total = correct + value, total + value
                going &= total > 0
                effective += going
                log = np.log(correct)
                if self.smooth_method == "exp":
                    halvings += going & (correct == 0)
                    log = np.where(correct == 0, -halvings * np.log(2.0), log)
                elif self.smooth_method == "floor":
                    log = np.where(correct == 0, np.log(value), log)
                logs += np.where(going, log - np.log(total), 0.0 if self.effective_order else -np.inf)
            brevity = np.minimum(1.0 - totals[:, 1] / totals[:, 0], 0.0)
            scores = 100.0 * np.exp(logs / (effective if self.effective_order else order) + brevity)
        counted = (totals[:, 2 : 2 + order] > 0).any(axis=1) & (effective > 0) & (totals[:, 0] > 0)
        return np.where(counted, scores, 0.0)


def _plain(totals: Floats, order: int) -> tuple[Floats, Bools]:
    """[R] BLEU without smoothing, and where it holds: all counts positive and their products within range."""
    hyp, ref = totals[:, 0], totals[:, 1]
    matched, possible = totals[:, 2], totals[:, 2 + order]
    with np.errstate(all="ignore"):
        for n in range(1, order):
            matched = matched * totals[:, 2 + n]
            possible = possible * totals[:, 2 + order + n]
        ordinary = (matched > SMALLEST) & (possible > SMALLEST) & (possible < np.inf) & (hyp > 0)
        scores = matched / possible
        np.log(scores, out=scores)
        scores *= 1.0 / order
        scores += np.minimum(1.0 - ref / hyp, 0.0)
        np.exp(scores, out=scores)
        scores *= 100.0
    return scores, ordinary


def _closest(lengths: Ints, reference_lengths: Ints, owners: Ints, groups: Ints) -> Ints:
    """[H] length of the reference closest in length to the hypothesis, ties to the shorter."""
    best = reference_lengths[groups[:-1][owners]]
    for _, reference in ranks(owners, groups):
        size = reference_lengths[reference]
        gap, gain = np.abs(size - lengths), np.abs(best - lengths)
        best = np.where((gap < gain) | ((gap == gain) & (size < best)), size, best)
    return best
