"""The scale of each feature over the derivations of forests, as `nbest.features.standardise` has it for lists."""

from __future__ import annotations

from functools import partial

import numpy as np

from nbest.base.types import Floats
from nbest.compute.executors import current
from nbest.corpus import Forests
from nbest.forests.expectations import expectations, variances


def forest_scale(forests: Forests) -> Floats:
    """[D] standard deviation of each feature over all derivations of a forest, alike likely, on average over forests.

    0 for a feature that never differs between derivations (up to rounding).
    """
    shards = forests.shards()
    sizes = np.max(current().map(_sizes, shards), axis=0)
    found = np.concatenate(current().map(partial(_variances, sizes), shards), axis=1)
    out = np.zeros(len(sizes))
    for d, spread in enumerate(found):
        deviation = np.sqrt(spread.mean()) if len(spread) else 0.0
        out[d] = deviation * sizes[d] if deviation > 1e-10 else 0.0
    return out


def _sizes(part: Forests) -> Floats:
    """[D] the largest size of each feature."""
    return np.abs(np.asarray(part.features, np.float64)).max(axis=0, initial=0.0)


def _variances(sizes: Floats, part: Forests) -> Floats:
    """[D, N] variance in each forest of each feature, in units of its size; 0 for one of size 0."""
    uniform, out = np.zeros(part.edges), np.zeros((len(sizes), len(part)))
    for d in np.flatnonzero(sizes):
        out[d] = variances(part, uniform, np.asarray(part.features[:, d], np.float64) / sizes[d])
    return out


def forest_corpus_scale(forests: Forests, within: Floats) -> Floats:
    """[D] standard deviation of each feature over the derivations of all forests, alike likely in each."""
    means = np.concatenate(current().map(_means, forests.shards()))
    return np.where(within > 0, np.sqrt(within**2 + means.var(axis=0)), 0.0)


def _means(part: Forests) -> Floats:
    """[N, D] expected features of each forest."""
    return expectations(part, np.zeros(part.edges), part.features)
