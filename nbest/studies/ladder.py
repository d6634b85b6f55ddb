"""The ladder: what is gained by each way of choosing, from the first hypothesis up to the oracle."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, ClassVar

import numpy as np

from nbest.base.errors import CapabilityError, ParameterError
from nbest.corpus import NBest
from nbest.corpus.contract import signature_of
from nbest.corpus.grouping import units
from nbest.decisions import first, vote
from nbest.decisions.arguments import normalisation_of
from nbest.decisions.choose import decision_of
from nbest.decisions.confidence import answer_probabilities, of_chosen
from nbest.decisions.oracle import corpus_oracle
from nbest.decisions.vote import votes_of
from nbest.evaluation.rungs import (
    EQUAL,
    FIRST,
    ORACLE,
    SINGLE,
    Judging,
    Rung,
    best_single,
    chosen_rung,
    feature_of,
    random_rung,
)
from nbest.evaluation.significance import clustered
from nbest.model.equal import equal_weights
from nbest.model.loglinear import LogLinear
from nbest.report.charts import DotChart
from nbest.report.page import Column, Table, probability
from nbest.report.picture import Picture
from nbest.report.svg import COLOURS, PALE
from nbest.studies.base import Progress, Study, about, build, counting_failures, within
from nbest.studies.keywords import FurtherSettings, Given, Samples, Seed
from nbest.trainers.crossfit import Crossed, crossfit
from nbest.trainers.pipeline import Pipeline

PLURALITY = "plurality"
COVERAGES = (0.8, 0.5)
_NAMED = 3  # best single features that a table names


@dataclass(frozen=True)
class Ladder(Study):
    """Rows: rung, score, low, high (95 %), p (against one of the rungs); score_80, score_50: of the surest segments;
    features: of the best single feature, which were best, with the number of folds (- before one: less is better)."""

    name: ClassVar[str] = "ladder"

    def picture(self) -> Picture:
        """A dot with its interval for each rung; learned ones are coloured, and the line is what p is against."""
        learned = {row["rung"] for row in self.rows if row["learned"]}
        dots = [
            (_called(row), row["score"], row["low"], row["high"], COLOURS[0] if row["rung"] in learned else PALE)
            for row in self.rows
        ]
        rule = next(row["score"] for row in self.rows if row["rung"] == self.settings["against"])
        chart = DotChart(dots, "", self.unit, "", rule)
        subtitle = f"{self.settings['how']}; 95 % by {self.settings['unit']}"
        return Picture("Ladder", subtitle, [chart], width=460, height=24.0 * len(dots) + 20)

    def table(self) -> Table:
        """The rows to read."""
        number = ".3f" if max(abs(row["score"]) for row in self.rows) < 10 else ".2f"
        columns = [
            Column("rung"), Column(self.unit, number), Column("95 % from", number), Column("to", number),
            Column(f"p against {self.settings['against']}", probability),
        ]  # fmt: skip
        keys = ["score", "low", "high", "p"]
        if "score_80" in self.rows[0]:
            columns += [Column("80 % surest", number), Column("50 %", number)]
            keys += ["score_80", "score_50"]
        notes = [f"{name} is left out: {why}" for name, why in self.settings["refused"].items()]
        notes += [self.settings["clustered"]] if self.settings["clustered"] else []
        return Table(columns, [[_called(row), *(row[key] for key in keys)] for row in self.rows], notes=notes)

    @property
    def said(self) -> str:
        """The table."""
        return self.table().render("markdown").rstrip()


def _called(row: Mapping[str, Any]) -> str:
    """The name of a rung; that of the best single feature says which it is, in how many folds where these differ."""
    features = row.get("features")
    if not features:
        return str(row["rung"])
    names = sorted(features, key=lambda name: -features[name])
    folds = [f"{name} in {features[name]}" for name in names[:_NAMED]]
    told = names if len(names) == 1 else [f"{folds[0]} folds", *folds[1:], *(["..."] if names[_NAMED:] else [])]
    return f"{row['rung']} ({', '.join(told)})"


def ladder(
    corpus: NBest,
    *,
    methods: Annotated[
        Sequence[str], Given("Methods of nbest tune, or METHOD/DECISION: NAME,NAME (risk/vote, risk/consensus).")
    ] = ("auto", "likelihood", "vote"),
    add: Annotated[str | None, Given("Features to add before learning: agreement:metric=exact, ...")] = None,
    folds: Annotated[int, Given("Parts of the lists: each is left out once.", least=2)] = 10,
    against: Annotated[str, Given("The rung that others are tested against.")] = FIRST,
    settings: Annotated[
        Mapping[str, Mapping[str, Any]] | None, FurtherSettings("methods", "--variance 0.1, --restarts 5")
    ] = None,
    samples: Samples = 1000,
    seed: Seed = 1,
    threads: int | None = None,
    progress: Progress = None,
) -> Ladder:
    """First, random, plurality, best single feature, equal weights, learned and oracle choices of the same lists.

        nbest study ladder dev.nbest --refs dev.ref --metric wer --methods risk,likelihood --folds 5 -o ladder

    What is learned, the best single feature too, is learned without the part of the lists that it chooses of; groups
    stay together. A method that these lists are not for is left out, and said. Equal weights are of dense features
    divided by their spread within lists. Intervals are by bootstrap and p by a paired permutation test, over groups
    where lists have some. `score_80` and `score_50` are the metric of the 80 and 50 % of the segments whose answers are
    most probable: what abstaining on the others would give.
    """
    corpus.need_stats()
    corpus = corpus.select(np.flatnonzero(corpus.lengths > 0))
    rungs = list(_fixed(corpus))
    folds = min(folds, int(units(corpus).max(initial=-1)) + 1)
    refused: dict[str, str] = {}
    wanted = [*([SINGLE] if corpus.names else []), *methods]
    _check(methods, [*(rung.name for rung in rungs), *wanted, ORACLE], against)
    with counting_failures("runs"):
        for number, name in enumerate(wanted):
            told = within(progress, number, len(wanted))
            fit = best_single if name == SINGLE else partial(_fitted, name, settings or {}, add, (seed, threads))
            try:
                found = crossfit(fit, corpus, folds=folds, seed=seed, progress=told)
            except CapabilityError as error:
                refused[name] = str(error)
                continue
            rungs.append(_rung(corpus, name, found, learned=name != SINGLE))
    if methods and len(refused) == len(methods):
        raise CapabilityError(next(iter(refused.values())))
    rungs.append(chosen_rung(ORACLE, corpus, corpus_oracle(corpus)))
    if against not in [rung.name for rung in rungs]:
        raise CapabilityError(f"nothing can be tested against {against}: {refused.get(against, 'it was left out')}")
    how: dict[str, Any] = {"methods": list(methods), "add": add, "folds": folds, "against": against}
    how |= {"samples": samples, "seed": seed, "refused": refused}
    how |= {"how": f"learned in {folds} folds, chosen of the one left out"}
    how |= {"unit": "segment" if corpus.groups is None else "group", "clustered": clustered(corpus.groups)}
    return Ladder(**about(corpus), settings=how, rows=tuple(_rows(corpus, rungs, against, samples, seed)))


def _check(methods: Sequence[str], rungs: Sequence[str], against: str) -> None:
    """Complain of unknown names before the work."""
    for name in methods:
        method, _, decision = name.partition("/")
        build(method)
        decision_of(LogLinear({}), decision or None)
    if against not in rungs:
        raise ParameterError(f"'against' must be one of {', '.join(rungs)}, got {against!r}")


def _fixed(corpus: NBest) -> Iterator[Rung]:
    """What needs no learning."""
    stats, _ = corpus.need_stats()
    yield chosen_rung(FIRST, corpus, first(None, corpus))
    yield random_rung(corpus)
    how = normalisation_of(signature_of(corpus))
    if corpus.compared is not None and (votes_of(corpus, how).votes > 1).any():
        chosen = vote(None, corpus, normalize=how)
        sure = answer_probabilities(None, corpus, {"kind": "vote", "normalize": how})
        yield Rung(PLURALITY, stats[chosen], of_chosen(sure, chosen))
    equal = equal_weights(corpus)
    if equal is not None:
        yield chosen_rung(EQUAL, corpus, equal.predict(corpus))


def _fitted(
    name: str, settings: Mapping[str, Any], add: str | None, common: tuple[int, int | None], train: NBest
) -> LogLinear:
    """The model of a method, with the decision that is said after a slash."""
    method, _, decision = name.partition("/")
    seed, threads = common
    trainer = build(method, settings.get(name, settings.get(method)), seed=seed, threads=threads)
    model = Pipeline(trainer=trainer, add=add).fit(train)
    return replace(model, decision=decision_of(model, decision)) if decision else model


def _rung(corpus: NBest, name: str, found: Crossed, *, learned: bool) -> Rung:
    surest = found.probability if corpus.compared is not None and learned else None
    rung = Rung(name, corpus.need_stats()[0][found.chosen], surest, learned)
    if name != SINGLE:
        return rung
    return replace(rung, features=dict(Counter(feature_of(model) for model in found.models if model is not None)))


def _rows(corpus: NBest, rungs: Sequence[Rung], against: str, samples: int, seed: int) -> Iterator[dict[str, Any]]:
    judging = Judging.of(corpus, samples=samples, seed=seed)
    base = next(rung for rung in rungs if rung.name == against)
    for rung in rungs:
        yield {
            **judging.reached(rung),
            "p": None if rung is base else judging.p(base, rung),
            **{f"score_{share * 100:.0f}": _covered(rung, share, judging.metric) for share in COVERAGES},
            "features": rung.features,
        }


def _covered(rung: Rung, share: float, metric: Any) -> float | None:
    """The metric of this share of the segments, the surest first."""
    if rung.surest is None:
        return None
    kept = np.argsort(-rung.surest, kind="stable")[: max(1, round(share * len(rung.surest)))]
    return float(metric.score(rung.stats[kept].sum(axis=0)))
