"""What more candidates are worth: the metric of what is chosen of k by a model, a verifier or a vote, for every k."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from nbest.base.errors import ParameterError
from nbest.base.types import Floats
from nbest.corpus import NBest
from nbest.decisions import needs_model, takes
from nbest.decisions.choose import decision_of
from nbest.evaluation.best_of import best_of, doubling, sizes_up_to
from nbest.evaluation.drawn import decided
from nbest.evaluation.significance import by_group, interval, resampled
from nbest.model.loglinear import LogLinear
from nbest.report.charts import LineChart, Series
from nbest.report.page import Column, Table
from nbest.report.picture import Picture
from nbest.report.svg import COLOURS, INK, PALE
from nbest.studies.base import Progress, Study, about, counted
from nbest.studies.keywords import Given, Orders, Samples, Seed

_SHOWN = 4  # features that are shown where none is named
_VOTES = ("vote", "best-of-majority")  # decisions that are shown where none is named
RANDOM, ORACLE, MODEL = "random", "oracle", "model"

_SIZES = 10  # of the table; of more those that double


@dataclass(frozen=True)
class Curve(Study):
    """Rows: series; by (what scores, null: nothing); decision; how ("exact", "sampled"); k, value, low, high (95 %)."""

    name: ClassVar[str] = "curve"

    def picture(self) -> Picture:
        """One line a way of choosing, of one colour where the same scores choose; grey are chance and the oracle."""
        names = list(dict.fromkeys(row["series"] for row in self.rows))
        scoring = [by for by in dict.fromkeys(row["by"] for row in self.rows) if by not in (RANDOM, ORACLE, None)]
        colours = {by: COLOURS[number % len(COLOURS)] for number, by in enumerate(scoring)} | {None: INK}
        styles = {RANDOM: "dotted", ORACLE: "dashed", "1best": "solid", "vote": "dashed"}
        series = []
        for name in names:
            rows = self.chosen(series=name)
            k, value, low, high = ([row[key] for row in rows] for key in ("k", "value", "low", "high"))
            by, style = rows[0]["by"], styles.get(rows[0]["decision"], "dotted")
            dots = rows[0]["how"] == "sampled"
            series.append(Series(name, k, value, colours.get(by, PALE), style=style, dots=dots, band=(low, high)))
        most = max(self.settings["sizes"])
        ticks = [(float(k), str(k)) for k in doubling(most)]
        chart = LineChart(series, "", "k, hypotheses to choose from", self.unit, ticks, log=True)
        shorter = self.settings["shorter"]
        note = f"; {shorter} lists are shorter than {most}" if shorter else ""
        subtitle = f"k drawn from each list (lines with dots: {self.settings['orders']} times, others: exact){note}"
        return Picture(
            "Best of k", f"{subtitle}; bands: 95 % by {self.settings['unit']}", [chart], width=600, height=400
        )

    @property
    def said(self) -> str:
        """A table: what each way of choosing reaches with few and with all hypotheses."""
        known = {(row["series"], row["k"]): row["value"] for row in self.rows}
        names, sizes = dict.fromkeys(row["series"] for row in self.rows), self.settings["sizes"]
        ks = sorted(sizes if len(sizes) <= _SIZES else {*doubling(max(sizes))} & {*sizes})
        number = ".4f" if max(map(abs, known.values())) <= 1 else ".2f"
        heads = [Column("best of k"), *(Column(str(k), number) for k in ks)]
        rows = [[name, *(known.get((name, k)) for k in ks)] for name in names]
        return Table(heads, rows, caption=self.metric).render("markdown").rstrip()


def curve(
    corpus: NBest,
    *,
    model: Annotated[LogLinear | None, Given("Model file whose choices are shown.")] = None,
    features: Annotated[
        Sequence[str] | None,
        Given("Features to choose by: NAME,NAME (default: the best 4 where there is no model).", ("--feature",)),
    ] = None,
    decisions: Annotated[
        Sequence[str] | None,
        Given("Decisions to sample: NAME,NAME (default: vote, best-of-majority and the model's).", ("--decision",)),
    ] = None,
    sizes: Annotated[Sequence[int] | None, Given("Hypotheses to choose from: N,N (default: 1 to n).")] = None,
    orders: Orders = 20,
    samples: Samples = 1000,
    seed: Seed = 1,
    progress: Progress = None,
) -> Curve:
    """The metric of the best of k hypotheses by a model or by single features, for k = 1 to n, with votes and oracle.

        nbest study curve dev.nbest --refs dev.ref --metric wer --feature lm,am -o curve

    The best score, chance and the oracle are expectations over all k hypotheses that can be drawn from each list
    (`nbest.evaluation.best_of`): nothing is sampled, equal scores are averaged, and the oracle is the unbiased pass@k
    where a hypothesis is right or wrong. Decisions look at more than one hypothesis and are sampled
    (`nbest.evaluation.drawn`): those that need no model also without one, those with a sharpness only with a model.
    Of metrics that are no means over segments (BLEU) it is the metric of the expected statistics. Scores are those of
    the whole lists, also where a feature looks at the other hypotheses. Of lists with fewer than k hypotheses all are
    taken. Bands are 95 % intervals by bootstrap over groups, or over segments where there are none.
    """
    if not corpus.hypotheses:
        raise ParameterError("the study curve needs at least one hypothesis, and these lists are empty")
    corpus = corpus if model is None else model.answered(corpus)
    few = sorted(set(sizes or doubling(int(corpus.lengths.max()))))
    sizes = sorted(set(sizes or sizes_up_to(int(corpus.lengths.max()))))
    scorers = _scorers(corpus, model, features)
    ways = list(_ways(corpus, model, features or (), _decisions(corpus, model, decisions)))
    rows: list[dict[str, Any]] = []
    told = counted(progress, len(scorers) + len(ways))
    for by, scores in scorers.items():
        expected = best_of(scores, corpus.need_stats()[0], corpus.offsets, sizes)
        kind = by if by in (RANDOM, ORACLE) else "1best"
        about_it = {"series": by, "by": by, "decision": kind, "how": "exact"}
        rows += _rows(corpus, about_it, sizes, expected, samples=samples, seed=seed)
        told()
    if features is None and model is None:
        rows = _readable(rows, corpus)
    for about_it, scorer, decision in ways:
        expected = decided(corpus, scorer, decision, few, orders=orders, seed=seed)
        rows += _rows(corpus, about_it, few, expected, samples=samples, seed=seed)
        told()
    settings = {
        "sizes": list(sizes),
        "shorter": int((corpus.lengths < max(sizes)).sum()),
        "unit": "segment" if corpus.groups is None else "group",
        "orders": orders,
        "samples": samples,
        "seed": seed,
    }
    return Curve(**about(corpus), settings=settings, rows=tuple(rows))


def _decisions(corpus: NBest, model: LogLinear | None, given: Sequence[str] | None) -> list[dict[str, Any]]:
    """What is said, else votes where there is something to compare; of the model's own decision with its options."""
    own = decision_of(model or LogLinear({}))
    kinds = given
    if kinds is None:
        kinds = () if corpus.compared is None else (*_VOTES, *{str(own["kind"])}.difference(_VOTES, {"1best"}))
    return [own if kind == own["kind"] else decision_of(model or LogLinear({}), kind) for kind in kinds]


def _ways(
    corpus: NBest, model: LogLinear | None, features: Sequence[str], decisions: Sequence[Mapping[str, Any]]
) -> Iterator[tuple[dict[str, Any], LogLinear | None, Mapping[str, Any]]]:
    """What is sampled: what a row says of it, the scores and the decision."""
    for decision in decisions:
        kind = str(decision["kind"])
        scoring: dict[str | None, LogLinear | None] = {} if needs_model(kind) else {None: None}
        if model is not None:
            scoring[MODEL] = model
        if needs_model(kind) and not takes(kind, "gamma"):
            scoring |= {_shown(name): LogLinear({name: 1.0}) for name in features}
        for by, scorer in scoring.items():
            name = kind if by is None else f"{by}, {kind}"
            yield {"series": name, "by": by, "decision": kind, "how": "sampled"}, scorer, decision


def _shown(feature: str) -> str:
    """The name of the curve of a feature, which is none of the other curves."""
    return f"feature {feature}" if feature in (RANDOM, ORACLE, MODEL) else feature


def _scorers(corpus: NBest, model: LogLinear | None, features: Sequence[str] | None) -> dict[str, Floats]:
    """Scores [H] by the name of what gives them: chance, the model, features, and the gain itself."""
    if features is None:
        features = () if model is not None else corpus.feature_names
    chosen = {} if model is None else {MODEL: model.scores(corpus)}
    found = {_shown(name): np.asarray(corpus.column(name), np.float64) for name in features}
    return {RANDOM: np.zeros(corpus.hypotheses), **chosen, **found, ORACLE: -corpus.losses()}


def _rows(
    corpus: NBest, about_it: Mapping[str, Any], sizes: Sequence[int], expected: Floats, *, samples: int, seed: int
) -> list[dict[str, Any]]:
    """The score of expected statistics [N, K, M] at each size, with intervals."""
    metric = corpus.need_metric()
    values = metric.score(expected.sum(axis=0))
    low, high = interval(resampled(metric, by_group(expected, corpus.groups), samples=samples, seed=seed))
    columns = zip(sizes, values.tolist(), low, high, strict=True)
    return [{**about_it, "k": k, "value": value, "low": below, "high": above} for k, value, below, above in columns]


def _readable(rows: list[dict[str, Any]], corpus: NBest) -> list[dict[str, Any]]:
    """Without most of the features: those that are best at their best size are kept, in their order."""
    sign = 1.0 if corpus.need_metric().higher_is_better else -1.0
    tops: dict[str, float] = {}
    for row in rows:
        tops[row["series"]] = max(sign * row["value"], tops.get(row["series"], -np.inf))
    features = [name for name in tops if name not in (RANDOM, ORACLE)]
    kept = sorted(features, key=lambda name: -tops[name])[:_SHOWN]
    return [row for row in rows if row["series"] in (RANDOM, ORACLE, *kept)]
