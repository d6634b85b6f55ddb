"""Translation edit rate, equal to sacrebleu's."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from nbest.base.parameters import parameter
from nbest.base.types import Floats, Ints, References
from nbest.compute import parallel, segments
from nbest.compute.row_tables import hashes_of, new_table, number_rows
from nbest.corpus.texts import Texts
from nbest.corpus.words import Words
from nbest.metrics.normalise import OfTexts
from nbest.metrics.rates import ErrorRate
from nbest.metrics.shifts import fewest_edits
from nbest.metrics.tokenise import split_lines, split_words

_BLOCK = 64  # hypotheses a piece of work


@dataclass(frozen=True, kw_only=True)
class TER(OfTexts, ErrorRate):
    """Translation edit rate in percent, lower is better: 100 edits / average reference length.

    Snover et al. (2006), AMTA 223-231, as sacrebleu computes it: edits are insertions, deletions, substitutions and
    shifts of words, fewest over the references. Statistics: edits, ref_len. Options are sacrebleu's, whose tokeniser
    it is. Cost: cubic in the length of a text, by a kernel (`nbest.metrics.shifts`); each distinct text of a segment is
    done once.
    """

    normalized: bool = parameter(False, "split off punctuation first")
    no_punct: bool = parameter(False, "leave punctuation out")
    asian_support: bool = parameter(False, "split Asian characters, with normalized or no_punct")
    case_sensitive: bool = parameter(False, "tell capitals apart")

    name = "TER"
    stat_names = ("edits", "ref_len")

    def _sacrebleu(self) -> Any:
        from sacrebleu.metrics.ter import TER

        return TER(**{name: value for name, value in asdict(self).items() if name != "normalize"})

    def stats(self, texts: Texts, offsets: Ints, references: References) -> Floats:
        """[H, 2] edits and average length of the references."""
        texts, flat, groups = self.prepared(texts, offsets, references)
        hyps, refs = self._words(texts, flat)
        owners = segments.owners(offsets)
        lengths = np.diff(refs.offsets[groups]) / np.diff(groups)
        return np.stack([_edits(hyps, refs, owners, groups), lengths[owners]], axis=1)

    def _words(self, texts: Texts, references: Texts) -> list[Words]:
        """Words by sacrebleu's tokeniser, which gets references twice; unless it normalises each word stands alone."""
        tokenise = self._sacrebleu()._preprocess_segment
        split = split_lines if self.normalized else split_words
        return split(lambda text: tokenise(text).split(), texts, Texts.of(map(tokenise, references)))[0]

    def signature(self, references: int = 1) -> str:
        """sacrebleu's signature."""
        ter = self._sacrebleu()
        ter.num_refs = references
        return self.signed(str(ter.get_signature()))


def _edits(hyps: Words, refs: Words, owners: Ints, groups: Ints) -> Floats:
    """[H] edits from each hypothesis to the references of its segment; equal ones of a segment are measured once."""
    table, hashes = new_table(), hashes_of(owners, hyps.offsets, hyps.ids)
    _, entries, chosen = number_rows(table, 0, hashes)
    times = np.bincount(entries, minlength=len(chosen))
    first, last = groups[owners[chosen]], groups[owners[chosen] + 1]
    out = np.empty(len(chosen), np.int64)
    texts, known = (hyps.offsets, hyps.ids), (refs.offsets, refs.ids)

    def work(low: int) -> None:
        high = min(low + _BLOCK, len(chosen))
        fewest_edits(texts, known, (low, high, chosen, first, last), out)
        parallel.told.get()(int(times[low:high].sum()))

    parallel.each(work, range(0, len(chosen), _BLOCK))
    return out[entries].astype(np.float64)
