"""How smoothly training reaches its end: MERT over k-best lists that grow, and CoBLEU over whole forests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import count
from tempfile import TemporaryDirectory
from typing import Annotated, Any, ClassVar

import numpy as np

from nbest.base.errors import ParameterError
from nbest.base.types import Floats
from nbest.corpus import Forests
from nbest.loop import Inputs, Loop
from nbest.loop.report import rows_of
from nbest.report.charts import LineChart, Series
from nbest.report.picture import Picture
from nbest.report.svg import COLOURS
from nbest.studies.base import Progress, Study, about, counting_failures
from nbest.studies.keywords import Given, Seed
from nbest.trainers.dense.cobleu import MaxCoBLEU
from nbest.trainers.dense.mert import MERT


@dataclass(frozen=True)
class Path(Study):
    """Rows: method, step, objective (MERT: on the lists it had), metric (MERT: of the 1-best), relative to the end."""

    name: ClassVar[str] = "path"

    def largest_fall(self, method: str) -> float:
        """By how much `relative` falls at most from the highest step so far to a later one."""
        values = np.array([row["relative"] for row in self.chosen(method=method)])
        return float((np.maximum.accumulate(values) - values).max(initial=0.0))

    def picture(self) -> Picture:
        """Each path divided by its own end, so that 1 is where it stops."""
        series = []
        for number, method in enumerate(("mert", "cobleu")):
            rows = self.chosen(method=method)
            steps, heights = [row["step"] for row in rows], [row["relative"] for row in rows]
            name = {"mert": "MERT, 1-best", "cobleu": "CoBLEU"}[method]
            series.append(Series(name, steps, heights, COLOURS[number], dots=method == "mert"))
        chart = LineChart(series, "", "round of MERT, step of CoBLEU", "relative to the end")
        subtitle = f"MERT: cumulative {self.settings['k']}-best lists; CoBLEU: whole forests; both start from 0"
        return Picture("Paths of training", subtitle, [chart], width=560, height=360)


def path(
    forests: Forests,
    *,
    k: Annotated[int, Given("Hypotheses that MERT gets of each forest in a round.", least=1)] = 200,
    rounds: Annotated[int, Given("Rounds of MERT at most.", least=1)] = 20,
    iterations: Annotated[int, Given("Steps of CoBLEU at most.", least=1)] = 200,
    optimiser: Annotated[str, Given("Of CoBLEU: lbfgs, or adaptive, the paper's.")] = "lbfgs",
    seed: Seed = 1,
    threads: int | None = None,
    progress: Progress = None,
) -> Path:
    """How smoothly training on forests reaches its end: MERT over growing k-best lists, and CoBLEU.

        nbest study path dev.forests.jsonl.gz --metric bleu --tokenize none --k 200 -o path

    Both start from 0; the forests stand in for a decoder. MERT: the k best derivations under the current weights join
    the lists, MERT tunes on all lists so far, and the 1-best of the forests is measured; until no list grows, or for
    `rounds`. CoBLEU: one row a step of its optimiser.
    """
    if k < 1 or rounds < 1:
        raise ParameterError(f"'k' and 'rounds' of the study path must be >= 1, got {k} and {rounds}")
    with counting_failures("runs"):
        rows = _mert(forests, MERT(seed=seed, threads=threads), k, rounds, progress)
        trainer = MaxCoBLEU(iterations=iterations, optimiser=optimiser, seed=seed, threads=threads)
        trainer.fit(forests)
    assert trainer.result_ is not None
    values = 100.0 * np.exp(-_taken(trainer.result_.history[-1]["path"]))
    rows += [{"method": "cobleu", "step": at, "objective": float(value)} for at, value in enumerate(values)]
    for method, key in (("mert", "metric"), ("cobleu", "objective")):
        mine = [row for row in rows if row["method"] == method]
        for row in mine:
            row["relative"] = row[key] / mine[-1][key] if mine[-1][key] else 1.0
    if progress is not None:
        progress(rounds + 1, rounds + 1)
    kept = {"k": k, "rounds": rounds, "iterations": iterations, "optimiser": optimiser, "seed": seed}
    return Path(**about(forests), settings=kept, rows=tuple(rows))


def _taken(values: list[float]) -> Floats:
    """The values of the steps that were taken; trials that did not lower the value were not."""
    tried = np.array(values)
    return tried[np.append(True, tried[1:] < np.minimum.accumulate(tried)[:-1])]


@dataclass(frozen=True)
class _PathDecoder:
    """Forests that stand in for a decoder."""

    forests: Forests
    tell: Callable[[], None]

    def decode(self, weights: Mapping[str, float], inputs: None) -> Forests:
        """The same whatever the weights; the loop takes the best of them."""
        self.tell()
        return self.forests


def _mert(forests: Forests, trainer: MERT, k: int, rounds: int, progress: Progress) -> list[dict[str, Any]]:
    """One row a round of the outer loop."""
    steps = count()
    decoder = _PathDecoder(forests, lambda: progress(next(steps), rounds + 1) if progress else None)
    start = dict.fromkeys(forests.feature_names, 0.0)
    with TemporaryDirectory() as folder:
        loop = Loop(
            decoder, trainer, forests.need_metric(), folder, rounds=rounds, k=k, start=start, warm=False,
            measure=lambda found: found,
        )  # fmt: skip
        loop.run(Inputs(None))
        found = rows_of(loop.place)
    seen = [found[0]["dev"], *(row["trained_dev"] for row in found[1:])]
    return [
        {"method": "mert", "step": step, "objective": objective, "metric": row["dev"]}
        for step, (row, objective) in enumerate(zip(found, seen, strict=True))
    ]
