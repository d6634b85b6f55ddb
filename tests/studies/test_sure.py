"""Studies of confidence: rows by their definitions; promises that are kept."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import nbest
from nbest.base.errors import ParameterError
from nbest.studies.calibration import calibration
from nbest.studies.coverage import coverage
from nbest.trainers.calibrate import is_right
from tests.trainers.test_calibrate import voters


def test_bins_by_hand() -> None:
    lists = voters(100)
    found = nbest.choose(None, lists, "vote")
    rows = calibration(lists, bins=4, samples=50).chosen(kind="bin", series="raw")
    assert sum(row["segments"] for row in rows) == 100
    right = is_right(lists, found.chosen, 1.0)
    low = 0
    order = np.argsort(found.probability, kind="stable")
    for row in rows:
        part = order[low : low + row["segments"]]
        low += row["segments"]
        assert row["right"] == pytest.approx(right[part].mean())
        assert row["confidence"] == pytest.approx(found.probability[part].mean())
        assert row["low"] <= row["right"] <= row["high"]


def test_draws_without_a_segment_of_a_bin_tell_nothing_of_it() -> None:
    lists = replace(voters(60), groups=tuple(str(i // 20) for i in range(60)))
    for row in calibration(lists, bins=30, samples=200).chosen(kind="bin", series="raw"):
        if row["right"] == 1:
            assert row["low"] == 1


def test_a_calibrated_model_is_taken_as_it_is() -> None:
    model = nbest.calibrate(nbest.LogLinear({"good": 4.0}), voters(300, 1), decision="vote")
    test = voters(300, 2)
    found = calibration(test, model=model, samples=50)
    raw, after = found.chosen(kind="error")
    assert found.settings["calibrated"] == "by the model"
    sure = nbest.choose(model, test)
    assert after["brier"] == pytest.approx(np.mean((sure.confidence - is_right(test, sure.chosen, 1.0)) ** 2))
    assert after["ece"] < raw["ece"]
    promised = coverage(test, model=model, risks=(0.3,), samples=50).chosen(kind="promise")
    assert promised[0]["how"] == "the model"
    assert promised[0]["risk"] <= 0.3


def test_risk_of_the_surest() -> None:
    lists = voters(200)
    found = nbest.choose(None, lists, "vote")
    right = is_right(lists, found.chosen, 1.0)
    rows = coverage(lists, samples=50, draws=2).chosen(kind="curve")
    for row in rows:
        least = np.sort(found.probability)[::-1][round(row["coverage"] * 200) - 1]
        kept = found.probability >= least - 1e-12  # rounding parts no equal shares
        assert row["coverage"] == pytest.approx(kept.mean())
        assert row["risk"] == pytest.approx(1 - right[kept].mean())
        assert row["risk"] < row["bound"]
    assert rows[-1]["coverage"] == 1


def test_promises_on_halves_are_kept_and_broken_ones_are_seen(monkeypatch) -> None:
    lists = voters(400)
    (row,) = coverage(lists, risks=(0.3,), draws=60, samples=10).chosen(kind="promise")
    assert row["reached"] > 0.5
    assert row["kept"] >= 0.85
    monkeypatch.setattr("nbest.model.abstention.risk_bound", lambda wrong, of, delta, design: wrong / of)
    (row,) = coverage(lists, risks=(0.3,), draws=60, samples=10).chosen(kind="promise")
    assert row["kept"] < 0.8


def test_groups_make_intervals_wider() -> None:
    lists = voters(120)
    groups = replace(lists, groups=tuple(str(i) for i in np.argsort(np.argsort(lists.gains[::7])) // 20))
    wide, narrow = (coverage(each, samples=200, draws=1).chosen(kind="curve")[-1] for each in (groups, lists))
    assert wide["high"] - wide["low"] > 1.5 * (narrow["high"] - narrow["low"])
    assert wide["bound"] > narrow["bound"]


def test_a_model_and_a_method_are_too_much() -> None:
    with pytest.raises(ParameterError, match="leave one of them out"):
        calibration(voters(30), model=nbest.LogLinear({"good": 1.0}), method="likelihood")
