"""What more candidates are worth: the metric of the best of k by a model or a verifier, for every k."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from nbest.base.errors import ParameterError
from nbest.base.types import Floats
from nbest.corpus import NBest
from nbest.evaluation.best_of import best_of
from nbest.evaluation.significance import by_group, resampled
from nbest.model.loglinear import LogLinear
from nbest.report.charts import LineChart, Series
from nbest.report.picture import Picture
from nbest.report.svg import COLOURS, PALE
from nbest.studies.base import Progress, Study, about
from nbest.studies.keywords import Given, Samples, Seed

_ALL = 100  # sizes up to which every one is taken by default
_SHOWN = 4  # features that are shown where none is named
RANDOM, ORACLE, MODEL = "random", "oracle", "model"


@dataclass(frozen=True)
class Curve(Study):
    """Rows: series, how ("exact" or "sampled"), k, value, low and high (the 95 % interval)."""

    name: ClassVar[str] = "curve"

    def picture(self) -> Picture:
        """One line a way of choosing; grey are chance and the best there is."""
        names = list(dict.fromkeys(row["series"] for row in self.rows))
        coloured = [name for name in names if name not in (RANDOM, ORACLE)]
        colours = {name: COLOURS[number % len(COLOURS)] for number, name in enumerate(coloured)}
        series = []
        for name in names:
            rows = self.chosen(series=name)
            k, value, low, high = ([row[key] for row in rows] for key in ("k", "value", "low", "high"))
            style = {RANDOM: "dotted", ORACLE: "dashed"}.get(name, "solid")
            dots = rows[0]["how"] == "sampled"
            series.append(Series(name, k, value, colours.get(name, PALE), style=style, dots=dots, band=(low, high)))
        most = max(self.settings["sizes"])
        ticks = [(float(k), str(k)) for k in _doubling(most)]
        chart = LineChart(series, "", "k, hypotheses to choose from", self.unit, ticks, log=True)
        shorter = self.settings["shorter"]
        note = f"; all of the {shorter} lists that are shorter than {most}" if shorter else ""
        subtitle = f"expected metric of k drawn from each list{note}; bands: 95 % by {self.settings['unit']}"
        return Picture("Best of k", subtitle, [chart], width=600, height=400)


def curve(
    corpus: NBest,
    *,
    model: Annotated[LogLinear | None, Given("Model file whose choices are shown.")] = None,
    features: Annotated[
        Sequence[str] | None,
        Given("Features to choose by: NAME,NAME (default: the best 4 where there is no model).", ("--feature",)),
    ] = None,
    sizes: Annotated[Sequence[int] | None, Given("Hypotheses to choose from: N,N (default: 1 to n).")] = None,
    samples: Samples = 1000,
    seed: Seed = 1,
    progress: Progress = None,
) -> Curve:
    """The metric of the best of k hypotheses by a model or by single features, for k = 1 to n, with chance and oracle.

        nbest study curve dev.nbest --refs dev.ref --metric wer --feature lm,am -o curve

    Each curve is the expectation over all k hypotheses that can be drawn from each list (`nbest.evaluation.best_of`):
    nothing is sampled, equal scores are averaged, and the oracle is the unbiased pass@k where a hypothesis is right or
    wrong. Of metrics that are no means over segments (BLEU) it is the metric of the expected statistics. Scores are
    those of the whole lists, also where a feature looks at the other hypotheses. Of lists with fewer than k hypotheses
    all are taken. Bands are 95 % intervals by bootstrap over groups, or over segments where there are none.
    """
    stats, _ = corpus.need_stats()
    if not corpus.hypotheses:
        raise ParameterError("the study curve needs at least one hypothesis, and these lists are empty")
    sizes = sorted(set(sizes or _default_sizes(int(corpus.lengths.max()))))
    scorers = _scorers(corpus, model, features)
    rows: list[dict[str, Any]] = []
    for number, (name, scores) in enumerate(scorers.items()):
        expected = best_of(scores, stats, corpus.offsets, sizes)
        rows += _rows(corpus, name, "exact", sizes, expected, samples=samples, seed=seed)
        if progress is not None:
            progress(number + 1, len(scorers))
    if features is None and model is None:
        rows = _readable(rows, corpus)
    settings = {
        "sizes": list(sizes),
        "shorter": int((corpus.lengths < max(sizes)).sum()),
        "unit": "segment" if corpus.groups is None else "group",
        "samples": samples,
        "seed": seed,
    }
    return Curve(**about(corpus), settings=settings, rows=tuple(rows))


def _default_sizes(most: int) -> list[int]:
    """Every size up to 100, then some that grow evenly by ratio."""
    later = np.geomspace(_ALL, most, 50).round().astype(int).tolist() if most > _ALL else []
    return [*range(1, min(most, _ALL) + 1), *later]


def _doubling(most: int) -> list[int]:
    """1, 2, 4, ... and the largest size, where it is not too near to the last of them."""
    found = [2**power for power in range(most.bit_length())]
    return [k for k in found if k == 1 or 1.4 * k <= most] + ([most] if most > 1 else [])


def _scorers(corpus: NBest, model: LogLinear | None, features: Sequence[str] | None) -> dict[str, Floats]:
    """Scores [H] by the name of what gives them: chance, the model, features, and the gain itself."""
    if features is None:
        features = () if model is not None else corpus.feature_names
    clash = {RANDOM, ORACLE, MODEL}.intersection(features)
    names = {name: f"feature {name}" if name in clash else name for name in features}
    chosen = {} if model is None else {MODEL: model.scores(corpus)}
    found = {names[name]: np.asarray(corpus.column(name), np.float64) for name in features}
    return {RANDOM: np.zeros(corpus.hypotheses), **chosen, **found, ORACLE: -corpus.losses()}


def _rows(
    corpus: NBest, name: str, how: str, sizes: Sequence[int], expected: Floats, *, samples: int, seed: int
) -> list[dict[str, Any]]:
    """The score of expected statistics [N, K, M] at each size, with intervals."""
    metric = corpus.need_metric()
    grouped = by_group(expected.reshape(len(corpus), -1), corpus.groups).reshape(-1, *expected.shape[1:])
    values = metric.score(expected.sum(axis=0))
    low, high = np.percentile(resampled(metric, grouped, samples=samples, seed=seed), [2.5, 97.5], axis=0)
    columns = zip(sizes, values.tolist(), low.tolist(), high.tolist(), strict=True)
    return [
        {"series": name, "how": how, "k": k, "value": value, "low": below, "high": above}
        for k, value, below, above in columns
    ]


def _readable(rows: list[dict[str, Any]], corpus: NBest) -> list[dict[str, Any]]:
    """Without most of the features: those that are best at their best size are kept, in their order."""
    sign = 1.0 if corpus.need_metric().higher_is_better else -1.0
    tops: dict[str, float] = {}
    for row in rows:
        tops[row["series"]] = max(sign * row["value"], tops.get(row["series"], -np.inf))
    features = [name for name in tops if name not in (RANDOM, ORACLE)]
    kept = sorted(features, key=lambda name: -tops[name])[:_SHOWN]
    return [row for row in rows if row["series"] in (RANDOM, ORACLE, *kept)]
