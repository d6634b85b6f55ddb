"""Searches in one kernel against those through arrays of totals, and formulas against the metrics' own scores."""

from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import lists

from nbest.compute.executors import Threads, using
from nbest.lines import formulas, search
from nbest.lines.search import best_step, list_lines
from nbest.metrics import BLEU, CHRF, F1, METRICS, WER, Exact, External, Precision, Recall
from nbest.testing import toy_lists
from nbest.trainers.dense import mert
from nbest.trainers.problem import prepare

OPTIONS = [
    BLEU(),
    BLEU(effective_order=True),
    BLEU(smooth_method="none"),
    BLEU(smooth_method="floor"),
    BLEU(smooth_method="floor", smooth_value=0.0),
    BLEU(smooth_method="add-k", smooth_value=0.5, effective_order=True),
    BLEU(max_ngram_order=1),
    BLEU(max_ngram_order=7),
]
RATES = [WER(), Exact(), Precision(), Recall(), F1(beta=0.7), External(), External(higher_is_better=False)]
counts = st.one_of(st.sampled_from([0, 1, 2, 3]), st.integers(0, 10**6))


@settings(deadline=None, max_examples=60)
@given(st.data(), st.sampled_from(OPTIONS))
def test_bleu_is_that_of_the_metric(data, metric):
    rows = st.lists(counts, min_size=len(metric.stat_names), max_size=len(metric.stat_names))
    totals = np.array(data.draw(st.lists(rows, min_size=1, max_size=8)), np.float64)
    totals[:, 2 : 2 + metric.max_ngram_order].sort(axis=1)
    formula = formulas.formula_of(metric)
    ours = formulas.scores(formula, totals)
    np.testing.assert_allclose(ours, metric.score(totals), rtol=1e-13, atol=1e-300)


@settings(deadline=None, max_examples=60)
@given(st.data(), st.sampled_from(RATES))
def test_rates_are_those_of_the_metric_to_the_bit(data, metric):
    rows = st.lists(counts, min_size=len(metric.stat_names), max_size=len(metric.stat_names))
    totals = np.array(data.draw(st.lists(rows, min_size=1, max_size=8)), np.float64)
    assert formulas.scores(formulas.formula_of(metric), totals).tolist() == metric.score(totals).tolist()


@settings(deadline=None, max_examples=200)
@given(st.data(), st.sampled_from(OPTIONS))
def test_no_score_is_above_its_bound(data, metric):
    """What has at least this score is never passed over."""
    rows = st.lists(st.integers(0, 60), min_size=len(metric.stat_names), max_size=len(metric.stat_names))
    totals = np.array(data.draw(rows), np.float64)
    formula = formulas.formula_of(metric)
    assert formulas.bound(formula, totals) >= formulas.least(formula, formulas.score(formula, totals))


def test_the_bound_tells():
    """Else it would be of no use."""
    formula, good = formulas.formula_of(BLEU()), np.array([100.0, 100, 60, 40, 30, 20, 100, 99, 98, 97])
    poor = good - np.array([20, 0, 5, 5, 5, 5, 20, 20, 20, 20])
    assert formulas.bound(formula, poor) < formulas.least(formula, formulas.score(formula, good))
    assert formulas.least(formula, -np.inf) == formulas.least(formula, 0.0) == -np.inf


def test_metrics_that_score_otherwise_have_no_formula():
    class Other(BLEU):
        def score(self, totals):
            return super().score(totals) / 2

    assert formulas.formula_of(Other()) is None
    assert formulas.formula_of(CHRF()) is None
    assert sum(formulas.formula_of(kind()) is not None for kind in METRICS.values()) >= 12


vectors = st.lists(st.sampled_from([-2.0, -1.0, 0.0, 0.5, 1.0]), min_size=2, max_size=2).map(np.array)
edges = st.sampled_from([-np.inf, -3.0, -0.5, 0.0, 0.5, 3.0])


@settings(deadline=None, max_examples=300)
@given(lists(segments=4, longest=6), vectors, st.one_of(vectors, st.sampled_from(list(np.eye(2)))), edges, edges)
def test_a_search_in_one_kernel_is_one_through_totals(corpus, weights, direction, low, high):
    lines = list_lines(corpus.features, corpus.offsets, corpus.stats, corpus.metric)
    bounds = (low, max(-low if low > -np.inf else np.inf, high, low + 1.0))
    scores = lines.scores(weights)
    assert scores.tolist() == (weights[0] * corpus.features[:, 0] + weights[1] * corpus.features[:, 1]).tolist()
    cuts, totals = lines.intervals(scores, direction, bounds)
    through = best_step(cuts, lines.sign * formulas.scores(lines.formula, totals), bounds)
    assert lines.compiled is not None
    for threads in (1, 3):
        with using(Threads(threads)), patch.object(search, "_WIDE", 1):  # several threads for the few hypotheses
            assert lines.search(scores, direction, bounds) == through


class Elsewhere:
    """An executor that is no `Threads`: searches go through `map`."""

    apart, threads, workers = True, 1, 1

    def map(self, function, shards, told=None):
        return [function(shard) for shard in shards]

    def close(self):
        pass


@pytest.mark.parametrize("settings", [{}, {"signs": {"a": "+", "c": "-"}}, {"frozen": ("b",)}, {"directions": 3}])
def test_rounds_in_one_kernel_are_those_of_single_searches(settings):
    problem = prepare(replace(toy_lists(), feature_names=tuple("abc")), "MERT")
    ends = []
    for executor, wide in ((Threads(1), 10**6), (Threads(3), 10**6), (Threads(9), 1), (Elsewhere(), 10**6)):
        with using(executor), patch.object(search, "_WIDE", wide):
            ends.append(mert._Search(mert.MERT(restarts=4, hops=3, seed=3, **settings), problem).run())
    for end in ends[1:]:
        assert end.weights.tolist() == ends[0].weights.tolist()
        assert (end.history, end.evaluations) == (ends[0].history, ends[0].evaluations)
