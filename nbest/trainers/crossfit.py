"""Honest choices on the lists that one has: each is made by a model that was fitted on the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from nbest.base.errors import ParameterError
from nbest.base.types import Floats, Ints
from nbest.corpus import NBest
from nbest.corpus.contract import Corpus
from nbest.corpus.grouping import in_folds, units
from nbest.decisions.choose import Choice, choose
from nbest.model.loglinear import LogLinear

Fit = Callable[[NBest], LogLinear | None]


@dataclass(frozen=True, eq=False)
class Crossed:
    """What models chose of lists that they were not fitted on."""

    chosen: Ints  # [N] flat indices; -1 where a list is empty, or of no fold
    probability: Floats  # [N] of the answer that is chosen, not calibrated; 0 where lists have no texts
    fold: Ints  # [N] by which of the models; -1: by none, where some of very many lists are fitted in folds
    models: tuple[LogLinear | None, ...]

    def at(self, gamma: float) -> Crossed:
        """With models that decide as sharply as another, where a decision looks at all of the posterior."""
        return replace(self, models=tuple(each and replace(each, gamma=gamma) for each in self.models))

    def of_folds(self, lists: NBest) -> tuple[Crossed, NBest]:
        """Without lists that are in no fold."""
        rows = np.flatnonzero(self.fold >= 0)
        if len(rows) == len(lists):
            return self, lists
        part = lists.select(rows)
        chosen = np.where(self.chosen[rows] >= 0, self.chosen[rows] - lists.offsets[rows] + part.offsets[:-1], -1)
        return Crossed(chosen, self.probability[rows], self.fold[rows], self.models), part


def crossfit(
    fit: Fit, lists: NBest, *, folds: int = 5, seed: int = 1, progress: Callable[[int, int], None] | None = None
) -> Crossed:
    """Leave out each of `folds` parts, whole groups together, fit on the others, and choose of it by the model's own
    decision (None: the votes of the lists)."""
    check_folds(lists, folds)
    fold = in_folds(lists, folds, seed)
    models: list[LogLinear | None] = []
    for number in range(folds):
        models.append(fit(lists.select(np.flatnonzero(fold != number))))
        if progress is not None:
            progress(number + 1, folds)
    return crossed(models, lists, fold)


def check_folds(corpus: Corpus, folds: int) -> None:
    """Complain of more folds than there are segments or groups, and of fewer than two."""
    most = int(units(corpus).max(initial=-1)) + 1
    if not 2 <= folds <= most:
        what = "segments" if corpus.groups is None else "groups"
        raise ParameterError(f"'folds' must be between 2 and the number of {what} ({most}), got {folds}")


def crossed(
    models: Sequence[LogLinear | None], lists: NBest, fold: Ints, decision: Mapping[str, Any] | None = None
) -> Crossed:
    """What each of the models chooses of its own fold [N], by its own decision or another."""
    chosen, probability = np.full(len(lists), -1), np.zeros(len(lists))
    for number, model in enumerate(models):
        out = np.flatnonzero(fold == number)
        part = lists.select(out)
        found = _chosen(model, part, decision)
        chosen[out] = np.where(found.chosen >= 0, found.chosen + lists.offsets[out] - part.offsets[:-1], -1)
        if lists.texts is not None:
            probability[out] = found.probability
    return Crossed(chosen, probability, fold, tuple(models))


def _chosen(model: LogLinear | None, part: NBest, decision: Mapping[str, Any] | None) -> Choice:
    """By votes where there is no model; lists without texts have 1-best choices."""
    if part.texts is None and model is not None and not (decision or model.decision):
        return Choice(part, model.predict(part), model)
    return choose(model, part, decision if model is not None else "vote")
