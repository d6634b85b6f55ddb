"""The section "Training": what model files tell of each method."""

from __future__ import annotations

import warnings
from dataclasses import replace

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


def test_starts_of_mert_are_sorted_dots_below_the_model():
    rows = tuple({"start": n, "value": value} for n, value in enumerate((30.0, 28.0, 29.0)))
    model = LogLinear({"lm": 1.0}, history=rows, scores_={"dev": 27.5}, metric="WER|x", trainer={"name": "MERT"})
    page = training(subject_of({"dev": some("tune", 5)}, {"m": model}))
    (chart,) = figures(page)[0].picture.panels
    assert isinstance(chart, DotChart)
    assert [dot[:2] for dot in chart.dots] == [
        ("the model", 27.5),
        ("start 1", 28.0),
        ("start 2", 29.0),
        ("start 0", 30.0),
    ]
    assert chart.x_label == "WER on dev"
    many = replace(model, history=tuple({"start": n, "value": 30.0 + n} for n in range(100)))
    (chart,) = figures(training(subject_of({"dev": some("tune", 5)}, {"m": many})))[0].picture.panels
    assert len(chart.dots) == 41


def test_what_the_file_knows_of_lists_left_out_stands_beside_dev():
    model = nbest.validate(nbest.MaxLikelihood().fit(some("tune", 20)), some("heldout", 20))
    page = training(subject_of({"dev": some("tune", 20)}, {"m": model, "hand": LogLinear({"lm": 1.0})}))
    table = page.parts[0]
    assert isinstance(table, Table)
    assert table.heads[-1].head == "left out"
    assert [row[-1] for row in table.rows] == [model.validation.tuned, None]
    assert table.caption.startswith("WER: dev against held-out")
    assert "Left out: lists that were not fitted on (held-out lists)." in table.notes


def test_values_of_likelihood_are_a_picture_that_says_what_they_are():
    model = nbest.MaxLikelihood().fit(some("tune", 20))
    page = training(subject_of({"dev": some("tune", 20)}, {"m": model}))
    (chart,) = figures(page)[0].picture.panels
    assert "log likelihood" in chart.y_label
    assert len([part for part in page.parts if isinstance(part, Table)]) == 1  # that of what was reached


def test_steps_have_as_many_digits_each():
    rows = (
        {"round": 1, "dev": 30.0, "pace": 1000.0, "share": 0.23},
        {"round": 2, "dev": 29.123456, "pace": 0.0012, "share": 0.0725},
    )
    page = training(subject_of({"dev": some("tune", 5)}, {"m": LogLinear({"lm": 1.0}, history=rows)}))
    table = page.parts[-1]
    assert isinstance(table, Table)
    assert table.texts()[1:] == [["1", "30.000", "1000.0", "0.23000"], ["2", "29.123", "0.0012000", "0.07250"]]


def test_names_of_fits_are_not_cut():
    name = "likelihood around the base model, variance 0.01"
    rows = ({"fit": name, "left_out": 30.0, "share": 0.5}, {"fit": "b", "left_out": 31.0, "share": 0.0})
    page = training(subject_of({"dev": some("tune", 5)}, {"m": LogLinear({"lm": 1.0}, history=rows)}))
    text = figures(page)[0].picture.svg()
    assert "likelihood around base, variance 0.01" in text
    assert "…" not in text
