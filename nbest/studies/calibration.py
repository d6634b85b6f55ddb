"""Whether confidence can be believed: the share of right choices against how sure they are (reliability diagram)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from nbest.base.json_values import json_value
from nbest.base.types import Floats
from nbest.corpus import NBest
from nbest.decisions.calibration import BINS, binned, calibration_errors
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

RAW, CALIBRATED = "raw", "calibrated"


@dataclass(frozen=True)
class Reliability(Study):
    """Rows of kind "bin": series (raw, calibrated), segments, confidence (mean), right (share), low, high; of kind
    "error": series, ece, brier with low and high, log_loss."""

    name: ClassVar[str] = "calibration"

    def picture(self) -> Picture:
        """Both series beside the diagonal, where confidence is what it says."""
        series = [Series("as it should be", [0.0, 1.0], [0.0, 1.0], PALE, style="dotted")]
        for number, name in enumerate((RAW, CALIBRATED)):
            rows = self.chosen(kind="bin", series=name)
            x, y, low, high = ([row[key] for row in rows] for key in ("confidence", "right", "low", "high"))
            series.append(Series(name, x, y, COLOURS[1 - number], dots=True, band=(low, high)))
        chart = LineChart(series, "", "confidence", "share of right choices")
        errors = [f"{row['series']} {row['ece']:.3f}" for row in self.chosen(kind="error")]
        subtitle = f"calibration error: {', '.join(errors)}; bands: 95 % by {self.settings['unit']}"
        return Picture(f"Calibration of {self.settings['chooses']}", subtitle, [chart], width=460, height=400)

    @property
    def said(self) -> str:
        """The errors."""
        lines = []
        for row in self.chosen(kind="error"):
            loss = "infinite" if row["log_loss"] is None else f"{row['log_loss']:.3f}"
            brier = f"{row['brier']:.3f} ({row['low']:.3f} to {row['high']:.3f})"
            lines.append(f"{row['series']}: calibration error {row['ece']:.3f}, Brier score {brier}, log loss {loss}")
        return "\n".join(lines)


def calibration(
    corpus: NBest,
    *,
    model: SureModel = None,
    method: SureMethod = "",
    decision: SureDecision = None,
    right: Right = None,
    bins: Annotated[int, Given("Bins of as many segments each.", least=2)] = BINS,
    folds: SureFolds = 5,
    settings: SureSettings = None,
    samples: Samples = 1000,
    seed: Seed = 1,
    progress: Progress = None,
) -> Reliability:
    """The share of right choices against how sure they are, raw and calibrated, with calibration errors.

        nbest study calibration dev.nbest --refs dev.ref --metric wer --right 20 --method likelihood -o calibration

    Choices are by a model that was not tuned on these lists, by models of a method that was fitted in folds, or by
    votes. A model that was calibrated is taken as it is; else the calibrated series is cross-validated. Intervals are
    by bootstrap over groups, or over segments where there are none.
    """
    asked = Asked(model, method, decision, right, folds=folds, settings=settings, seed=seed)
    sure = sure_choices(corpus, asked, progress)
    rows: list[dict[str, Any]] = []
    for name, probability in ((RAW, sure.raw), (CALIBRATED, sure.confidence)):
        rows += _bins(name, sure, probability, bins, samples)
    for name, probability in ((RAW, sure.raw), (CALIBRATED, sure.confidence)):
        squares = np.stack([(probability - sure.right) ** 2, np.ones(len(probability))], axis=1)[:, None]
        _, low, high = ratios_of(sure, squares, samples)
        errors = json_value(calibration_errors(probability, sure.right))
        rows.append({"kind": "error", "series": name, **errors, "low": float(low[0]), "high": float(high[0])})
    told = {**sure.about, "bins": bins, "samples": samples}
    return Reliability(**about(corpus), settings=told, rows=tuple(rows))


def _bins(name: str, sure: Sure, probability: Floats, bins: int, samples: int) -> list[dict[str, Any]]:
    parts = binned(probability, bins)
    stats = np.zeros((len(probability), len(parts), 2))
    for number, part in enumerate(parts):
        stats[part, number, 0], stats[part, number, 1] = sure.right[part], 1.0
    values, lows, highs = ratios_of(sure, stats, samples)
    return [
        {
            "kind": "bin",
            "series": name,
            "segments": len(part),
            "confidence": float(probability[part].mean()),
            "right": float(value),
            "low": float(low),
            "high": float(high),
        }
        for part, value, low, high in zip(parts, values, lows, highs, strict=True)
    ]
