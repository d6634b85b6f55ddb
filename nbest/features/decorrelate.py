"""Combinations of features that do not vary together within segments, for searches that go along one at a time."""

from __future__ import annotations

from functools import partial, singledispatch
from itertools import combinations

import numpy as np

from nbest.base.types import Floats, Ints
from nbest.compute import segments
from nbest.compute.executors import current
from nbest.corpus import Forests, NBest
from nbest.corpus.contract import Corpus, no_answer
from nbest.forests.expectations import variances

_LEAST = 1e-3  # share of the largest variance that a combination counts with at least: less is rounding or chance


def decorrelated(corpus: Corpus, scale: Floats, columns: Ints) -> Floats:
    """[K, K] of K columns, over their scale: the combinations, one a column, that are uncorrelated and nearest to them.

    C^(-1/2) of their covariance C within segments, so each is a feature of unit spread from which most of what it has
    in common with others is taken away (Kessy, Lewin & Strimmer 2018, The American Statistician 72: ZCA whitening).
    """
    variances, axes = np.linalg.eigh(within_covariance(corpus, scale, columns))
    least = _LEAST * max(float(variances.max(initial=0.0)), 1e-300)
    return np.asarray((axes / np.sqrt(np.maximum(variances, least))) @ axes.T)


@singledispatch
def within_covariance(corpus: Corpus, scale: Floats, columns: Ints) -> Floats:
    """[K, K] covariance of some columns, over their scale, around the means of segments.

    Of lists pooled over all hypotheses, of forests over derivations, alike likely, on average over forests: the same
    where lists are equally long, as in `within_scale`.
    """
    raise no_answer("within_covariance", corpus)


@within_covariance.register(NBest)
def _(corpus: NBest, scale: Floats, columns: Ints) -> Floats:
    products = current().map(partial(_products, scale[columns], columns), corpus.shards())
    return np.asarray(sum(products, np.zeros((len(columns), len(columns)))) / max(corpus.hypotheses, 1))


@within_covariance.register(Forests)
def _(corpus: Forests, scale: Floats, columns: Ints) -> Floats:
    found = current().map(partial(_covariances, scale[columns], columns), corpus.shards())
    return np.asarray(sum(found, np.zeros((len(columns), len(columns)))) / max(len(corpus), 1))


def _covariances(scale: Floats, columns: Ints, part: Forests) -> Floats:
    """[K, K] sums over forests of covariances, each by the variance of a sum: K (K + 1) / 2 passes over the edges."""
    own = [np.asarray(part.features[:, d], np.float64) / unit for d, unit in zip(columns, scale, strict=True)]
    spread = lambda values: float(variances(part, np.zeros(part.edges), values).sum())  # noqa: E731
    out = np.diag([spread(values) for values in own])
    for a, b in combinations(range(len(own)), 2):
        out[a, b] = out[b, a] = (spread(own[a] + own[b]) - out[a, a] - out[b, b]) / 2
    return out


def _products(scale: Floats, columns: Ints, part: NBest) -> Floats:
    """[K, K] sums of products of the columns of a part, each over its scale and centred within segments."""
    counts, centred = np.maximum(part.lengths, 1), np.empty((len(columns), part.hypotheses))
    for row, d, unit in zip(centred, columns, scale, strict=True):
        column = np.asarray(part.features[:, d], np.float64) / unit
        row[:] = column - np.repeat(segments.sums(column, part.offsets) / counts, part.lengths)
    return np.asarray(centred @ centred.T)
