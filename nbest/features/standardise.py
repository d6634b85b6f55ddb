"""How far features spread, so that trainers can work in units that do not depend on the user's: passes over shards."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, singledispatch

import numpy as np

from nbest.base.types import Floats, Ints
from nbest.compute import segments
from nbest.compute.executors import current
from nbest.corpus import Forests, NBest
from nbest.corpus.contract import Corpus, no_answer
from nbest.forests.scale import forest_corpus_scale, forest_scale

Spread = tuple[int, Floats, Floats]
"""Of some hypotheses: how many, and mean and variance [D] of their features."""


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
    return scale_of(current().map(spread_within, corpus.shards()), corpus.hypotheses)


def scale_of(found: Sequence[tuple[Floats, Floats]], hypotheses: int) -> Floats:
    """[D] the scale within segments of what `spread_within` found in the parts of lists."""
    sizes = np.stack([size for size, _ in found])
    largest = sizes.max(axis=0)
    share = np.divide(sizes, largest, out=np.zeros_like(sizes), where=largest > 0)
    squares = sum(own * part**2 for part, (_, own) in zip(share, found, strict=True))
    deviation = np.sqrt(squares / max(hypotheses, 1))
    return np.where(deviation > 1e-13, deviation * largest, 0.0)


def spread_within(part: NBest) -> tuple[Floats, Floats]:
    """[D] the largest size of each feature, and the sum of squares around the means of segments in units of it."""
    features = part.features
    counts = np.maximum(part.lengths, 1)
    sizes, squares = np.zeros((2, features.shape[1]))
    for d in range(features.shape[1]):
        column = np.asarray(features[:, d], np.float64)
        sizes[d] = np.abs(column).max(initial=0.0)
        if sizes[d] > 0:
            column = column / sizes[d]  # squares of huge features must not overflow
            centred = column - np.repeat(segments.sums(column, part.offsets) / counts, part.lengths)
            squares[d] = (centred**2).sum()
    return sizes, squares


@singledispatch
def corpus_scale(corpus: Corpus, within: Floats) -> Floats:
    """[D + D'] standard deviation of each dense feature over the whole corpus; `within` where it is 0 or sparse.

    Larger than the scale within segments for features that grow with the length of a segment.
    """
    raise no_answer("corpus_scale", corpus)


@corpus_scale.register(NBest)
def _(corpus: NBest, within: Floats) -> Floats:
    width = corpus.features.shape[1]
    overall: Floats = np.zeros(width)
    if corpus.hypotheses:
        parts = [part for part in corpus.shards() if part.hypotheses]
        overall = _deviation(current().map(_spread, parts))
        huge = np.flatnonzero(~np.isfinite(overall))
        if len(huge):  # squares of huge features must not overflow
            sizes = np.max(current().map(partial(_sizes, huge), parts), axis=0)
            overall[huge] = _deviation(current().map(partial(_scaled_spread, huge, sizes), parts)) * sizes
    out = np.array(within, np.float64)
    out[:width] = np.where(out[:width] > 0, np.maximum(overall, out[:width]), 0.0)
    return out


def _spread(part: NBest) -> Spread:
    features = np.asarray(part.features, np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        return len(features), features.mean(axis=0), features.var(axis=0)


def _sizes(columns: Ints, part: NBest) -> Floats:
    return np.abs(part.features[:, columns]).max(axis=0)


def _scaled_spread(columns: Ints, sizes: Floats, part: NBest) -> Spread:
    scaled = [np.asarray(part.features[:, d], np.float64) / size for d, size in zip(columns, sizes, strict=True)]
    return part.hypotheses, np.array([x.mean() for x in scaled]), np.array([x.var() for x in scaled])


def _deviation(found: list[Spread]) -> Floats:
    """[D] standard deviation over all of the parts: their own, and that of their means."""
    if len(found) == 1:
        return np.sqrt(found[0][2])
    counts, means, variances = (np.array(each) for each in zip(*found, strict=True))
    shares = counts / counts.sum()
    with np.errstate(over="ignore", invalid="ignore"):
        return np.sqrt(shares @ (variances + (means - shares @ means) ** 2))


within_scale.register(Forests, forest_scale)
corpus_scale.register(Forests, forest_corpus_scale)
