"""Thresholds: what they promise holds, by definition and by simulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from nbest.base.errors import CapabilityError, ParameterError
from nbest.decisions.calibration import curve_of, design_effect, learned
from nbest.model.abstention import Abstention, abstain_below, by_coverage, by_risk, risk_bound
from nbest.model.confidence import Confidence


def known(raw, right, units=None) -> Confidence:
    grouped = units is not None
    units = np.arange(len(raw)) if units is None else units
    about = {"decision": {"kind": "vote"}, "right_from": 1.0, "how": "5 folds"}
    return learned(raw, right, units, grouped=grouped, **about)


def drawn(rng, number: int):
    raw = rng.beta(1.2, 0.8, number)
    return raw, rng.random(number) < 1 / (1 + np.exp(2.0 - 6 * raw))


def realised(least: float) -> float:
    """The share of wrong answers from this raw probability on, by integration."""
    x = np.linspace(least, 1, 4001)[:-1] + (1 - least) / 8000
    density = x**0.2 * (1 - x) ** -0.2
    return float(np.average(1 / (1 + np.exp(6 * x - 2.0)), weights=density))


def test_bound_is_the_largest_share_that_is_not_refuted() -> None:
    for wrong, of in ((0, 30), (3, 50), (17, 40)):
        bound = float(risk_bound(np.array(wrong), np.array(of), 0.1))
        assert binom.cdf(wrong, of, bound) == pytest.approx(0.1)
    assert float(risk_bound(np.array(5), np.array(5), 0.1)) == 1.0
    assert risk_bound(np.array(2), np.array(40), 0.1, 2.0) == pytest.approx(risk_bound(np.array(1), np.array(20), 0.1))


def test_coverage_takes_the_surest() -> None:
    raw, right = drawn(np.random.default_rng(1), 400)
    found = by_coverage(known(raw, right), 0.8)
    assert (raw >= found.least_raw).sum() == 320
    assert "80.0 %" in found.said
    tied = known(np.repeat([0.2, 0.9], 50), np.repeat([False, True], 50))
    assert by_coverage(tied, 0.6).least_raw == 0.0
    assert by_coverage(tied, 0.5).least_raw == pytest.approx(0.55)


def risks(bound: float, delta: float, number: int, draws: int, copies: int = 1):
    """The realised risks of thresholds for many draws of held-out lists; 0 where nothing can be promised."""
    rng = np.random.default_rng(2)
    out = []
    for _ in range(draws):
        raw, right = drawn(rng, number // copies)
        units = None if copies == 1 else np.repeat(np.arange(number // copies), copies)
        held = curve_alone(np.repeat(raw, copies), np.repeat(right, copies), units)
        try:
            out.append(realised(by_risk(held, bound, delta).least_raw))
        except CapabilityError:
            out.append(0.0)
    return np.array(out)


def curve_alone(raw, right, units) -> Confidence:
    """Without a map, which takes longest to fit."""
    values = {"slope": 1.0, "offset": 0.0, "floor": 1e-6}
    design = 1.0 if units is None else design_effect(right, units)
    curve = curve_of(raw, right)
    return Confidence({}, "logistic", values, **curve, right_from=1.0, design=design, groups=1)


@pytest.mark.parametrize(("bound", "copies"), [(0.1, 1), (0.2, 1), (0.2, 4)])
def test_a_risk_is_kept_as_often_as_promised(bound: float, copies: int) -> None:
    found = risks(bound, 0.1, 400 * copies, 200, copies)
    assert (found > 0).mean() > 0.5  # it is not always refused
    assert (found > bound).mean() <= 0.1 + 2 * np.sqrt(0.1 * 0.9 / 200)


def test_without_a_bound_the_risk_would_not_be_kept(monkeypatch) -> None:
    monkeypatch.setattr("nbest.model.abstention.risk_bound", lambda wrong, of, delta, design: wrong / of)
    assert (risks(0.1, 0.1, 400, 100) > 0.1).mean() > 0.3


def test_a_risk_that_cannot_be_promised_names_the_lowest() -> None:
    raw, right = drawn(np.random.default_rng(3), 200)
    held = known(raw, right)
    with pytest.raises(CapabilityError, match="the lowest that can be promised is") as caught:
        by_risk(held, 0.001)
    lowest = float(str(caught.value).split("promised is ")[1].split(";")[0])
    by_risk(held, lowest)
    with pytest.raises(CapabilityError):
        by_risk(held, lowest - 0.002)


def test_arguments() -> None:
    held = known(*drawn(np.random.default_rng(4), 50))
    for wrong in (lambda: abstain_below(1.5), lambda: by_coverage(held, -0.1), lambda: by_risk(held, 0.1, 0.0)):
        with pytest.raises(ParameterError):
            wrong()
    assert Abstention(0.5, 0.2).answers(np.array([0.1, 0.3, 0.3]), np.array([0.9, 0.9, 0.1])).tolist() == [0, 1, 0]
