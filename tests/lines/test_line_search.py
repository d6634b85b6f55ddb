"""Envelopes and exact line search against brute force over all crossings."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from strategies import lists

from nbest.compute.executors import Threads, using
from nbest.corpus import NBest
from nbest.lines.choices import row_shards, totals_of
from nbest.lines.envelope import changes, crossings, ends_of, envelope, sorted_order, sweep
from nbest.lines.search import list_lines
from nbest.metrics import External
from nbest.testing import toy_lists

from . import brute

vectors = st.lists(st.integers(-2, 2), min_size=2, max_size=2).map(lambda v: np.array(v, np.float64))


def of(corpus):
    return list_lines(corpus.features, corpus.offsets, corpus.stats, corpus.metric)


def found(corpus, weights, direction, threads=1):
    lines = of(corpus)
    with using(Threads(threads)):
        return lines.intervals(lines.scores(weights), direction)


def two_lists(size, rows, values):
    """Two lists of two features, the first with `size` hypotheses, each with a value."""
    return NBest(
        offsets=np.array([0, size, len(rows)]),
        features=np.array(rows, np.float64),
        feature_names=("a", "b"),
        ids=("0", "1"),
        stats=External().stats_of(values),
        metric=External(),
    )


@settings(deadline=None, max_examples=400)
@given(lists(segments=4, longest=6), vectors, vectors)
def test_intervals_equal_brute_force(corpus, weights, direction):
    brute.check_intervals(found, corpus, weights, direction)
    brute.check_intervals(brute.intervals_twin, corpus, weights, direction)


@settings(deadline=None, max_examples=200)
@given(lists(segments=4, longest=6), vectors, vectors)
def test_intervals_do_not_depend_on_threads(corpus, weights, direction):
    cuts, totals = found(corpus, weights, direction)
    for threads in (2, 3, 9):
        again = found(corpus, weights, direction, threads)
        assert np.array_equal(again[0], cuts)
        assert np.array_equal(again[1], totals)


@settings(deadline=None, max_examples=300)
@given(lists(), vectors, vectors)
def test_the_best_value_and_the_place_where_it_is(corpus, weights, direction):
    lines = of(corpus)
    step = lines.search(lines.scores(weights), direction)
    assert step.value == pytest.approx(brute.best_value(corpus, weights, direction), abs=1e-9)
    # in fractions: lines that are the same along the direction must not be told apart by rounding
    there = brute.totals_at(corpus, brute.lines_of(corpus, weights, direction), Fraction(step.x))
    assert lines.sign * float(corpus.metric.score(there)) == pytest.approx(step.value, abs=1e-9)


@settings(deadline=None, max_examples=300)
@given(lists(), vectors, vectors, st.integers(-6, 6), st.integers(0, 3), st.sampled_from(["low", "high", "both"]))
def test_bounds(corpus, weights, direction, edge, width, which):
    """Crossings at the very bound are common here: what lies beyond must not count."""
    assume(width > 0 or which != "both")
    low = edge / 2 if which != "high" else -np.inf
    high = (edge + width) / 2 if which != "low" else np.inf
    lines = of(corpus)
    step = lines.search(lines.scores(weights), direction, (low, high))
    assert low <= step.x <= high
    assert step.value == pytest.approx(brute.best_value(corpus, weights, direction, (low, high)), abs=1e-9)
    # in fractions: lines that are the same along the direction must not be told apart by rounding
    there = brute.totals_at(corpus, brute.lines_of(corpus, weights, direction), Fraction(step.x))
    assert lines.sign * float(corpus.metric.score(there)) == pytest.approx(step.value, abs=1e-9)


@pytest.mark.parametrize("broken", [brute.drops_the_middle, brute.takes_the_last_of_equals, brute.ignores_height])
def test_the_checker_rejects_broken_envelopes(broken):
    """Three lines of which the middle one matters, two equal lines, two parallel lines."""
    rows = [[0, -1], [1, 0], [0, 1], [0, 0], [1, 0], [-1, 1], [2, 1], [2, 1], [0, 1]]
    corpus = two_lists(3, rows, 2.0 ** np.arange(9))
    weights, direction = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    brute.check_intervals(found, corpus, weights, direction)
    with pytest.raises(AssertionError, match="totals at"):
        brute.check_intervals(lambda *given: brute.intervals_twin(*given, envelope=broken), corpus, weights, direction)


# the kernels and their twins ------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=300)
@given(st.lists(st.tuples(st.integers(-9, 9), st.integers(-4, 4)), min_size=1, max_size=12))
def test_envelope_equals_its_twin(pairs):
    a, b = (np.array(column, np.float64) for column in zip(*pairs, strict=True))
    size = len(a)
    cuts, lines, stack = np.empty(size), np.empty(size + 1, np.int32), np.empty(size + 1, np.int32)
    count = envelope(a, b, np.empty(size), cuts, lines, stack)
    hull, expected = brute.envelope_twin(a.tolist(), b.tolist())
    # rounding may add a piece of no width where three lines meet in one point
    wide = [q for q in range(count) if q == 0 or cuts[q] - cuts[q - 1] > 1e-12]
    np.testing.assert_allclose(cuts[:count][wide], expected, atol=1e-12)
    assert (lines[0], lines[count]) == (hull[0], hull[-1])
    for q, line in enumerate(hull):
        x = (expected[q - 1] if q else expected[q] - 2 if expected else -1.0) / 2
        x += (expected[q] if q < len(expected) else expected[q - 1] + 2 if expected else 1.0) / 2
        assert lines[np.searchsorted(cuts[:count], x)] == line


floats = st.one_of(st.floats(allow_nan=False), st.integers(-3, 3).map(float), st.floats(-1e-3, 1e-3))


@settings(deadline=None, max_examples=200)
@given(st.lists(floats, max_size=40))
def test_the_sort_is_stable_and_right(values):
    values = np.array(values, np.float64) + 0.0
    assert sorted_order(values).tolist() == np.argsort(values, kind="stable").tolist()


def test_the_sort_on_many_near_equals():
    rng = np.random.default_rng(5)
    values = np.concatenate([1 + rng.integers(0, 9, 3000) * 1e-15, rng.normal(size=3000) * 1e9])
    assert sorted_order(values).tolist() == np.argsort(values, kind="stable").tolist()


@settings(deadline=None, max_examples=100)
@given(lists(segments=6, longest=6), vectors, vectors, st.integers(1, 5))
def test_crossings_of_ranges_join_to_those_of_the_whole(corpus, weights, direction, cut):
    columns, scores = np.ascontiguousarray(corpus.features.T), corpus.features @ weights
    lists = corpus.offsets, int(corpus.lengths.max(initial=0)), ends_of(columns, corpus.offsets)
    whole = crossings(columns, scores, direction, lists, (0, len(corpus)))
    edges = sorted({0, min(cut, len(corpus)), len(corpus)})
    parts = [crossings(columns, scores, direction, lists, ends) for ends in zip(edges[:-1], edges[1:], strict=True)]
    for joined, expected in zip(zip(*parts, strict=True), whole, strict=True):
        assert np.concatenate(joined).tolist() == expected.tolist()


def test_many_breakpoints_grow_the_room():
    """One segment whose every line is on the envelope: tangents of a parabola."""
    slopes = np.arange(-200.0, 201.0)
    columns = np.stack([-(slopes**2) / 4, slopes])
    numbers = np.arange(401.0)[:, None] ** 2
    lists = np.array([0, 401]), 401, ends_of(columns, np.array([0, 401]))
    place, sides, first = crossings(columns, columns[0], np.array([0.0, 1.0]), lists, (0, 1))
    change, begin = changes(sides, first, numbers)
    assert begin.tolist() == [[0.0]]
    assert change[:, 0].tolist() == np.diff(numbers[:, 0]).tolist()
    np.testing.assert_allclose(place, (slopes[1:] + slopes[:-1]) / 4)


@settings(deadline=None, max_examples=100)
@given(lists(segments=4, longest=5))
def test_ends_are_the_only_extremes(corpus):
    columns = np.ascontiguousarray(corpus.features.T, np.float64)
    for column, ends in zip(columns, ends_of(columns, corpus.offsets), strict=True):
        for low, high, found in zip(corpus.offsets[:-1], corpus.offsets[1:], ends, strict=True):
            values = column[low:high].tolist()
            alone = values and values.count(min(values)) == values.count(max(values)) == 1
            assert found.tolist() == ([values.index(min(values)), values.index(max(values))] if alone else [-1, -1])


def test_near_breakpoints_are_one():
    place, stats = np.array([1.0, 1.0 + 1e-12, 2.0]), np.array([[0.0], [1.0], [3.0], [7.0]])
    cuts, sums = sweep(place, np.diff(stats, axis=0), stats[:1], 1e-10)
    assert cuts.tolist() == [1.0, 2.0]
    assert sums[:, 0].tolist() == [0, 3, 7]


def test_lists_with_nothing_to_choose():
    corpus = toy_lists().select([1, 2])
    lines = of(corpus)
    step = lines.search(lines.scores(np.ones(3)), np.ones(3))
    assert step.x == 0.0
    assert step.value == -corpus.score(np.array([-1, 0]))


@pytest.mark.parametrize("tiny", [5e-324, 1e-310, 1e-300, 1e-17, 1e-13])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_slopes_that_hardly_differ(tiny, sign):
    """The crossing is at a huge x, or beyond all numbers: no warning, and no value that is not there."""
    corpus = two_lists(2, [[1.0, 0.0], [0.0, sign * tiny], [0.0, 1.0], [0.5, -1.0]], [0.0, 1.0, 0.0, 0.5])
    lines = of(corpus)
    weights, direction = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    step = lines.search(lines.scores(weights), direction)
    assert np.isfinite(step.x)
    there = totals_of(row_shards(corpus.features, corpus.offsets), corpus.stats, (weights + step.x * direction)[None])[
        0
    ]
    assert float(corpus.metric.score(there)) == step.value


@settings(deadline=None, max_examples=100)
@given(lists(features=3), st.integers(0, 4), st.integers(1, 3), st.data())
def test_totals_of_many_weights(corpus, count, threads, data):
    weights = np.array(
        data.draw(st.lists(st.lists(st.integers(-2, 2), min_size=3, max_size=3), min_size=count, max_size=count)),
        np.float64,
    ).reshape(count, 3)
    with using(Threads(threads)):
        totals = totals_of(row_shards(corpus.features, corpus.offsets), corpus.stats, weights)
    for b in range(count):
        expected = np.zeros(corpus.stats.shape[1])
        for low, high in zip(corpus.offsets[:-1], corpus.offsets[1:], strict=True):
            scores = [float(sum(weights[b] * corpus.features[h])) for h in range(low, high)]
            if scores:
                expected += corpus.stats[low + scores.index(max(scores))]
        np.testing.assert_allclose(totals[b], expected, atol=1e-12)
