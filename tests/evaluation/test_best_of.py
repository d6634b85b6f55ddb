"""The best of k against all subsets in all orders, and against pass@k."""

from __future__ import annotations

from itertools import combinations, permutations
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbest.base.errors import ParameterError
from nbest.base.types import Floats
from nbest.compute import segments
from nbest.evaluation.best_of import best_of, rank_shares


def enumerated(scores: Floats, values: Floats, k: int) -> Floats:
    """The mean over all subsets of k, and over all orders of each, of the first of the best."""
    found = [
        values[max(order, key=lambda h: scores[h])]
        for subset in combinations(range(len(scores)), min(k, len(scores)))
        for order in permutations(subset)
    ]
    return np.asarray(np.mean(found, axis=0))


@settings(max_examples=25)
@given(st.lists(st.lists(st.integers(0, 2), max_size=5), min_size=1, max_size=4), st.integers(0, 99))
def test_all_subsets_in_all_orders(lists: list[list[int]], seed: int) -> None:
    offsets = segments.offsets_of(np.array([len(each) for each in lists]))
    scores = np.array([score for each in lists for score in each], np.float64)
    values = np.random.default_rng(seed).normal(size=(len(scores), 2))
    found = best_of(scores, values, offsets, range(1, 7))
    for number, (low, high) in enumerate(zip(offsets[:-1], offsets[1:], strict=True)):
        for k in range(1, 7):
            wanted = enumerated(scores[low:high], values[low:high], k) if high > low else np.zeros(2)
            np.testing.assert_allclose(found[number, k - 1], wanted, atol=1e-12)


@pytest.mark.parametrize(("count", "right"), [(1, 0), (1, 1), (7, 3), (100, 1), (100, 97)])
def test_the_oracle_is_pass_at_k(count: int, right: int) -> None:
    gains = np.repeat([1.0, 0.0], [right, count - right])
    found = best_of(gains, gains[:, None], np.array([0, count]), range(1, count + 1))
    wanted = [1 - comb(count - right, k) / comb(count, k) for k in range(1, count + 1)]
    np.testing.assert_allclose(found[0, :, 0], wanted, rtol=1e-12, atol=1e-15)


def test_shares_of_thousands_are_exact() -> None:
    from fractions import Fraction

    count, sizes = 3000, (1, 2, 77, 1500, 2999, 3000)
    found = rank_shares(count, sizes)
    for row, k in zip(found, sizes, strict=True):
        for i in (0, 1, 5, 500, 2923, 2999):
            wanted = float(Fraction(comb(count - 1 - i, k - 1), comb(count, k)))
            assert row[i] == pytest.approx(wanted, rel=1e-11, abs=1e-300)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)


def test_sizes_are_checked() -> None:
    for sizes in ([], [0, 1]):
        with pytest.raises(ParameterError, match="'sizes' of best_of"):
            best_of(np.zeros(1), np.zeros((1, 1)), np.array([0, 1]), sizes)
