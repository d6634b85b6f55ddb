"""Steps of the loop: weights that a round decodes with stay near those whose candidates are known."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from nbest.base.errors import ParameterError
from nbest.cli.main import main
from nbest.decisions.chosen import score_of
from nbest.features import within_scale
from nbest.loop.part_way import part_way
from nbest.metrics import WER
from nbest.model.loglinear import LogLinear
from nbest.testing import toy_lists
from nbest.trainers import MERT
from tests.loop.test_loop import DEV, Toy, loop

LISTS = toy_lists(3, metric=WER(), noise=0.5)
NAMES = LISTS.feature_names
SCALE = within_scale(LISTS)


def weighted(*values: float) -> dict[str, float]:
    """Weights of the features, in units of their spread."""
    return dict(zip(NAMES, (np.resize(values, len(NAMES)) / SCALE).tolist(), strict=True))


def test_half_way_in_units_of_spreads() -> None:
    last, own = weighted(1.0, 0.0), weighted(0.0, -6.0)
    count = len(NAMES)
    sizes = -(-count // 2), count // 2  # how many are 1, how many are -6
    found = part_way(LogLinear(own, confidence={"kind": "of its own weights"}), last, 0.5, LISTS)
    scaled = np.array([found.weights[name] for name in NAMES]) * SCALE
    half = np.where(np.arange(count) % 2 == 0, 0.5 / sizes[0], -0.5 / sizes[1])
    np.testing.assert_allclose(scaled, half * 6.0 * sizes[1])  # as large as the model's own
    assert found.scores_ == {"dev": score_of(LISTS, found)}
    assert not found.confidence


@pytest.mark.parametrize(
    ("last", "step"), [({}, 0.5), (weighted(0.0), 0.5), (weighted(3.0), 1.0), (weighted(-1.0), 0.5)]
)
def test_all_the_way_where_there_is_no_other(last: dict[str, float], step: float) -> None:
    model = LogLinear(weighted(2.0), scores_={"dev": 1.0})
    assert part_way(model, last, step, LISTS) is model  # none before, all of it, or half way to the opposite is nothing


@pytest.mark.parametrize("step", [0.5, 1.0])
def test_a_model_of_no_weights_leaves_the_last_ones(step: float) -> None:
    last = weighted(1.0, -2.0, 0.5)
    found = part_way(LogLinear(weighted(0.0), scores_={"dev": 1.0}), last, step, LISTS)
    assert dict(found.weights) == last
    assert found.scores_ == {"dev": score_of(LISTS, found)}


def test_units_and_sizes_of_weights_do_not_matter() -> None:
    last, model = weighted(1.0, 2.0, 0.5), LogLinear(weighted(-1.0, 3.0))
    found = part_way(model, last, 0.25, LISTS)
    larger = part_way(model, {name: 100 * weight for name, weight in last.items()}, 0.25, LISTS)
    np.testing.assert_allclose(list(larger.weights.values()), list(found.weights.values()))
    features = np.array(LISTS.features)
    features[:, 0] *= 1000.0
    first = NAMES[0]
    own = {**model.weights, first: model.weights[first] / 1000}
    other = part_way(LogLinear(own), {**last, first: last[first] / 1000}, 0.25, replace(LISTS, features=features))
    np.testing.assert_allclose(other.weights[first] * 1000, found.weights[first])
    np.testing.assert_allclose(other.weights[NAMES[1]], found.weights[NAMES[1]])


def test_rounds_decode_with_weights_part_of_the_way(tmp_path: Path) -> None:
    """Each round's weights are those of a training on the pool so far, half way from the round before."""
    decoder = Toy(k=3)
    made = loop(tmp_path / "run", decoder, step=0.5)
    made.run(DEV)
    for number in (1, 2, 3):
        pool = made.place.pool(number, WER())
        whole = MERT(restarts=2, start=decoder.calls[number - 1]).fit(pool)
        half = part_way(whole, decoder.calls[number - 1], 0.5, pool)
        assert dict(half.weights) == decoder.calls[number] != dict(whole.weights)
        trained = made.place.trained(number)
        assert trained is not None
        assert trained["scores"] == dict(half.scores_)
    assert json.loads((tmp_path / "run" / "loop.json").read_text())["step"] == 0.5


def test_other_steps_are_another_run(tmp_path: Path) -> None:
    loop(tmp_path / "run", rounds=1, step=0.5).run(DEV)
    with pytest.raises(ParameterError, match=r"begun with step 0\.5"):
        loop(tmp_path / "run", rounds=1).run(DEV, resume=True)


@pytest.mark.parametrize("step", [0.0, 1.5, -1.0])
def test_steps_that_are_none(tmp_path: Path, step: float, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ParameterError, match="'step' of Loop"):
        loop(tmp_path / "run", step=step)
    words = [
        "loop",
        "dev.src",
        "--decoder",
        "d {weights} {input} {output}",
        "--metric",
        "wer",
        "-o",
        str(tmp_path / "o"),
    ]
    assert main([*words, f"--step={step}"]) == 2
    assert "step" in capsys.readouterr().err
