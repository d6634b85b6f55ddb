"""The section "What counts": weights in units of spread, how sure they are, what features are worth, and overlap."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from nbest.base.errors import NbestError
from nbest.base.randomness import generator
from nbest.corpus import NBest
from nbest.evaluation.inspection import inspect
from nbest.features import within_scale
from nbest.features.decorrelate import within_covariance
from nbest.model.loglinear import LogLinear
from nbest.pages.base import Subject
from nbest.report import Cell, Column, Figure, Items, Page, Table
from nbest.studies.base import Progress
from nbest.studies.weights import scored_lists, strengths, weights
from nbest.trainers import TRAINERS

DRAWS = 10
"""Bootstrap samples that weights are learned again on, unless others are asked for."""
_TOP = 50  # features of the table
_LEFT_OUT = 12  # features whose cost is measured
_FOLDS = 3
_ENOUGH = 100  # samples with which intervals are no longer rough
_SEGMENTS, _HYPOTHESES = 300, 30_000  # that weights are learned again on, at most
_SPARSE = 2000  # sparse features with which weights are learned again, at most
_CORRELATED = 24  # features of the table of correlations
_QUICK = ("likelihood", "risk", "mira", "perceptron", "pro", "msr2", "vote")  # methods that take a fraction of a second
_INSTEAD = "likelihood"  # learned again where a method takes long


def counts(subject: Subject, *, draws: int = DRAWS, progress: Progress = None) -> Page:
    """Weights of each model; with `draws`, intervals and costs of the first; correlations; what `inspect` finds."""
    parts: list[str | Table | Figure | Items | Page] = [_weights(subject)]
    if draws:
        parts.append(Page("How sure the weights are", list(_again(subject, draws, progress))))
    parts.append(_overlap(subject))
    found = inspect(subject.dev.lists).findings
    said = Items(list(found)) if found else "Nothing wrong was found in the lists that were tuned on."
    return Page("What counts", [*parts, Page("What looks odd", [said])])


# weights --------------------------------------------------------------------------------------------------------


def _weights(subject: Subject) -> Table:
    """A row a feature, the largest of the first model first; of each model weight, weight times spread, share."""
    found = {name: _sized(model, subject.dev.lists) for name, model in subject.models.items()}
    names = list(dict.fromkeys(name for sizes in found.values() for name in sizes))
    columns, several = [Column("feature")], len(found) > 1
    for name in found:
        before = f"{name}: " if several else ""
        columns += [
            Column(f"{before}weight", ".4g"),
            Column(f"{before}times spread", ".4g"),
            Column(f"{before}share", ".3f"),
        ]
    nothing = (None, None, None)
    rows = [[name, *(cell for sizes in found.values() for cell in sizes.get(name, nothing))] for name in names[:_TOP]]
    more = (
        [f"{len(names) - _TOP} further features have smaller shares of the first model."] if len(names) > _TOP else []
    )
    note = (
        "Times spread: the weight in units of how much the feature differs within lists. Share: what part of all these "
        "sizes together the feature has, so how much say it has in choices; sizes of shares add up to 1. Positive: a "
        "larger value of the feature is better."
    )
    return Table(columns, rows, caption="Weights", notes=[note, *more])


def _sized(model: LogLinear, dev: NBest) -> dict[str, tuple[float, float, float]]:
    """Weight, weight times spread and share of each feature that has a weight, the largest first."""
    strength = strengths(model, scored_lists(model, dev))
    total = sum(map(abs, strength.values())) or 1.0
    order = sorted(strength, key=lambda name: -abs(strength[name]))
    return {
        name: (model.weights[name], strength[name], strength[name] / total) for name in order if model.weights[name]
    }


# learned again --------------------------------------------------------------------------------------------------


def _again(subject: Subject, draws: int, progress: Progress) -> Iterator[str | Table | Figure]:
    """Intervals of the weights of the first model, and what leaving features out costs; or why there are none."""
    model = next(iter(subject.models.values()))
    method, settings, why = trainer_of(model)
    lists, said = _sample(model.prepare(subject.dev.lists), subject.seed)
    if len(lists.sparse_names) > _SPARSE:
        yield f"Weights are not learned again: {len(lists.sparse_names):,} sparse features would take long."
        return
    how: dict[str, Any] = {"draws": max(draws, 2), "folds": _FOLDS, "top": _LEFT_OUT, "seed": subject.seed}
    try:
        found = weights(lists, method=method, settings=settings, progress=progress, **how)
    except NbestError as error:
        yield f"Weights could not be learned again: {error}"
        return
    yield from _read_so(lists, how["draws"], f"{said} by {method}{why}")
    yield found.figure("weights", "Shares of the weights, and what leaving a feature out costs")
    yield found.table()


def _read_so(lists: NBest, draws: int, by: str) -> Iterator[str]:
    """How intervals and costs came about, and how to read them."""
    rough = "" if draws >= _ENOUGH else f" {draws} samples are rough; --draws {_ENOUGH} is better."
    yield f"Shares: weights were learned again on {draws} bootstrap samples of {by}.{rough}"
    name = lists.need_metric().name
    yield (
        f"Costs: weights were learned with and without a feature on {_FOLDS - 1} of {_FOLDS} parts of the lists, and "
        f"judged on the other part, each in turn. Positive: {name} gets worse without this feature, by so much."
    )
    yield "An interval across 0 is no evidence. Features that say the same can each be left out, but not both."


def trainer_of(model: LogLinear) -> tuple[str, dict[str, Any], str]:
    """The method and settings to learn the weights of a model again, and why others than its own, if they are."""
    said = {key: _number(value) for key, value in model.trainer.items()}
    kind = said.pop("name", "")
    name = next((name for name in TRAINERS if TRAINERS[name].__name__ == kind), None)
    if name is None:
        return _INSTEAD, {}, " (the model file names no method of nbest)"
    if name not in _QUICK:
        return _INSTEAD, {}, f" ({name}, by which the model was learned, would take long)"
    known = TRAINERS[name]().get_params()
    return name, {key: value for key, value in said.items() if key in known and value is not None}, ""


def _number(value: Any) -> Any:
    """A setting as a trainer takes it: model files hold infinity as text."""
    return float(value) if value in ("inf", "-inf") else value


def _sample(lists: NBest, seed: int) -> tuple[NBest, str]:
    """The lists, or so many of them that learning is quick, and what to call them."""
    few = min(_SEGMENTS, int(_HYPOTHESES / max(lists.hypotheses / max(len(lists), 1), 1.0)))
    if len(lists) <= few:
        return lists, "these lists"
    chosen = np.sort(generator(seed).permutation(len(lists))[: max(few, 2)])
    return lists.select(chosen), f"{len(chosen)} of the {len(lists):,} segments"


# overlap --------------------------------------------------------------------------------------------------------


def _overlap(subject: Subject) -> Table | str:
    """Correlations of dense features within lists: those of the first model that count most."""
    model = next(iter(subject.models.values()))
    lists = model.prepare(subject.dev.lists)
    scale = within_scale(lists)
    sizes = _sized(model, subject.dev.lists)
    useful = [name for name, spread in zip(lists.feature_names, scale, strict=True) if spread > 0]
    names = _first(useful, sizes, _CORRELATED)
    if len(names) < 2:
        return "Fewer than two features differ within lists, so none overlap."
    columns = np.array([lists.feature_names.index(name) for name in names])
    found = within_covariance(lists, scale, columns)
    rows: list[list[Cell]] = [[name, *map(float, row)] for name, row in zip(names, found, strict=True)]
    left = len(useful) - len(names)
    notes = ["Near 1 or -1: two features say the same, and share what they are worth."]
    notes += [f"{left} further features with smaller shares are left out."] if left else []
    return Table(["feature", *names], rows, caption="Correlation of features within lists", notes=notes)


def _first(names: Sequence[str], sizes: Mapping[str, Any], most: int) -> list[str]:
    """As many of the names, in their order, those of the largest shares."""
    place = {name: at for at, name in enumerate(sizes)}
    kept = set(sorted(names, key=lambda name: place.get(name, len(place)))[:most])
    return [name for name in names if name in kept]
