"""`study budget`: rows against what is spent, savings, honest models."""

from __future__ import annotations

import numpy as np
import pytest

import nbest
from nbest.base.errors import ParameterError
from nbest.corpus import NBest
from nbest.evaluation.stopped import FIXED, Plan, spent
from nbest.model.loglinear import LogLinear
from nbest.studies.budget import Budget, budget
from nbest.trainers.crossfit import crossfit
from tests.evaluation.test_stopped import MODEL, random_lists


def small(seed: int = 4) -> NBest:
    lists = random_lists(seed, 30)
    return lists.select(np.flatnonzero(lists.lengths > 0))


def test_rows_are_what_is_spent() -> None:
    lists = small()
    found = budget(lists, model=MODEL, thresholds=(0.9, 0.7), orders=3, samples=30)
    names = {(row["rule"], row["by"]) for row in found.rows}
    assert names == {(FIXED, "vote"), (FIXED, "model"), ("votes", "vote"), ("votes", "model"), ("confidence", "model")}
    stats, drawn = spent(lists, MODEL, [Plan("confidence", True, 0.9), Plan(FIXED, True, 8)], orders=3)
    (row,) = found.chosen(rule="confidence", by="model", at=0.9)
    value, full = lists.need_metric().score(stats.sum(axis=0))
    assert (row["cost"], row["value"]) == (pytest.approx(drawn[:, 0].mean()), pytest.approx(value))
    assert row["difference"] == pytest.approx(value - full)
    assert row["low"] <= row["value"] <= row["high"]
    assert row["difference_low"] <= row["difference"] <= row["difference_high"]
    assert found.chosen(rule=FIXED, by="vote", at=8)[0]["difference"] == 0.0


def test_savings_are_the_cheapest_that_are_as_good() -> None:
    rows = [
        {"rule": rule, "by": "vote", "at": at, "cost": cost, "value": value, "difference": value - 0.7}
        for rule, at, cost, value in [
            (FIXED, 1, 1.0, 0.5), (FIXED, 10, 9.5, 0.7), ("votes", 0.8, 2.0, 0.6), ("votes", 0.9, 4.0, 0.7),
            ("votes", 0.99, 6.0, 0.71), ("confidence", 0.9, 3.0, 0.69),
        ]
    ]  # fmt: skip
    found = Budget("external", True, {}, tuple(rows)).savings()
    assert found == [{"rule": "votes", "by": "vote", "at": 0.9, "cost": 4.0, "value": 0.7, "of": 9.5, "full": 0.7}]
    lower = Budget("external", False, {}, tuple(rows)).savings()
    assert [(each["rule"], each["at"]) for each in lower] == [("votes", 0.8), ("confidence", 0.9)]


def test_a_method_is_cross_fitted() -> None:
    lists = small(6)
    noise = np.random.default_rng(1).normal(size=(lists.hypotheses, 8))
    lists = lists.with_features([f"n{d}" for d in range(8)], noise)
    found = budget(lists, method="likelihood", folds=3, thresholds=(0.9,), orders=2, samples=10)
    assert found.settings["folds"] == 3
    crossed = crossfit(nbest.MaxLikelihood().fit, lists, folds=3)
    wanted = lists.score(crossed.chosen)
    assert found.chosen(rule=FIXED, by="model", at=8)[0]["value"] == pytest.approx(wanted)
    assert wanted != pytest.approx(lists.score(nbest.MaxLikelihood().fit(lists).predict(lists)))


def test_arguments_are_checked() -> None:
    lists = small()
    for at in ((), (0.5, 1.5)):
        with pytest.raises(ParameterError, match="'thresholds' of the study budget"):
            budget(lists, thresholds=at)
    with pytest.raises(ParameterError, match="a model or a method, not both"):
        budget(lists, model=LogLinear({"f": 1.0}), method="likelihood")
    with pytest.raises(ParameterError, match="are empty"):
        budget(lists.keep(np.zeros(lists.hypotheses, bool)))
