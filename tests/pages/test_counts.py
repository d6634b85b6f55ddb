"""The section "What counts": weights in units of spread, intervals, correlations, findings."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import nbest
from nbest.compute import segments
from nbest.features import within_scale
from nbest.model.loglinear import LogLinear
from nbest.pages import counts as module
from nbest.pages.counts import counts, trainer_of
from nbest.report import Figure, Items, Page, Table
from tests.pages.conftest import some, subject_of


def section(page: Page, title: str) -> Page:
    return next(part for part in page.parts if isinstance(part, Page) and part.title == title)


def test_weights_in_units_of_spread(subject, models):
    table = next(part for part in counts(subject, draws=0).parts if isinstance(part, Table))
    dev = subject.dev.lists
    spread = dict(zip(dev.feature_names, within_scale(dev), strict=True))
    for at, model in ((1, models["likely"]), (4, models["sharp"])):
        sizes = {row[0]: row[at : at + 3] for row in table.rows}
        total = sum(abs(weight * spread[name]) for name, weight in model.weights.items())
        for name, weight in model.weights.items():
            assert sizes[name] == pytest.approx([weight, weight * spread[name], weight * spread[name] / total])
    assert "Share: what part of all these sizes together the feature has" in table.notes[0]
    shares = [abs(row[3]) for row in table.rows]
    assert shares == sorted(shares, reverse=True)
    assert sum(shares) == pytest.approx(1.0)


def test_correlations_are_those_of_columns_centred_in_lists(subject):
    table = [part for part in counts(subject, draws=0).parts if isinstance(part, Table)][1]
    dev = subject.dev.lists
    columns = np.asarray(dev.features, np.float64)
    means = segments.sums(columns, dev.offsets) / dev.lengths[:, None]
    found = np.corrcoef((columns - np.repeat(means, dev.lengths, axis=0)).T)
    assert [row[0] for row in table.rows] == list(dev.feature_names)
    assert np.array([row[1:] for row in table.rows]) == pytest.approx(found, abs=1e-9)


def test_weights_are_learned_again_by_the_method_of_the_first_model(subject):
    again = section(counts(subject, draws=2), "How sure the weights are")
    assert "2 bootstrap samples of these lists by likelihood. 2 samples are rough; --draws 100" in again.parts[0]
    assert "Positive: WER gets worse without this feature" in again.parts[1]
    assert "on 2 of 3 parts of the lists" in again.parts[1]
    table = next(part for part in again.parts if isinstance(part, Table))
    assert {row[0] for row in table.rows} == set(subject.dev.lists.feature_names)
    assert any(isinstance(part, Figure) for part in again.parts)
    assert not [part for part in counts(subject, draws=0).parts if getattr(part, "title", "") == again.title]


def test_enough_samples_are_not_called_rough(subject, monkeypatch):
    monkeypatch.setattr(module, "_ENOUGH", 3)
    assert "rough" not in section(counts(subject, draws=3), "How sure the weights are").parts[0]


def test_many_lists_are_sampled_and_it_is_said(subject, monkeypatch):
    monkeypatch.setattr(module, "_SEGMENTS", 20)
    again = section(counts(subject, draws=2), "How sure the weights are")
    assert "20 of the 60 segments" in again.parts[0]


def test_what_cannot_be_learned_again_is_said(monkeypatch):
    dev = some("tune", 20)
    zero = LogLinear(dict.fromkeys(dev.feature_names, 0.0), trainer={"name": "MaxLikelihood", "variance": -1.0})
    again = section(counts(subject_of({"dev": dev}, {"m": zero}), draws=2), "How sure the weights are")
    assert "Weights could not be learned again: 'variance'" in again.parts[0]
    monkeypatch.setattr(module, "_SPARSE", -1)
    again = section(counts(subject_of({"dev": dev}, {"m": zero}), draws=2), "How sure the weights are")
    assert "not learned again: 0 sparse features" in again.parts[0]


def test_trainers_are_built_again_from_what_the_file_says():
    assert trainer_of(LogLinear({}, trainer={"name": "MaxLikelihood", "variance": "inf", "odd": 3})) == (
        "likelihood", {"variance": float("inf")}, "",
    )  # fmt: skip
    assert trainer_of(LogLinear({}, trainer={"name": "Auto"}))[0] == "likelihood"
    assert "would take long" in trainer_of(LogLinear({}, trainer={"name": "Auto"}))[2]
    assert "names no method" in trainer_of(LogLinear({}))[2]


def test_findings_and_single_features(models):
    dev = some("tune", 20)
    flat = dev.with_features(["flat"], np.ones((dev.hypotheses, 1)))
    page = counts(subject_of({"dev": flat}, {"m": models["likely"]}), draws=0)
    found = section(page, "What looks odd").parts[0]
    assert isinstance(found, Items)
    assert any("'flat' never differs within a list" in text for text in found.texts)
    one = replace(nbest.MaxLikelihood().fit(dev.only_features(["lm"])), features=())
    page = counts(subject_of({"dev": dev.only_features(["lm"])}, {"m": one}), draws=0)
    assert any("none overlap" in part for part in page.parts if isinstance(part, str))
