"""Reductions over offsets equal plain loops, empty segments and -inf included."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbest.compute import segments

INF = math.inf
items = st.lists(
    st.lists(st.one_of(st.integers(-3, 3).map(float), st.just(-INF), st.floats(-1e3, 1e3)), max_size=5), max_size=6
)


def flat(groups):
    offsets = segments.offsets_of(np.array([len(group) for group in groups], np.int64))
    return np.array([value for group in groups for value in group], np.float64), offsets


def log_sum(group):
    finite = [value for value in group if value > -INF]
    top = max(finite, default=-INF)
    return top + math.log(sum(math.exp(value - top) for value in finite)) if finite else -INF


@settings(deadline=None, max_examples=200)
@given(items)
def test_against_loops(groups):
    values, offsets = flat(groups)
    finite = np.where(np.isinf(values), 0.0, values)
    plain = [[0.0 if value == -INF else value for value in group] for group in groups]
    assert segments.lengths(offsets).tolist() == [len(group) for group in groups]
    assert segments.owners(offsets).tolist() == [i for i, group in enumerate(groups) for _ in group]
    np.testing.assert_allclose(segments.sums(finite, offsets), [math.fsum(g) for g in plain], atol=1e-9)
    assert segments.maxima(values, offsets).tolist() == [max(group, default=-INF) for group in groups]
    firsts = [offsets[i] + group.index(max(group)) if group else -1 for i, group in enumerate(groups)]
    assert segments.argmax(values, offsets).tolist() == firsts
    sums = [log_sum(group) for group in groups]
    np.testing.assert_allclose(segments.logsumexp(values, offsets), sums, rtol=1e-12, atol=1e-12)
    probabilities = [
        math.exp(v - total) if total > -INF else 0.0 for group, total in zip(groups, sums, strict=True) for v in group
    ]
    np.testing.assert_allclose(segments.softmax(values, offsets), probabilities, rtol=1e-9, atol=1e-12)
    places = [sorted(range(len(g)), key=lambda k: (-g[k], k)).index(k) for g in groups for k in range(len(g))]
    assert segments.ranks(values, offsets).tolist() == places


@settings(deadline=None, max_examples=50)
@given(items, st.integers(0, 3))
def test_columns_are_reduced_one_by_one(groups, width):
    values, offsets = flat(groups)
    finite = np.where(np.isinf(values), 0.0, values)
    table = np.stack([finite * d for d in range(width)], axis=1) if width else np.zeros((len(values), 0))
    for reduce in (segments.sums, segments.maxima):
        found = reduce(table, offsets)
        assert found.shape == (len(groups), width)
        for d in range(width):
            np.testing.assert_allclose(found[:, d], reduce(table[:, d], offsets), rtol=1e-12)


@pytest.mark.parametrize("count", [0, 1, 3])
def test_nothing_but_empty_segments(count):
    offsets, values = np.zeros(count + 1, np.int64), np.zeros(0)
    assert segments.sums(values, offsets).tolist() == [0.0] * count
    assert segments.maxima(values, offsets).tolist() == [-INF] * count
    assert segments.logsumexp(values, offsets).tolist() == [-INF] * count
    assert segments.argmax(values, offsets).tolist() == [-1] * count
    assert segments.softmax(values, offsets).tolist() == []
    assert segments.ranks(values, offsets).tolist() == []


def test_huge_and_tiny_values():
    values, offsets = np.array([1e308, 1e308, -1e308, 1e-320]), np.array([0, 2, 2, 4])
    assert segments.softmax(values, offsets).tolist() == [0.5, 0.5, 0.0, 1.0]
    assert segments.logsumexp(values, offsets)[1] == -INF


def test_whole_numbers_and_single_precision():
    offsets = np.array([0, 2, 2, 3])
    assert segments.sums(np.array([1, 2, 3]), offsets).tolist() == [3.0, 0.0, 3.0]
    assert segments.sums(np.array([True, True, False]), offsets).tolist() == [2.0, 0.0, 0.0]
    thirds = np.full(3, 1 / 3, np.float32)
    assert segments.sums(thirds, offsets).dtype == np.float64
    assert segments.sums(thirds, offsets)[0] == 2 * float(np.float32(1 / 3))


def test_deviation_is_around_the_means_of_segments() -> None:
    values, offsets = np.array([1.0, 3.0, 10.0, 5.0, 5.0]), np.array([0, 2, 2, 3, 5])
    assert segments.deviation(values, offsets) == pytest.approx(np.sqrt((1 + 1) / 5))
    assert segments.deviation(np.zeros(0), np.array([0, 0])) == 0.0
