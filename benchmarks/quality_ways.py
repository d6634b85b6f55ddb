"""Ways to choose that are compared: methods of nbest as `nbest tune` names them, simple choices, and peers."""

from __future__ import annotations

import shlex
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

import nbest
from benchmarks.quality_peers import PEERS
from nbest.base.errors import ConvergenceWarning
from nbest.base.parameters import parameters_of
from nbest.base.types import Ints
from nbest.cli.further import refuse_rest, separate, take
from nbest.cli.tune import Tune
from nbest.decisions import first
from nbest.decisions.choose import choose
from nbest.features import within_scale

Chooser = Callable[[nbest.NBest], Ints]
"""Flat choices of lists, -1 of an empty one."""


class Way(Protocol):
    """One row of the comparison."""

    @property
    def seeded(self) -> bool:
        """Whether the seed matters."""
        ...

    @property
    def cost(self) -> float:
        """Times that of a cheap one, roughly."""
        ...

    def fit(self, dev: nbest.NBest, seed: int) -> Chooser:
        """Learn on lists with statistics; what it cannot is a `NbestError`."""
        ...


@dataclass(frozen=True)
class Tuned:
    """What `nbest tune --method WORDS` does."""

    words: str  # "risk --folds 5"
    cost: float = 1.0

    @property
    def kind(self) -> type:
        """The trainer."""
        return nbest.TRAINERS.look_up(self.words.split()[0])

    @property
    def seeded(self) -> bool:
        """Whether the trainer has a seed."""
        return "seed" in parameters_of(self.kind)

    def fit(self, dev: nbest.NBest, seed: int) -> Chooser:
        """The whole pipeline, on one thread."""
        _, given = separate(shlex.split(self.words))
        around = {"decision": "auto"} | {name: given.pop(name) for name in ("add", "decision") if name in given}
        settings: dict[str, Any] = {"seed": seed} if self.seeded else {}
        settings |= take(self.kind, given)
        refuse_rest(given, self.kind, own=Tune)
        pipeline = nbest.Pipeline(trainer=self.kind(**settings, threads=1), **around)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = pipeline.fit(dev)
        return lambda lists: choose(model, lists).chosen


@dataclass(frozen=True)
class FirstHypothesis:
    """What the lists have first: not tuned at all."""

    seeded: bool = False
    cost: float = 0.1

    def fit(self, dev: nbest.NBest, seed: int) -> Chooser:
        """Nothing is learned."""
        return lambda lists: first(None, lists)


@dataclass(frozen=True)
class EqualWeights:
    """One for each dense feature, in units of its spread within the lists of dev."""

    seeded: bool = False
    cost: float = 0.1

    def fit(self, dev: nbest.NBest, seed: int) -> Chooser:
        """Only spreads are learned."""
        spread = within_scale(dev)
        weights = np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 0)
        model = nbest.LogLinear(dict(zip(dev.feature_names, weights.tolist(), strict=True)), dense=dev.feature_names)
        return model.predict


_METHODS = {
    "risk": 1.0, "risk --folds 5": 5.0, "likelihood": 1.0, "softbleu": 1.0, "mert": 5.0, "pro": 1.0, "mira": 1.0,
    "perceptron": 1.0, "vote": 3.0, "msr2": 1.0, "boosting": 1.0, "grid": 5.0, "random": 5.0,
}  # fmt: skip
"""How long each takes, roughly."""

DEFAULT = str(parameters_of(Tune)["method"].default)
"""What `nbest tune` does."""

OURS: dict[str, Way] = {
    "first": FirstHypothesis(),
    "equal": EqualWeights(),
    **{words: Tuned(words, cost) for words, cost in {DEFAULT: 5.0, **_METHODS}.items()},
}
WAYS: dict[str, Way] = {**OURS, **PEERS}
"""All that are compared, by name."""


def ways_of(names: list[str]) -> list[str]:
    """Names with `ours` and `peers` written out; one that is not known is taken for words of `nbest tune --method`."""
    groups = {"ours": list(OURS), "peers": list(PEERS), "all": list(WAYS)}
    found = [each for name in names for each in groups.get(name, [name])]
    for name in found:
        if name not in WAYS:
            nbest.TRAINERS.look_up(name.split()[0])
            WAYS[name] = Tuned(name)
    return list(dict.fromkeys(found))
