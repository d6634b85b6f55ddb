"""The scale of each feature over the derivations of forests, as `nbest.features.standardise` has it for lists."""

from __future__ import annotations

import numpy as np

from nbest.base.types import Floats
from nbest.corpus import Forests
from nbest.forests.expectations import expectations, variances


def forest_scale(forests: Forests) -> Floats:
    """[D] standard deviation of each feature over all derivations of a forest, alike likely, on average over forests.

    0 for a feature that never differs between derivations (up to rounding).
    """
    uniform = np.zeros(forests.edges)
    out = np.zeros(len(forests.feature_names))
    for d, name in enumerate(forests.feature_names):
        column = forests.column(name)
        size = np.abs(column).max(initial=0.0)
        if size > 0:
            spread = variances(forests, uniform, column / size)
            deviation = np.sqrt(spread.mean()) if len(spread) else 0.0
            out[d] = deviation * size if deviation > 1e-10 else 0.0
    return out


def forest_corpus_scale(forests: Forests, within: Floats) -> Floats:
    """[D] standard deviation of each feature over the derivations of all forests, alike likely in each."""
    means = expectations(forests, np.zeros(forests.edges), forests.features)
    return np.where(within > 0, np.sqrt(within**2 + means.var(axis=0)), 0.0)
