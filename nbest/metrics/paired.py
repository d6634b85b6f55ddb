"""Is the difference between two choices more than chance? Statistics of segments, swapped at random or drawn again.

Each takes the statistics [N, M] of what two systems chose for the same N segments, and the metric. Segments of one
document or speaker are not independent: `by_group` adds them up first, so that documents are swapped and drawn whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from nbest.base.errors import ParameterError
from nbest.base.randomness import generator
from nbest.base.types import Bools, Floats
from nbest.compute.executors import current
from nbest.corpus.metric import Metric

CHUNK = 1 << 22
"""Entries of a selection matrix handled at once."""

_PARTS = 4  # such matrices in memory at once
_WHOLE = 1 << 29  # entries up to which all selections are drawn in one call, as sacrebleu does


@dataclass(frozen=True)
class Comparison:
    """Scores of two systems, p-value of their difference, and 95 % intervals where the test gives them."""

    test: str
    first: float
    second: float
    p: float
    samples: int
    interval: tuple[float, float] | None = None  # of second - first
    first_interval: tuple[float, float] | None = None
    second_interval: tuple[float, float] | None = None

    @property
    def difference(self) -> float:
        """second - first."""
        return self.second - self.first


def by_group(stats: Floats, groups: Sequence[str] | None) -> Floats:
    """[G, ...] sums of statistics [N, ...] of each group, in order of first appearance; without groups as they are."""
    if groups is None:
        return stats
    if len(groups) != len(stats):
        raise ParameterError(f"'groups' must have one entry for each of {len(stats)} segments, got {len(groups)}")
    numbers: dict[str, int] = {}
    places = [numbers.setdefault(group, len(numbers)) for group in groups]
    sums = np.zeros((len(numbers), *stats.shape[1:]))
    np.add.at(sums, places, stats)
    return sums


def permutation(
    metric: Metric, first: Floats, second: Floats, *, samples: int = 10000, seed: int = 12345
) -> Comparison:
    """Paired permutation test (approximate randomisation), two-sided: outputs of each segment are swapped at random.

        p = (1 + #{samples whose |difference| >= the observed one}) / (samples + 1)

    Draws the same swaps as sacrebleu's `--paired-ar` for the same seed. Differs: sacrebleu counts only strictly larger
    differences, which is too small a p where ties occur and gives 1 / (samples + 1) for identical systems.
    Cost: one matrix product over the segments that differ.
    """
    check_pair(first, second, samples)
    rng = generator(seed)
    change = second - first
    differs = np.flatnonzero((change != 0).any(axis=1))
    observed = abs(float(metric.score(second.sum(axis=0)) - metric.score(first.sum(axis=0))))
    swapped = partial(_swapped, metric, first.sum(axis=0), second.sum(axis=0), change[differs])
    swaps = (swaps[:, differs] for swaps in selections(rng, samples, len(first)))
    gaps = np.concatenate(passes(swapped, swaps))
    p = extreme_share(gaps, observed, samples)
    return Comparison("permutation", *both_scores(metric, first, second), p, samples)


def extreme_share(gaps: Floats, observed: float, samples: int) -> float:
    """The p-value: how many of the differences [samples] are at least the observed one, which counts, too."""
    extreme = int((gaps >= observed - 1e-9 * max(1.0, observed)).sum())
    return (extreme + 1) / (samples + 1)


def _swapped(metric: Metric, first: Floats, second: Floats, change: Floats, swaps: Bools) -> Floats:
    """[S] sizes of the differences of scores after each of some swaps [S, N]."""
    moved = swaps.astype(np.float64) @ change
    return np.abs(metric.score(first + moved) - metric.score(second - moved))


def better_than(metric: Metric, first: Floats, others: Floats, *, samples: int = 2000, seed: int = 12345) -> Floats:
    """[C] p-values of how much better each of C others [N, C, M] is than the first [N, M], corrected for their number.

        p_c = (1 + #{samples: max_d z*_d >= z_c}) / (samples + 1),        z_c = gain_c / spread of gain_c over swaps

    Outputs of each segment are swapped at random with those of the first, for all others alike, one-sided. The largest
    of all is what chance must beat (Westfall & Young 1993, single step), so that the p of the best is honest however
    many were tried; ones that choose alike cost little. One that equals the first has p = 1.
    """
    change = others - first[:, None]
    sign = 1.0 if metric.higher_is_better else -1.0
    low, high = first.sum(axis=0), others.sum(axis=0)
    differs = np.flatnonzero((change != 0).any(axis=(1, 2)))
    check_pair(first, others[:, 0], samples)
    swapped = partial(_swapped_gains, metric, low, high, change[differs])
    drawn = passes(swapped, (swaps[:, differs] for swaps in selections(generator(seed), samples, len(first))))
    gains = sign * np.concatenate(drawn)
    spread = gains.std(axis=0)
    found = sign * np.asarray(metric.score(high) - metric.score(low))
    unit = np.where(spread > 0, spread, np.inf)
    largest = (gains / unit).max(axis=1)
    return np.array([extreme_share(largest, z, samples) if z > 0 else 1.0 for z in found / unit])


def _swapped_gains(metric: Metric, first: Floats, others: Floats, change: Floats, swaps: Bools) -> Floats:
    """[S, C] differences of the scores of others and the first after each of some swaps [S, N]."""
    moved = np.tensordot(swaps.astype(np.float64), change, axes=1)
    return np.asarray(metric.score(others - moved) - metric.score(first + moved))


def passes(function: Callable[[Any], Floats], draws: Iterator[Any]) -> list[Floats]:
    """The results of passes over what is drawn, a few parts in memory at a time."""
    found: list[Floats] = []
    while some := list(islice(draws, _PARTS)):
        found += current().map(function, some)
    return found


def selections(rng: np.random.Generator, samples: int, count: int) -> Iterator[Bools]:
    """Boolean matrices [<= samples, count] that together have `samples` rows."""
    rows = max(1, CHUNK // max(count, 1))
    if samples * count <= _WHOLE:
        drawn = rng.integers(2, size=(samples, count), dtype=bool)
        yield from (drawn[at : at + rows] for at in range(0, samples, rows))
        return
    for at in range(0, samples, rows):
        yield rng.integers(2, size=(min(rows, samples - at), count), dtype=bool)


def resampled(metric: Metric, stats: Floats, *, samples: int = 1000, seed: int = 12345) -> Floats:
    """[samples, ...] scores of statistics [G, ..., M] of groups drawn with replacement, for intervals of many scores.

    The same groups are drawn for all of them, so that differences between the columns are paired.
    """
    return np.concatenate([metric.score(totals) for totals in resampled_totals(stats, samples=samples, seed=seed)])


def resampled_totals(stats: Floats, *, samples: int = 1000, seed: int = 12345) -> Iterator[Floats]:
    """Totals [<= samples, ..., M] of statistics [G, ..., M] of groups drawn with replacement, part by part."""
    if not len(stats):
        raise ParameterError("resampling needs at least one segment, got none")
    count, shape = len(stats), stats.shape[1:]
    drawn = generator(seed).multinomial(count, np.full(count, 1.0 / count), size=samples)
    flat = stats.reshape(count, -1)
    for some in np.array_split(drawn, 10):
        yield (some @ flat).reshape(-1, *shape)


def interval(values: Floats) -> tuple[Any, Any]:
    """Ends of the 95 % intervals of draws [S, ...]: numbers, or arrays of them; NaN counts as no draw."""
    low, high = np.nanpercentile(values, [2.5, 97.5], axis=0)
    return low.tolist(), high.tolist()


def both_scores(metric: Metric, first: Floats, second: Floats) -> tuple[float, float]:
    """Of the totals of two systems."""
    return float(metric.score(first.sum(axis=0))), float(metric.score(second.sum(axis=0)))


def check_pair(first: Floats, second: Floats, samples: int) -> None:
    """Complain of statistics that are not of the same segments, and of none."""
    if first.shape != second.shape:
        raise ParameterError(f"paired tests need the same segments: statistics {first.shape} and {second.shape}")
    if len(first) == 0:
        raise ParameterError("paired tests need at least one segment, got none")
    if samples < 1:
        raise ParameterError(f"'samples' of a paired test must be >= 1, got {samples}")
