"""From the result of a training to a model: in the user's units, with a fair posterior and its scores."""

from __future__ import annotations

import warnings
from dataclasses import fields, replace
from typing import Any

import numpy as np

from nbest.base.errors import ConvergenceWarning
from nbest.base.mapped import room
from nbest.base.types import Floats
from nbest.compute import segments
from nbest.corpus import NBest
from nbest.corpus.answers import rule_of
from nbest.corpus.contract import Corpus, signature_of
from nbest.decisions.chosen import best_lists, score_of
from nbest.features.recipes import with_recipes
from nbest.model.history import history_of
from nbest.model.loglinear import LogLinear
from nbest.objectives import Likelihood, Quadratic, value_and_gradient
from nbest.objectives.shard import list_shards
from nbest.optimisers.lbfgs import lbfgs
from nbest.optimisers.result import Result
from nbest.trainers.differing import STRINGS
from nbest.trainers.problem import Problem
from nbest.trainers.sharpness import decision_gamma


def describe(trainer: Any) -> dict[str, Any]:
    """Name and settings of a trainer, for the model file."""
    settings = {f.name: getattr(trainer, f.name) for f in fields(trainer) if f.init and f.repr}
    return {"name": type(trainer).__name__, **settings}


def finish(
    trainer: Any, problem: Problem[Any], result: Result, heldout: Corpus | None, *, calibrate: bool = True
) -> LogLinear:
    """The model of a result: in the user's units, scaled to a calibrated posterior, with dev and held-out scores.

    Scaling by a positive number changes no 1-best choice; it makes the softmax of the scores a fair probability on
    the development lists (of forests: on their best strings), which MBR and consensus decisions need.
    """
    warn_unless_converged(trainer, result)
    model = calibrated(problem, result.weights) if calibrate else problem.model(result.weights)
    return finished(trainer, model, problem.corpus, heldout)


def warn_unless_converged(trainer: Any, result: Result) -> None:
    """A `ConvergenceWarning` where the search ended before its goal."""
    if result.status != "converged":
        warnings.warn(f"{type(trainer).__name__}: {result.message}", ConvergenceWarning, stacklevel=4)


def finished(
    trainer: Any, model: LogLinear, corpus: Corpus, heldout: Corpus | None, *, dev: float | None = None
) -> LogLinear:
    """The model with its dev and held-out scores, the recipes of the lists, and what its file says of the trainer and
    of the steps of the training.

    With `dev`, the score on all lists to train on, `corpus` may be some of them. What has no metric is not scored.
    """
    scores = {"dev": score_of(corpus, model) if dev is None else dev} if corpus.scored else {}
    if heldout is not None:
        heldout = model.complete(heldout)
        scores |= {"heldout": score_of(heldout, model)} if heldout.scored else {}
    return replace(
        model,
        features=with_recipes(corpus.recipes, model.features),
        metric=signature_of(corpus) if corpus.scored else "",
        trainer=describe(trainer),
        scores_=scores,
        seed=getattr(trainer, "seed", None),
        gamma=decision_gamma(model, corpus if heldout is None else heldout),
        answer=rule_of(corpus),
        history=() if getattr(trainer, "result_", None) is None else history_of(trainer.result_.history),
    )


def calibrated(problem: Problem[Any], scaled: Floats) -> LogLinear:
    """The model of these weights times `calibration`, or times the nearest power of two where ties are at stake.

    Rounding may tell apart hypotheses whose scores are equal; a power of two is never rounded.
    """
    model = problem.model(scaled)
    lists, _ = best_lists(problem.corpus, model, STRINGS)
    choice = model.predict(lists)
    factor = calibration(model, lists)
    for exact in (factor, 2.0 ** np.round(np.log2(factor))):
        other = replace(model, weights={name: float(exact * weight) for name, weight in model.weights.items()})
        if np.array_equal(other.predict(lists), choice):
            return other
    return model


def calibration(model: LogLinear, lists: NBest) -> float:
    """The factor for the scores that makes the gold hypotheses most likely, between 1e-3 and 1e3 of unit spread."""
    scores = model.scores(lists)
    spread = segments.deviation(scores, lists.offsets)
    if spread == 0 or not np.isfinite(spread):
        return 1.0
    features = np.divide(scores, spread, out=room(len(scores), np.float64, scores))[:, None]
    column = NBest(offsets=lists.offsets, features=features, feature_names=("score",), ids=lists.ids)
    shards = list_shards(column, np.ones(1), lists.losses())
    objective = Likelihood(Quadratic(1e6))  # a prior so weak that it only matters where lists are separable
    best = lbfgs(lambda w: value_and_gradient(objective, w, shards), np.array([1.0]), iterations=50, tolerance=1e-6)
    return float(np.clip(best.weights[0], 1e-3, 1e3)) / spread
