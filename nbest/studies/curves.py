"""How much a setting of a trainer matters: the metric against its values, all else as given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Annotated, Any, ClassVar

from nbest.base.errors import ParameterError, _known, look_up
from nbest.corpus import NBest
from nbest.decisions import first
from nbest.report.axes import places_of
from nbest.report.charts import LineChart, Series
from nbest.report.picture import Picture
from nbest.report.svg import COLOURS
from nbest.studies.base import Progress, Study, about, build, counting_failures
from nbest.studies.keywords import FurtherSettings, Given, Seed, StudyLists
from nbest.trainers import TRAINERS

_GREY = "#888888"


@dataclass(frozen=True)
class Curves(Study):
    """Rows: method, setting, value, dev, heldout."""

    name: ClassVar[str] = "settings"

    def curve(self, setting: str, key: str) -> list[float]:
        """The metric at each value of a setting."""
        return [row[key] for row in self.chosen(setting=setting)]

    def picture(self) -> Picture:
        """One panel a setting; grey is what the first hypotheses of the held-out lists reach."""
        panels = [self._panel(setting, values) for setting, values in self.settings["values"].items()]
        held = f"{self.settings['heldout_segments']} held-out segments"
        given = ", ".join(f"{name} {value}" for name, value in self.settings["settings"].items())
        subtitle = f"{self.settings['method']}{f' with {given}' if given else ''}; {held}"
        return Picture("Settings", subtitle, panels, width=420, height=300)

    def _panel(self, setting: str, values: Sequence[Any]) -> LineChart:
        curve = self.curve(setting, "heldout")
        if all(isinstance(value, int | float) for value in values):
            order = sorted(range(len(values)), key=lambda at: float(values[at]))
            values, curve = [values[at] for at in order], [curve[at] for at in order]
        x, log = places_of(values)
        level = [self.settings["first"]] * len(x)
        series = [
            Series("held out", x, curve, COLOURS[0], dots=True),
            Series(name="first hypotheses", x=x, y=level, colour=_GREY, style="dashed", width=1.4),
        ]
        said = [f"{value:g}" if isinstance(value, float) else str(value) for value in values]
        ticks = list(zip(x, said, strict=True))
        return LineChart(series, "", setting, self.unit, x_ticks=ticks, log=log)


def curves(
    dev: Annotated[NBest, StudyLists(add=True)],
    heldout: NBest,
    values: Annotated[
        Mapping[str, Sequence[Any]], Given("What to vary: NAME=VALUE,VALUE; repeatable.", ("--setting",))
    ],
    *,
    method: Annotated[str, Given("A method of nbest tune.", ("--method", "-M"))] = "risk",
    settings: Annotated[Mapping[str, Any] | None, FurtherSettings("method", "--k 50, --variance 0.5")] = None,
    seed: Seed = 1,
    threads: int | None = None,
    progress: Progress = None,
) -> Curves:
    """The metric on held-out lists against the values of a setting, all others as they are.

        nbest study settings train.jsonl --metric accuracy --method lowdim --setting tau=0.1,0.5,0.9 --heldout dev.jsonl

    Held-out lists are given to the trainer, so whatever it chooses on them (a number of rounds, the weight of a score)
    is chosen for each point, as `nbest tune --heldout` would. Jagarlamudi & Daume III (2012), figure 1.
    """
    kind, given = look_up(TRAINERS, method, "method"), dict(settings or {})
    known = [each.name for each in fields(kind) if each.init]
    if not values or not all(len(each) for each in values.values()):
        raise ParameterError("the study settings needs values of each setting, got none (--setting tau=0.1,0.9)")
    for name in values:
        if name not in known:
            raise ParameterError(f"the study settings: {kind.__name__} has no setting {name!r}; {_known(known, name)}")
    jobs = [(name, value) for name, each in values.items() for value in each]
    rows: list[dict[str, Any]] = []
    with counting_failures("runs"):
        for name, value in jobs:
            model = build(method, {**given, name: value}, seed=seed, threads=threads).fit(dev, heldout)
            reached = {key: float(model.scores_[key]) for key in ("dev", "heldout")}
            rows.append({"method": method, "setting": name, "value": value, **reached})
            if progress is not None:
                progress(len(rows), len(jobs))
    kept = {"method": method, "settings": given, "values": {name: list(each) for name, each in values.items()}}
    further = {"seed": seed, "heldout_segments": len(heldout), "first": heldout.score(first(None, heldout))}
    return Curves(**about(dev), settings={**kept, **further}, rows=tuple(rows))
