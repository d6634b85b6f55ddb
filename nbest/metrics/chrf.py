"""chrF and chrF++, with the statistics, options, score and signature of sacrebleu."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nbest.base.errors import shown
from nbest.base.limits import LONGEST
from nbest.base.parameters import check, parameter
from nbest.base.types import Floats, Ints, References
from nbest.compute import segments
from nbest.compute.jets import Value, log
from nbest.corpus.texts import Texts
from nbest.corpus.words import Words, characters
from nbest.metrics import ngrams
from nbest.metrics.normalise import OfTexts
from nbest.metrics.rates import FLOOR, smooth_rate
from nbest.metrics.references import ranks
from nbest.metrics.tokenise import split_words

_PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
_EPSILON = 1e-16
_CODE_POINTS = 0x110000


@dataclass(frozen=True, kw_only=True)
class CHRF(OfTexts):
    """chrF in percent, higher is better: F-score of character (and word) n-grams, recall weighing `beta` times.

        F = (1 + beta^2) P R / (beta^2 P + R),    P, R averages over orders of match_n / hyp_n, match_n / ref_n

    Popović (2015), WMT 392-395; (2017), WMT 612-618 with word n-grams. Statistics: for each order hyp, ref, match
    (characters first, then words). Of several references the one with the best F of the hypothesis counts, ties to
    the first. Options are sacrebleu's: orders that one side lacks are left out, or with `eps_smoothing` count as
    1e-16 and F is averaged over orders. Word n-grams see punctuation at the ends of a word as a word.
    Differs from sacrebleu: totals need not be whole.
    """

    char_order: int = parameter(6, "longest n-grams of characters", least=1, most=LONGEST)
    word_order: int = parameter(0, "longest n-grams of words (chrF++ has 2)", least=0, most=LONGEST)
    beta: int = parameter(2, "how much recall counts against precision", least=0)
    lowercase: bool = parameter(False, "ignore case")
    whitespace: bool = parameter(False, "keep spaces among characters")
    eps_smoothing: bool = parameter(False, "smooth by a small number instead of the effective order")

    higher_is_better = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check(self, f"chrF{shown(self.beta)}")

    @property
    def name(self) -> str:
        """chrF2, chrF2++, ...: with beta and a plus for each word order, as sacrebleu writes it."""
        return f"chrF{self.beta}{'+' * self.word_order}"

    @property
    def stat_names(self) -> tuple[str, ...]:
        """The M = 3 (char_order + word_order) statistics."""
        orders = [f"char_{n}" for n in range(1, self.char_order + 1)]
        orders += [f"word_{n}" for n in range(1, self.word_order + 1)]
        return tuple(f"{kind}_{order}" for order in orders for kind in ("hyp", "ref", "match"))

    def stats(self, texts: Texts, offsets: Ints, references: References) -> Floats:
        """[H, M] statistics, equal to sacrebleu's."""
        texts, flat, groups = self.prepared(texts, offsets, references)
        if self.lowercase:
            texts, flat = (Texts.of(text.lower() for text in part) for part in (texts, flat))
        owners = segments.owners(offsets)
        hyps, refs = characters(texts, flat, spaces=self.whitespace)
        levels = [(hyps, refs, _CODE_POINTS, self.char_order)]
        if self.word_order:
            (hyps, refs), vocabulary = split_words(_split_punctuation, texts, flat)
            levels.append((hyps, refs, vocabulary, self.word_order))
        best = np.zeros((len(texts), len(self.stat_names)))
        best_score = np.full(len(texts), -1.0)
        for rank, (has, reference) in enumerate(ranks(owners, groups)):
            first = groups[:-1] + rank
            last = np.minimum(first + 1, groups[1:])
            parts = [
                _triples(
                    h, offsets=offsets, refs=r, first=first, last=last, reference=reference, order=order, vocabulary=v
                )
                for h, r, v, order in levels
            ]
            found = np.concatenate(parts, axis=1)
            score = self.score(found)
            better = has & (score > best_score)
            best[better], best_score[better] = found[better], score[better]
        return best

    def score(self, totals: Floats) -> Floats:
        """[...] chrF of totals [..., M], added up in sacrebleu's order so that references tie where its do."""
        totals = np.asarray(totals, np.float64)
        order, factor = self.char_order + self.word_order, self.beta**2
        shape = totals.shape[:-1]
        score, precision, recall, effective = np.zeros(shape), np.zeros(shape), np.zeros(shape), np.zeros(shape)
        for n in range(order):
            hyp, ref, match = (totals[..., 3 * n + k] for k in range(3))
            p = _ratio(match, hyp, _EPSILON)
            r = _ratio(match, ref, _EPSILON)
            if self.eps_smoothing:
                score += _ratio((1 + factor) * p * r, factor * p + r, _EPSILON)
            both = (hyp > 0) & (ref > 0)
            precision += np.where(both, p, 0.0)
            recall += np.where(both, r, 0.0)
            effective += both
        if self.eps_smoothing:
            return 100 * score / order
        mean_p, mean_r = _ratio(precision, effective, 0.0), _ratio(recall, effective, 0.0)
        return 100 * _ratio((1 + factor) * mean_p * mean_r, factor * mean_p + mean_r, 0.0)

    def smooth(self, s: Sequence[Value]) -> Value:
        """log chrF of expected totals, less a constant: F of the mean precision and recall over all orders.

        FLOOR is added to counts, matches too, so that slopes stay bounded where nothing matches.
        """
        order, factor = self.char_order + self.word_order, self.beta**2
        precision, recall = (
            sum((_floored(s[3 * n + 2], s[3 * n + k]) for n in range(1, order)), _floored(s[2], s[k])) for k in (0, 1)
        )
        return log(precision) + log(recall) - log(factor * precision + recall)

    def losses(self, stats: Floats) -> Floats:
        """[H] 100 - chrF of the hypothesis alone."""
        return np.maximum(100.0 - self.score(stats), 0.0)

    def signature(self, references: int = 1) -> str:
        """sacrebleu's signature; like there, beta is in the name."""
        from sacrebleu.metrics.chrf import CHRFSignature

        options = ("char_order", "word_order", "lowercase", "whitespace", "eps_smoothing")
        said = {"num_refs": references, **{option: getattr(self, option) for option in options}}
        return self.signed(str(CHRFSignature(said)))


@dataclass(frozen=True, kw_only=True)
class CHRFPlusPlus(CHRF):
    """chrF++: chrF with word n-grams up to 2."""

    word_order: int = parameter(2, "longest n-grams of words", least=0, most=LONGEST)


def _triples(
    hyps: Words, offsets: Ints, refs: Words, first: Ints, last: Ints, reference: Ints, order: int, vocabulary: int
) -> Floats:
    """[H, 3 order] n-grams of the hypothesis, of its reference, and in both, for each order."""
    ref_counts = ngrams.ngram_totals(refs.lengths(), order)[reference]
    hyp_counts = ngrams.ngram_totals(hyps.lengths(), order)
    matched = ngrams.matches(
        hypotheses=hyps, offsets=offsets, references=refs, first=first, last=last, order=order, vocabulary=vocabulary
    )
    # sacrebleu does not count the hypothesis where the reference is too short for the order
    triples = np.stack([np.where(ref_counts > 0, hyp_counts, 0), ref_counts, matched], axis=2)
    return triples.reshape(len(hyp_counts), 3 * order).astype(np.float64)


def _floored(part: Value, whole: Value) -> Value:
    return smooth_rate(part + FLOOR, whole)


def _ratio(part: Floats, whole: Floats, empty: float) -> Floats:
    """part / whole, `empty` where the whole is 0."""
    return np.divide(part, whole, out=np.full(np.shape(part), empty), where=whole > 0)


def _split_punctuation(word: str) -> list[str]:
    """Punctuation at the end of a word, or else at its start, as a word of its own."""
    if len(word) == 1:
        return [word]
    if word[-1] in _PUNCTUATION:
        return [word[:-1], word[-1]]
    if word[0] in _PUNCTUATION:
        return [word[0], word[1:]]
    return [word]
