"""The section "Curves": what is asked for, or why it cannot be shown."""

from __future__ import annotations

import pytest

import nbest
from nbest.base.errors import ParameterError
from nbest.pages.curves import CURVES, curves
from nbest.report import Figure
from tests.pages.conftest import some, subject_of


def test_only_what_is_asked_for(subject):
    page = curves(subject, ["best-of", "learning"])
    assert [part.title for part in page.parts] == ["Best of k", "Learning curve"]
    for section in page.parts:
        (figure,) = [part for part in section.parts if isinstance(part, Figure)]
        assert figure.rows
        assert "<svg" in figure.picture.svg()
    assert "test lists" in page.parts[0].parts[0]
    assert curves(subject, []).parts == []


def test_confidence_needs_to_know_what_is_right(subject):
    page = curves(subject, ["calibration", "coverage"])
    assert all("say from which score" in part.parts[0] for part in page.parts)
    assert "calibration" not in page.parts[1].parts[0]  # which is of coverage
    page = curves(subject, ["calibration", "coverage"], right=20.0)
    assert all(isinstance(part.parts[1], Figure) for part in page.parts)
    assert "calibration error" in page.parts[0].parts[2]


def test_dev_alone_is_split_or_warned_of(models):
    alone = subject_of({"dev": some("tune", 40)}, {"m": models["likely"]})
    page = curves(alone, list(CURVES), right=20.0)
    assert len(page.figures()) == 4
    assert "tuned on these lists, which is flattering" in page.parts[1].parts[0]
    assert "25% of it that are held out" in page.parts[3].parts[0]


def test_no_study_takes_the_page_down(models):
    empty = some("tune", 1)
    page = curves(subject_of({"dev": empty}, {"m": models["likely"]}), list(CURVES))
    assert len(page.parts) == 4
    assert "cannot be shown for these lists" in page.parts[3].parts[0]


def test_what_is_better_goes_by_the_metric(models):
    for metric, way in ((nbest.WER(), "still falls"), (nbest.BLEU(), "still rises")):
        dev = some("tune", 20).with_metric(metric)
        (section,) = curves(subject_of({"dev": dev}, {"m": models["likely"]}), ["learning"]).parts
        assert way in section.parts[0]
        assert "it still gets better" in section.parts[0]


def test_unknown_names(subject):
    with pytest.raises(ParameterError, match="best-of"):
        curves(subject, ["best"])


def test_exact_metrics_have_confidence(models):
    lists = some("tune", 40).with_metric(nbest.make_metric("exact"))
    page = curves(subject_of({"dev": lists}, {"m": models["likely"]}), ["calibration"])
    assert len(page.figures()) == 1
