"""How much correlation between features should count: minimum sample risk step by step, for several alpha."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from nbest.base.errors import ParameterError
from nbest.corpus import NBest
from nbest.report.charts import LineChart, Series
from nbest.report.picture import Picture
from nbest.report.svg import COLOURS
from nbest.studies.base import Progress, Study, about
from nbest.studies.keywords import FurtherSettings, Given, StudyLists
from nbest.trainers.keeping import as_learnt
from nbest.trainers.sparse.msr import MSR, MSR2

METHODS = {"msr": MSR, "msr2": MSR2}
"""Trainers that have an alpha."""


@dataclass(frozen=True)
class Alpha(Study):
    """Rows: method, alpha, features (taken so far), dev, heldout."""

    name: ClassVar[str] = "alpha"

    def curve(self, method: str, alpha: float, key: str) -> tuple[list[float], list[float]]:
        """Numbers of features and the metric after each."""
        rows = self.chosen(method=method, alpha=alpha)
        return [row["features"] for row in rows], [row[key] for row in rows]

    def picture(self) -> Picture:
        """One panel a method and a set of lists: the lists trained on, and held-out ones."""
        panels: list[LineChart] = []
        for method in self.settings["methods"]:
            for key, said in (("dev", "training lists"), ("heldout", "held-out lists")):
                series = []
                for number, alpha in enumerate(self.settings["alphas"]):
                    name = f"alpha = {alpha:g}" if not panels else ""
                    series.append(Series(name, *self.curve(method, alpha, key), COLOURS[number % len(COLOURS)]))
                panels.append(LineChart(series, f"{method}, {said}", "features", self.unit))
        held = f"{self.settings['heldout_segments']} held-out segments, not used to stop"
        return Picture("Effect and correlation", f"alpha 1: effect alone; {held}", panels, width=420, height=300)


def alpha(
    dev: Annotated[NBest, StudyLists(add=True)],
    heldout: NBest,
    *,
    alphas: Annotated[Sequence[float], Given("Values from 0 to 1: NUMBER,NUMBER.")] = (0.7, 0.8, 0.9, 1.0),
    methods: Annotated[Sequence[str], Given("msr, msr2 or both.")] = ("msr", "msr2"),
    points: int = 100,
    settings: Annotated[
        Mapping[str, Any] | None, FurtherSettings("methods", "--limit 500, --window 200, --smoothing 0.05")
    ] = None,
    threads: int | None = None,
    progress: Progress = None,
) -> Alpha:
    """Minimum sample risk step by step: how much the overlap of features should count against their own effect.

        nbest study alpha dev.nbest --refs dev.ref --metric wer --add ngrams:order=2 --alphas 0.7,0.9,1 -o alpha

    Yuan, Gao & Bu (2007), section 3.4 and figures 1 to 4. Held-out lists are only looked at. Each curve has at most
    `points` points, the last of them after the last feature. `settings` are further keywords for the trainers.
    """
    if not alphas or not all(0 <= a <= 1 for a in alphas):
        raise ParameterError(f"'alphas' of the study alpha must be numbers from 0 to 1, got {list(alphas)}")
    odd = next((method for method in methods if method not in METHODS), None)
    if odd is not None or not methods:
        raise ParameterError(f"'methods' of the study alpha must be of {', '.join(METHODS)}, got {list(methods)}")
    if "alpha" in (settings or {}):
        raise ParameterError("the study alpha tries the values of 'alphas' (--alphas); leave 'alpha' out")
    if points < 2:
        raise ParameterError(f"'points' of the study alpha must be >= 2, got {points}")
    jobs = [(method, float(a)) for method in methods for a in alphas]
    rows: list[dict[str, Any]] = []
    for done, (method, value) in enumerate(jobs):
        trainer = METHODS[method](**{"threads": threads, **(settings or {}), "alpha": value})
        with as_learnt():
            trainer.fit(dev, heldout)
        assert trainer.result_ is not None
        history = trainer.result_.history
        for at in np.unique(np.linspace(0, len(history) - 1, min(points, len(history))).astype(np.int64)):
            entry = history[at]
            reached = {"dev": entry["dev"], "heldout": entry["heldout"]}
            rows.append({"method": method, "alpha": value, "features": entry["features"], **reached})
        if progress is not None:
            progress(done + 1, len(jobs))
    kept = {"alphas": [float(a) for a in alphas], "methods": list(methods), "points": points}
    further = {"settings": dict(settings or {}), "heldout_segments": len(heldout)}
    return Alpha(**about(dev), settings={**kept, **further}, rows=tuple(rows))
