"""What not answering is worth: the risk of the surest choices against their share, and whether promises are kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from nbest.base.errors import CapabilityError, ParameterError
from nbest.base.randomness import generator
from nbest.base.types import Bools, Floats
from nbest.corpus import NBest
from nbest.decisions.calibration import curve_of, design_effect
from nbest.model.abstention import DELTA, by_risk, risk_bound
from nbest.model.confidence import Confidence
from nbest.report.charts import LineChart, Series
from nbest.report.picture import Picture
from nbest.report.svg import COLOURS, PALE
from nbest.studies.base import Progress, Study, about
from nbest.studies.keywords import Given, Samples, Seed
from nbest.studies.sure import (
    Asked,
    Right,
    Sure,
    SureDecision,
    SureFolds,
    SureMethod,
    SureModel,
    SureSettings,
    ratios_of,
    sure_choices,
)

RISKS = (0.05, 0.1, 0.2)
_POINTS = 50
_PLAIN = {"slope": 1.0, "offset": 0.0, "floor": 1e-9}


@dataclass(frozen=True)
class Coverage(Study):
    """Rows of kind "curve": coverage, risk, low, high, bound; of kind "promise": how (the model, or halves), promised,
    coverage and risk (means over draws), kept (share of draws whose risk is not above), reached (share of draws in
    which the risk could be promised)."""

    name: ClassVar[str] = "coverage"

    def picture(self) -> Picture:
        """The curve with its band, its bound, and the promises at what came true of them."""
        rows = self.chosen(kind="curve")
        x, y, low, high, bound = ([row[key] for row in rows] for key in ("coverage", "risk", "low", "high", "bound"))
        series = [
            Series("risk", x, y, COLOURS[0], band=(low, high)),
            Series(f"bound, {100 * (1 - self.settings['delta']):g} %", x, bound, PALE, style="dashed"),
        ]
        for number, row in enumerate(self.chosen(kind="promise")):
            if row["coverage"]:
                colour, name = COLOURS[(number + 1) % len(COLOURS)], f"promised {row['promised']:g}"
                series.append(Series(name, [row["coverage"]] * 2, [row["promised"], row["risk"]], colour, dots=True))
        chart = LineChart(series, "", "coverage: share of segments answered", "risk: share of these wrong")
        subtitle = f"the surest first; band: 95 % by {self.settings['unit']}"
        return Picture(f"Risk and coverage of {self.settings['chooses']}", subtitle, [chart], width=520, height=400)

    @property
    def said(self) -> str:
        """What is promised, and what came true."""
        lines = []
        for row in self.chosen(kind="promise"):
            came = (
                f"{100 * row['coverage']:.1f} % answered, {100 * row['risk']:.1f} % of these wrong; {_draws(row)}"
                if row["reached"]
                else "cannot be promised"
            )
            lines.append(f"risk {row['promised']:g} ({row['how']}): {came}")
        return "\n".join(lines)


def _draws(row: Mapping[str, Any]) -> str:
    """In how many halves something was promised, and how often the others had more."""
    if row["how"] != "halves":
        return "as promised" if row["kept"] else "more than promised"
    broken = row["reached"] * (1.0 - row["kept"])
    return f"promised in {100 * row['reached']:.0f} % of draws, and more were wrong in {100 * broken:.0f} %"


def coverage(
    corpus: NBest,
    *,
    model: SureModel = None,
    method: SureMethod = "",
    decision: SureDecision = None,
    right: Right = None,
    risks: Annotated[Sequence[float], Given("Risks to promise: NUMBER,NUMBER.", ("--risk",))] = RISKS,
    delta: Annotated[float, Given("How often a bound may fail.", least=0.0, most=1.0)] = DELTA,
    draws: Annotated[int, Given("Random halves to promise on.", least=1)] = 100,
    folds: SureFolds = 5,
    settings: SureSettings = None,
    samples: Samples = 1000,
    seed: Seed = 1,
    progress: Progress = None,
) -> Coverage:
    """The risk of the surest choices against their share, with its bound, and promised against realised risks.

        nbest study coverage dev.nbest --refs dev.ref --metric wer --right 20 --method likelihood -o coverage

    Choices as in the study calibration. Promises are made by the calibration of the model, if it has one, else on one
    half of the segments (whole groups) for the other, many times. Of the curve, the bound at each coverage is for this
    one alone; a promise counts that thresholds were looked for (`nbest.model.abstention.by_risk`).
    """
    if not risks or not all(0 < risk < 1 for risk in risks):
        raise ParameterError(f"'risks' of the study coverage must be between 0 and 1, got {list(risks)}")
    asked = Asked(model, method, decision, right, folds=folds, settings=settings, seed=seed)
    sure = sure_choices(corpus, asked, progress)
    rows = _curve(sure, delta, samples)
    if sure.known is not None:
        rows += [
            _promise("the model", [_realised(sure.known, sure.raw, sure.right, risk, delta)], risk) for risk in risks
        ]
    else:
        halves = [_half(sure, seed + number) for number in range(draws)]
        for risk in risks:
            found = [_realised(_known(sure, half), sure.raw[~half], sure.right[~half], risk, delta) for half in halves]
            rows.append(_promise("halves", found, risk))
    told = {**sure.about, "delta": delta, "draws": draws, "samples": samples}
    return Coverage(**about(corpus), settings=told, rows=tuple(rows))


def _curve(sure: Sure, delta: float, samples: int) -> list[dict[str, Any]]:
    """At up to 50 shares, equally sure choices together."""
    curve = curve_of(sure.raw, sure.right)
    wanted = np.arange(1, _POINTS + 1) / _POINTS * len(sure.raw)
    places = np.unique(np.searchsorted(curve["kept"], wanted - 1e-9))
    kept = sure.raw[:, None] >= curve["raw"][places][None]
    stats = np.stack([kept & ~sure.right[:, None], kept], axis=2).astype(np.float64)
    values, lows, highs = ratios_of(sure, stats, samples)
    counts = stats.sum(axis=0)
    bounds = risk_bound(counts[:, 0], counts[:, 1], delta, _design(sure, np.ones(len(sure.raw), bool)))
    names = ("coverage", "risk", "low", "high", "bound")
    columns = (counts[:, 1] / len(sure.raw), values, lows, highs, bounds)
    return [{"kind": "curve", **dict(zip(names, map(float, row), strict=True))} for row in zip(*columns, strict=True)]


def _design(sure: Sure, part: Bools) -> float:
    _, mine = np.unique(sure.units[part], return_inverse=True)
    return 1.0 if sure.groups is None else design_effect(sure.right[part], mine)


def _half(sure: Sure, seed: int) -> Bools:
    """[N] half of the groups."""
    number = int(sure.units.max()) + 1
    return (generator(seed).permutation(number) < number / 2)[sure.units]


def _known(sure: Sure, part: Bools) -> Confidence:
    """The curve of some segments; the map does not matter."""
    curve = curve_of(sure.raw[part], sure.right[part])
    return Confidence(
        {}, "logistic", _PLAIN, **curve, right_from=0.0, design=_design(sure, part), groups=int(sure.groups is not None)
    )


def _realised(known: Confidence, raw: Floats, right: Bools, risk: float, delta: float) -> tuple[float, float] | None:
    """Coverage and risk on other segments of the threshold that promises a risk; None where none does."""
    try:
        kept = by_risk(known, risk, delta).answers(raw, np.ones(len(raw)))
    except CapabilityError:
        return None
    return float(kept.mean()), float(1.0 - right[kept].mean()) if kept.any() else 0.0


def _promise(how: str, found: Sequence[tuple[float, float] | None], risk: float) -> dict[str, Any]:
    made = np.array([each for each in found if each is not None]).reshape(-1, 2)
    means = made.mean(axis=0).tolist() if len(made) else [0.0, 0.0]
    kept = float(np.mean(made[:, 1] <= risk)) if len(made) else None
    names = ("coverage", "risk", "kept", "reached")
    values = (*means, kept, len(made) / len(found))
    return {"kind": "promise", "how": how, "promised": risk, **dict(zip(names, values, strict=True))}
