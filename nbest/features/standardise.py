"""The scale of each feature within segments: what trainers divide by, so that no feature's unit matters."""

from __future__ import annotations

from functools import singledispatch

import numpy as np

from nbest.base.types import Floats
from nbest.compute import segments
from nbest.corpus import Forests, NBest
from nbest.corpus.contract import Corpus, no_answer
from nbest.forests.scale import forest_corpus_scale, forest_scale


@singledispatch
def within_scale(corpus: Corpus) -> Floats:
    """[D] standard deviation of each dense feature around its segment's mean.

    Of lists pooled over all hypotheses, of forests over derivations, alike likely, on average over forests: the same
    where lists are equally long. 0 for a feature that never differs within a segment (up to rounding), which cannot
    change any choice.
    """
    raise no_answer("within_scale", corpus)


@within_scale.register(NBest)
def _(corpus: NBest) -> Floats:
    features, offsets = corpus.features, corpus.offsets
    sizes = np.maximum(corpus.lengths, 1)
    scales = np.zeros(features.shape[1])
    for d in range(features.shape[1]):
        column = np.asarray(features[:, d], np.float64)
        size = np.abs(column).max(initial=0.0)
        if size == 0:
            continue
        column = column / size  # squares of huge features must not overflow
        centred = column - np.repeat(segments.sums(column, offsets) / sizes, corpus.lengths)
        deviation = np.sqrt(np.mean(centred**2)) if len(centred) else 0.0
        scales[d] = deviation * size if deviation > 1e-13 else 0.0
    return scales


@singledispatch
def corpus_scale(corpus: Corpus, within: Floats) -> Floats:
    """[D + D'] standard deviation of each dense feature over the whole corpus; `within` where it is 0 or sparse.

    Larger than the scale within segments for features that grow with the length of a segment.
    """
    raise no_answer("corpus_scale", corpus)


@corpus_scale.register(NBest)
def _(corpus: NBest, within: Floats) -> Floats:
    width = corpus.features.shape[1]
    overall = np.zeros(width)
    if corpus.hypotheses:
        with np.errstate(over="ignore", invalid="ignore"):
            overall = np.std(np.asarray(corpus.features, np.float64), axis=0)
        for d in np.flatnonzero(~np.isfinite(overall)):  # squares of huge features must not overflow
            size = np.abs(corpus.features[:, d]).max()
            overall[d] = np.std(np.asarray(corpus.features[:, d], np.float64) / size) * size
    out = np.array(within, np.float64)
    out[:width] = np.where(out[:width] > 0, np.maximum(overall, out[:width]), 0.0)
    return out


within_scale.register(Forests, forest_scale)
corpus_scale.register(Forests, forest_corpus_scale)
