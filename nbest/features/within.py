"""Columns that say how a hypothesis stands within its own list by each feature, whatever the units of the list.

A number added to all scores of a list changes no choice, so columns that are only centred would tell a linear model
nothing; what is not linear in the feature does: divided by the spread of the list, as a probability, as a place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from nbest.base.errors import ParameterError
from nbest.base.types import Floats, Ints
from nbest.compute import segments
from nbest.corpus import NBest
from nbest.features.bins import need_features
from nbest.features.recipes import record
from nbest.features.standardise import within_scale

_HUGE = 1e300  # quotients beyond it are cut off: sums must not overflow
_ROUNDING = 1e-13  # spreads up to this share of the largest value are those of equal values


def standardised(corpus: NBest, features: Sequence[str]) -> NBest:
    """Adds `standardised:NAME` for each feature: how many standard deviations of its list it is above the list's mean.

    0 where all values of a list are equal.
    """
    return _with(corpus, "standardised", features, _standard)


def posterior(corpus: NBest, features: Sequence[str], scales: Floats) -> NBest:
    """Adds `posterior:NAME` for each feature: the probability of a hypothesis if that were the only feature.

    The softmax within the list of the feature divided by its entry of `scales`, the spread within the lists that the
    recipe was fitted to.
    """
    divide = np.asarray(scales, np.float64)
    if divide.shape != (len(features),) or not (divide > 0).all():
        raise ParameterError(f"'scales' of the feature 'posterior' must be {len(features)} positive numbers")
    by_name = dict(zip(features, divide, strict=True))

    def probability(name: str, column: Floats, offsets: Ints) -> Floats:
        with np.errstate(over="ignore"):
            return segments.softmax(np.clip(column / by_name[name], -_HUGE, _HUGE), offsets)

    return _with(corpus, "posterior", features, probability, scales=[float(each) for each in divide])


def places(corpus: NBest, features: Sequence[str]) -> NBest:
    """Adds `place:NAME` for each feature: minus the logarithm of the place in the list by that feature, 0 for the
    largest value; equal values share the better place."""
    return _with(corpus, "places", features, _place, prefix="place")


def standardised_recipe(corpus: NBest, features: Sequence[str] | None = None) -> dict[str, Any]:
    """The recipe of `standardised` for these features, or for all dense ones that differ within lists."""
    return {"kind": "standardised", "features": _differing(corpus, features, "standardised")[0]}


def posterior_recipe(corpus: NBest, features: Sequence[str] | None = None) -> dict[str, Any]:
    """The recipe of `posterior` for these features, or for all dense ones that differ within lists."""
    names, scales = _differing(corpus, features, "posterior")
    return {"kind": "posterior", "features": names, "scales": scales}


def places_recipe(corpus: NBest, features: Sequence[str] | None = None) -> dict[str, Any]:
    """The recipe of `places` for these features, or for all dense ones that differ within lists."""
    return {"kind": "places", "features": _differing(corpus, features, "places")[0]}


def _differing(corpus: NBest, wanted: Sequence[str] | None, kind: str) -> tuple[list[str], list[float]]:
    """The features that differ within some list, and their spread."""
    names = list(corpus.feature_names if wanted is None else wanted)
    need_features(corpus, names, f"the feature {kind!r}")
    scale = dict(zip(corpus.feature_names, within_scale(corpus).tolist(), strict=True))
    kept = [name for name in names if scale[name] > 0]
    return kept, [scale[name] for name in kept]


def _with(
    corpus: NBest,
    kind: str,
    features: Sequence[str],
    make: Callable[[str, Floats, Ints], Floats],
    *,
    prefix: str | None = None,
    **options: Any,
) -> NBest:
    """The lists with a column made of each of these features."""
    need_features(corpus, features, f"the feature {kind!r}")
    made = [make(name, corpus.column(name), corpus.offsets) for name in features]
    names = [f"{prefix or kind}:{name}" for name in features]
    columns = np.stack(made, axis=1) if made else np.zeros((corpus.hypotheses, 0))
    added = corpus.without_features(names).with_features(names, columns)
    return record(corpus, added, kind, features=list(features), **options)


def _standard(name: str, column: Floats, offsets: Ints) -> Floats:
    lengths = segments.lengths(offsets)
    size = np.repeat(segments.maxima(np.abs(column), offsets), lengths)
    share = np.divide(column, size, out=np.zeros_like(column), where=size > 0)  # squares must not overflow
    counts = np.maximum(lengths, 1)
    centred = share - np.repeat(segments.sums(share, offsets) / counts, lengths)
    spread = np.repeat(np.sqrt(segments.sums(centred**2, offsets) / counts), lengths)
    return np.divide(centred, spread, out=np.zeros_like(centred), where=spread > _ROUNDING)


def _place(name: str, column: Floats, offsets: Ints) -> Floats:
    owners = segments.owners(offsets)
    order = np.lexsort((-column, owners))
    new = np.ones(len(column), bool)
    new[1:] = (np.diff(column[order]) != 0) | (np.diff(owners[order]) != 0)
    first = np.maximum.accumulate(np.where(new, np.arange(len(column)), 0))
    place = np.empty(len(column))
    place[order] = first - np.repeat(offsets[:-1], segments.lengths(offsets))
    return -np.log1p(place)
