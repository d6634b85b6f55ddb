"""Translation edit rate, by sacrebleu."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from nbest.base.parameters import parameter
from nbest.base.types import Floats, Ints, References
from nbest.corpus.texts import Texts
from nbest.metrics.rates import ErrorRate
from nbest.metrics.references import flatten


@dataclass(frozen=True, kw_only=True)
class TER(ErrorRate):
    """Translation edit rate in percent, lower is better: 100 edits / average reference length.

    Snover et al. (2006), AMTA 223-231, as sacrebleu computes it: edits are insertions, deletions, substitutions and
    shifts of words, fewest over the references. Statistics: edits, ref_len. Options are sacrebleu's.
    Cost: plain Python, cubic in the length of a text; each distinct text of a segment is done once.
    """

    normalized: bool = parameter(False, "split off punctuation first")
    no_punct: bool = parameter(False, "leave punctuation out")
    asian_support: bool = parameter(False, "split Asian characters, with normalized or no_punct")
    case_sensitive: bool = parameter(False, "tell capitals apart")

    name = "TER"
    stat_names = ("edits", "ref_len")

    def _sacrebleu(self) -> Any:
        from sacrebleu.metrics.ter import TER

        return TER(**asdict(self))

    def stats(self, texts: Texts, offsets: Ints, references: References) -> Floats:
        """[H, 2] edits and average length of the references."""
        flatten(texts, offsets, references)
        ter = self._sacrebleu()
        out = np.zeros((len(texts), 2))
        for segment, group in enumerate(references):
            known = ter._extract_reference_info([ter._preprocess_segment(text) for text in group])
            done: dict[str, list[float]] = {}
            for h in range(offsets[segment], offsets[segment + 1]):
                line = ter._preprocess_segment(texts[h])
                if line not in done:
                    done[line] = ter._compute_segment_statistics(line, known)
                out[h] = done[line]
        return out

    def signature(self, references: int = 1) -> str:
        """sacrebleu's signature."""
        ter = self._sacrebleu()
        ter.num_refs = references
        return str(ter.get_signature())
