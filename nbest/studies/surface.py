"""The metric over two weights: as it is, a landscape of steps, and as risk training sees it, smooth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from nbest.base.errors import ParameterError
from nbest.base.types import Floats
from nbest.corpus import NBest
from nbest.objectives import Risk
from nbest.report.charts import HeatMap
from nbest.report.picture import Picture
from nbest.report.svg import GAMMA
from nbest.studies.base import Held, Progress, Study, about
from nbest.studies.expected import Expected
from nbest.studies.keywords import Gamma, Given, MetricOrder, ModelFile, Range


@dataclass(frozen=True)
class Surface(Study):
    """Rows: x, y, metric (of the 1-best), expected, entropy (nats), and with a temperature the objective."""

    name: ClassVar[str] = "surface"

    def grid(self, key: str) -> tuple[Floats, Floats, Floats]:
        """Weights x [X] and y [Y], and a value of the rows [Y, X]."""
        x = np.unique([row["x"] for row in self.rows])
        y = np.unique([row["y"] for row in self.rows])
        return x, y, np.array([row[key] for row in self.rows]).reshape(len(y), len(x))

    def picture(self) -> Picture:
        """Heat maps of the 1-best and the expected metric in the same colours, and of the objective if there is one."""
        _, _, sharp = self.grid("metric")
        _, _, smooth = self.grid("expected")
        low, high = min(sharp.min(), smooth.min()), max(sharp.max(), smooth.max())
        bounds = (float(low), float(high)) if self.higher_is_better else (float(high), float(low))
        gamma, order = self.settings["gamma"], self.settings["order"]
        panels = [
            self._map("metric", "1-best", self.unit, bounds),
            self._map("expected", f"expected, {GAMMA} = {gamma:g}", self.unit, bounds),
        ]
        if "objective" in self.rows[0]:
            _, _, cost = self.grid("objective")
            title = f"objective, T = {self.settings['temperature']:g}"
            panels.append(self._map("objective", title, "minimised", (float(cost.max()), float(cost.min()))))
        others = "the other weights as in the model" if self.settings["model"] else "all other weights 0"
        subtitle = f"{self.metric.split('|')[0]} over two weights, {others}; expectation to order {order}"
        return Picture("Loss surface", subtitle, panels, columns=3, width=320, height=320)

    def _map(self, key: str, title: str, unit: str, bounds: tuple[float, float]) -> HeatMap:
        x, y, values = self.grid(key)
        up = bounds[1] >= bounds[0]
        row, column = np.unravel_index(values.argmax() if up else values.argmin(), values.shape)
        marks = [(float(x[column]), float(y[row]), "best", "ring")]
        at = self.settings["model"]
        if at:
            marks.append((at.get(self.settings["x"], 0.0), at.get(self.settings["y"], 0.0), "model", "cross"))
        names = (f"weight of {self.settings['x']}", f"weight of {self.settings['y']}")
        return HeatMap(x, y, values, bounds, title, x_label=names[0], y_label=names[1], value_label=unit, marks=marks)


def surface(
    corpus: NBest,
    x: Annotated[str, Given("Feature whose weight goes to the right.")],
    y: Annotated[str, Given("Feature whose weight goes up.")],
    *,
    model: ModelFile = None,
    gamma: Gamma = 1.0,
    temperature: Annotated[float, Given("Show the objective of annealing at this T as well.", least=0.0)] = 0.0,
    order: MetricOrder = 2,
    points: Annotated[int, Given("Weights to try of each feature.", least=2)] = 41,
    x_range: Annotated[Range, Given("Weights of x: LOW,HIGH.")] = None,
    y_range: Annotated[Range, Given("Weights of y: LOW,HIGH.")] = None,
    threads: int | None = None,
    progress: Progress = None,
) -> Surface:
    """The metric over two weights: of the chosen hypotheses, and expected, which is what risk training sees.

        nbest study surface dev.nbest --refs dev.ref --metric bleu --x lm --y am --model model.json -o surface

    The other weights are as in `model` (0 without one). Smith & Eisner (2006), figure 1 and, smooth, what the same
    figure becomes under eq. 5. With a `temperature` rows also hold the objective of annealing, minus the expected
    formula less T times the entropy (eq. 7). Cost: a pass over the lists for each of points x points cells.
    """
    if x == y:
        raise ParameterError(f"a surface needs two different features, got {x!r} twice")
    held = Held.at(corpus, model)
    columns, lines = held.axis(x, points, x_range), held.axis(y, points, y_range)
    expected = Expected(held.corpus, order, threads)
    if not gamma >= 0:
        raise ParameterError(f"'gamma' of the study surface must be >= 0, got {gamma}")
    risk = Risk(expected.metric, order=order, temperature=temperature, gamma=gamma) if temperature else None
    rows: list[dict[str, Any]] = []
    for down in lines.tolist():
        for across in columns.tolist():
            changed = {x: across, y: down}
            moments = expected.moments(held.vector(changed), gamma)
            row = {
                "x": across,
                "y": down,
                "metric": held.corpus.score(held.model(changed).predict(held.corpus)),
                "expected": expected.score(moments),
                "entropy": moments.entropy,
            }
            if risk is not None:
                row["objective"] = risk.combine(moments)[0]
            rows.append(row)
        if progress is not None:
            progress(len(rows), points * points)
    settings = {
        "x": x,
        "y": y,
        "gamma": gamma,
        "temperature": temperature,
        "order": order,
        "model": dict(held.weights),
    }
    return Surface(**about(corpus), settings=settings, rows=tuple(rows))
