"""The default method: many fits, averaged by how often each is the best on lists that it was not fitted to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from nbest.base.errors import CapabilityError
from nbest.base.parameters import check, parameter
from nbest.base.types import Floats, Ints
from nbest.corpus import NBest
from nbest.corpus.ballots import pooled
from nbest.corpus.contract import Corpus, are_lists, need_corpus, signature_of
from nbest.decisions.arguments import normalisation_of
from nbest.decisions.chosen import score_of
from nbest.decisions.onebest import first
from nbest.decisions.vote import votes_of
from nbest.features.recipes import with_recipes
from nbest.metrics.paired import resampled
from nbest.model.equal import equal_weights
from nbest.model.loglinear import LogLinear
from nbest.optimisers.result import Result
from nbest.trainers.crossfit import Crossed, crossed
from nbest.trainers.deciding import AUTO, decided
from nbest.trainers.dense.averaged import DRAWS, Averaged, units_of
from nbest.trainers.dense.fits import Fits
from nbest.trainers.dense.risk import MinRisk
from nbest.trainers.dense.vote import decision_by, differing, with_answered
from nbest.trainers.finishing import calibrated, finished, warn_unless_converged
from nbest.trainers.problem import Problem, prepare
from nbest.trainers.trainer import Trainer

_SURE = 2.0  # standard errors by which what is not learned must be better, to be taken
_REPEATED = 0.9  # answers for each vote, at most, where votes are counted


@dataclass
class Auto(Trainer):
    """Averages fits of likelihood, risk and soft metric, by how often each is the best on lists left out of it.

    Fits are of likelihood under priors around 0 and around the base model, of risk under temperatures, and of the
    metric of expected statistics under priors: each a path from strong regularisation to almost none. All are fitted in
    folds (whole groups together). Left-out segments are drawn with replacement again and again, and the share of the
    draws in which a fit is the best by the metric of its choices is its weight in the average, in which sizes of
    weights add up to 1 in units of features scaled to unit spread; each fit is itself averaged over all lists and over
    folds. So nothing jumps where two fits are about as good, and few lists give a model that is near to all good ones.
    The base model are the weights `start`, or those that make the first hypotheses likely; if these choose the first
    in 9 of 10 lists, or were given, the average leans to them by the share of draws in which they are better than what
    was learned. Where the first hypotheses themselves or equal weights are better on left-out lists by two standard
    errors, they are taken.

    Where lists have answers that hypotheses share, the same is done with answers, which have the sums of their voters'
    features, and if it is better on left-out lists the model votes. By which decision it chooses is settled on left-out
    lists in the end, as `nbest tune` does. Held-out lists count as left out. `crossed_` has
    what models chose of lists that they were not fitted to, their fits weighed by the other folds; `result_.history`
    has the fits with their left-out scores and shares. Metrics without a smooth formula have the fits of likelihood
    only. Of many lists some are fitted in folds. Forests: `MinRisk`.
    """

    folds: int = parameter(5, "parts of the lists, each left out once", least=2)
    repeats: int = parameter(2, "how often they are parted anew; of more than 500 segments once", least=1)
    seed: int = parameter(1, "of the folds and draws")
    start: dict[str, float] | None = parameter(None, "weights of the base model, in the features' own units")
    decision: str | Mapping[str, Any] | None = parameter(
        AUTO, "how the model chooses; auto is settled on lists left out, None: 1-best or votes", public=False
    )

    def fit(self, corpus: Corpus, heldout: Corpus | None = None) -> LogLinear:
        """Learn weights from lists with statistics; of forests as minimum risk does."""
        check(self)
        need_corpus("Auto", "corpus", corpus)
        self.crossed_ = None
        if not are_lists(corpus):
            return MinRisk(start=self.start, seed=self.seed, progress=self.progress).fit(corpus, heldout)
        ways = [_Way(corpus, prepare(corpus, "Auto", heldout, sparse=True), heldout), *_by_votes(corpus, heldout)]
        found = [Averaged(self, way.fits(self.start), way.heldout) for way in ways]
        best, weights, status = 0, found[0].weights, "converged"
        if found[0].folds > 1:
            left_out = [way.crossed(each) for way, each in zip(ways, found, strict=True)]
            best = int(np.argmax([ways[0].problem.sign * corpus.score(each.chosen) for each in left_out]))
            weights, self.crossed_ = found[best].weights, left_out[best]
            better = _unlearned(ways[0].problem, self.crossed_.chosen, self.seed)
        else:
            better = None
        if better is None:
            message = f"averaged over {int((found[best].shares > 0).sum())} of {len(found[best].names)} fits"
        else:
            best, (name, weights) = 0, better
            status, message = "kept", f"{name} are better on left-out lists and are kept"
            self.crossed_ = crossed([ways[0].model(weights, calibrate=True)] * found[0].folds, corpus, found[0].fold)
        way, history = ways[best], tuple(row for each in found for row in each.history())
        model = way.model(weights, calibrate=True)
        self.result_ = Result(weights, score_of(way.lists, model), status, message=message, history=history)
        warn_unless_converged(self, self.result_)
        model = finished(self, model, way.lists, None if heldout is None else _as(heldout, way))
        if self.crossed_ is not None:
            self.crossed_ = self.crossed_.at(model.gamma)
        return decided(model, self.decision, corpus, heldout, crossed=self.crossed_)


@dataclass(frozen=True)
class _Way:
    """One way to choose: the best hypothesis, or the answer with the best votes."""

    lists: NBest  # that are chosen of
    problem: Problem[NBest]  # what weights are fitted to: the same lists, or their answers
    heldout: Corpus | None  # likewise
    decision: Mapping[str, Any] = field(default_factory=dict)

    def fits(self, start: dict[str, float] | None) -> Fits:
        """The fits, votes alone among them where they count."""
        return Fits.of(self.problem, start, alone="answered" if self.decision else None)

    def model(self, weights: Floats, *, calibrate: bool = False) -> LogLinear:
        """The model of these weights; calibrated ones are such that posteriors are fair."""
        model = calibrated(self.problem, weights) if calibrate and weights.any() else self.problem.model(weights)
        return replace(model, decision=dict(self.decision), features=with_recipes(self.lists.recipes, model.features))

    def crossed(self, found: Averaged) -> Crossed:
        """What models chose of lists that they were not fitted to; they are as sharp as that of all lists."""
        sharp = _size(self.model(found.weights, calibrate=True)) / _size(self.model(found.weights))
        return crossed([self.model(sharp * each) for each in found.models], self.lists, found.fold)


def _size(model: LogLinear) -> float:
    return sum(map(abs, model.weights.values())) or 1.0


def _by_votes(corpus: NBest, heldout: Corpus | None) -> Iterator[_Way]:
    """The way by votes, where lists have answers and hypotheses share them."""
    if corpus.answers is None:
        return
    how = normalisation_of(signature_of(corpus))
    votes = votes_of(corpus, how)
    if votes.size > _REPEATED * len(votes.voters):
        return
    lists = with_answered(corpus)
    try:
        problem = prepare(pooled(lists, votes), "Auto", sparse=True)
    except CapabilityError:
        return
    problem = replace(problem, scale=np.where(differing(lists), problem.scale, 0.0))
    other = None
    if are_lists(heldout) and heldout.answers is not None:
        held = with_answered(heldout)
        other = pooled(held, votes_of(held, how))
    yield _Way(lists, problem, other, decision_by(how))


def _as(heldout: Corpus, way: _Way) -> Corpus:
    """Held-out lists with the columns of this way to choose."""
    return with_answered(heldout) if way.decision and are_lists(heldout) else heldout


def _unlearned(problem: Problem[NBest], chosen: Ints, seed: int) -> tuple[str, Floats] | None:
    """The first hypotheses or equal weights, where they are better on left-out lists than what was learned."""
    lists, equal = problem.corpus, equal_weights(problem.corpus)
    others: dict[str, tuple[Ints, Floats]] = {}
    others["the first hypotheses"] = first(None, lists), np.zeros(len(problem.names))
    if equal is not None:
        others["equal weights"] = equal.predict(lists), problem.start(equal.weights)
    filled = np.flatnonzero(chosen >= 0)
    choices = np.stack([chosen, *(choice for choice, _ in others.values())], axis=1)[filled]
    stats = units_of(lists, filled, lists.need_stats()[0][choices].astype(np.float64))
    drawn = problem.sign * resampled(problem.metric, stats, samples=DRAWS, seed=seed)
    scores = problem.sign * problem.metric.score(stats.sum(axis=0))
    behind, error = scores[1:] - scores[0], (drawn[:, 1:] - drawn[:, :1]).std(axis=0)
    best = int(behind.argmax())
    if not behind[best] > _SURE * error[best]:
        return None
    name, (_, weights) = list(others.items())[best]
    return name, weights
