"""Inverted index and line searches along one column against brute force: ties, counts, real values, long lists."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from nbest.compute import segments
from nbest.compute.executors import Threads, using
from nbest.lines.sparse_index import sparse_index
from nbest.lines.sparse_lines import SparseLines
from nbest.lines.sparse_totals import sample_risk
from nbest.metrics import BLEU, F1, WER, Exact, External
from nbest.testing import toy_lists
from tests.lines.sparse_twin import Twin


@dataclass
class Case:
    """Lists with scores, a matrix of columns, and a metric."""

    lists: np.ndarray
    scores: np.ndarray
    matrix: np.ndarray
    stats: np.ndarray
    metric: object = WER()

    def lines(self, half=0.0, threads=1):
        with using(Threads(threads)):
            index = sparse_index(csr_array(self.matrix), self.lists)
        risk = sample_risk(self.metric, self.stats, self.lists)
        return SparseLines(index, self.scores, risk, half=half)

    def twin(self, half=0.0):
        risk = sample_risk(self.metric, self.stats, self.lists)
        return Twin(self.lists, self.scores, self.matrix, risk.stats, lambda totals: risk(totals[None])[0], half)


@st.composite
def cases(draw, longest=5, counts=(-1, 3), values=None):
    """Small whole numbers, so that ties and parallel lines occur; empty lists and lists of one."""
    sizes = draw(st.lists(st.integers(0, longest), min_size=1, max_size=5))
    lists = segments.offsets_of(np.array(sizes))
    seed = draw(st.integers(0, 2**32 - 1))
    return made(lists, seed, draw(st.sampled_from(["errors", "lengths"])), counts, values)


def made(lists, seed, kind="errors", counts=(-1, 3), values=None, columns=4):
    rng = np.random.default_rng(seed)
    lists.flags.writeable = False  # as in a corpus: the kernels that it has
    size = int(lists[-1])
    errors = rng.integers(0, 4, size)
    lengths = np.repeat(rng.integers(1, 5, len(lists) - 1), segments.lengths(lists))
    if kind == "lengths":
        lengths = lengths + rng.integers(0, 3, size)  # not the same within a list: no sum of errors
    matrix = rng.integers(*counts, (size, columns)) if values is None else rng.choice(values, (size, columns))
    matrix = matrix * (rng.random((size, columns)) < 0.7)
    stats = np.stack([errors, lengths], axis=1).astype(np.float64)
    return Case(lists, rng.integers(-4, 5, size) / 4, matrix.astype(np.float64), stats)


def check_searches(case, half, lines=None):
    """Each column by itself, and all of them, must give the step and the risk of brute force."""
    lines = case.lines(half) if lines is None else lines
    twin = case.twin(half)
    assert lines.choice.tolist() == twin.choice()
    assert lines.risk == pytest.approx(twin.risk())
    steps, reached = lines.search_all()
    for column in range(case.matrix.shape[1]):
        x, risk = twin.search(column)
        assert lines.search(column) == (steps[column], reached[column])
        assert reached[column] == pytest.approx(risk), f"column {column}"
        assert steps[column] == pytest.approx(float(x)), f"column {column}"
        assert twin.risk(column, float(steps[column])) == pytest.approx(risk), "not what all hypotheses score there"


@pytest.mark.parametrize("half", [0.0, 0.3, 2.0])
@settings(max_examples=60, deadline=None)
@given(case=cases())
def test_searches_equal_brute_force(half, case):
    check_searches(case, half)


@settings(max_examples=10, deadline=None)
@given(case=cases(longest=22, values=np.arange(-40, 41) / 8))
def test_columns_of_many_real_values_equal_brute_force(case):
    check_searches(case, 0.5)


@pytest.mark.parametrize("seed", [1, 2])
def test_long_lists_and_large_counts(seed):
    check_searches(made(np.array([0, 110, 111, 150]), seed, counts=(0, 300), columns=1), 0.0)


@pytest.mark.parametrize("metric", [BLEU(tokenize="none"), F1(), Exact(), WER()])
@pytest.mark.parametrize("seed", [1, 2])
def test_metrics_that_are_no_sum_of_losses(metric, seed):
    corpus = toy_lists(seed, metric=metric, sparse=True, segments_=12)
    scores = np.round(corpus.features[:, 0] * 8) / 8
    case = Case(corpus.offsets, scores, corpus.sparse.toarray(), corpus.stats, metric)
    check_searches(case, 0.25)
    lines = case.lines()
    assert lines.score == pytest.approx(corpus.score(lines.choice))


def test_values_from_elsewhere_are_a_sum():
    metric = External()
    values = np.array([0.5, -0.25, 1.0, 2.0, 0.0])
    lists = np.array([0, 2, 5])
    risk = sample_risk(metric, metric.stats_of(values), lists)
    assert risk.whole == 2
    assert risk.score(risk.stats[[0, 3]].sum(axis=0)) == pytest.approx(metric.score(np.array([2.5, 2.0])))
    check_searches(Case(lists, np.zeros(5), np.eye(5), metric.stats_of(values), metric), 0.0)


@settings(max_examples=40, deadline=None)
@given(case=cases(), threads=st.integers(1, 3))
def test_the_index_holds_what_differs_within_lists(case, threads):
    with using(Threads(threads)):
        index = sparse_index(csr_array(case.matrix), case.lists)
    for column in range(case.matrix.shape[1]):
        full = case.matrix[:, column]
        parts = [(i, full[p:q]) for i, (p, q) in enumerate(zip(case.lists[:-1], case.lists[1:], strict=True))]
        differs = {i for i, part in parts if len(set(part)) > 1}
        rows, values = index.entries(column)
        expected = [h for h in np.flatnonzero(full) if index.owners[h] in differs]
        assert rows.tolist() == expected
        assert values.tolist() == full[expected].tolist()
        assert index.segments_of(column).tolist() == sorted(differs)


def test_an_index_of_some_columns_only():
    case = made(np.array([0, 4, 9]), 1)
    wanted = np.array([False, True, False, True])
    some = sparse_index(csr_array(case.matrix), case.lists, wanted=wanted)
    every = sparse_index(csr_array(case.matrix), case.lists)
    for column in range(4):
        assert some.entries(column)[0].tolist() == (every.entries(column)[0].tolist() if wanted[column] else [])


@settings(max_examples=40, deadline=None)
@given(case=cases(), x=st.sampled_from([-2.0, -0.5, 0.25, 1.0, 3.0]))
def test_scores_choice_and_risk_follow_a_step(case, x):
    for column in range(case.matrix.shape[1]):
        lines, twin = case.lines(), case.twin()
        before = lines.choice.copy()
        changed = lines.move(column, x, falling=False)
        twin.move(column, x)
        assert lines.choice.tolist() == twin.choice()
        assert changed.tolist() == np.flatnonzero(lines.choice != before).tolist()
        assert lines.risk == pytest.approx(twin.risk())
        losses = case.stats[:, 0]
        falls = [i for i in changed if losses[lines.choice[i]] < losses[before[i]]]
        assert case.lines().improved(np.array([column]), np.array([x]), losses)[0].tolist() == falls


def test_a_step_that_does_not_lower_the_risk_is_not_taken():
    stats = np.array([[0.0, 2.0], [1.0, 2.0]])
    lines = Case(np.array([0, 2]), np.array([1.0, 0.0]), np.array([[0.0], [1.0]]), stats).lines()
    assert lines.move(0, 5.0) is None
    assert lines.scores.tolist() == [1.0, 0.0]
    assert lines.choice.tolist() == [0]


def test_an_end_interval_is_entered_by_b():
    stats = np.array([[1.0, 2.0], [0.0, 2.0]])
    case = Case(np.array([0, 2]), np.array([1.0, 0.0]), np.array([[0.0], [1.0]]), stats)
    assert case.lines(half=0.5).search(0) == (1.5, 0.0)
    assert case.lines().search(0) == (1.1, 0.0)


def test_smoothing_prefers_a_wide_interval_to_a_narrow_hole():
    # list 1 is right from 1 on; list 2 is right between 0.9 and 1.1 only and wrong beyond 1.1
    lists = np.array([0, 2, 5])
    scores = np.array([1.0, 0.0, 0.9, 0.0, -1.1])
    matrix = np.array([[0.0], [1.0], [0.0], [1.0], [2.0]])
    errors = np.array([2.0, 0.0, 1.0, 0.0, 1.0])
    case = Case(lists, scores, matrix, np.stack([errors, np.full(5, 4.0)], axis=1))
    assert case.lines().search(0) == (pytest.approx(1.05), 0.0)
    assert case.lines(half=0.4).search(0) == (pytest.approx(1.5), 1.0)


def test_the_checker_sees_a_search_that_takes_the_last_of_equals():
    class Broken(SparseLines):
        def __init__(self, *args, **options):
            super().__init__(*args, **options)
            self.choice = self.index.lists[1:] - 1  # all scores are 0

    case = made(np.array([0, 6, 12]), 5)
    case.scores[:] = 0
    sound = case.lines()
    check_searches(case, 0.0)
    with pytest.raises(AssertionError):
        check_searches(case, 0.0, Broken(sound.index, case.scores, sound.risk_of))
