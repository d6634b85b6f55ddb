"""Minimum error rate training by exact line search."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from nbest.base.errors import ParameterError, _known
from nbest.base.mapped import room
from nbest.base.parameters import check, parameter
from nbest.base.randomness import generator
from nbest.base.types import Bools, Floats, Ints
from nbest.compute import parallel
from nbest.corpus.contract import Corpus
from nbest.features.decorrelate import decorrelated
from nbest.lines.climbing import GAIN
from nbest.lines.forests import lines_of
from nbest.model.loglinear import LogLinear
from nbest.optimisers.result import Result
from nbest.trainers.dense.climbs import Chain, Climber, Point, axis_of, by_a_hop, climb_all, from_start, value_at
from nbest.trainers.differing import FLAT, flat
from nbest.trainers.finishing import finish
from nbest.trainers.problem import Problem, prepare
from nbest.trainers.trainer import Trainer

_ROWS = 100_000  # that are scaled together
_MOST = 10**6  # restarts, hops and so on
_HOPS = 4, 50  # of a chain where they are not given: at least and at most
_WORK = 200_000  # hypotheses times hops of a chain, where that is between these
_EDGE = 50  # hypotheses that are searched as fast as an edge
_NEAR = 1e-6  # how far from a point its ties are broken, in units of its weights

_COLLAPSED = 1.0 - 1e-6  # share of one feature in all scores at which weights count as collapsed
_SIGNS = {"+": 1.0, "-": -1.0}


@dataclass
class MERT(Trainer):
    """Maximises the corpus metric of the chosen hypotheses, which is piecewise constant, by exact line searches.

    From each start, coordinates are searched and moved along until none gains; then the best few points are
    perturbed and climbed from again, which finds better optima than as many more starts. Coordinates are the features
    and, with `axes="both"`, as many combinations of them that do not vary together within lists (`decorrelated`):
    where features are correlated, no single one gains although several together would.
    Och (2003); Smith & Eisner (2006) section 2: starts are drawn from U[-1, 1]^D.
    Differs: starts, perturbations and random directions are in units of features scaled to unit spread within lists,
    so no feature's own unit matters; `ascent="first"` takes every gain at once where the paper searches all
    coordinates and moves along the best (`ascent="best"`), 2.5 times fewer searches at equal quality; combinations of
    features (`axes="features"` is without).

    On forests a search is over all derivations: Kumar, Macherey, Dyer & Och (2009), ACL-IJCNLP 163-171. All settings
    mean the same there. Features are scaled to unit spread over all derivations; searches run one after the other, each
    with all threads, and share what they measure: some 400 ns an edge where envelopes have 50 pieces, and 100 bytes and
    a row of statistics for each derivation ever found best. Derivations with equal features and other words are told
    apart only by rounding; `result_.value` is recomputed at the end and is true.
    """

    restarts: int = parameter(10, "random starts (besides `start`, if given)", least=0, most=_MOST)
    ascent: str = parameter("first", "whether to take the first gain or the best", choices=("first", "best"))
    axes: str = parameter("both", "features, or both them and uncorrelated combinations", choices=("both", "features"))
    directions: int = parameter(
        0, "random directions, each over 2 or 3 features, tried when no coordinate gains", least=0, most=_MOST
    )
    hops: int | None = parameter(
        None, "perturbations of each of the best `elite` points (None: 4 to 50, by size)", least=0, most=_MOST
    )
    elite: int = parameter(4, "how many points are perturbed", least=1, most=_MOST)
    start: dict[str, float] | None = parameter(None, "weights to start from as well, in the features' own units")
    frozen: tuple[str, ...] = parameter((), "features that keep their weight of `start` (0 without one)")
    signs: dict[str, str] = parameter(factory=dict, help="bounds on the signs of weights", choices=tuple(_SIGNS))
    seed: int = parameter(1, "of starts, perturbations and directions")

    def fit(self, corpus: Corpus, heldout: Corpus | None = None) -> LogLinear:
        """Learn weights from lists with statistics, or from forests with a metric."""
        check(self)
        problem = prepare(corpus, "MERT", heldout)
        self._check(problem)
        self.result_ = _Search(self, problem).run()
        return finish(self, problem, self.result_, heldout, calibrate=not self.frozen)

    def _check(self, problem: Problem[Any]) -> None:
        if self.restarts == 0 and self.start is None:
            raise ParameterError("MERT needs 'restarts' >= 1 or weights to 'start' from, got neither")
        for name in (*self.frozen, *self.signs):
            if name not in problem.names:
                raise ParameterError(f"MERT is told of {name!r}, which is no feature; {_known(problem.names, name)}")
        for name, sign in self.signs.items():
            given = (self.start or {}).get(name, 0.0)
            if given * _SIGNS[sign] < 0:
                raise ParameterError(f"'start' of MERT gives {name!r} {given}, against its sign {sign!r}")


def climb(problem: Problem[Any], weights: Mapping[str, float]) -> Result:
    """Climb along coordinates from these weights until none gains; no restarts, no hops."""
    return _Search(MERT(restarts=0, hops=0, axes="features", start=dict(weights)), problem).run()


def _scaled(features: Floats, useful: Ints, scale: Floats, combined: Floats) -> Floats:
    """[rows, U + K] the useful columns over their scale, then combinations; on disk where the features are mapped."""
    out = room((len(features), sum(combined.shape)), np.float64, features)
    for low in range(0, len(features), _ROWS):
        some = features[low : low + _ROWS, useful] / scale[useful]
        out[low : low + _ROWS] = np.hstack([some, some @ combined])
    return out


class _Search:
    """One run over lists or forests. Restarts and chains of hops are independent, each with its own random stream."""

    def __init__(self, trainer: MERT, problem: Problem[Any]) -> None:
        self.trainer, self.problem = trainer, problem
        self.useful = np.flatnonzero(problem.scale > 0)
        names = [problem.names[d] for d in self.useful]
        free: Bools = np.array([name not in trainer.frozen for name in names], bool)
        signs = np.array([_SIGNS[trainer.signs[n]] if n in trainer.signs else 0.0 for n in names])
        combined = self._combined(np.flatnonzero(free & (signs == 0)))
        scaled = _scaled(problem.corpus.features, self.useful, problem.scale, combined)
        self.lines = lines_of(problem.corpus, scaled)
        self.given = problem.start(trainer.start)[self.useful]
        self.counting = free | (self.given != 0)  # a feature frozen at 0 is not meant to count
        settings = replace(trainer, progress=None, threads=None, executor=None)
        more = np.zeros(combined.shape[1])
        ours = np.append(self.given, more), np.append(free, more == 0), np.append(signs, more)
        self.climber = Climber(self.lines, settings, *ours, combined=combined)
        self.free = self.climber.free

    def _combined(self, columns: Ints) -> Floats:
        """[U, K] combinations of these of the useful features, whose weights nothing holds: as many, or none."""
        if self.trainer.axes == "features" or len(columns) < 2:
            return np.zeros((len(self.useful), 0))
        combined = np.zeros((len(self.useful), len(columns)))
        combined[columns] = decorrelated(self.problem.corpus, self.problem.scale, self.useful[columns])
        return combined

    @property
    def hops(self) -> int:
        """How many a chain makes: as many as are asked for, else by how long they take."""
        if self.trainer.hops is not None:
            return self.trainer.hops
        rows = len(self.problem.corpus.features) * (1 if self.problem.corpus.whole else _EDGE)
        return int(np.clip(_WORK // max(rows, 1), *_HOPS))

    def run(self) -> Result:
        starts = self._starts()
        hops = self.hops
        chains = min(self.trainer.elite, len(starts)) if hops else 0
        tell = parallel.counter(self.trainer.progress, len(starts) + chains * hops)
        seed, begun = self.trainer.seed, [Point(weights, -np.inf) for weights in starts]
        first = climb_all(from_start, [Chain(p, (seed, 1, i)) for i, p in enumerate(begun)], self.climber, tell)
        climbed = [chain.point for chain in first]
        order = sorted(range(len(climbed)), key=lambda i: -climbed[i].value)
        best_few = [Chain(climbed[i], (seed, 2, i)) for i in order[:chains]]
        second = climb_all(by_a_hop, best_few, self.climber, tell, steps=hops)
        self.searches = sum(chain.searches for chain in (*first, *second))
        ends = [chain.point for chain in second] or climbed
        best = max([*ends, climbed[order[0]]], key=lambda point: point.value)
        history = tuple({"start": i, "value": self.lines.sign * p.value} for i, p in enumerate(climbed))
        if self._flat(starts, [point.value for point in (*climbed, *ends)]):
            return self._unchanged(history)
        return self._result(best, history)

    def _starts(self) -> list[Floats]:
        rng = generator(self.trainer.seed, 0)
        drawn = [rng.uniform(-1.0, 1.0, len(self.useful)) for _ in range(self.trainer.restarts)]
        wanted = drawn if self.trainer.start is None else [self.given, *drawn]
        none = np.zeros(len(self.free) - len(self.useful))  # of combinations
        return [self.climber.allowed(np.append(weights, none)) for weights in wanted]

    # the end -----------------------------------------------------------------------------------------------------

    def _flat(self, starts: list[Floats], reached: list[float]) -> bool:
        """Whether several starts lead nowhere, and to the value that no weights at all have."""
        if len(starts) < 2 or not self.free.any() or max(reached) != min(reached):
            return False
        if any(value_at(self.lines, weights) != reached[0] for weights in starts):
            return False
        return flat(self.problem, self._scaled(starts[-1]), self.problem.sign * reached[0])

    def _unchanged(self, history: tuple[dict[str, float], ...]) -> Result:
        weights = np.zeros(len(self.problem.scale))
        weights[self.useful] = self.given
        return Result(
            weights, self.problem.score(weights), "flat", message=FLAT, evaluations=self.searches, history=history
        )

    def _scaled(self, weights: Floats) -> Floats:
        """Weights of all features out of those of the useful ones and of combinations."""
        scaled = np.zeros(len(self.problem.scale))
        scaled[self.useful] = self.climber.folded(weights)[: len(self.useful)]
        return scaled

    def _beside(self, weights: Floats) -> tuple[Floats, float]:
        """The best of a point and those close to it, and its value: at the point hypotheses tie or nearly so, and the
        search took another one of them than the first."""
        size = _NEAR * np.abs(weights).mean()
        steps = [sign * size * axis_of(int(d), len(self.free)) for d in np.flatnonzero(self.free) for sign in (1, -1)]
        near = [self._scaled(self.climber.allowed(each)) for each in (weights, *(weights + step for step in steps))]
        values = [self.problem.score(each) for each in near]
        best = int(np.argmax(self.problem.sign * np.array(values)))
        return near[best], values[best]

    def _result(self, best: Point, history: tuple[dict[str, float], ...]) -> Result:
        weights = self._scaled(best.weights)
        value = self.problem.score(weights)
        if self.problem.sign * value < best.value - GAIN:
            weights, value = self._beside(best.weights)
        share = np.abs(weights[self.useful]) / max(np.abs(weights).sum(), 1e-300)
        status, message = "converged", f"no coordinate gains from the best of {len(history)} starts"
        if self.counting.sum() > 1 and self.free.any() and share.max() > _COLLAPSED:
            status = "collapsed"
            name = self.problem.names[self.useful[int(share.argmax())]]
            message = f"the weights collapsed: only {name!r} counts; look at the features with nbest inspect"
        return Result(weights, value, status, message, evaluations=self.searches, history=history)
