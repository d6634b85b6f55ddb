"""The study of alpha: rows are what the trainers did, curves end where models do, bad settings are refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from nbest.base.errors import ParameterError
from nbest.studies.alpha import METHODS, alpha
from nbest.testing import toy_lists


def lists(seed):
    return toy_lists(seed, segments_=60, noise=0.4, sparse=True)


def test_rows_are_what_the_trainers_did(tmp_path):
    dev, heldout = lists(1), lists(2)
    calls = []
    settings = {"limit": 6, "start": {"first": 1.0}}
    progress = lambda done, total: calls.append((done, total))  # noqa: E731
    found = alpha(dev, heldout, alphas=(0.8, 1.0), settings=settings, progress=progress)
    assert calls == [(1, 4), (2, 4), (3, 4), (4, 4)]
    for method, kind in METHODS.items():
        for value in (0.8, 1.0):
            rows = found.chosen(method=method, alpha=value)
            trainer = kind(alpha=value, **settings)
            model = trainer.fit(dev)
            assert [row["dev"] for row in rows] == [entry["dev"] for entry in trainer.result_.history]
            assert rows[-1]["heldout"] == pytest.approx(heldout.score(model.predict(heldout)))
            assert (np.diff(found.curve(method, value, "dev")[1]) <= 0).all()
    data, image = found.write(tmp_path / "out")
    assert json.loads(Path(data).read_text().splitlines()[0])["study"] == "alpha"
    svg = Path(image).read_text()
    assert "msr2, held-out lists" in svg
    assert svg.count("alpha = 0.8") == 1


def test_long_curves_are_thinned():
    settings = {"passes": 4, "smoothing": 0.0}
    found = alpha(lists(1), lists(2), alphas=[0.8], methods=["msr2"], points=3, settings=settings)
    assert len(found.rows) <= 3
    assert found.rows[0]["features"] == 0


@pytest.mark.parametrize(
    "bad", [{"alphas": []}, {"alphas": [1.2]}, {"methods": ["mert"]}, {"methods": []}, {"points": 1}]
)
def test_bad_settings_are_refused(bad):
    with pytest.raises(ParameterError, match="study alpha"):
        alpha(lists(1), lists(2), **bad)
