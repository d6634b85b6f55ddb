"""How sure the weights are, and what each feature is worth: bootstrap intervals, and the cost of leaving it out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

import numpy as np

from nbest.base.errors import CapabilityError, ParameterError
from nbest.base.randomness import generator
from nbest.base.types import Floats
from nbest.corpus import NBest
from nbest.corpus.ballots import pooled
from nbest.corpus.grouping import units
from nbest.corpus.metric import Metric
from nbest.decisions.vote import votes_of
from nbest.evaluation.significance import by_group, interval, resampled
from nbest.features import within_scale
from nbest.model.loglinear import LogLinear
from nbest.objectives import scales
from nbest.report.charts import DotChart
from nbest.report.page import Column, Table
from nbest.report.picture import Picture
from nbest.report.svg import COLOURS, PALE
from nbest.studies.base import Progress, Study, about, build, counted, counting_failures
from nbest.studies.keywords import FurtherSettings, Given, Samples, Seed
from nbest.trainers.crossfit import crossfit
from nbest.trainers.pipeline import Pipeline


@dataclass(frozen=True)
class Weights(Study):
    """Rows: feature, weight (in its own unit), share (of all sizes times spreads, signed), low, high (95 %);
    cost of leaving it out, cost_low, cost_high, where it was measured."""

    name: ClassVar[str] = "weights"

    def picture(self) -> Picture:
        """Left the shares, right the costs, with their intervals; an interval across the line is no evidence."""
        shares = [_dot(row, "share", "low", "high") for row in self.rows]
        costs = [_dot(row, "cost", "cost_low", "cost_high") for row in self.rows if row["cost"] is not None]
        charts = [DotChart(shares, "weights", "share of the score's spread", "", 0.0)]
        if costs:
            name = self.metric.split("|")[0]
            charts.append(DotChart(costs, "left out", f"what leaving it out costs, {name}", "", 0.0))
        drawn, folds = self.settings["draws"], self.settings["folds"]
        subtitle = f"{self.settings['method']}; {drawn} bootstrap samples by {self.settings['unit']}, {folds} folds"
        return Picture("Weights", subtitle, charts, width=320, height=22.0 * len(shares) + 30)

    def table(self) -> Table:
        """The rows to read."""
        columns = [
            Column("feature"), Column("weight", ".4g"), Column("share", ".3f"), Column("95 % from", ".3f"),
            Column("to", ".3f"), Column("left out costs", ".4f"), Column("from", ".4f"), Column("up to", ".4f"),
        ]  # fmt: skip
        keys = ("feature", "weight", "share", "low", "high", "cost", "cost_low", "cost_high")
        return Table(columns, [[row[key] for key in keys] for row in self.rows])

    @property
    def said(self) -> str:
        """The table."""
        return self.table().render("markdown").rstrip()


def _dot(row: Mapping[str, Any], *keys: str) -> tuple[str, float, float, float, str]:
    value, low, high = (row[key] for key in keys)
    return row["feature"], value, low, high, PALE if low <= 0 <= high else COLOURS[0]


def weights(
    corpus: NBest,
    *,
    method: Annotated[str, Given("Method of nbest tune.", ("--method", "-M"))] = "likelihood",
    add: Annotated[str | None, Given("Features to add: agreement:metric=exact, ...")] = None,
    folds: Annotated[int, Given("Parts of the lists for the cost of leaving a feature out; 0: none.", least=0)] = 5,
    draws: Annotated[int, Given("Bootstrap samples of the lists that weights are learned on again.", least=2)] = 50,
    top: Annotated[int, Given("Features shown, the largest shares.", least=1)] = 20,
    settings: Annotated[Mapping[str, Any] | None, FurtherSettings("method", "--variance 0.1, --restarts 5")] = None,
    samples: Samples = 1000,
    seed: Seed = 1,
    threads: int | None = None,
    progress: Progress = None,
) -> Weights:
    """The weights of a method with bootstrap intervals, and what leaving each feature out costs.

        nbest study weights dev.nbest --refs dev.ref --metric wer --method likelihood --draws 20 -o weights

    A share is a weight times the spread of its feature within lists, over the sum of these of all features: signed, in
    no unit, and comparable between models of any sharpness. Intervals are the 2.5 and 97.5 percentiles of models that
    were learned again on segments (groups, where lists have some) drawn with replacement. The cost is by how much the
    metric of choices in left-out folds gets worse without the feature, positive if it helps, with a paired interval.
    """
    if folds == 1:
        raise ParameterError("'folds' of the study weights must be 0 or at least 2, got 1")
    corpus = corpus.select(np.flatnonzero(corpus.lengths > 0))
    _, metric = corpus.need_stats()
    fit = _Fit(method, settings or {}, add, seed, threads)
    with counting_failures("runs"):
        model = fit(corpus)
        lists = scored_lists(model, corpus)
        shown = _largest(model, lists, top)
        left_out = [name for name in shown if name in fit.names(corpus)] if folds and len(model.weights) > 1 else []
        told = counted(progress, draws + len(left_out))
        drawn = []
        for number in range(draws):
            drawn.append(_shares(fit(_resample(corpus, number, seed)), lists, shown))
            told()
        costs = _costs(corpus, fit, left_out, folds, told)
    low, high = interval(np.array(drawn))
    rows = [
        {"feature": name, "weight": model.weights[name], "share": float(share), "low": a, "high": b}
        for name, share, a, b in zip(shown, _shares(model, lists, shown), low, high, strict=True)
    ]
    for row in rows:
        row |= _cost(metric, costs.get(str(row["feature"])), corpus.groups, samples, seed)
    said = {"method": method, "add": add, "folds": folds, "draws": draws, "samples": samples, "seed": seed}
    said |= {"unit": "segment" if corpus.groups is None else "group"}
    return Weights(**about(corpus), settings=said, rows=tuple(rows))


@dataclass(frozen=True)
class _Fit:
    """Fits the method, without some feature if one is said."""

    method: str
    settings: Mapping[str, Any]
    add: str | None
    seed: int
    threads: int | None
    drop: str | None = None

    def __call__(self, lists: NBest) -> LogLinear:
        return self._pipeline().fit(lists)

    def names(self, lists: NBest) -> tuple[str, ...]:
        """The features that can be left out: not those that the method adds itself."""
        pipeline = self._pipeline()
        own = getattr(pipeline.trainer, "own_columns", ())  # lists that a model prepared have them
        return tuple(name for name in pipeline.prepare(lists)[0].names if name not in own)

    def _pipeline(self) -> Pipeline:
        trainer = build(self.method, self.settings, seed=self.seed, threads=self.threads)
        return Pipeline(trainer=trainer, add=self.add, drop=None if self.drop is None else [self.drop])


def _resample(corpus: NBest, number: int, seed: int) -> NBest:
    """Lists of groups drawn with replacement; copies of a segment are one group, so that no fold parts them."""
    mine = units(corpus)
    members = np.split(np.argsort(mine, kind="stable"), np.cumsum(np.bincount(mine))[:-1])
    drawn = np.concatenate([members[at] for at in generator(seed, number).integers(len(members), size=len(members))])
    part = corpus.select(drawn, ids=[f"{corpus.ids[i]} {copy}" for copy, i in enumerate(drawn)])
    return replace(part, groups=tuple(map(str, mine[drawn])))


def _largest(model: LogLinear, lists: NBest, top: int) -> list[str]:
    """The features with the largest shares, those of equal ones that come first."""
    names = [name for name, weight in model.weights.items() if weight]
    if not names:
        raise CapabilityError("the method gave all features the weight 0, so there is nothing to show")
    return [names[at] for at in np.argsort(-np.abs(_shares(model, lists, names)), kind="stable")[:top]]


def scored_lists(model: LogLinear, corpus: NBest) -> NBest:
    """The lists with all columns; their answers with the sums of these, where answers are what is scored."""
    lists = model.prepare(corpus)
    if model.decision.get("pool") != "scores":
        return lists
    lists = model.answered(lists)
    return pooled(lists, votes_of(lists, model.decision.get("normalize", "none")))


def strengths(model: LogLinear, lists: NBest) -> dict[str, float]:
    """Weights times the spread of their features within lists."""
    spread = dict(zip(lists.names, scales(lists, within_scale(lists)).tolist(), strict=True))
    return {name: weight * spread.get(name, 0.0) for name, weight in model.weights.items()}


def _shares(model: LogLinear, lists: NBest, names: Sequence[str]) -> Floats:
    """Weights times the spread of their features, of the sum of the sizes of all of these."""
    strength = strengths(model, lists)
    total = sum(map(abs, strength.values())) or 1.0
    return np.array([strength.get(name, 0.0) for name in names]) / total


def _costs(
    corpus: NBest, fit: _Fit, names: Sequence[str], folds: int, told: Callable[[], None]
) -> dict[str, tuple[Floats, Floats]]:
    """Statistics [N, M] of what is chosen in left-out folds with all features, and without each."""
    found: dict[str, tuple[Floats, Floats]] = {}
    if not names:
        return found
    stats, _ = corpus.need_stats()
    whole = stats[crossfit(fit, corpus, folds=folds, seed=fit.seed).chosen]
    for name in names:
        without = crossfit(replace(fit, drop=name), corpus, folds=folds, seed=fit.seed)
        found[name] = whole, stats[without.chosen]
        told()
    return found


def _cost(
    metric: Metric, both: tuple[Floats, Floats] | None, groups: Sequence[str] | None, samples: int, seed: int
) -> dict[str, Any]:
    """By how much the metric gets worse, with a paired interval; nothing where it was not measured."""
    if both is None:
        return dict.fromkeys(("cost", "cost_low", "cost_high"))
    sign = 1.0 if metric.higher_is_better else -1.0
    whole, without = (by_group(stats, groups) for stats in both)
    drawn = resampled(metric, np.stack([whole, without], axis=1), samples=samples, seed=seed)
    low, high = interval(sign * (drawn[:, 0] - drawn[:, 1]))
    cost = sign * float(metric.score(whole.sum(axis=0)) - metric.score(without.sum(axis=0)))
    return {"cost": cost, "cost_low": low, "cost_high": high}
