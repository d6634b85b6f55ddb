"""What it costs to sample until one is sure: hypotheses drawn against the metric, beside a fixed number of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

import numpy as np

from nbest.base.errors import ParameterError
from nbest.base.types import Floats, Ints
from nbest.corpus import NBest
from nbest.evaluation.best_of import doubling, sizes_up_to
from nbest.evaluation.significance import by_group, interval, resampled
from nbest.evaluation.stopped import FIXED, Limits, Plan, spent
from nbest.model.loglinear import LogLinear
from nbest.report.charts import LineChart, Series
from nbest.report.picture import Picture
from nbest.report.svg import COLOURS
from nbest.studies.base import Progress, Study, about, build, within
from nbest.studies.keywords import Given, Orders, Samples, Seed
from nbest.trainers.crossfit import crossfit

THRESHOLDS = (0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999)
VOTE, MODEL = "vote", "model"


@dataclass(frozen=True)
class Budget(Study):
    """Rows: rule (fixed, votes, confidence), by (vote or model), at (k or the threshold), cost (hypotheses a list on
    average), value, low, high, and the difference to all hypotheses with its interval."""

    name: ClassVar[str] = "budget"

    def picture(self) -> Picture:
        """Cost against the metric; black dashes are a fixed number of hypotheses, lines with dots are rules."""
        series = []
        for number, (rule, by) in enumerate(dict.fromkeys((row["rule"], row["by"]) for row in self.rows)):
            rows = sorted(self.chosen(rule=rule, by=by), key=lambda row: float(row["cost"]))
            cost, value, low, high = ([row[key] for row in rows] for key in ("cost", "value", "low", "high"))
            style = {"style": "dashed"} if rule == FIXED else {"dots": True, "band": (low, high)}
            name = f"all of k, {by}" if rule == FIXED else f"until sure by {rule}, {by}"
            series.append(Series(name, cost, value, COLOURS[number % len(COLOURS)], **style))
        most = max(row["cost"] for row in self.rows)
        ticks = [(float(k), str(k)) for k in doubling(round(most))]
        chart = LineChart(series, "", "hypotheses a list, on average", self.unit, ticks, log=True)
        subtitle = f"{self.settings['orders']} random orders of each list; bands: 95 % by {self.settings['unit']}"
        return Picture("Sampling until one is sure", subtitle, [chart], width=600, height=400)

    def savings(self) -> list[dict[str, Any]]:
        """For each rule the cheapest threshold that is as good as all hypotheses; none, if no threshold is."""
        sign, found = 1.0 if self.higher_is_better else -1.0, []
        for rule, by in dict.fromkeys((row["rule"], row["by"]) for row in self.rows if row["rule"] != FIXED):
            full = max(self.chosen(rule=FIXED, by=by), key=lambda row: int(row["at"]))
            good = [row for row in self.chosen(rule=rule, by=by) if sign * row["difference"] >= -1e-12]
            if good:
                best = min(good, key=lambda row: float(row["cost"]))
                same = {key: best[key] for key in ("rule", "by", "at", "cost", "value")}
                found.append({**same, "of": full["cost"], "full": full["value"]})
        return found

    @property
    def said(self) -> str:
        """How many hypotheses each rule saves."""
        return "\n".join(
            f"{each['rule']}, {each['by']}: as good as all of {each['of']:.1f} hypotheses a list "
            f"with {each['cost']:.1f} at {each['at']:g} ({each['value']:.4g} against {each['full']:.4g})"
            for each in self.settings["saved"]
        )


def budget(
    corpus: NBest,
    *,
    model: Annotated[LogLinear | None, Given("Model file, tuned on other lists, that chooses and says when.")] = None,
    method: Annotated[
        str | None, Given("Method of nbest tune to cross-fit on these lists, instead of a model.")
    ] = None,
    folds: Annotated[int, Given("Parts of the lists for --method.", least=2)] = 5,
    thresholds: Annotated[Sequence[float], Given("Probabilities at which to stop: P,P.", ("--at",))] = THRESHOLDS,
    least: Annotated[int, Given("Hypotheses to draw at least.", least=1)] = 1,
    most: Annotated[int | None, Given("Hypotheses to draw at most (default: all).", least=1)] = None,
    orders: Orders = 20,
    samples: Samples = 1000,
    seed: Seed = 1,
    threads: int | None = None,
    progress: Progress = None,
) -> Budget:
    """How many hypotheses are needed if sampling stops when the answer is sure, and what that does to the metric.

        nbest study budget dev.nbest --refs dev.ref --metric wer --model model.json --at 0.8,0.9,0.95 -o budget

    Recorded lists are gone through in random orders by `nbest.stopping`, as if they were being sampled. The rule
    `votes` stops when the answer with most votes will stay ahead with this probability, the rule `confidence` when the
    model is that sure of its choice. Beside them, the first k of each list for every k. `saved` is the cheapest
    threshold that is as good as all hypotheses. Scores are those of whole lists, also where a feature looks at others
    (agreement), which nobody knows while sampling. Intervals are by bootstrap over groups, else over segments.
    """
    if not corpus.hypotheses:
        raise ParameterError("the study budget needs at least one hypothesis, and these lists are empty")
    if not thresholds or not all(0 <= at <= 1 for at in thresholds):
        raise ParameterError(f"'thresholds' of the study budget must be from 0 to 1, got {list(thresholds)}")
    if method is not None and model is not None:
        raise ParameterError("the study budget takes a model or a method, not both")
    if most is not None and most < least:
        raise ParameterError(f"'most' of the study budget must be at least 'least' ({least}), got {most}")
    corpus = corpus if model is None else model.answered(corpus)
    plans = _plans(corpus, thresholds, most, both=model is not None or method is not None)
    stats = np.zeros((len(corpus), len(plans), corpus.need_stats()[0].shape[1]))
    drawn = np.zeros((len(corpus), len(plans)))
    parts = _parts(corpus, model, None if method is None else build(method, seed=seed, threads=threads), folds, seed)
    limits = Limits(least, most)
    for number, (which, own) in enumerate(parts):
        told = within(progress, number, len(parts))
        stats[which], drawn[which] = spent(
            corpus.select(which), own, plans, limits, orders=orders, seed=seed, progress=told
        )
    rows = _rows(corpus, plans, stats, drawn, samples=samples, seed=seed)
    settings = {
        "method": method,
        "folds": len(parts),
        "thresholds": list(thresholds),
        "least": least,
        "most": most,
        "orders": orders,
        "samples": samples,
        "seed": seed,
        "unit": "segment" if corpus.groups is None else "group",
    }
    found = Budget(**about(corpus), settings=settings, rows=tuple(rows))
    return replace(found, settings={**settings, "saved": found.savings()})


def _plans(corpus: NBest, thresholds: Sequence[float], most: int | None, *, both: bool) -> list[Plan]:
    """All fixed sizes and all thresholds, for votes and, if there is one, for the model."""
    longest = int(corpus.lengths.max())
    plans = []
    for by_model in (False, True) if both else (False,):
        plans += [Plan(FIXED, by_model, k) for k in sizes_up_to(min(longest, most or longest))]
        rules = ("votes", "confidence") if by_model else ("votes",)
        plans += [Plan(rule, by_model, float(at)) for rule in rules for at in sorted(thresholds)]
    return plans


def _parts(
    corpus: NBest, model: LogLinear | None, trainer: Any, folds: int, seed: int
) -> list[tuple[Ints, LogLinear | None]]:
    """Segments with the model that chooses of them: the one that is given, or those fitted on the other parts."""
    if trainer is None:
        return [(np.arange(len(corpus)), model)]
    crossed = crossfit(trainer.fit, corpus, folds=folds, seed=seed)
    return [(np.flatnonzero(crossed.fold == number), each) for number, each in enumerate(crossed.models)]


def _rows(
    corpus: NBest, plans: Sequence[Plan], stats: Floats, drawn: Floats, *, samples: int, seed: int
) -> list[dict[str, Any]]:
    """What each plan costs and reaches, with intervals, also of the difference to all hypotheses."""
    metric = corpus.need_metric()
    values = metric.score(stats.sum(axis=0))
    draws = resampled(metric, by_group(stats, corpus.groups), samples=samples, seed=seed)
    cost = drawn[corpus.lengths > 0].mean(axis=0)
    full = {plan.by_model: at for at, plan in enumerate(plans) if plan.rule == FIXED}  # the last is the largest
    rows = []
    for at, plan in enumerate(plans):
        whole = full[plan.by_model]
        low, high = interval(draws[:, at])
        below, above = interval(draws[:, at] - draws[:, whole])
        rows.append(
            {
                "rule": plan.rule,
                "by": MODEL if plan.by_model else VOTE,
                "at": int(plan.at) if plan.rule == FIXED else plan.at,
                "cost": float(cost[at]),
                "value": float(values[at]),
                "low": low,
                "high": high,
                "difference": float(values[at] - values[whole]),
                "difference_low": below,
                "difference_high": above,
            }
        )
    return rows
