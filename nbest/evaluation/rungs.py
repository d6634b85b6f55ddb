"""Ways of choosing as rungs of a ladder: what each reaches, how sure that is, and whether it is more than another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nbest.base.types import Floats, Ints
from nbest.compute import segments
from nbest.corpus import NBest
from nbest.corpus.metric import Metric
from nbest.evaluation.significance import by_group, interval, permutation, resampled
from nbest.model.loglinear import LogLinear

FIRST, RANDOM, SINGLE, EQUAL, ORACLE = "first", "random", "best single feature", "equal weights", "oracle"
_SINGLES = 1000  # sparse features that are tried alone, at most


@dataclass(frozen=True)
class Rung:
    """What one way of choosing reaches on each segment that has hypotheses."""

    name: str
    stats: Floats  # [N, M] of what is chosen; expected ones of a random choice
    surest: Floats | None = None  # [N] how sure it is of each segment
    learned: bool = False
    features: dict[str, int] | None = None  # that chose alone, with the number of folds in which each did


@dataclass(frozen=True, eq=False)
class Judging:
    """How rungs are judged: intervals by bootstrap, p by paired permutation tests, whole groups together."""

    metric: Metric
    groups: Sequence[str] | None  # of the segments that have hypotheses
    samples: int = 1000  # of the bootstrap
    seed: int = 12345

    @classmethod
    def of(cls, corpus: NBest, **how: int) -> Judging:
        """On lists with statistics."""
        return cls(corpus.need_metric(), groups_of(corpus), **how)

    def reached(self, rung: Rung) -> dict[str, Any]:
        """The row of a rung: its score, with the ends of the 95 % interval."""
        drawn = resampled(self.metric, by_group(rung.stats, self.groups), samples=self.samples, seed=self.seed)
        low, high = interval(drawn)
        score = float(self.metric.score(rung.stats.sum(axis=0)))
        return {"rung": rung.name, "learned": rung.learned, "score": score, "low": low, "high": high}

    def p(self, base: Rung, rung: Rung) -> float:
        """How easily chance makes two rungs as different as they are."""
        first, second = (by_group(each.stats, self.groups) for each in (base, rung))
        return permutation(self.metric, first, second, seed=self.seed).p


def groups_of(corpus: NBest) -> list[str] | None:
    """The groups of the segments that have hypotheses."""
    return None if corpus.groups is None else [corpus.groups[i] for i in np.flatnonzero(corpus.lengths > 0)]


def chosen_rung(name: str, corpus: NBest, choice: Ints, *, learned: bool = False) -> Rung:
    """What a choice [N] reaches, of the segments that have hypotheses."""
    return Rung(name, corpus.need_stats()[0][choice[corpus.lengths > 0]], learned=learned)


def random_rung(corpus: NBest) -> Rung:
    """What a random choice is expected to reach."""
    some = corpus.lengths > 0
    means = segments.sums(corpus.need_stats()[0], corpus.offsets)[some] / corpus.lengths[some, None]
    return Rung(RANDOM, means)


def best_single(train: NBest) -> LogLinear:
    """The feature, up or down if it is dense, that alone chooses best."""
    alone = [{name: sign} for name in train.feature_names for sign in (1.0, -1.0)]
    alone += [{name: 1.0} for name in train.sparse_names[:_SINGLES]]
    better = 1.0 if train.need_metric().higher_is_better else -1.0
    return max((LogLinear(each) for each in alone), key=lambda model: better * train.score(model.predict(train)))


def feature_of(single: LogLinear) -> str:
    """The feature that alone chooses, with - before it where less of it is better."""
    ((name, weight),) = single.weights.items()
    return name if weight > 0 else f"-{name}"
