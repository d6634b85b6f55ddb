"""What a model keeps of its training: plain rows, few, that survive saving and loading."""

import json

import numpy as np
import pytest

import nbest
from nbest.base.errors import FormatError
from nbest.model.history import MOST_ROWS, history_of
from nbest.model.loglinear import LogLinear, load
from nbest.testing import toy_lists
from nbest.trainers.settings_grid import search


def test_what_is_kept():
    rows = [{"value": np.float64(1 / 3), "state": {"steps": np.ones(3)}, "path": [1.0]}, {"value": np.inf, "ok": True}]
    assert history_of(rows) == ({"value": 0.333333333}, {"value": None, "ok": True})
    assert history_of([{"state": {}}]) == ()


def test_many_rows_are_thinned_evenly():
    kept = [row["step"] for row in history_of({"step": step} for step in range(2001))]
    assert len(kept) == MOST_ROWS
    assert (kept[0], kept[-1]) == (0, 2000)
    assert set(np.diff(kept)) <= {4, 5}


@pytest.mark.parametrize("trainer", [nbest.MinRisk(), nbest.MERT(), nbest.MaxLikelihood(), nbest.Auto()])
def test_models_keep_how_they_were_trained(tmp_path, trainer):
    model = trainer.fit(toy_lists())
    assert model.history == history_of(trainer.result_.history)
    assert model.history
    model.save(tmp_path / "m.json")
    assert load(tmp_path / "m.json").history == model.history


def test_the_best_of_a_grid_keeps_its_own(tmp_path):
    lists = toy_lists()
    model, _ = search(nbest.MaxLikelihood, {"variance": [0.01, 1.0]}, lists, lists)
    alone = nbest.MaxLikelihood(variance=model.trainer["variance"]).fit(lists)
    assert model.history == alone.history


def test_older_files_have_none_and_empty_is_not_written(tmp_path):
    LogLinear({"a": 1.0}).save(tmp_path / "m.json")
    assert "history" not in json.loads((tmp_path / "m.json").read_text())
    assert load(tmp_path / "m.json").history == ()


@pytest.mark.parametrize("odd", [3, "x", {}, [1], [[]], [{}], [{"a": [1]}], [{"a": {}}], [{"a": 1}] * 501])
def test_damaged_ones_are_refused(tmp_path, odd):
    LogLinear({"a": 1.0}).save(tmp_path / "m.json")
    content = json.loads((tmp_path / "m.json").read_text())
    (tmp_path / "m.json").write_text(json.dumps({**content, "history": odd}))
    with pytest.raises(FormatError, match="'history' must"):
        load(tmp_path / "m.json")
