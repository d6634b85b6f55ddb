"""The section "Training": what model files tell of each method."""

from __future__ import annotations

import warnings

import pytest

import nbest
from nbest.base.errors import ConvergenceWarning
from nbest.model.loglinear import LogLinear
from nbest.pages.training import training
from nbest.report import Figure, Page, Table
from nbest.report.charts import DotChart, LineChart
from nbest.trainers import TRAINERS
from tests.pages.conftest import some, subject_of


def figures(page: Page) -> list[Figure]:
    return page.figures()


@pytest.mark.parametrize(
    "method", ["risk", "mert", "likelihood", "softbleu", "boosting", "mira", "pro", "msr2", "grid", "auto"]
)
def test_every_method_has_a_picture_or_says_why_not(method):
    dev = some("tune", 20)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = TRAINERS[method]().fit(dev, some("heldout", 20))
    page = training(subject_of({"dev": dev}, {"m": model}))
    assert page.render("markdown")
    if model.history:
        (figure,) = figures(page)
        assert list(figure.rows) == list(model.history)
        assert "<svg" in figure.picture.svg()
    else:
        assert "The model file tells no steps of the training." in page.parts


def test_the_path_of_risk_shows_dev_and_held_out():
    dev, held = some("tune", 20), some("heldout", 20)
    model = nbest.MinRisk().fit(dev, held)
    (figure,) = figures(training(subject_of({"dev": dev}, {"m": model})))
    chart = figure.picture.panels[0]
    assert isinstance(chart, LineChart)
    assert {each.name: list(each.y) for each in chart.series} == {
        "dev": [row["dev"] for row in model.history],
        "held out": [row["heldout"] for row in model.history],
    }
    assert chart.x_ticks[0][1].startswith("T ")
    assert chart.rules[0][1] == "T = 0"


def test_fits_of_auto_are_dots_and_several_models_are_sections():
    rows = ({"fit": "a", "left_out": 30.0, "share": 0.5}, {"fit": "b", "left_out": 31.0, "share": 0.0})
    one = LogLinear(
        {"lm": 1.0}, history=rows, scores_={"dev": 29.0, "heldout": 30.5}, trainer={"name": "Auto", "folds": 5}
    )
    page = training(subject_of({"dev": some("tune", 5)}, {"one": one, "hand": LogLinear({"lm": 1.0})}))
    assert [part.title for part in page.parts if isinstance(part, Page)] == ["one", "hand"]
    (chart,) = figures(page)[0].picture.panels
    assert isinstance(chart, DotChart)
    assert [dot[:2] for dot in chart.dots] == [("a", 30.0), ("b", 31.0)]
    table = page.parts[0]
    assert isinstance(table, Table)
    assert table.rows == [["one", "Auto", "folds=5", 29.0, 30.5], ["hand", "by hand", "", None, None]]


def test_odd_rows_do_no_harm():
    rows = ({"temperature": None, "gamma": 1}, {"round": "x", "dev": None, "value": 1.0}, {"value": 2.0, "note": "y"})
    hot = {"temperature": "hot", "gamma": 1, "expected": 1, "dev": 1}
    for history in (rows, rows[1:], rows[:1], rows[2:], (hot, hot), ({"left_out": "x", "share": 1},)):
        page = training(subject_of({"dev": some("tune", 5)}, {"m": LogLinear({"lm": 1.0}, history=history)}))
        assert page.render("markdown")
        assert all(figure.picture.svg() for figure in figures(page))
