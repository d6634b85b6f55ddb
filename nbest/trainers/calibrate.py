"""`nbest.calibrate`: how sure the choices of a model are, learned on lists that it was not fitted on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from nbest.base.errors import CapabilityError, ParameterError, need_kind
from nbest.base.types import Bools, Floats, Ints
from nbest.corpus import NBest
from nbest.corpus.answers import rule_of
from nbest.corpus.contract import signature_of
from nbest.corpus.grouping import units
from nbest.decisions import takes
from nbest.decisions.arguments import normalisation_of
from nbest.decisions.calibration import learned
from nbest.decisions.choose import choose, decision_of
from nbest.model.confidence import Confidence
from nbest.model.loglinear import LogLinear
from nbest.trainers.crossfit import Crossed, crossed, crossfit

LEAST = 20
"""Segments that calibration needs."""

Decision = str | Mapping[str, Any] | None


def calibrate(
    model: LogLinear | None,
    lists: NBest,
    *,
    decision: Decision = None,
    right: float | None = None,
    trainer: Any = None,
    folds: int = 5,
    seed: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> LogLinear:
    """The model with what lists tell of how sure its choices are by a decision, its own by default, which it keeps.

        model = nbest.calibrate(model, heldout)
        nbest.choose(model, test).confidence

    The lists have statistics of a metric, and the model was not fitted on them; with the `trainer` (or `Pipeline`) that
    fitted it, they are those it was fitted on: models are fitted anew without each of `folds` parts, whole groups
    together, and choose of it; such models may also be given (`Crossed`). Without a model, votes of hypotheses with the
    same answer are calibrated.
    `right` says which score of a segment by the metric is right: at least this, or at most where lower is better; where
    scores are 0 and 1, or 0 and 100, it is known.
    """
    need_kind("calibrate", "lists", lists, NBest)
    found = decision_of(model, decision if model is not None or decision is not None else "vote")
    how = normalisation_of(signature_of(lists)) if lists.scored else "none"
    if model is None and how != "none" and takes(found["kind"], "normalize"):
        found.setdefault("normalize", how)
    limit = right_from(lists, right)
    if trainer is None:
        chosen, raw = choices(model, lists, found)
        how = "held-out lists"
    else:
        if isinstance(trainer, Crossed):
            left = crossed(trainer.models, lists, trainer.fold, found)
        else:
            left = crossfit(_fitting(trainer, found), lists, folds=folds, seed=seed, progress=progress)
        chosen, raw, how = left.chosen, left.probability, f"{len(left.models)} folds"
    rule = rule_of(lists) or ("" if model is None else model.answer)
    known = confidence_from(lists, chosen, raw, decision=found, limit=limit, how=how, answer=rule, seed=seed)
    base = model or LogLinear({}, metric=signature_of(lists))
    own = {} if found == {"kind": "1best"} else found
    proven = base.evidence if own == dict(base.decision) else {}  # that of another decision says nothing of this one
    answer = rule_of(lists) or base.answer
    return replace(base, decision=own, answer=answer, confidence=known.content(), evidence=proven)


def choices(model: LogLinear | None, lists: NBest, decision: Mapping[str, Any]) -> tuple[Ints, Floats]:
    """[N] what is chosen of each list, and the raw probability of its answer."""
    found = choose(model, lists, decision)
    return found.chosen, found.probability


def confidence_from(
    lists: NBest,
    chosen: Ints,
    raw: Floats,
    *,
    decision: Mapping[str, Any],
    limit: float,
    how: str,
    answer: str = "",
    seed: int = 1,
) -> Confidence:
    """What choices [N] with raw probabilities tell; lists of which nothing is chosen are left out."""
    some, hits, mine = judged(lists, chosen, limit)
    odd = next((name for name, value in decision.items() if not isinstance(value, str | bool | int | float)), None)
    if odd is not None:
        raise ParameterError(f"a model file keeps names and numbers: give {odd!r} of the decision by its name")
    return learned(
        raw[some], hits, mine, decision=decision, answer=answer, grouped=lists.groups is not None, seed=seed,
        right_from=limit, metric=signature_of(lists), how=how,
    )  # fmt: skip


def judged(lists: NBest, chosen: Ints, limit: float) -> tuple[Ints, Bools, Ints]:
    """The segments of which something is chosen, whether that is right, and the numbers of their groups, from 0.

    Complains of few segments, and of one group alone: what it tells cannot be held against others.
    """
    some = np.flatnonzero(chosen >= 0)
    if len(some) < LEAST:
        raise CapabilityError(f"calibration needs at least {LEAST} segments with hypotheses, and there are {len(some)}")
    _, mine = np.unique(units(lists)[some], return_inverse=True)
    if int(mine.max()) < 1:
        raise CapabilityError("calibration needs segments of at least 2 groups, and all these belong to one")
    return some, is_right(lists, chosen[some], limit), mine


def is_right(lists: NBest, chosen: Ints, limit: float) -> Bools:
    """[N] whether hypotheses are right: their own score by the metric is at least the limit, or at most."""
    stats, metric = lists.need_stats()
    scores = np.asarray(metric.score(stats[chosen]))
    return scores >= limit if metric.higher_is_better else scores <= limit


def right_from(lists: NBest, said: float | None = None) -> float:
    """The score from which a segment is right: what is said, or the larger where all are 0 and 1, or 0 and 100."""
    stats, metric = lists.need_stats()
    if said is not None:
        if not np.isfinite(said):
            raise ParameterError(f"'right' of calibrate must be a finite number, got {said}")
        return float(said)
    scores = np.unique(metric.score(stats)) if len(stats) else np.zeros(1)
    for largest in (1.0, 100.0):
        if metric.higher_is_better and np.isin(scores, (0.0, largest)).all():
            return largest
    better = "at least" if metric.higher_is_better else "at most"
    raise ParameterError(
        f"it must be known when a choice is right, and scores by {metric.name} are not only 0 and 1: say from "
        f"which score of a segment on it is ({better} VALUE: --right VALUE)"
    )


def _fitting(trainer: Any, decision: Mapping[str, Any]) -> Callable[[NBest], LogLinear]:
    """Fits, and gives the model the decision that is calibrated."""

    def fit(part: NBest) -> LogLinear:
        model: LogLinear = trainer.fit(part)
        return replace(model, decision=dict(decision))

    return fit
