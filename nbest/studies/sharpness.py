"""The expected metric against one weight, from smooth to sharp, beside the exact metric."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from nbest.base.errors import ParameterError
from nbest.base.types import Floats
from nbest.corpus import NBest
from nbest.lines.search import list_lines
from nbest.model.loglinear import LogLinear
from nbest.report.axes import label
from nbest.report.charts import LineChart, Series
from nbest.report.picture import Picture
from nbest.report.svg import GAMMA, shade
from nbest.studies.base import Held, Progress, Study, about
from nbest.studies.expected import Expected
from nbest.studies.keywords import WEIGHTS, Feature, FeatureRange, Given, MetricOrder, Points

_NO_MODEL = "without --model all other weights are 0, and the exact metric has its only step at 0"
GAMMAS = (0.1, 0.3, 1.0, 3.0, 10.0)


@dataclass(frozen=True)
class Sharpness(Study):
    """Rows of kind "expected": gamma, weight, value; of kind "exact": low, high (null: without end), value."""

    name: ClassVar[str] = "sharpness"

    def picture(self) -> Picture:
        """One curve a gamma, bright to dark, over the grey steps of the exact metric."""
        gammas = self.settings["gammas"]
        low, high = self.settings["range"]
        series = [Series(f"1-best ({GAMMA} → ∞), exact", *self.steps(low, high), colour="#b0b0b0", width=3.0)]
        for number, gamma in enumerate(gammas):
            rows = self.chosen(kind="expected", gamma=gamma)
            colour = shade(0.82 * (1.0 - number / max(1, len(gammas) - 1)))
            weights, values = [row["weight"] for row in rows], [row["value"] for row in rows]
            series.append(Series(f"{GAMMA} = {label(gamma)}", weights, values, colour))
        feature = self.settings["feature"]
        others = "the other weights as in the model" if self.settings["model"] else "all other weights 0"
        chart = LineChart(series, "", f"weight of {feature}", self.unit, rules=self._rule())
        title = f"Expected and exact {self.metric.split('|')[0]} as one weight varies"
        return Picture(
            title, f"{others}; expectation to order {self.settings['order']}", [chart], width=640, height=380
        )

    def steps(self, low: float, high: float) -> tuple[list[float], list[float]]:
        """The corners of the exact curve between two weights."""
        x: list[float] = []
        y: list[float] = []
        for row in self.chosen(kind="exact"):
            start = low if row["low"] is None else max(low, row["low"])
            end = high if row["high"] is None else min(high, row["high"])
            if start < end:
                x += [start, end]
                y += [row["value"]] * 2
        return x, y

    def _rule(self) -> list[tuple[float, str]]:
        at = self.settings["model"].get(self.settings["feature"])
        low, high = self.settings["range"]
        return [(at, "model")] if at is not None and low < at < high else []


def sharpness(
    corpus: NBest,
    feature: Feature,
    *,
    model: Annotated[LogLinear | None, Given(WEIGHTS, unsaid=_NO_MODEL)] = None,
    gammas: Annotated[Sequence[float], Given("Sharpness of each curve: NUMBER,NUMBER.", ("--gamma",))] = GAMMAS,
    order: MetricOrder = 2,
    points: Points = 201,
    bounds: FeatureRange = None,
    threads: int | None = None,
    progress: Progress = None,
) -> Sharpness:
    """The expected metric against one weight, ever sharper, beside the exact metric of the chosen hypotheses.

        nbest study sharpness dev.nbest --refs dev.ref --metric bleu --feature lm --model model.json -o sharpness

    Smith & Eisner (2006), figure 2: `points` weights for each gamma, and every interval of the exact metric. The exact
    curve comes from the envelopes of the lists, as in MERT, and has all its steps however narrow. With all other
    weights 0 it has only one, at 0.
    """
    if not gammas or not all(gamma >= 0 for gamma in gammas):
        raise ParameterError(f"'gammas' of the study sharpness must be numbers >= 0, got {list(gammas)}")
    held = Held.at(corpus, model)
    axis = held.axis(feature, points, bounds)
    expected = Expected(held.corpus, order, threads)
    rows: list[dict[str, Any]] = []
    for number, gamma in enumerate(gammas):
        for weight in axis.tolist():
            value = expected.score(expected.moments(held.vector({feature: weight}), gamma))
            rows.append({"kind": "expected", "gamma": float(gamma), "weight": weight, "value": value})
        if progress is not None:
            progress(number + 1, len(gammas) + 1)
    cuts, values = _exact(held, feature)
    edges = [None, *cuts.tolist(), None]
    for low, high, value in zip(edges[:-1], edges[1:], values.tolist(), strict=True):
        rows.append({"kind": "exact", "low": low, "high": high, "value": value})
    settings = {
        "feature": feature,
        "gammas": [float(gamma) for gamma in gammas],
        "range": [float(axis[0]), float(axis[-1])],
        "order": order,
        "model": dict(held.weights),
    }
    return Sharpness(**about(corpus), settings=settings, rows=tuple(rows))


def _exact(held: Held, feature: str) -> tuple[Floats, Floats]:
    """Where the 1-best metric changes along a weight [E], and its values [E+1]."""
    corpus = held.corpus
    stats, metric = corpus.need_stats()
    lines = list_lines(corpus.features, corpus.offsets, stats, metric)
    direction = np.zeros(len(corpus.feature_names))
    direction[corpus.feature_names.index(feature)] = 1.0
    cuts, totals = lines.intervals(held.model({feature: 0.0}).scores(corpus), direction)
    return cuts, np.asarray(metric.score(totals))
