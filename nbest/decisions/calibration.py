"""Calibration: from raw probabilities of chosen answers, and which were right, to those that can be believed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from nbest.base.randomness import generator
from nbest.base.types import Bools, Floats, Ints
from nbest.compute import segments
from nbest.model.confidence import MAPS, STEPS, Confidence, log_odds, logistic

BINS = 10
"""Bins of as many segments each in which calibration errors are measured."""
ENOUGH = 200
"""Segments from which a map with as many steps as the data want is tried."""
_FOLDS = 5
_NOISE = 1e-13  # by which the same share of votes may differ between lists
_FLOORS = (1e-9, 1e-6, 1e-4, 1e-3, 1e-2, 3e-2)


@dataclass(frozen=True, eq=False)
class Steps:
    """Segments with the same raw probability, or with nearly the same where there are very many; rising."""

    low: Floats  # [S] the lowest raw probability
    high: Floats  # [S] the highest
    mean: Floats  # [S]
    count: Floats  # [S]
    right: Floats  # [S]


def steps(raw: Floats, right: Bools) -> Steps:
    """At most 1,000 steps."""
    order = np.argsort(raw, kind="stable")
    values, hits = raw[order], np.asarray(right, np.float64)[order]
    new = np.append(True, np.diff(values) > _NOISE)
    if new.sum() > STEPS:
        wanted = np.zeros(len(values), bool)
        wanted[np.linspace(0, len(values), STEPS, endpoint=False).astype(np.int64)] = True
        places = np.flatnonzero(new)
        new = np.zeros(len(values), bool)
        new[places[np.searchsorted(places, np.flatnonzero(wanted), side="right") - 1]] = True
    offsets = np.append(np.flatnonzero(new), len(values))
    count = segments.lengths(offsets).astype(np.float64)
    mean = segments.sums(values, offsets) / count
    return Steps(values[offsets[:-1]], values[offsets[1:] - 1], mean, count, segments.sums(hits, offsets))


def fit_map(raw: Floats, right: Bools, units: Ints, seed: int = 1) -> tuple[str, dict[str, Any]]:
    """The kind and the values of the map that is best on segments it was not fitted on.

    "logistic" has a slope (a temperature) and an offset, as a list need not have any right answer; "isotonic" has any
    steps that never fall, and is tried from 200 segments. It is taken where its log loss in folds of whole groups
    (`units`) is smaller by more than a standard error of the difference, as it makes equals of many.
    """
    if len(raw) < ENOUGH or units.max(initial=-1) + 1 < _FOLDS:
        return "logistic", _FITS["logistic"](steps(raw, right))
    losses = {kind: surprises(_held_out(raw, right, units, seed, kind), right) for kind in _FITS}
    gains = np.bincount(units, losses["logistic"] - losses["isotonic"])
    best = "isotonic" if gains.sum() > np.sqrt(len(gains)) * gains.std() else "logistic"
    return best, _FITS[best](steps(raw, right))


def cross_validated(raw: Floats, right: Bools, units: Ints, seed: int = 1) -> Floats:
    """[N] calibrated probabilities by maps that were chosen and fitted without the segment's fold."""
    return _held_out(raw, right, units, seed + 1, None)


def _held_out(raw: Floats, right: Bools, units: Ints, seed: int, kind: str | None) -> Floats:
    """[N] probabilities by a kind of map, or by the one that `fit_map` chooses, fitted on the other folds."""
    number = int(units.max(initial=-1)) + 1
    fold = (generator(seed).permutation(number) % min(_FOLDS, number))[units]
    out = np.zeros(len(raw))
    for each in range(int(fold.max(initial=-1)) + 1):
        inside, outside = fold != each, fold == each
        _, mine = np.unique(units[inside], return_inverse=True)
        if kind is None:
            found, values = fit_map(raw[inside], right[inside], mine, seed)
        else:
            found, values = kind, _FITS[kind](steps(raw[inside], right[inside]))
        out[outside] = MAPS[found](values, raw[outside])
    return out


# maps -----------------------------------------------------------------------------------------------------------


def _fit_logistic(given: Steps) -> dict[str, float]:
    """Slope >= 0 and offset by maximum likelihood, with the smoothed targets of Platt (1999); the floor likewise, out
    of a few, as votes of all for one answer are no certainty."""
    total, hits = given.count.sum(), given.right.sum()
    high, low = (hits + 1.0) / (hits + 2.0), 1.0 / (total - hits + 2.0)
    wanted = high * given.right + low * (given.count - given.right)
    fits = [_newton(log_odds(given.mean, floor), given.count, wanted) for floor in _FLOORS]
    best = int(np.argmin([loss for loss, _, _ in fits]))
    return {"slope": fits[best][1], "offset": fits[best][2], "floor": _FLOORS[best]}


def _newton(x: Floats, count: Floats, wanted: Floats) -> tuple[float, float, float]:
    """The least sum of count * log(1 + exp(z)) - wanted * z for z = slope x + offset, slope and offset there."""
    middle = float(np.average(x, weights=count))
    spread = float(np.sqrt(np.average((x - middle) ** 2, weights=count))) if np.ptp(x) else 0.0
    share = float(wanted.sum() / count.sum())
    design = np.stack([(x - middle) / (spread or 1.0), np.ones(len(x))], axis=1)

    def loss(at: Floats) -> float:
        z = design @ at
        return float(count @ np.logaddexp(0.0, z) - wanted @ z)

    at = np.array([0.0, np.log(share / (1.0 - share))])
    flat = loss(at)
    for _ in range(100 if spread else 0):
        p = logistic(design @ at)
        slope = design.T @ (count * p - wanted)
        curvature = (design * (count * p * (1.0 - p) + 1e-12)[:, None]).T @ design
        move, size, now = np.linalg.solve(curvature, slope), 1.0, loss(at)
        while loss(at - size * move) > now and size > 1e-6:
            size /= 2.0
        at = at - size * move
        if float(np.abs(size * move).max()) < 1e-10:
            break
    if at[0] <= 0:
        return flat, 0.0, float(np.log(share / (1.0 - share)))
    return loss(at), float(at[0] / spread), float(at[1] - at[0] * middle / spread)


def _fit_isotonic(given: Steps) -> dict[str, list[float]]:
    """Steps that never fall, by pooling neighbours that do; each with half a right and half a wrong segment more, so
    that none is certain."""
    offsets = _pooled(given.right / given.count, given.count)
    count, right = segments.sums(given.count, offsets), segments.sums(given.right, offsets)
    smooth = (right + 0.5) / (count + 1.0)
    outer = _pooled(smooth, count)
    weight = segments.sums(count, outer)
    value = segments.sums(smooth * count, outer) / weight
    firsts, lasts = offsets[outer[:-1]], offsets[outer[1:]] - 1
    raw = np.stack([given.low[firsts], given.high[lasts]], axis=1).ravel()
    return {"raw": raw.tolist(), "probability": np.repeat(value, 2).tolist()}


def _pooled(values: Floats, weights: Floats) -> Ints:
    """[B+1] offsets of the blocks that the pool-adjacent-violators algorithm makes of values [S]."""
    blocks: list[tuple[float, float, int]] = []  # sum, weight, where it ends
    for at, (value, weight) in enumerate(zip(values.tolist(), weights.tolist(), strict=True)):
        total, size = value * weight, weight
        while blocks and blocks[-1][0] * size >= total * blocks[-1][1]:
            total, size = total + blocks[-1][0], size + blocks[-1][1]
            blocks.pop()
        blocks.append((total, size, at + 1))
    return np.array([0, *(end for _, _, end in blocks)])


_FITS: dict[str, Callable[[Steps], dict[str, Any]]] = {"logistic": _fit_logistic, "isotonic": _fit_isotonic}


# what held-out lists tell ---------------------------------------------------------------------------------------


def learned(
    raw: Floats, right: Bools, units: Ints, *, decision: Mapping[str, Any], grouped: bool, seed: int = 1, **about: Any
) -> Confidence:
    """All that is kept of raw probabilities [N] of choices and of which were right; `units` are numbers of groups."""
    kind, values = fit_map(raw, right, units, seed)
    errors = {
        "before": calibration_errors(raw, right),
        "after": calibration_errors(cross_validated(raw, right, units, seed), right),
    }
    return Confidence(
        decision=decision,
        kind=kind,
        values=values,
        **curve_of(raw, right),
        groups=int(units.max(initial=-1)) + 1 if grouped else 0,
        design=design_effect(right, units) if grouped else 1.0,
        errors=errors,
        **about,
    )


def curve_of(raw: Floats, right: Bools) -> dict[str, Any]:
    """Thresholds between raw probabilities, how many choices each keeps, and how many of these are right."""
    found = steps(raw, right)
    between = np.append(0.0, (found.high[:-1] + found.low[1:]) / 2)
    kept, hits = (np.cumsum(each[::-1]).astype(np.int64) for each in (found.count, found.right))
    return {"raw": between[::-1], "kept": kept, "right": hits}


def design_effect(right: Bools, units: Ints) -> float:
    """How many segments in groups tell as much as one that stands alone: the variance of the share of right ones by
    groups over that of a binomial, at least 1 (Kish 1965). Where all are right or all wrong, groups count as one each.
    """
    sizes = np.bincount(units).astype(np.float64)
    residues = np.bincount(units, np.asarray(right, np.float64) - np.mean(right))
    alone = len(right) * float(np.var(right))
    number = len(sizes)
    if alone == 0 or number < 2:
        return float((sizes**2).sum() / sizes.sum())
    return max(1.0, float((residues**2).sum()) * number / (number - 1) / alone)


# errors ---------------------------------------------------------------------------------------------------------


def calibration_errors(probability: Floats, right: Bools) -> dict[str, float]:
    """Expected calibration error, Brier score and log loss, in nats."""
    return {
        "ece": expected_error(probability, right),
        "brier": float(np.mean((probability - right) ** 2)),
        "log_loss": log_loss(probability, right),
    }


def expected_error(probability: Floats, right: Bools, bins: int = BINS) -> float:
    """The mean distance of probability and share of right segments over bins of as many segments each (ECE).

    Chance alone makes it larger than 0, the more the fewer segments there are.
    """
    parts = binned(probability, bins)
    gaps = [abs(float(probability[part].sum()) - float(right[part].sum())) for part in parts]
    return float(sum(gaps) / len(probability)) if len(probability) else 0.0


def binned(probability: Floats, bins: int = BINS) -> list[Ints]:
    """The segments of each bin, unsure ones first; as many in each, where no two have the same probability."""
    order = np.argsort(probability, kind="stable")
    cuts = [len(order) * number // bins for number in range(1, bins)]
    values = probability[order]
    edges = sorted({int(np.searchsorted(values, values[cut])) for cut in cuts if cut < len(order)} - {0})
    return [part for part in np.split(order, edges) if len(part)]


def log_loss(probability: Floats, right: Bools) -> float:
    """The mean of `surprises`."""
    return float(np.mean(surprises(probability, right)))


def surprises(probability: Floats, right: Bools) -> Floats:
    """[N] -log of the probability of what came true; infinite where that was 0."""
    with np.errstate(divide="ignore"):
        return -np.log(np.where(right, probability, 1.0 - probability))
