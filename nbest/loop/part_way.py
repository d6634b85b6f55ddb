"""Weights that a round decodes with stay near those whose candidates are known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from nbest.corpus.contract import Corpus
from nbest.decisions.chosen import score_of
from nbest.features import within_scale
from nbest.model.loglinear import LogLinear
from nbest.objectives import scales


def part_way(
    model: LogLinear, last: Mapping[str, float], step: float, corpus: Corpus, heldout: Corpus | None = None
) -> LogLinear:
    """The model with weights that are part of the way from the last ones to its own, and their scores.

    Candidates of all rounds say little of weights far from those that found them: what looks best on lists may decode
    into the worst. Both weights are in proportion, which is divided by the sum of their sizes times the spreads of
    their features; the result is as large as the model's own. What the model knows of its own weights (how sure it is,
    what it is worth) is left out. It stays as it is where the last weights are 0, or nothing would be left. A model of
    weights 0, which is how trainers keep the first hypotheses of lists, gets the last ones: 0 would decode anything.
    """
    spread = dict(zip(corpus.names, scales(corpus, within_scale(corpus)).tolist(), strict=True))
    names = tuple(dict.fromkeys([*model.weights, *(name for name in last if name in spread)]))
    scale = np.array([spread.get(name, 0.0) for name in names])
    own, old = (np.array([weights.get(name, 0.0) for name in names]) for weights in (model.weights, last))
    size, before = (float(np.abs(weights * scale).sum()) for weights in (own, old))
    if before == 0 or (step == 1 and size > 0):
        return model
    mixed = step * own / size + (1 - step) * old / before if size else old
    left = float(np.abs(mixed * scale).sum())
    if left < 1e-9:
        return model
    weights = dict(zip(names, (mixed * (size or left) / left).tolist(), strict=True))
    found = replace(model, weights=weights, confidence={}, evidence={}, settled={})
    sets = {"dev": corpus, **({} if heldout is None else {"heldout": heldout})}
    return replace(found, scores_={name: score_of(each, found) for name, each in sets.items()})
