"""Maps, curves and errors of calibration against SciPy, definitions and simulations."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import isotonic_regression, minimize

from nbest.decisions.calibration import (
    _fit_isotonic,
    _fit_logistic,
    binned,
    calibration_errors,
    cross_validated,
    design_effect,
    expected_error,
    fit_map,
    learned,
    log_loss,
    steps,
)
from nbest.model.confidence import MAPS, confidence_of, log_odds


def drawn(number: int, seed: int, sharp: float = 3.0, ties: int = 0):
    """Raw probabilities that are too sure of themselves, and what was right."""
    rng = np.random.default_rng(seed)
    logit = rng.normal(1.0, 1.5, number)
    raw = 1 / (1 + np.exp(-sharp * logit))
    raw = np.round(raw * ties) / ties if ties else raw
    return raw, rng.random(number) < 1 / (1 + np.exp(-logit))


def test_logistic_is_the_most_likely_map() -> None:
    raw, right = drawn(300, 1)
    found = _fit_logistic(steps(raw, right))
    hits = right.sum()
    wanted = np.where(right, (hits + 1) / (hits + 2), 1 / (len(raw) - hits + 2))
    x = log_odds(raw, found["floor"])

    def loss(at):
        z = at[0] * x + at[1]
        return float(np.sum(np.logaddexp(0, z) - wanted * z))

    other = minimize(loss, [1.0, 0.0], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-10, "maxiter": 4000})
    assert [found["slope"], found["offset"]] == pytest.approx(list(other.x), rel=1e-4)


def test_logistic_undoes_a_temperature_and_an_offset() -> None:
    raw, right = drawn(20_000, 2)
    found = _fit_logistic(steps(raw, right))
    assert found["slope"] == pytest.approx(1 / 3, abs=0.02)
    assert found["offset"] == pytest.approx(0.0, abs=0.06)


@pytest.mark.parametrize("ties", [0, 10])
def test_isotonic_pools_as_scipy_does(ties: int) -> None:
    raw, right = drawn(200, 3, ties=ties)
    given = steps(raw, right)
    wanted = isotonic_regression(given.right / given.count, weights=given.count)
    counts = np.add.reduceat(given.count, wanted.blocks[:-1])
    hits = np.add.reduceat(given.right, wanted.blocks[:-1])
    smooth = (hits + 0.5) / (counts + 1)
    smooth = isotonic_regression(smooth, weights=counts).x
    found = MAPS["isotonic"](_fit_isotonic(given), given.mean)
    assert found == pytest.approx(np.repeat(smooth, np.diff(wanted.blocks)))
    assert found.min() > 0
    assert found.max() < 1


@pytest.mark.parametrize("kind", ["logistic", "isotonic"])
@pytest.mark.parametrize("right", ["all", "none", "against"])
def test_maps_never_fall_and_are_never_certain(kind: str, right: str) -> None:
    raw = np.linspace(0, 1, 40)
    hits = {"all": raw >= 0, "none": raw < 0, "against": raw < 0.5}[right]
    fit = {"logistic": _fit_logistic, "isotonic": _fit_isotonic}[kind]
    found = MAPS[kind](fit(steps(raw, hits)), np.linspace(0, 1, 101))
    assert (np.diff(found) >= 0).all()
    assert found.min() > 0
    assert found.max() < 1
    assert found.mean() == pytest.approx({"all": 41 / 42, "none": 1 / 42, "against": 0.5}[right], abs=0.015)


def test_steps_keep_all_and_ties_together() -> None:
    raw, right = drawn(5000, 4)
    found = steps(raw, right)
    assert len(found.count) <= 1000
    assert found.count.sum() == 5000
    assert found.right.sum() == right.sum()
    assert (found.low[1:] > found.high[:-1]).all()
    assert len(steps(np.array([3 / 7, np.nextafter(3 / 7, 1), 0.5]), np.ones(3, bool)).count) == 2
    assert len(steps(np.repeat([0.2, 0.7], 3000), np.ones(6000, bool)).count) == 2


def test_isotonic_where_there_are_enough_and_no_logistic_map_fits() -> None:
    rng = np.random.default_rng(5)
    raw = rng.random(3000)
    right = rng.random(3000) < np.where(raw > 0.5, 0.9, 0.2)
    alone = np.arange(3000)
    assert fit_map(raw, right, alone)[0] == "isotonic"
    assert fit_map(raw[:150], right[:150], alone[:150])[0] == "logistic"
    raw, right = drawn(400, 6)
    assert fit_map(raw, right, np.arange(400))[0] == "logistic"


def test_cross_validated_is_better_than_raw_and_knows_nothing_of_its_fold() -> None:
    raw, right = drawn(600, 7)
    alone = np.arange(600)
    before, after = (calibration_errors(p, right) for p in (raw, cross_validated(raw, right, alone)))
    assert all(after[name] < before[name] for name in before)
    noise = np.random.default_rng(8).random(600) < 0.5
    honest = log_loss(cross_validated(np.arange(600) / 600, noise, alone), noise)
    assert honest > np.log(2) - 0.01


def test_errors_by_their_definitions() -> None:
    p, right = np.array([0.1, 0.2, 0.8, 1.0]), np.array([False, True, True, True])
    assert expected_error(p, right, bins=2) == pytest.approx((abs(0.3 - 1) + abs(1.8 - 2)) / 4)
    found = calibration_errors(p, right)
    assert found["brier"] == pytest.approx((0.01 + 0.64 + 0.04) / 4)
    assert found["log_loss"] == pytest.approx(-(np.log(0.9) + np.log(0.2) + np.log(0.8)) / 4)
    assert log_loss(np.array([1.0]), np.array([False])) == np.inf
    assert [len(part) for part in binned(np.array([0.5, 0.5, 0.5, 0.9]), 4)] == [3, 1]


def test_curve_counts_the_surest() -> None:
    raw, right = drawn(300, 9, ties=20)
    known = learned(raw, right, np.arange(300), decision={"kind": "vote"}, grouped=False, right_from=1.0)
    for least, kept, hits in zip(known.raw, known.kept, known.right, strict=True):
        assert (kept, hits) == ((raw >= least).sum(), right[raw >= least].sum())
    pairs = raw[right][:, None] - raw[~right][None]
    assert known.order == pytest.approx(np.mean((pairs > 0) + 0.5 * (pairs == 0)))
    again = confidence_of(known.content())
    assert again is not None
    assert again.content() == known.content()
    assert (np.diff(known.calibrated(np.linspace(0, 1, 99))) >= 0).all()


def test_design_effect_of_copies() -> None:
    right = np.random.default_rng(10).random(200) < 0.7
    units = np.arange(200)
    assert design_effect(right, units) == pytest.approx(1.0, abs=0.01)
    assert design_effect(np.repeat(right, 4), np.repeat(units, 4)) == pytest.approx(4.0, rel=0.01)
    assert design_effect(np.ones(12, bool), np.repeat(np.arange(4), 3)) == 3.0
