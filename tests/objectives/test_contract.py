"""Every objective keeps the contract, and the check rejects objectives that break it."""

from dataclasses import dataclass

import numpy as np
import pytest

from nbest.compute import segments
from nbest.forests.derivations import forests_of
from nbest.metrics import BLEU, make_metric
from nbest.objectives import NO_PENALTY, OBJECTIVES, CoBLEU, Likelihood, Quadratic, Shard
from nbest.objectives.cobleu import NgramShard
from nbest.objectives.risk import Risk
from nbest.testing import check_objective, toy_lists


def maker(kind, variance=2.0, scale=1.0):
    """A factory for `check_objective` with the same prior and scale for every column."""

    def make(parts):
        width = len(parts[0].feature_names) + len(parts[0].sparse_names)
        shards = [Shard(part, np.full(width, scale), part.metric.losses(part.stats)) for part in parts]
        return kind(Quadratic(np.full(width, variance))), shards

    return make


def risk(**options):
    """A factory of Risk for the metric of the lists."""

    def make(parts):
        width = len(parts[0].feature_names) + len(parts[0].sparse_names)
        shards = [Shard(part, np.ones(width), part.metric.losses(part.stats)) for part in parts]
        return Risk(parts[0].metric, penalty=Quadratic(np.full(width, 2.0)), **options), shards

    return make


def cobleu(parts):
    """CoBLEU on the lists as forests, with 2-grams so that every order matches somewhere."""
    width, metric = len(parts[0].feature_names), BLEU(tokenize="none", max_ngram_order=2)
    shards = [NgramShard.of(forests_of(part), metric, np.ones(width)) for part in parts]
    return CoBLEU(2, penalty=Quadratic(np.full(width, 2.0)), temperature=0.01, gamma=1.5), shards


FACTORIES = {"cobleu": cobleu, "likelihood": maker(Likelihood), "risk": risk()}


def test_every_objective_has_a_factory():
    assert set(FACTORIES) >= set(OBJECTIVES)


@pytest.mark.parametrize("name", FACTORIES)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_contract(name, seed):
    check_objective(FACTORIES[name], seed=seed, kinks=name == "cobleu")


@pytest.mark.parametrize("name", ["likelihood", "risk"])
def test_contract_with_sparse_features(name):
    check_objective(FACTORIES[name], toy_lists(5, sparse=True, segments_=12))


@pytest.mark.parametrize(("variance", "scale"), [(np.inf, 1.0), (0.1, 0.25)])
def test_likelihood_with_other_settings(variance, scale):
    check_objective(maker(Likelihood, variance, scale))


@pytest.mark.parametrize("metric", ["wer", "bleu", "f1"])
@pytest.mark.parametrize("options", [{"order": 1}, {"temperature": 0.5}, {"gamma": 3.0}])
def test_risk_with_other_settings(metric, options):
    check_objective(risk(**options), toy_lists(3, metric=make_metric(metric), noise=0.3, segments_=12))


class WrongSign(Likelihood):
    def gradient(self, weights, shard, credit):
        return -super().gradient(weights, shard, credit)


class NoGradient(Quadratic):
    def __call__(self, weights):
        return super().__call__(weights)[0], np.zeros_like(weights)


class NoPriorGradient(Likelihood):
    def __init__(self, penalty):
        super().__init__(NoGradient(penalty.variance))


class MeanOverSegments(Likelihood):
    """A mean within each shard: shards do not add up."""

    def moments(self, weights, shard):
        count = max(len(shard.offsets) - 1, 1)
        value = super().moments(weights, shard) / count
        shard.room["residual"] = shard.room["residual"] / count
        return value


class PriorInEveryShard(Likelihood):
    def moments(self, weights, shard):
        return super().moments(weights, shard) - PRIOR(weights)[0]

    def gradient(self, weights, shard, credit):
        return super().gradient(weights, shard, credit) + PRIOR(weights)[1]

    def __init__(self, penalty):
        super().__init__(NO_PENALTY)


PRIOR = Quadratic(2.0)


class Unnormalised(Likelihood):
    """Scores of the gold hypotheses without their normaliser."""

    def moments(self, weights, shard):
        shard.room["residual"] = -shard.gold.astype(np.float64)
        return float(shard.scores(weights)[shard.gold].sum())


class FirstIsGold(Likelihood):
    """The first hypothesis of a list takes the place of the best."""

    def moments(self, weights, shard):
        first = np.zeros(len(shard.losses), bool)
        first[shard.offsets[:-1][segments.lengths(shard.offsets) > 0]] = True
        return super().moments(weights, Fake(shard, first))

    def gradient(self, weights, shard, credit):
        return shard.weighted_sum(shard.room["residual"])


class Fake:
    """A shard with another gold set."""

    def __init__(self, shard, gold):
        self.offsets, self.room, self.scores, self.gold = shard.offsets, shard.room, shard.scores, gold


class CountsEmptyLists(Likelihood):
    def moments(self, weights, shard):
        return super().moments(weights, shard) - len(shard.offsets)


class Forgetful(Likelihood):
    calls = [0]  # noqa: RUF012

    def moments(self, weights, shard):
        self.calls[0] += 1
        return super().moments(weights, shard) + self.calls[0]


class MovesTheWeights(Likelihood):
    def moments(self, weights, shard):
        value = super().moments(weights, shard)
        weights += 1e-3
        return value


class NotFinite(Likelihood):
    def combine(self, moments):
        return np.nan, None


class PushesSingles(Likelihood):
    """Adds the score of the first hypothesis of lists of one."""

    def moments(self, weights, shard):
        value = super().moments(weights, shard)
        alone = np.repeat(segments.lengths(shard.offsets) == 1, segments.lengths(shard.offsets))
        shard.room["residual"] = shard.room["residual"] - alone
        return value + float(shard.scores(weights)[alone].sum())


@dataclass(frozen=True)
class OneThread(Likelihood):
    """Leaves the first pass in the objective and not in the shard, where another shard overwrites it."""

    def moments(self, weights, shard):
        value = super().moments(weights, shard)
        ROOM["residual"] = shard.room["residual"]
        return value

    def gradient(self, weights, shard, credit):
        kept = ROOM["residual"]
        return shard.weighted_sum(kept if len(kept) == shard.corpus.hypotheses else np.zeros(shard.corpus.hypotheses))


ROOM = {}

REASONS = {
    WrongSign: "differs from central differences",
    NoPriorGradient: "differs from central differences",
    MeanOverSegments: "shards must add up to the whole",
    PriorInEveryShard: "shards must add up to the whole",
    Unnormalised: "a constant added to the features of one segment",
    FirstIsGold: "hypotheses in another order",
    CountsEmptyLists: "empty lists are irrelevant|shards must add up",
    Forgetful: "differs when asked for again",
    MovesTheWeights: "modifies the weights",
    NotFinite: "value must be finite",
    PushesSingles: "lists of one hypothesis must add nothing|a constant added",
    OneThread: "shards must add up to the whole",
}


@pytest.mark.parametrize("broken", REASONS)
@pytest.mark.parametrize("seed", [1, 4])
def test_broken_ones_are_rejected(broken, seed):
    with pytest.raises(AssertionError, match=REASONS[broken]):
        check_objective(maker(broken), seed=seed)
