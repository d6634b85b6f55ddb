"""Semirings keep their laws, and the two kernels sum over all derivations."""

from typing import NamedTuple

import numpy as np
import pytest

from nbest.corpus import Forests
from nbest.forests.posteriors import posteriors
from nbest.forests.semirings import SEMIRINGS, Counting, Log, Real, inside, totals
from nbest.testing import check_semiring
from nbest.testing.forests import toy_forests


def lift(kind):
    def make(corpus, rng):
        scores = rng.normal(0.0, 2.0, corpus.edges)
        scores[rng.random(corpus.edges) < 0.1] = -np.inf
        values = [rng.normal(size=corpus.edges) for _ in range(2)]
        wanted = {"Expectation": 1, "Covariance": 2}.get(kind.__name__, 0)
        return kind.lift(scores, *values[:wanted])

    return make


@pytest.mark.parametrize("name", SEMIRINGS)
def test_contract(name):
    kind = SEMIRINGS[name]
    check_semiring(kind(), lift(kind))


class NoZero(NamedTuple):
    """Its zero is one."""

    tag: int = 0
    zero, one = staticmethod(Real.one), staticmethod(Real.one)
    plus, times = staticmethod(Real.plus), staticmethod(Real.times)


class Average(NamedTuple):
    """Not associative."""

    tag: int = 0
    zero, one, times = staticmethod(Real.zero), staticmethod(Real.one), staticmethod(Real.times)

    @staticmethod
    def plus(a, b):
        return ((a[0] + b[0]) / 2.0,)


@pytest.mark.parametrize("broken", [NoZero, Average])
def test_contract_rejects_what_is_no_semiring(broken):
    with pytest.raises(AssertionError):
        check_semiring(broken(), lambda corpus, rng: np.exp(rng.normal(size=(corpus.edges, 1))))


class Wrong(NamedTuple):
    """Keeps the laws on the elements of edges, and yet counts a derivation's edges wrongly: no product of one."""

    tag: int = 0
    zero, plus, times = staticmethod(Real.zero), staticmethod(Real.plus), staticmethod(Real.times)

    @staticmethod
    def one():
        return (2.0,)


def test_contract_rejects_a_wrong_one():
    with pytest.raises(AssertionError):
        check_semiring(Wrong(), lambda corpus, rng: np.exp(rng.normal(size=(corpus.edges, 1))))


def test_a_semiring_of_ones_own():
    class Least(NamedTuple):
        tag: int = 0

        @staticmethod
        def zero():
            return (np.inf,)

        @staticmethod
        def one():
            return (0.0,)

        @staticmethod
        def plus(a, b):
            return (min(a[0], b[0]),)

        @staticmethod
        def times(a, b):
            return (a[0] + b[0],)

    check_semiring(Least(), lambda corpus, rng: rng.normal(size=(corpus.edges, 1)), forests=5)


def doubling(depth):
    """A forest with 2^(2^depth) derivations: each node is used twice by the next."""
    tails = np.repeat(np.arange(depth), 2)
    edges = np.array([2, *[1] * depth])
    return Forests(
        node_offsets=np.array([0, depth + 1]),
        edge_offsets=np.concatenate([[0], np.cumsum(edges)]),
        tail_offsets=np.array([0, 0, 0, *np.arange(2, 2 * depth + 1, 2)]),
        tails=tails,
        features=np.zeros((depth + 2, 1)),
        feature_names=("f",),
        ids=("0",),
    )


def test_more_derivations_than_real_numbers_hold():
    forests = doubling(12)  # 2^4096
    scores = np.zeros(forests.edges)
    assert totals(Counting(), forests, Counting.lift(scores))[0, 0] == np.inf
    expected = 4096 * np.log(2.0)
    assert totals(Log(), forests, Log.lift(scores))[0, 0] == pytest.approx(expected)
    found = posteriors(forests, scores)
    assert found.log_z[0] == pytest.approx(expected)
    assert found.entropy[0] == pytest.approx(expected)
    assert found.edges[:2] == pytest.approx([2048.0, 2048.0])


def test_counts_are_exact():
    forests = doubling(5)
    assert inside(Counting(), forests, Counting.lift(np.zeros(forests.edges)))[:, 0].tolist() == [
        2.0 ** (2.0**k) for k in range(6)
    ]


@pytest.mark.parametrize("seed", range(5))
def test_log_agrees_with_the_fast_kernel(seed):
    forests = toy_forests(seed, tails=4)
    scores = np.random.default_rng(seed).normal(0.0, 3.0, forests.edges)
    slow = totals(Log(), forests, Log.lift(scores))[:, 0]
    np.testing.assert_allclose(posteriors(forests, scores).log_z, slow, rtol=1e-12)
