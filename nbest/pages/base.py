"""What the pages of a report are about: sets of lists, and what models choose of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from nbest.base.types import Ints
from nbest.corpus import NBest
from nbest.decisions import corpus_oracle, first
from nbest.decisions.choose import choose
from nbest.model.loglinear import LogLinear
from nbest.report.packing import size_of
from nbest.trainers.sharpness import spread

LONGEST = 20_000
"""Characters of a text that a page keeps."""


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


def digits_of(judged: Judged) -> int:
    """Decimals with which scores of the metric are shown: more where all scores are near to each other."""
    lists = judged.lists
    width = abs(lists.score(judged.oracle) - lists.score(judged.first))
    return 2 if width > 2 else 3


def shortened(text: str) -> str:
    """A text as a page keeps it: of a very long one the beginning."""
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} … ({len(text) - LONGEST:,} more characters)"


def fitting(
    count: int, room: int, pack: Callable[[Ints], dict[str, Any]], *, most: int | None = None, order: Ints | None = None
) -> tuple[Ints, dict[str, Any]]:
    """As many of `count` segments, at most `most`, as fit into so many bytes when packed: the first of an order,
    or spread evenly; and what they are packed to."""
    wanted = count if most is None else min(count, most)
    while True:
        rows = spread(count, wanted) if order is None else np.sort(order[:wanted])
        content = pack(rows)
        size = size_of(content)
        if size <= room or wanted <= 1:
            return rows, content
        wanted = max(1, min(wanted - 1, int(wanted * 0.95 * room / size)))
