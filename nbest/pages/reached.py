"""What each way of choosing reaches on a set of lists: the rows of the section "Did it help?"."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from nbest.evaluation.rungs import FIRST, ORACLE, Judging, Rung, chosen_rung, random_rung
from nbest.evaluation.significance import clustered
from nbest.model.evidence import Evidence
from nbest.model.loglinear import LogLinear
from nbest.pages.base import Judged
from nbest.studies.base import about
from nbest.studies.ladder import Ladder


@dataclass(frozen=True, eq=False)
class OnSet:
    """One set of lists: what each way of choosing reaches on it."""

    judged: Judged
    simple: Mapping[str, LogLinear]  # what needs no trainer, by name
    shared: int = 0  # segments that are also in dev, where this is not dev

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
        """One a rung: score, low, high, gain (positive is better) and p over the first hypotheses, p_model against the
        first model."""
        base = self.rungs[1]
        sign = 1.0 if self.judging.metric.higher_is_better else -1.0
        own = float(self.judging.metric.score(base.stats.sum(axis=0)))
        model = next((rung for rung in self.rungs if rung.learned), None)
        return [
            {
                **(reached := self.judging.reached(rung)),
                "gain": None if rung is base else sign * (reached["score"] - own),
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
        rows = [{key: value for key, value in row.items() if key not in ("p_model", "gain")} for row in self.rows]
        return Ladder(**about(lists), settings=how, rows=tuple(rows))
