"""What the pages of a report are about: sets of lists, and what models choose of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from nbest.base.types import Ints
from nbest.corpus import NBest
from nbest.decisions import corpus_oracle, first
from nbest.decisions.choose import choose
from nbest.model.loglinear import LogLinear


@dataclass(frozen=True, eq=False)
class Judged:
    """A set of lists with statistics, and what is chosen of it: flat places, -1 where a list is empty."""

    name: str  # dev, held-out or test
    lists: NBest
    models: Mapping[str, LogLinear]  # by the name that is shown; the first is the one that the report is about

    @cached_property
    def first(self) -> Ints:
        """The first hypotheses."""
        return first(None, self.lists)

    @cached_property
    def oracle(self) -> Ints:
        """The best that could be chosen."""
        return corpus_oracle(self.lists)

    @cached_property
    def chosen(self) -> dict[str, Ints]:
        """What each model chooses, by its own decision."""
        return {name: choose(model, self.lists).chosen for name, model in self.models.items()}


@dataclass(frozen=True, eq=False)
class Subject:
    """All that a report of lists shows: dev first, then held-out and test lists where there are some."""

    sets: tuple[Judged, ...]
    models: Mapping[str, LogLinear]
    made_by: str = ""  # the command, to be run again
    seed: int = 1

    @property
    def dev(self) -> Judged:
        """The lists that models were tuned on."""
        return self.sets[0]
