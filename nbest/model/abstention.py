"""When not to answer: thresholds on confidence from the curve of held-out lists, with what they promise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nbest.base.errors import CapabilityError, ParameterError
from nbest.base.types import Bools, Floats, Ints
from nbest.model.confidence import Confidence

DELTA = 0.1
"""How often the bound of a risk may fail."""
_GRID = 50  # shares of the held-out segments at which a risk is tested
_STARTS = (0.2, 0.6)  # shares where a sequence of tests begins: few segments are too few for a bound


@dataclass(frozen=True)
class Abstention:
    """The choices that are made: those of at least this confidence, and of at least this raw probability."""

    least: float = 0.0
    least_raw: float = 0.0
    said: str = ""  # what it promises, in words

    def answers(self, raw: Floats, confidence: Floats) -> Bools:
        """[N] which choices are made."""
        return (raw >= self.least_raw) & (confidence >= self.least)


def abstain_below(least: float) -> Abstention:
    """Answer where the confidence is at least this."""
    _check("abstain_below", least)
    return Abstention(least=least)


def by_coverage(known: Confidence, share: float) -> Abstention:
    """Answer this share of segments like the held-out ones, the surest; where many are equally sure, more."""
    _check("coverage", share)
    step = int(np.searchsorted(known.kept, share * known.segments - 1e-9))
    return _at(known, step, "")


def by_risk(known: Confidence, risk: float, delta: float = DELTA) -> Abstention:
    """Answer as many segments as may be so that, with probability 1 - delta over the draw of the held-out segments, at
    most the share `risk` of the answers is wrong.

    Shares of the held-out segments are tested on a grid that is fixed beforehand, from sure to unsure, each by the
    exact bound of a binomial proportion (`risk_bound`). A sequence of tests ends at the first that fails, so that it
    needs no correction for their number (fixed-sequence testing; Angelopoulos et al. 2021, "Learn then test"). There
    are two sequences, which begin at 20 and at 60 %, each at level delta / 2. Where segments belong to groups, counts
    are divided by the design effect, an approximation.
    """
    _check("risk", risk)
    if not 0 < delta < 1:
        raise ParameterError(f"'delta' must be between 0 and 1, got {delta}")
    grid = _grid(known)
    bounds = risk_bound(known.kept[grid] - known.right[grid], known.kept[grid], delta / len(_STARTS), known.design)
    best = -1
    for first in _starts(known, grid):
        fails = np.flatnonzero(bounds[first:] > risk)
        best = max(best, (first + int(fails[0]) if len(fails) else len(grid)) - 1 if bounds[first] <= risk else -1)
    if best < 0:
        lowest = float(bounds[_starts(known, grid)].min())
        raise CapabilityError(
            f"no threshold has a risk of at most {risk:g} with probability {1 - delta:g} on the {known.segments} "
            f"held-out segments; the lowest that can be promised is {np.ceil(1000 * lowest) / 1000:g}; "
            "take a larger --risk or --delta, or calibrate on more segments (nbest calibrate)"
        )
    about = "" if known.design == 1 else f" ({known.groups} groups, design effect {known.design:.2g})"
    promise = f"at most {100 * risk:g} % wrong with probability {100 * (1 - delta):g} %{about}"
    return _at(known, int(grid[best]), f"; {promise}")


def risk_bound(wrong: Ints | Floats, of: Ints | Floats, delta: float, design: float = 1.0) -> Floats:
    """[...] the largest share of wrong answers that agrees with what was seen at level delta (Clopper & Pearson 1934).

    With a design effect both counts are divided by it.
    """
    from scipy.special import betaincinv

    wrong, of = np.asarray(wrong, np.float64) / design, np.asarray(of, np.float64) / design
    right = np.maximum(of - wrong, 0.0)
    return np.where(right > 0, betaincinv(wrong + 1.0, np.where(right > 0, right, 1.0), 1.0 - delta), 1.0)


def _grid(known: Confidence) -> Ints:
    """The steps of the curve that are tested: the last one within each share; rising, none twice."""
    shares = np.arange(1, _GRID + 1) / _GRID * known.segments + 1e-9
    return np.unique(np.maximum(np.searchsorted(known.kept, shares, side="right") - 1, 0))


def _starts(known: Confidence, grid: Ints) -> Ints:
    """Where sequences begin, places in the grid; always as many, some may be the same."""
    return np.minimum(np.searchsorted(known.kept[grid], np.array(_STARTS) * known.segments - 1e-9), len(grid) - 1)


def _at(known: Confidence, step: int, promise: str) -> Abstention:
    """The threshold of a step of the curve, with what was seen there."""
    raw, kept, right = float(known.raw[step]), int(known.kept[step]), int(known.right[step])
    least = float(known.calibrated(np.array(raw)))
    said = (
        f"answers where the confidence is at least {least:.3g}: {100 * kept / known.segments:.1f} % of the "
        f"{known.segments} held-out segments ({known.how}), {100 * (1 - right / kept):.1f} % of these wrong{promise}"
    )
    return Abstention(least_raw=raw, said=said)


def _check(name: str, value: float) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not 0 <= value <= 1:
        raise ParameterError(f"'{name}' must be from 0 to 1, got {value}")
