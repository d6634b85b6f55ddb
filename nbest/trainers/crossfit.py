"""Honest choices on the lists that one has: each is made by a model that was fitted on the others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from nbest.base.errors import ParameterError
from nbest.base.types import Floats, Ints
from nbest.corpus import NBest
from nbest.corpus.grouping import in_folds, units
from nbest.decisions.choose import choose
from nbest.model.loglinear import LogLinear

Fit = Callable[[NBest], LogLinear | None]


@dataclass(frozen=True, eq=False)
class Crossed:
    """What models chose of lists that they were not fitted on."""

    chosen: Ints  # [N] flat indices; -1 where a list is empty
    probability: Floats  # [N] of the answer that is chosen, not calibrated
    fold: Ints  # [N] by which of the models
    models: tuple[LogLinear | None, ...]


def crossfit(
    fit: Fit, lists: NBest, *, folds: int = 5, seed: int = 1, progress: Callable[[int, int], None] | None = None
) -> Crossed:
    """Leave out each of `folds` parts, whole groups together, fit on the others, and choose of it by the model's own
    decision (None: the votes of the lists)."""
    most = int(units(lists).max(initial=-1)) + 1
    if not 2 <= folds <= most:
        what = "segments" if lists.groups is None else "groups"
        raise ParameterError(f"'folds' must be between 2 and the number of {what} ({most}), got {folds}")
    fold = in_folds(lists, folds, seed)
    chosen, probability = np.full(len(lists), -1), np.zeros(len(lists))
    models: list[LogLinear | None] = []
    for number in range(folds):
        model = fit(lists.select(np.flatnonzero(fold != number)))
        out = np.flatnonzero(fold == number)
        found = choose(model, lists.select(out), None if model is not None else "vote")
        starts = lists.offsets[out] - found.lists.offsets[:-1]
        chosen[out] = np.where(found.chosen >= 0, found.chosen + starts, -1)
        probability[out] = found.probability
        models.append(model)
        if progress is not None:
            progress(number + 1, folds)
    return Crossed(chosen, probability, fold, tuple(models))
