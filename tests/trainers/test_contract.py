"""Every trainer keeps the contract, and the check rejects trainers that break it."""

from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from nbest.base.errors import CapabilityError
from nbest.compute import parallel
from nbest.compute.executors import Threads, using
from nbest.metrics import BLEU
from nbest.model.loglinear import LogLinear
from nbest.optimisers.result import Result
from nbest.testing import check_trainer, toy_lists
from nbest.trainers import TRAINERS, MaxLikelihood

METRIC = {"cobleu": BLEU(tokenize="none", max_ngram_order=2)}
"""Trainers that take one metric only."""

FEATURELESS = {"lowdim", "vote"}
"""Trainers that make a feature of their own, and need no other."""


@pytest.mark.parametrize("name", TRAINERS)
@pytest.mark.parametrize("seed", [1, 2])
def test_contract(name, seed):
    check_trainer(TRAINERS[name], seed=seed, metric=METRIC.get(name), featureless=name in FEATURELESS)


@pytest.mark.parametrize("name", TRAINERS)
@pytest.mark.filterwarnings("ignore::nbest.base.errors.ConvergenceWarning")
def test_all_of_a_fit_runs_on_the_threads_of_the_trainer(name, monkeypatch):
    """Also what comes before and after the search: scales, calibration, sharpness, scores."""
    lists = toy_lists(1, metric=METRIC.get(name))
    monkeypatch.setattr(parallel, "_idle", lambda *_: pytest.fail("another thread was asked"))
    monkeypatch.setattr("os.fork", lambda: pytest.fail("another process was asked"))
    with using(Threads(3)):
        TRAINERS[name](threads=1).fit(lists)


OPTIONS = [
    ("mert", {"ascent": "best", "hops": 0}),
    ("mert", {"restarts": 3, "directions": 5, "seed": 7}),
    ("grid", {"points": 9, "limit": 10, "base": "second"}),
    ("likelihood", {"variance": float("inf")}),
    ("likelihood", {"variance": {"first": 0.5}}),
    ("cobleu", {"schedule": "temperature"}),
    ("cobleu", {"schedule": "gamma"}),
    ("lowdim", {"kind": "generative", "k": 3, "tau": 0.5}),
    ("lowdim", {"kind": "discriminative", "k": 5, "rounds": 3}),
]


@pytest.mark.parametrize(("name", "options"), OPTIONS)
def test_contract_with_options(name, options):
    check_trainer(TRAINERS[name], metric=METRIC.get(name), featureless=name in FEATURELESS, **options)


@dataclass
class Good(MaxLikelihood):
    """What the broken ones below are made from."""

    def fit(self, corpus, heldout=None):
        if heldout is not None:
            heldout.need_stats()
        return super().fit(corpus, heldout)


class MovesFeatures(Good):
    def fit(self, corpus, heldout=None):
        model = super().fit(corpus, heldout)
        object.__setattr__(corpus, "features", corpus.features + 1)
        return model


class ForgetsHeldout(Good):
    def fit(self, corpus, heldout=None):
        model = super().fit(corpus, heldout)
        return replace(model, scores_={"dev": model.scores_["dev"]})


class NoResult(Good):
    def fit(self, corpus, heldout=None):
        model = super().fit(corpus, heldout)
        self.result_ = None
        return model


class OddStatus(Good):
    def fit(self, corpus, heldout=None):
        model = super().fit(corpus, heldout)
        self.result_ = replace(self.result_, status="FALLBACK")
        return model


class Silent(Good):
    def fit(self, corpus, heldout=None):
        model = super().fit(corpus, heldout)
        self.result_ = replace(self.result_, message="")
        return model


class Drifting(Good):
    """Starts where it ended the last time."""

    def fit(self, corpus, heldout=None):
        before = getattr(self, "count_", 0)
        self.count_ = before + 1
        model = super().fit(corpus, heldout)
        return replace(model, weights={name: weight * (1 + before) for name, weight in model.weights.items()})


class TakesOrder(Good):
    """Prefers what stands first in a list."""

    def fit(self, corpus, heldout=None):
        model = super().fit(corpus, heldout)
        place = np.arange(corpus.hypotheses) - np.repeat(corpus.offsets[:-1], corpus.lengths)
        flip = -1.0 if (place * corpus.features[:, 0]).sum() > 0 else 1.0
        model = replace(model, weights={**model.weights, "third": model.weights["third"] + 9 * flip})
        return replace(
            model, scores_={"dev": corpus.score(model.predict(corpus))} | ({"heldout": 0} if heldout else {})
        )


class UnitDependent(Good):
    """The same weights whatever the units."""

    def fit(self, corpus, heldout=None):
        super().fit(corpus, heldout)
        weights = {name: 1.0 if name in ("first", "second") else 0.0 for name in corpus.feature_names}
        model = LogLinear(weights, metric="WER", trainer={"name": "UnitDependent"})
        scores = {"dev": corpus.score(model.predict(corpus))}
        if heldout is not None:
            scores["heldout"] = heldout.score(model.predict(heldout))
        return replace(model, scores_=scores)


class UselessWeights(Good):
    def fit(self, corpus, heldout=None):
        model = super().fit(corpus, heldout)
        more = {name: 1.0 for name in corpus.feature_names if name in ("zero", "constant")}
        return replace(model, weights={**model.weights, **more})


class LearnsNothing(Good):
    """The worst hypotheses."""

    def fit(self, corpus, heldout=None):
        model = super().fit(corpus, heldout)
        model = replace(model, weights={name: -weight for name, weight in model.weights.items()})
        scores = {"dev": corpus.score(model.predict(corpus))}
        if heldout is not None:
            scores["heldout"] = heldout.score(model.predict(heldout))
        return replace(model, scores_=scores)


class TakesAnything(Good):
    def fit(self, corpus, heldout=None):
        try:
            return super().fit(corpus, heldout)
        except CapabilityError:
            self.result_ = Result(np.zeros(0), 0.0, "converged", "nothing to do")
            return LogLinear({})


class InventsWeights(Good):
    def fit(self, corpus, heldout=None):
        try:
            return super().fit(corpus, heldout)
        except CapabilityError as error:
            if "the same loss" not in str(error):
                raise
        stats = corpus.stats.copy()
        stats[:, 0] = np.arange(len(stats))
        return super().fit(replace(corpus, stats=stats), heldout)


class RefusesTooLate(Good):
    def fit(self, corpus, heldout=None):
        super().fit(corpus)
        return super().fit(corpus, heldout)


class WrongDevScore(Good):
    def fit(self, corpus, heldout=None):
        model = super().fit(corpus, heldout)
        return replace(model, scores_={name: score + 1 for name, score in model.scores_.items()})


class Nameless(Good):
    def fit(self, corpus, heldout=None):
        return replace(super().fit(corpus, heldout), trainer={})


class LosesWeights(Good):
    def fit(self, corpus, heldout=None):
        model = super().fit(corpus, heldout)
        weights = dict(model.weights)
        weights.pop("third")
        return replace(model, weights=weights)


class Crashes(Good):
    def fit(self, corpus, heldout=None):
        return super().fit(corpus, heldout).weights["zero"]


@dataclass
class Coerces(Good):
    """Makes text of a keyword."""

    def __post_init__(self):
        self.iterations = str(self.iterations)


@dataclass
class ChecksTooEarly(Good):
    def __post_init__(self):
        if not self.iterations > 0:
            raise ValueError("iterations")


@dataclass
class ChangesItsSettings(Good):
    def fit(self, corpus, heldout=None):
        model = super().fit(corpus, heldout)
        self.iterations += 1
        return model


@dataclass
class ThreadDependent(Good):
    threads: int | None = field(default=None)

    def fit(self, corpus, heldout=None):
        model = super().fit(corpus, heldout)
        factor = 1 + 1e-15 * (self.threads or 1)
        return replace(model, weights={name: weight * factor for name, weight in model.weights.items()})


@dataclass
class HidesItsSeed(Good):
    seed: int = 1

    @property
    def random(self):
        return False

    def fit(self, corpus, heldout=None):
        model = super().fit(corpus, heldout)
        return replace(model, weights={name: weight * self.seed for name, weight in model.weights.items()})


class CannotBeSaved(Good):
    def fit(self, corpus, heldout=None):
        return Unsaved(**vars(super().fit(corpus, heldout)))


class Unsaved(LogLinear):
    """A model that rounds what it saves."""

    def save(self, path):
        rounded = {name: round(weight, 3) for name, weight in self.weights.items()}
        LogLinear(rounded, scores_=self.scores_, seed=self.seed).save(path)


REASONS = {
    MovesFeatures: "fit modifies the lists",
    ForgetsHeldout: "must keep its heldout score",
    NoResult: "fit must leave a result_",
    OddStatus: "the status of result_ must be one of",
    Silent: "the message of result_ must not be empty",
    Drifting: "fit twice differs from fit once",
    TakesOrder: "hypotheses in another order|must keep its heldout score",
    UnitDependent: "in other units",
    UselessWeights: "a feature that never differs within a list must get weight 0",
    LearnsNothing: "the model scores",
    TakesAnything: "must be refused with a CapabilityError",
    InventsWeights: "lists of equal losses must be refused with a CapabilityError",
    RefusesTooLate: "held-out lists without statistics must be refused before the training",
    WrongDevScore: "must keep its dev score",
    Nameless: "the model must name its trainer",
    LosesWeights: "every feature must have a weight",
    Crashes: "check_result: KeyError",
    Coerces: "the keyword 'iterations' must be stored as given",
    ChecksTooEarly: "check_settings: TypeError",
    ChangesItsSettings: "fit modifies the setting 'iterations'",
    ThreadDependent: "the weights depend on the number of threads",
    HidesItsSeed: "the weights depend on the seed, and the trainer says that it is not random",
    CannotBeSaved: "a saved model scores differently",
}


def test_the_good_one_passes():
    check_trainer(Good)


def test_every_broken_one_has_a_reason():
    assert set(REASONS) == set(Good.__subclasses__())


@pytest.mark.parametrize("broken", REASONS)
def test_broken_ones_are_rejected(broken):
    with pytest.raises(AssertionError, match=REASONS[broken]):
        check_trainer(broken)
