"""Word and character error rate: edit distance by rapidfuzz, which runs without the interpreter lock."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from nbest.base.parameters import parameter
from nbest.base.types import Floats, Ints, References
from nbest.compute import parallel, segments
from nbest.corpus.texts import Texts
from nbest.corpus.words import Words
from nbest.metrics.normalise import OfTexts
from nbest.metrics.rates import ErrorRate, versioned
from nbest.metrics.references import ranks
from nbest.metrics.tokenise import tokens

_SURROGATES = (0xD800, 0xE000)
_POINTS = 0x110000 - (_SURROGATES[1] - _SURROGATES[0])  # how many words a code point can stand for


@dataclass(frozen=True, kw_only=True)
class WER(OfTexts, ErrorRate):
    """Word error rate in percent, lower is better: 100 errors / reference words.

    Errors are the fewest insertions, deletions and substitutions of words (`str.split()`). Of several references
    the one with the fewest errors counts, ties to the first. Statistics: errors, ref_len.
    Without reference words: 0 if there are no errors, else 100.
    """

    lowercase: bool = parameter(False, "ignore case")

    name = "WER"
    stat_names = ("errors", "ref_len")

    def stats(self, texts: Texts, offsets: Ints, references: References) -> Floats:
        """[H, 2] errors and length of the reference."""
        texts, flat, groups = self.prepared(texts, offsets, references)
        (hyps, refs), vocabulary = tokens("none", texts, flat, lowercase=self.lowercase)
        owners = segments.owners(offsets)
        if vocabulary > _POINTS:
            hyps, refs = _renumbered(hyps, offsets, refs, groups)
        return _fewest(_strings(hyps), _strings(refs), refs.lengths(), owners, groups)

    def signature(self, references: int = 1) -> str:
        """Options in sacrebleu's form."""
        return self.signed(versioned(references, case="lc" if self.lowercase else "mixed", unit="word"))


@dataclass(frozen=True, kw_only=True)
class CER(OfTexts, ErrorRate):
    """Character error rate in percent, lower is better: 100 errors / reference characters (code points).

    White space at the ends never counts; within the text it counts as written if `spaces` (as in jiwer), else not.
    Otherwise like `WER`.
    """

    lowercase: bool = parameter(False, "ignore case")
    spaces: bool = parameter(True, "count spaces as characters")

    name = "CER"
    stat_names = ("errors", "ref_len")

    def stats(self, texts: Texts, offsets: Ints, references: References) -> Floats:
        """[H, 2] errors and length of the reference."""
        texts, flat, groups = self.prepared(texts, offsets, references)
        refs = self._plain(flat)
        lengths = np.array([len(ref) for ref in refs], np.int64)
        return _fewest(self._plain(texts), refs, lengths, segments.owners(offsets), groups)

    def _plain(self, texts: Texts) -> list[str]:
        lines = [text.lower() for text in texts] if self.lowercase else list(texts)
        return [line.strip() for line in lines] if self.spaces else ["".join(line.split()) for line in lines]

    def signature(self, references: int = 1) -> str:
        """Options in sacrebleu's form."""
        case = "lc" if self.lowercase else "mixed"
        return self.signed(versioned(references, case=case, unit="character", space=self.spaces))


def _fewest(hyps: Sequence[str], refs: Sequence[str], lengths: Ints, owners: Ints, groups: Ints) -> Floats:
    """[H, 2] errors against the reference with the fewest of them (the first such), and its length."""
    out = np.full((len(hyps), 2), np.inf)
    for has, reference in ranks(owners, groups):
        errors = _distances(hyps, [refs[r] for r in reference])
        better = has & (errors < out[:, 0])
        out[better, 0], out[better, 1] = errors[better], lengths[reference[better]]
    return out


def _distances(hyps: Sequence[str], refs: Sequence[str]) -> Floats:
    from rapidfuzz.distance import Levenshtein
    from rapidfuzz.process import cpdist

    if not hyps:
        return np.zeros(0)
    return cpdist(hyps, refs, scorer=Levenshtein.distance, dtype=np.float64, workers=parallel.thread_count(None))


def _strings(words: Words) -> list[str]:
    """Each text as a string with one code point a word; surrogates, which no string may hold, are jumped over."""
    points = words.ids.astype("<u4")
    points[points >= _SURROGATES[0]] += _SURROGATES[1] - _SURROGATES[0]
    joined = points.tobytes().decode("utf-32-le")
    return [joined[low:high] for low, high in pairwise(words.offsets.tolist())]


def _renumbered(hyps: Words, offsets: Ints, refs: Words, groups: Ints) -> tuple[Words, Words]:
    """Words numbered within each segment, for vocabularies larger than the number of code points."""
    hyp_ids, ref_ids = np.empty_like(hyps.ids), np.empty_like(refs.ids)
    for i in range(len(offsets) - 1):
        of_hyps = slice(hyps.offsets[offsets[i]], hyps.offsets[offsets[i + 1]])
        of_refs = slice(refs.offsets[groups[i]], refs.offsets[groups[i + 1]])
        both = np.concatenate([hyps.ids[of_hyps], refs.ids[of_refs]])
        _, numbers = np.unique(both, return_inverse=True)
        hyp_ids[of_hyps], ref_ids[of_refs] = np.split(numbers, [of_hyps.stop - of_hyps.start])
    return Words(hyps.offsets, hyp_ids), Words(refs.offsets, ref_ids)
