"""Places of a sequence that equal those of a reference: what accuracies of tokens, tags and arcs count."""

from __future__ import annotations

import numpy as np

from nbest.base.types import Floats, Ints
from nbest.compute.compilation import kernel
from nbest.corpus.words import Words
from nbest.metrics.references import ranks


def best_places(hyps: Words, refs: Words, owners: Ints, groups: Ints) -> Floats:
    """[H, 2] equal places and all places, against the reference with the largest share of equal ones.

    All places are as many as the longer of the two has. Ties go to the first reference. `owners` [H] is the segment of
    each hypothesis, `groups` [N+1] where the references of a segment begin.
    """
    correct, total = np.full(len(owners), -1, np.int64), np.ones(len(owners), np.int64)
    for has, reference in ranks(owners, groups):
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
