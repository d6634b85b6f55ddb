"""The study of settings: rows are what the trainers reach, values of any type, what is refused."""

from __future__ import annotations

import pytest

from nbest.base.errors import ParameterError
from nbest.decisions import first
from nbest.report.charts import LineChart
from nbest.studies.curves import Curves, curves
from nbest.testing import check_picture, toy_lists
from nbest.trainers import LowDim, MaxLikelihood


def lists(seed):
    return toy_lists(seed, segments_=40, noise=0.4)


def test_rows_are_what_the_trainers_reach():
    dev, heldout, calls = lists(1), lists(2), []
    values = {"variance": [0.01, 1.0], "iterations": [50, 99]}
    found = curves(dev, heldout, values, method="likelihood", progress=lambda *at: calls.append(at))
    assert calls == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert [(row["setting"], row["value"]) for row in found.rows] == [
        ("variance", 0.01), ("variance", 1.0), ("iterations", 50), ("iterations", 99),
    ]  # fmt: skip
    for row in found.chosen(setting="variance"):
        model = MaxLikelihood(variance=row["value"]).fit(dev, heldout)
        assert (row["dev"], row["heldout"]) == (model.scores_["dev"], model.scores_["heldout"])
    assert found.settings["first"] == heldout.score(first(None, heldout))
    assert found.curve("variance", "heldout") == [row["heldout"] for row in found.rows[:2]]
    svg = found.picture().svg()
    assert "variance" in svg
    assert "first hypotheses" in svg


def test_values_that_are_no_numbers():
    kinds = ["generative", "softened"]
    found = curves(lists(1), lists(2), {"kind": kinds}, method="lowdim", settings={"k": 4, "tau": 0.5})
    assert [row["value"] for row in found.rows] == kinds
    model = LowDim(kind="softened", k=4, tau=0.5).fit(lists(1), lists(2))
    assert found.rows[1]["heldout"] == model.scores_["heldout"]
    assert "softened" in found.picture().svg()


@pytest.mark.parametrize(
    ("values", "log", "places"),
    [
        ([10, 0.1, 0.01, 1.0], True, [0.01, 0.1, 1.0, 10.0]),
        ([0.1, 0.9, 0.5], False, [0.1, 0.5, 0.9]),
        ([0, 0.01, 0.1, 1], False, [0.0, 1.0, 2.0, 3.0]),
        (["b", "a"], False, [0.0, 1.0]),
    ],
)
def test_values_that_grow_by_ratios_have_a_logarithmic_axis(values, log, places):
    settings = {"method": "m", "settings": {}, "values": {"s": values}, "heldout_segments": 1, "first": 0.0}
    rows = [{"setting": "s", "value": value, "heldout": float(at)} for at, value in enumerate(values)]
    picture = Curves("WER", False, settings, tuple(rows)).picture()
    check_picture(picture.svg())
    (panel,) = picture.panels
    assert isinstance(panel, LineChart)
    assert panel.x_axis().log is log
    assert list(panel.series[0].x) == places
    for at, (_, name) in enumerate(panel.x_ticks or ()):  # each value keeps its score
        assert f"{values[int(panel.series[0].y[at])]}".removesuffix(".0") == name


@pytest.mark.parametrize(
    ("values", "method", "message"),
    [
        ({}, "likelihood", "needs values of each setting"),
        ({"variance": []}, "likelihood", "needs values of each setting"),
        ({"varience": [1.0]}, "likelihood", "MaxLikelihood has no setting 'varience'; .*variance"),
        ({"variance": [1.0]}, "likelyhood", "unknown method"),
    ],
)
def test_wrong_settings_are_refused(values, method, message):
    with pytest.raises(ParameterError, match=message):
        curves(lists(1), lists(2), values, method=method)
