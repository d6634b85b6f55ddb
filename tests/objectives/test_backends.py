"""Backends keep the contract: a plain NumPy twin gives the same numbers, and broken ones are rejected."""

from collections import Counter
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pytest

from nbest.base.errors import CapabilityError, ParameterError
from nbest.objectives import BACKENDS, Risk, Shard
from nbest.objectives.backends import NUMBA, NumbaBackend, computing_with
from nbest.testing import check_backend, toy_lists
from nbest.trainers import MERT, MinRisk, SoftBLEU
from tests.objectives.numpy_backend import NumpyBackend


@pytest.mark.parametrize("name", BACKENDS)
def test_contract(name):
    if name == "cuda":
        pytest.skip("has tests of its own, tests/cuda")
    check_backend(BACKENDS[name])


@pytest.mark.parametrize("seed", [1, 2])
def test_a_plain_twin_gives_the_same_numbers(seed):
    check_backend(NumpyBackend(), seed=seed)


def test_a_backend_takes_shards_it_knows():
    class Odd:
        room = {}  # noqa: RUF012

    with pytest.raises(CapabilityError, match="shards of lists or forests, got Odd"):
        NUMBA.posterior(Odd())


def test_the_backend_of_an_objective_is_all_that_computes(monkeypatch):
    """With another backend injected, no kernel of the default one runs."""
    monkeypatch.setattr(type(NUMBA), "_laid_out", lambda *_: pytest.fail("the default backend was asked"))
    corpus = toy_lists(2)
    found = Risk(corpus.metric, backend=NumpyBackend()).moments(np.ones(3), risk_shard(corpus))
    assert np.isfinite(found.mean).all()


def risk_shard(corpus):
    return Shard(corpus, np.ones(3), np.zeros(corpus.hypotheses))


class NoTemperature(NumpyBackend):
    def feature_sum(self, shard, credit, pairs, *, temperature, gamma, start=None):
        return super().feature_sum(shard, credit, pairs, temperature=0.0, gamma=gamma, start=start)


class NoStart(NumpyBackend):
    def feature_sum(self, shard, credit, pairs, *, temperature, gamma, start=None):
        return super().feature_sum(shard, credit, pairs, temperature=temperature, gamma=gamma)


class Coarse(NumpyBackend):
    def scores(self, shard, weights):
        return super().scores(shard, weights).astype(np.float32).astype(np.float64)


class NoCovariance(NumpyBackend):
    def posteriors(self, shard, weights, gamma, pairs):
        return super().posteriors(shard, weights, gamma, pairs[:0])


class Unscaled(NumpyBackend):
    def weighted_sum(self, shard, amounts):
        return super().weighted_sum(shard, amounts) * shard.scale


class MovesWeights(NumpyBackend):
    def scores(self, shard, weights):
        found = super().scores(shard, weights)
        weights += 1e-3
        return found


class OneRoom(NumpyBackend):
    """Keeps the arrays of the first shard for all of them."""

    def __init__(self):
        self.kept = {}

    def rows(self, shard):
        return self.kept.setdefault("rows", super().rows(shard))


class Drifting(NumpyBackend):
    calls = 0

    def posteriors(self, shard, weights, gamma, pairs):
        self.calls += 1
        found = super().posteriors(shard, weights, gamma, pairs)
        return replace(found, entropy=found.entropy + 1e-12 * self.calls)


REASONS = {
    NoTemperature: "Risk has the gradient",
    NoStart: "CoBLEU has the gradient",
    Coarse: "Likelihood has the",
    NoCovariance: "Risk has the value",
    Unscaled: "Likelihood has the gradient",
    MovesWeights: "modifies the weights",
    OneRoom: "has the|operands|mismatch|shape",
    Drifting: "differs when asked for again",
}


@pytest.mark.parametrize("broken", REASONS)
def test_broken_ones_are_rejected(broken):
    with pytest.raises((AssertionError, ValueError, IndexError), match=REASONS[broken]):
        check_backend(broken())


class Counting(NumbaBackend):
    """Counts what it is asked for."""

    asked: ClassVar[Counter[str]] = Counter()

    def posteriors(self, *arguments: Any, **options: Any) -> Any:
        self.asked["posteriors"] += 1
        return super().posteriors(*arguments, **options)

    def log_likelihood(self, *arguments: Any, **options: Any) -> Any:
        self.asked["log_likelihood"] += 1
        return super().log_likelihood(*arguments, **options)


@pytest.mark.filterwarnings("ignore::nbest.base.errors.ConvergenceWarning")
@pytest.mark.parametrize(
    ("trainer", "pass_"), [(MinRisk, "posteriors"), (SoftBLEU, "posteriors"), (MERT, "log_likelihood")]
)
def test_trainers_compute_with_what_is_current(trainer: type, pass_: str) -> None:
    corpus = toy_lists(1)
    plain = trainer().fit(corpus)
    Counting.asked.clear()
    with computing_with(Counting()):
        model = trainer().fit(corpus)
    assert Counting.asked[pass_] > 1, "calibration and objectives ask it, also on other threads"
    assert model.weights == plain.weights
    with pytest.raises(ParameterError, match="did you mean 'numba'"), computing_with("numbaa"):
        pass
