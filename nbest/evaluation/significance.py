"""Is the difference between two systems more than chance? Paired tests on the statistics of segments.

Each takes the statistics [N, M] of what two systems chose for the same N segments, and the metric. Identical systems
get p = 1 from every test. What trainers need of them, too, is in `nbest.metrics.paired`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from nbest.base.errors import ParameterError
from nbest.base.randomness import generator
from nbest.base.types import Floats, Ints
from nbest.compute import segments
from nbest.corpus.metric import Metric
from nbest.metrics.paired import (
    CHUNK,
    Comparison,
    both_scores,
    by_group,
    check_pair,
    extreme_share,
    interval,
    passes,
    permutation,
    resampled,
    resampled_totals,
    selections,
)

_FEW = 8  # groups up to which the smallest p is worth saying


def clustered(groups: Sequence[str] | None) -> str:
    """What a table says of groups that were swapped and drawn as a whole; nothing without groups."""
    if groups is None:
        return ""
    count = len(set(groups))
    least = f"; of so few p is at least {2.0 ** (1 - count):.2g}" if count < _FEW else ""
    return f"segments of a group are tested together ({count} groups of {len(groups)} segments{least})"


def bootstrap(metric: Metric, first: Floats, second: Floats, *, samples: int = 10000, seed: int = 12345) -> Comparison:
    """Paired bootstrap: segments are drawn with replacement, the same ones for both systems.

    Intervals are the 2.5 and 97.5 percentiles of the resampled scores and of their difference; p is two-sided, twice
    the share of samples on the rarer side of 0, ties counted on both sides. Koehn (2004), EMNLP 388-395.
    """
    check_pair(first, second, samples)
    rng = generator(seed)
    count = len(first)
    both = np.concatenate([first, second], axis=1)
    rows = max(1, CHUNK // max(count, 1))
    drawn = (
        rng.multinomial(count, np.full(count, 1.0 / count), size=min(rows, samples - at))
        for at in range(0, samples, rows)
    )
    scores, others = np.concatenate(passes(partial(_resampled, metric, both), drawn), axis=1)
    gaps = others - scores
    rarer = min(int((gaps <= 0).sum()), int((gaps >= 0).sum()))
    p = min(1.0, 2 * (rarer + 1) / (samples + 1))
    intervals = [interval(gaps), interval(scores), interval(others)]
    return Comparison("bootstrap", *both_scores(metric, first, second), p, samples, *intervals)


def _resampled(metric: Metric, both: Floats, drawn: Ints) -> Floats:
    """[2, S] scores of two systems for each of some draws [S, N]."""
    first, second = np.split(drawn.astype(np.float64) @ both, 2, axis=1)
    return np.stack([metric.score(first), metric.score(second)])


def wilcoxon(metric: Metric, first: Floats, second: Floats, *, batch: int = 10) -> Comparison:
    """Wilcoxon's signed-rank test over the scores of batches of `batch` consecutive segments, two-sided.

    The last batch may be smaller. Batches that do not differ are left out; if none differs, p = 1.
    """
    check_pair(first, second, 1)
    if batch < 1:
        raise ParameterError(f"'batch' of wilcoxon must be >= 1, got {batch}")
    from scipy.stats import wilcoxon as signed_rank

    starts = np.arange(0, len(first), batch)
    offsets = np.append(starts, len(first))
    gaps = metric.score(segments.sums(second, offsets)) - metric.score(segments.sums(first, offsets))
    gaps = gaps[np.abs(gaps) > 1e-12]
    p = float(signed_rank(gaps).pvalue) if len(gaps) else 1.0
    return Comparison("wilcoxon", *both_scores(metric, first, second), p, len(starts))


TESTS: dict[str, Callable[..., Comparison]] = {
    "bootstrap": bootstrap,
    "permutation": permutation,
    "wilcoxon": wilcoxon,
}
"""Paired tests by the name used on the command line."""

__all__ = [
    "TESTS", "Comparison", "bootstrap", "by_group", "clustered", "extreme_share", "interval", "passes", "permutation",
    "resampled", "resampled_totals", "selections", "wilcoxon",
]  # fmt: skip
