"""Dev and held-out metric along annealing paths, from hot to cold and then ever sharper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log, log2
from typing import Annotated, Any, ClassVar

from nbest.base.errors import ParameterError
from nbest.corpus import NBest
from nbest.report.axes import Ticks, label
from nbest.report.charts import LineChart, Series
from nbest.report.picture import Picture
from nbest.report.svg import COLOURS, GAMMA, PALE
from nbest.studies.base import Progress, Study, about, build, counting_failures
from nbest.studies.keywords import FurtherSettings, Given, Seed

_FOREVER = 10**9  # steps without a gain on held-out lists: the whole path is wanted


@dataclass(frozen=True)
class Annealing(Study):
    """Rows of kind "path": t0, step, t, temperature, gamma, expected, dev, heldout; "method": method, dev, heldout.

    t is the temperature in the units of `MinRisk` (null once it is 0), expected the minimised smooth loss.
    """

    name: ClassVar[str] = "annealing"

    def picture(self) -> Picture:
        """A panel for dev and one for held-out lists; temperature falls, then gamma rises, to the right."""
        panels = [self._panel("dev")]
        if any("heldout" in row for row in self.rows):
            panels.append(self._panel("heldout"))
        sizes = f"{self.settings['segments']} segments"
        if len(panels) > 1:
            sizes += f", {self.settings['heldout_segments']} held out"
        subtitle = f"minimum risk, schedule {self.settings['schedule']!r}; {sizes}"
        return Picture("Annealing: 1-best metric along the path", subtitle, panels, width=430)

    def _panel(self, key: str) -> LineChart:
        x, series = self._places(), []
        for number, t0 in enumerate(self.settings["t0"]):
            rows = self.chosen(kind="path", t0=t0)
            name = "risk" if t0 is None else f"risk from t = {label(t0)}"
            values = [row[key] for row in rows]
            series.append(
                Series(name, [x[row["t"], row["gamma"]] for row in rows], values, COLOURS[number % 8], dots=True)
            )
        ends = [min(x.values()), max(x.values())]
        for number, row in enumerate(self.chosen(kind="method")):
            style = "dashed" if number % 2 == 0 else "dotted"
            series.append(Series(row["method"], ends, [row[key]] * 2, PALE, style))
        cooled = any(t is not None for t, _ in x)
        axis = f"temperature t falls, then sharpness {GAMMA} rises" if cooled else f"sharpness {GAMMA} rises"
        title = "dev" if key == "dev" else "held out"
        return LineChart(series, title, axis, self.unit, self._ticks(x), rules=[(0.5, "t = 0")] if cooled else [])

    def _places(self) -> dict[tuple[float | None, float], float]:
        """Where each temperature and gamma stands: cooling steps to the left of 0.5, sharpening steps to the right."""
        cooling, t1 = self.settings["cooling"], self.settings["t1"]
        steps = {(row["t"], row["gamma"]) for row in self.chosen(kind="path")}
        first = min((g for t, g in steps if t is None), default=1.0)
        return {(t, g): log2(g / first) + 1 if t is None else -log(t / t1) / log(1 / cooling) for t, g in steps}

    @staticmethod
    def _ticks(x: Mapping[tuple[float | None, float], float]) -> Ticks:
        named = [(at, f"{GAMMA} {label(g)}" if t is None else f"{t:.3g}") for (t, g), at in x.items()]
        return sorted(named)


def annealing(
    dev: NBest,
    heldout: NBest | None = None,
    *,
    t0: Annotated[Sequence[float], Given("Temperatures to start from: NUMBER,NUMBER.")] = (0.125, 1.0, 8.0),
    methods: Annotated[Sequence[str], Given("Methods to compare with: NAME,NAME.")] = ("mert",),
    settings: Annotated[
        Mapping[str, Any] | None, FurtherSettings("risk", "--cooling 0.7, --t1 0.01, --schedule gamma, --order 1")
    ] = None,
    seed: Seed = 1,
    threads: int | None = None,
    progress: Progress = None,
) -> Annealing:
    """The metric on dev and held-out lists along annealing paths, from hot to cold and then ever sharper.

        nbest study annealing dev.nbest --refs dev.ref --metric bleu --t0 0.125,1,8 --split 0.25 -o annealing

    The whole path of `MinRisk` from each starting temperature, and where other methods end, to compare. Smith & Eisner
    (2006), figure 3, for fixed lists: a step here is a temperature (or gamma), not a round of decoding. `settings` are
    further keywords of `MinRisk` (`cooling`, `t1`, `schedule`, `order`, ...); with the schedule "gamma" there is one
    path and no temperature. Held-out lists are scored at every step and stop nothing.
    """
    given = dict(settings or {})
    if "t0" in given or not t0 or not all(t > 0 for t in t0):
        raise ParameterError(f"'t0' of the study annealing must be one or more temperatures > 0, got {t0}")
    least = given.get("t1", build("risk").t1)
    hot = given.get("schedule", "temperature") != "gamma"
    starts: list[float | None] = [float(t) for t in dict.fromkeys(t0)] if hot else [None]
    rows: list[dict[str, Any]] = []
    total = len(starts) + len(methods)
    with counting_failures("runs"):
        for number, start in enumerate(starts):
            further = {"t0": start, "t1": min(start, least)} if start is not None else {}
            trainer = build(
                "risk", {"patience": _FOREVER, "polish": False, **given, **further}, seed=seed, threads=threads
            )
            trainer.fit(dev, heldout)
            rows += [_row(start, step, trainer.cooling, record) for step, record in enumerate(trainer.result_.history)]
            if progress is not None:
                progress(number + 1, total)
        for number, method in enumerate(methods, len(starts) + 1):
            model = build(method, seed=seed, threads=threads).fit(dev, heldout)
            rows.append({"kind": "method", "method": method, **model.scores_})
            if progress is not None:
                progress(number, total)
    about_path = {
        "t0": starts,
        "t1": least,
        "cooling": trainer.cooling,
        "schedule": trainer.schedule,
        "seed": seed,
    }
    sizes = {"segments": len(dev), "heldout_segments": 0 if heldout is None else len(heldout)}
    return Annealing(**about(dev), settings={**about_path, **given, **sizes}, rows=tuple(rows))


def _row(t0: float | None, step: int, cooling: float, record: Mapping[str, Any]) -> dict[str, Any]:
    hot = record["temperature"] > 0 and t0 is not None
    kept = ("temperature", "gamma", "expected", "dev", "heldout")
    values = {key: record[key] for key in kept if key in record}
    return {"kind": "path", "t0": t0, "step": step, "t": (t0 or 0.0) * cooling**step if hot else None, **values}
