"""Grids of settings: the same model and table however many are trained side by side."""

import os
from functools import partial

import pytest

from nbest.compute.executors import Threads, using
from nbest.model.loglinear import LogLinear
from nbest.testing import toy_lists
from nbest.trainers import MinRisk, settings_grid
from nbest.trainers.settings_grid import search

DEV, HELD = toy_lists(1), toy_lists(2)
SCORES = [3.0, 5.0, 1.0, 5.0, 4.0, 5.0]


class Fake:
    """Reaches what it is told to reach."""

    def __init__(self, number, threads=None):
        self.number, self.threads = number, threads

    def fit(self, corpus, heldout):
        assert heldout is not None
        return LogLinear({"a": self.number}, scores_={"heldout": SCORES[self.number], "process": os.getpid()})


@pytest.mark.parametrize("threads", [1, 2, 6])
def test_the_first_of_equals_is_taken(threads):
    told = []
    with using(Threads(threads)):
        model, rows = search(Fake, {"number": range(6)}, DEV, HELD, progress=lambda *call: told.append(call))
    assert model.weights == {"a": 1 if DEV.metric.higher_is_better else 2}
    assert [row["heldout"] for row in rows] == SCORES
    assert sorted(told) == [(done, 6) for done in range(1, 7)]


def test_trainers_with_one_thread_have_one_process():
    with using(Threads(4)):
        _, rows = search(partial(Fake, threads=1), {"number": range(6)}, DEV, HELD)
    assert {row["process"] for row in rows} == {os.getpid()}


def test_where_memory_is_short_there_is_one_process(monkeypatch):
    monkeypatch.setattr(settings_grid, "_MEMORY", DEV.features.nbytes)
    with using(Threads(4)):
        _, rows = search(Fake, {"number": range(6)}, DEV, HELD)
    assert {row["process"] for row in rows} == {os.getpid()}


def test_any_number_of_threads_gives_the_same():
    found = []
    for threads in (1, 3):
        with using(Threads(threads)):
            model, rows = search(
                partial(MinRisk, order=1), {"t0": [1.0, 0.3], "schedule": ["both", "gamma"]}, DEV, HELD
            )
        found.append((dict(model.weights), model.gamma, model.trainer, rows))
    assert found[0] == found[1]
