"""How the metric grows with the number of dev segments, on what was trained on and on what was not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from nbest.base.errors import ParameterError
from nbest.base.randomness import generator
from nbest.corpus import NBest
from nbest.report.axes import geometric
from nbest.report.charts import LineChart, Series
from nbest.report.picture import Picture
from nbest.report.svg import COLOURS
from nbest.studies.base import Progress, Study, about, build, counting_failures
from nbest.studies.keywords import FurtherSettings, Given, Methods, Seed

_FEWEST = 10  # segments of the smallest default subset


@dataclass(frozen=True)
class Learning(Study):
    """Rows: method, segments, repeat, dev (the subset trained on), heldout."""

    name: ClassVar[str] = "learning"

    def means(self, method: str, key: str) -> list[float]:
        """The mean over repeats at each size."""
        return [
            float(np.mean([row[key] for row in self.chosen(method=method, segments=size)]))
            for size in self.settings["sizes"]
        ]

    def picture(self) -> Picture:
        """Solid: held out. Dashed: the segments trained on. The distance between the two is what was overfitted."""
        sizes, series = self.settings["sizes"], []
        for number, method in enumerate(self.settings["methods"]):
            colour = COLOURS[number % len(COLOURS)]
            series.append(Series(f"{method}, held out", sizes, self.means(method, "heldout"), colour, dots=True))
            series.append(
                Series(
                    name=f"{method}, dev",
                    x=sizes,
                    y=self.means(method, "dev"),
                    colour=colour,
                    style="dashed",
                    width=1.4,
                )
            )
        ticks = [(float(size), str(size)) for size in sizes]
        chart = LineChart(series, x_label="segments trained on", y_label=self.unit, x_ticks=ticks, log=geometric(sizes))
        held = f"{self.settings['heldout_segments']} held-out segments"
        subtitle = f"mean of {self.settings['repeats']} random subsets a size; {held}"
        return Picture("Learning curves", subtitle, [chart], width=560, height=360)


def learning(
    dev: NBest,
    heldout: NBest,
    *,
    methods: Methods = ("risk", "mert", "likelihood"),
    sizes: Annotated[Sequence[int] | None, Given("Segments to train on: N,N (default: halves).")] = None,
    repeats: Annotated[int, Given("Random subsets of each size.", least=1)] = 3,
    settings: Annotated[
        Mapping[str, Mapping[str, Any]] | None, FurtherSettings("methods", "--restarts 5, --variance 0.5")
    ] = None,
    seed: Seed = 1,
    threads: int | None = None,
    progress: Progress = None,
) -> Learning:
    """The metric on dev and held-out lists as the number of segments trained on grows.

        nbest study learning dev.nbest --refs dev.ref --metric bleu --methods risk,mert --repeats 5 -o learning

    Each method is trained on growing random subsets of dev; no trainer sees the held-out lists. Subsets of one repeat
    contain each other; the largest default size is all of dev, the others halve it. All of dev is only one subset, so
    it is trained on once. `settings` are keywords for trainers, by method.
    """
    sizes = _sizes(len(dev), sizes)
    if repeats < 1:
        raise ParameterError(f"'repeats' of the study learning must be >= 1, got {repeats}")
    if not methods:
        raise ParameterError("the study learning needs at least one method, got none")
    jobs = [(r, size) for size in sizes for r in range(repeats if size < len(dev) else 1)]
    orders = [generator(seed, r).permutation(len(dev)) for r in range(repeats)]
    rows: list[dict[str, Any]] = []
    with counting_failures("runs"):
        for repeat, size in jobs:
            part = dev.select(np.sort(orders[repeat][:size]))
            for method in methods:
                model = build(method, (settings or {}).get(method), seed=seed, threads=threads).fit(part)
                reached = {"dev": model.scores_["dev"], "heldout": heldout.score(model.predict(heldout))}
                rows.append({"method": method, "segments": size, "repeat": repeat, **reached})
                if progress is not None:
                    progress(len(rows), len(jobs) * len(methods))
    kept = {"methods": list(methods), "sizes": list(sizes), "repeats": repeats, "seed": seed}
    further = {"settings": dict(settings or {}), "heldout_segments": len(heldout)}
    return Learning(**about(dev), settings={**kept, **further}, rows=tuple(rows))


def _sizes(count: int, sizes: Sequence[int] | None) -> list[int]:
    """The sizes in rising order; by default all segments, half of them, ... down to 10."""
    if sizes is None:
        halves = [count]
        while halves[-1] // 2 >= _FEWEST:
            halves.append(halves[-1] // 2)
        return halves[::-1]
    if not sizes or min(sizes) < 1 or max(sizes) > count:
        raise ParameterError(f"'sizes' of the study learning must be from 1 to {count} segments, got {list(sizes)}")
    return sorted(set(sizes))
