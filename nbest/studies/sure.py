"""What studies of confidence share: choices of lists that no model saw, how sure they are, and which are right."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np

from nbest.base.errors import ParameterError
from nbest.base.types import Bools, Floats, Ints
from nbest.corpus import NBest
from nbest.decisions.calibration import cross_validated
from nbest.decisions.choose import choose, decision_of
from nbest.evaluation.significance import by_group, interval, resampled_totals
from nbest.model.confidence import Confidence
from nbest.model.loglinear import LogLinear
from nbest.studies.base import Progress, build, counting_failures
from nbest.studies.keywords import FurtherSettings, Given
from nbest.trainers.calibrate import judged, right_from
from nbest.trainers.crossfit import crossfit

SureModel = Annotated[
    LogLinear | None, Given("Model file, not tuned on these lists (default: votes, or the models of --method).")
]
SureMethod = Annotated[str, Given("Instead of a model: fit this method in folds; each chooses of what it did not see.")]
SureDecision = Annotated[str | None, Given("How it is chosen: vote, mbr, 1best, ... (default: as the model does).")]
Right = Annotated[float | None, Given("The score of a segment from which on it is right, where not only 0 and 1.")]
SureFolds = Annotated[int, Given("Parts of --method.", least=2)]
SureSettings = Annotated[Mapping[str, Any] | None, FurtherSettings("method", "--variance 0.5")]


@dataclass(frozen=True)
class Asked:
    """What a study was asked to look at."""

    model: LogLinear | None
    method: str
    decision: str | None
    right: float | None
    folds: int
    settings: Mapping[str, Any] | None
    seed: int


@dataclass(frozen=True, eq=False)
class Sure:
    """Of each segment with hypotheses: how sure the choice is, and whether it is right."""

    raw: Floats  # [N]
    confidence: Floats  # [N] calibrated
    right: Bools  # [N]
    units: Ints  # [N] numbers of their groups
    groups: tuple[str, ...] | None  # [N]
    known: Confidence | None  # the calibration of the model, if it has one
    about: dict[str, Any]  # for the settings of a study


def sure_choices(corpus: NBest, asked: Asked, progress: Progress) -> Sure:
    """Choices by a model, by models that were fitted in folds, or by votes; calibrated as the model is, or else on the
    other folds of these lists."""
    if asked.model is not None and asked.method:
        raise ParameterError("--model and --method both say what chooses; leave one of them out")
    limit = right_from(corpus, asked.right)
    known = None
    if asked.method:
        chosen, raw, how = _crossed(corpus, asked, progress)
    else:
        found = choose(asked.model, corpus, decision_of(asked.model, asked.decision or _votes(asked.model)))
        chosen, raw, known = found.chosen, found.probability, found.calibration
        how = str(found.decision["kind"]) if asked.model is None else f"the model, {found.decision['kind']}"
    some, right, mine = judged(corpus, chosen, limit)
    after = cross_validated(raw[some], right, mine, asked.seed) if known is None else known.calibrated(raw[some])
    about = {
        "chooses": how,
        "calibrated": "cross-validated" if known is None else "by the model",
        "right": limit,
        "segments": len(some),
        "unit": "segment" if corpus.groups is None else "group",
        "seed": asked.seed,
    }
    groups = None if corpus.groups is None else tuple(corpus.groups[i] for i in some)
    return Sure(raw[some], after, right, mine, groups=groups, known=known, about=about)


def _votes(model: LogLinear | None) -> str | None:
    return "vote" if model is None else None


def _crossed(corpus: NBest, asked: Asked, progress: Progress) -> tuple[Ints, Floats, str]:
    trainer = build(asked.method, asked.settings, seed=asked.seed)

    def fit(part: NBest) -> LogLinear:
        model: LogLinear = trainer.fit(part)
        return replace(model, decision=decision_of(model, asked.decision))

    with counting_failures("folds"):
        found = crossfit(fit, corpus, folds=asked.folds, seed=asked.seed, progress=progress)
    return found.chosen, found.probability, f"{asked.method} in {asked.folds} folds"


def ratios_of(sure: Sure, stats: Floats, samples: int) -> tuple[Floats, Floats, Floats]:
    """[K] ratios of statistics [N, K, 2], part and whole, with their 95 % intervals by bootstrap over groups."""
    grouped = by_group(stats, sure.groups)
    drawn = np.concatenate(list(resampled_totals(grouped, samples=samples, seed=sure.about["seed"])))
    values = _ratio(stats.sum(axis=0))
    ratios = np.concatenate([_ratio(drawn), values[None]])  # a draw without any of them tells nothing
    low, high = interval(ratios)
    return values, np.array(low), np.array(high)


def _ratio(totals: Floats) -> Floats:
    """[...] part / whole of totals [..., 2]; NaN of nothing."""
    part, whole = totals[..., 0], totals[..., 1]
    return np.divide(part, whole, out=np.full(part.shape, np.nan), where=whole > 0)
