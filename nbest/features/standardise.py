"""The scale of each feature within segments: what trainers divide by, so that no feature's unit matters."""

from __future__ import annotations

import numpy as np

from nbest import segments
from nbest.corpus import NBest
from nbest.types import Floats


def within_scale(corpus: NBest) -> Floats:
    """[D] standard deviation of each dense feature around its segment's mean, pooled over all hypotheses.

    0 for a feature that never differs within a list (up to rounding), which cannot change any choice.
    """
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
