"""Scores of phrase pairs, and the table made of them.

    p(e|f) = (c(f, e) - D(c(f, e))) / c(f) + b(f) n(e) / n,   b(f) = sum_e D(c(f, e)) / c(f)

with n(e) the number of source phrases beside e and n that of all distinct pairs: modified Kneser-Ney smoothing with
D(1), D(2) and D(3+) from counts of counts, of Foster, Kuhn & Johnson (2006), EMNLP 53-61, section 3.1, after Chen &
Goodman (1998); p(f|e) likewise. It sums to 1 over all target phrases; a table keeps the pairs that were seen.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from nbest.base.errors import ParameterError
from nbest.base.types import Floats, Ints
from nbest.compute.segments import lengths, offsets_of
from nbest.systems.translator.phrases.extract import PhraseCounts
from nbest.systems.translator.phrases.order import pair_order, phrase_order, ranks_of, renumbered
from nbest.systems.translator.phrases.table import FEATURES, PhraseTable


def phrase_discounts(counts: Ints) -> Floats:
    """[4] D(0) = 0, D(1), D(2), D(3+), at most the count and not below 0; 0 where counts of counts do not tell.

    D(k) = k - (k + 1) Y n_{k+1} / n_k with Y = n_1 / (n_1 + 2 n_2); Chen & Goodman (1998), TR-10-98, eq. 26.
    """
    n = np.bincount(np.minimum(counts, 5), minlength=6)[:5].astype(float)
    out = np.zeros(4)
    share = n[1] / (n[1] + 2 * n[2]) if n[1] > 0 else 0.0
    for k in (1, 2, 3):
        if n[k] > 0 and n[k + 1] > 0:
            out[k] = min(max(k - (k + 1) * share * n[k + 1] / n[k], 0.0), k)
    return out


def smoothed(given: Ints, made: Ints, counts: Ints) -> Floats:
    """[P] modified Kneser-Ney p(made | given) of each distinct pair."""
    taken = phrase_discounts(counts)[np.minimum(counts, 3)]
    total = np.bincount(given, counts)
    freed = np.bincount(given, taken)
    lower = np.bincount(made) / max(len(made), 1)
    return np.asarray((counts - taken + freed[given] * lower[made]) / total[given])


def score_phrases(
    counts: PhraseCounts,
    source_words: list[str],
    target_words: list[str],
    *,
    options: int = 20,
    threads: int | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> PhraseTable:
    """The phrase table with the `options` best pairs of each source phrase by p(e|f), ties in order of their words.

    `progress(done, total)` counts the steps: phrases sorted, pairs sorted, features, words.
    """
    if options < 1:
        raise ParameterError(f"'options' of score_phrases must be >= 1, got {options}")
    source_order = phrase_order(counts.source_ids, counts.source_starts, counts.source_sizes)
    target_order = phrase_order(counts.target_ids, counts.target_starts, counts.target_sizes)
    sources, targets = ranks_of(source_order)[counts.sources], ranks_of(target_order)[counts.targets]
    progress(1, 4)
    direct = smoothed(counts.sources, counts.targets, counts.counts)
    order, offsets = pair_order(sources, targets, direct, threads)
    sizes = lengths(offsets)
    order = order[np.arange(len(order)) - np.repeat(offsets[:-1], sizes) < options]
    progress(2, 4)
    features = _features(counts, direct, order)
    progress(3, 4)
    used, kept = renumbered(targets[order], len(target_order))
    source_ids, source_offsets = _phrases(counts.source_ids, counts.source_starts, counts.source_sizes, source_order)
    target_ids, target_offsets = _phrases(
        counts.target_ids, counts.target_starts, counts.target_sizes, target_order[used]
    )
    progress(4, 4)
    return PhraseTable(
        source_offsets=source_offsets,
        source_ids=source_ids,
        option_offsets=offsets_of(np.minimum(sizes, options)),
        targets=kept,
        features=features,
        target_offsets=target_offsets,
        target_ids=target_ids,
        source_words=source_words,
        target_words=target_words,
    )


def _features(counts: PhraseCounts, direct: Floats, order: Ints) -> Floats:
    out = np.empty((len(order), len(FEATURES)), np.float32)
    out[:, 0] = np.log(direct[order])
    out[:, 1] = np.log(smoothed(counts.targets, counts.sources, counts.counts)[order])
    out[:, 2:4] = counts.lexical[order]
    out[:, 4] = 1
    return out


def _phrases(ids: Ints, starts: Ints, sizes: Ints, order: Ints) -> tuple[Ints, Ints]:
    """Words and offsets of the phrases in this order."""
    offsets = offsets_of(sizes[order])
    places = np.arange(offsets[-1]) + np.repeat(starts[order] - offsets[:-1], sizes[order])
    return ids[places].astype(np.int32), offsets
