"""The section "Did it help?": first, equal, tuned and best choices of every set, and the ladder of the last."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from nbest.corpus import NBest
from nbest.evaluation.overlap import shared_segments
from nbest.evaluation.rungs import (
    EQUAL,
    FIRST,
    ORACLE,
    RANDOM,
    SINGLE,
    Judging,
    Rung,
    best_single,
    chosen_rung,
    random_rung,
)
from nbest.evaluation.significance import clustered
from nbest.model.equal import equal_weights
from nbest.model.evidence import Evidence
from nbest.model.loglinear import LogLinear
from nbest.pages.base import Judged, Subject
from nbest.pages.verdicts import keeps_first, words
from nbest.report import Column, Page, Table
from nbest.report.page import probability, telling
from nbest.studies.base import about
from nbest.studies.ladder import Ladder

FLATTERING = (
    "Scores of the lists that were tuned on are flattering: give test lists (--test), or tune with --validate 5, to "
    "know what the model is worth."
)
_OTHER = 0.005  # difference of scores from which on lists are not those that a model was tuned on


def helped(subject: Subject) -> Page:
    """What choices are worth on each set, whether tuning helped, and how far up the ladder it gets."""
    found = [_OnSet(judged, _simple(subject.dev.lists, single=False)) for judged in subject.sets[:-1]]
    found.append(_OnSet(subject.sets[-1], _simple(subject.dev.lists, single=True)))
    ladder = found[-1].ladder()
    picture = ladder.figure("ladder", f"The ladder on the {subject.sets[-1].name} lists")
    return Page("Did it help?", [*_verdicts(subject, found), _table(found), picture, ladder.table()])


def _simple(dev: NBest, *, single: bool) -> dict[str, LogLinear]:
    """What needs no trainer, found on dev: the best single feature where it is asked for, and equal weights."""
    found = {SINGLE: best_single(dev) if single and dev.names else None, EQUAL: equal_weights(dev)}
    return {name: each for name, each in found.items() if each is not None}


@dataclass(frozen=True, eq=False)
class _OnSet:
    """One set of lists: what each way of choosing reaches on it."""

    judged: Judged
    simple: Mapping[str, LogLinear]

    @cached_property
    def judging(self) -> Judging:
        return Judging.of(self.judged.lists)

    @cached_property
    def rungs(self) -> list[Rung]:
        """From chance up to the best."""
        lists = self.judged.lists
        fixed = [chosen_rung(name, lists, each.predict(lists)) for name, each in self.simple.items()]
        tuned = [chosen_rung(name, lists, choice, learned=True) for name, choice in self.judged.chosen.items()]
        own = chosen_rung(FIRST, lists, self.judged.first)
        return [random_rung(lists), own, *fixed, *tuned, chosen_rung(ORACLE, lists, self.judged.oracle)]

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """One a rung: score, low, high, p against the first hypotheses, p_model against the first model."""
        base = self.rungs[1]
        model = next((rung for rung in self.rungs if rung.learned), None)
        return [
            {
                **self.judging.reached(rung),
                "p": None if rung is base else self.judging.p(base, rung),
                "p_model": self._against_model(model, rung),
            }
            for rung in self.rungs
        ]

    def _against_model(self, model: Rung | None, rung: Rung) -> float | None:
        """Of other models."""
        return None if model is None or not rung.learned or rung is model else self.judging.p(model, rung)

    def row(self, name: str, *, learned: bool = False) -> dict[str, Any]:
        """That of a rung; a model may have the name of another one."""
        return next(row for row in self.rows if row["rung"] == name and row["learned"] == learned)

    def evidence(self, model: str) -> Evidence:
        """What the set tells of a model."""
        own, first, groups = self.row(model, learned=True), self.row(FIRST), self.judging.groups
        return Evidence(
            how=f"{self.judged.name} lists",
            segments=len(self.rungs[0].stats),
            groups=0 if groups is None else len(set(groups)),
            tuned=own["score"],
            low=own["low"],
            high=own["high"],
            oracle=self.row(ORACLE)["score"],
            higher_is_better=self.judging.metric.higher_is_better,
            first=first["score"],
            p=own["p"],
        )

    def ladder(self) -> Ladder:
        """All rungs as the study shows them."""
        name, lists = self.judged.name, self.judged.lists
        how: dict[str, Any] = {"against": FIRST, "how": f"learned on dev, chosen of the {name} lists", "refused": {}}
        how |= {"unit": "segment" if lists.groups is None else "group", "clustered": clustered(self.judging.groups)}
        rows = [{key: value for key, value in row.items() if key != "p_model"} for row in self.rows]
        return Ladder(**about(lists), settings=how, rows=tuple(rows))


def _table(found: Sequence[_OnSet]) -> Table:
    rows = [(each.judged.name, row) for each in found for row in each.rows]
    shown = [(name, row) for name, row in rows if row["learned"] or row["rung"] not in (RANDOM, SINGLE)]
    models = list(found[0].judged.models)
    form = telling(row["score"] for _, row in shown)
    columns = [
        Column("lists"), Column("choice", align="left"), Column("score", form), Column("95 % from", form),
        Column("to", form), Column("p against first", probability),
    ]  # fmt: skip
    keys = ["rung", "score", "low", "high", "p"]
    if len(models) > 1:
        columns.append(Column(f"p against {models[0]}", probability))
        keys.append("p_model")
    metric = about(found[0].judged.lists)
    better = "higher is better" if metric["higher_is_better"] else "lower is better"
    notes = [
        "95 %: by bootstrap; p: paired permutation tests, 10,000 samples.",
        *(f"{each.judged.name}: {text}." for each in found if (text := clustered(each.judging.groups))),
        *(f"{each.judged.name}: {lost}." for each in found if (lost := _empty(each.judged))),
    ]
    cells = [[name, *(row[key] for key in keys)] for name, row in shown]
    return Table(columns, cells, caption=f"{metric['metric']} ({better})", notes=notes)


def _empty(judged: Judged) -> str:
    """How many lists nothing could be chosen of."""
    empty = int(np.count_nonzero(judged.lists.lengths == 0))
    return f"{empty} of {len(judged.lists)} segments have no hypotheses and are left out" if empty else ""


def _verdicts(subject: Subject, found: Sequence[_OnSet]) -> Iterator[str]:
    """What is known of each model, from the lists that tell most: test, held-out, those left out in folds, dev."""
    for name, model in subject.models.items():
        known = found[-1].evidence(name) if len(found) > 1 else model.validation
        before = f"{name}: " if len(subject.models) > 1 else ""
        said = _on_dev(found[0].evidence(name)) if known is None else words(known, kept=keeps_first(model))[0]
        yield f"{before or said[:1].upper()}{said if before else said[1:]}."
        yield from _other_lists(before, model, found[0].row(name, learned=True)["score"], subject.dev)
    if len(found) == 1 and any(model.validation is None for model in subject.models.values()):
        yield FLATTERING
    for each in subject.sets[1:]:
        shared = shared_segments(each.lists, subject.dev.lists)
        if shared:
            yield f"{shared} of {len(each.lists)} {each.name} segments are also in dev: their scores are not honest."


def _on_dev(known: Evidence) -> str:
    """What the lists that were tuned on say, which is no verdict."""
    form = telling((known.tuned, known.first))
    return (
        f"whether tuning helps on other lists is not known; on those that it was tuned on it has {known.tuned:{form}} "
        f"against {known.first:{form}} of the first hypotheses"
    )


def _other_lists(before: str, model: LogLinear, score: float, dev: Judged) -> Iterator[str]:
    """A word where the lists that are called dev do not seem to be those that a model was tuned on."""
    said = model.scores_.get("dev")
    if said is None or abs(said - score) <= _OTHER or model.metric != about(dev.lists)["metric"]:
        return
    form = telling((said, score))
    yield (
        f"{before}The model file says {said:{form}} on the lists that it was tuned on, and on these it has "
        f"{score:{form}}: they may be other lists."
    )
