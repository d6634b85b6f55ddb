"""Systems of several runs of tuning: mean and spread of their scores, and a test that counts both segments and runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from nbest.base.errors import ParameterError
from nbest.base.randomness import generator
from nbest.base.types import Bools, Floats
from nbest.corpus.metric import Metric
from nbest.evaluation.significance import Comparison, extreme_share, passes, selections

POOLED = "p: segments are swapped for all runs together, and runs drawn"
"""What tables say of `pooled_permutation`."""


@dataclass(frozen=True)
class Pooled:
    """The scores of the runs of one system."""

    scores: tuple[float, ...]

    @classmethod
    def of(cls, metric: Metric, runs: Sequence[Floats]) -> Pooled:
        """Of statistics [N, M] of each run."""
        return cls(tuple(float(metric.score(run.sum(axis=0))) for run in runs))

    @property
    def mean(self) -> float:
        """Over the runs."""
        return float(np.mean(self.scores))

    @property
    def spread(self) -> float | None:
        """Standard deviation over the runs (n - 1); None of a single one."""
        return float(np.std(self.scores, ddof=1)) if len(self.scores) > 1 else None

    def drawn(self, samples: int, seed: int) -> Floats:
        """[samples] how much the mean of runs that are drawn, one less than there are, differs from that of all."""
        count = len(self.scores)
        if count == 1:
            return np.zeros(samples)
        drawn = generator(seed).integers(count, size=(samples, count - 1))
        return np.array(self.scores)[drawn].mean(axis=1) - self.mean


def pooled_permutation(
    metric: Metric,
    first: Sequence[Floats],
    second: Sequence[Floats],
    *,
    samples: int = 10000,
    seed: int = 12345,
    paired: bool = False,
) -> Comparison:
    """Stratified approximate randomisation of two systems with several runs each, two-sided.

        D = mean_l score(second_l) - mean_k score(first_k),        p = (1 + #{|D*| >= |D|}) / (samples + 1)
        D* = difference of the mean scores after swaps + (drawn runs - all runs of second) - (the same of first)

    Each sample swaps the outputs of segments between the systems at random, those of all runs together, and draws runs
    with replacement, one less than there are: their mean score varies as the mean of as many other runs would. p is
    never below that of the swaps alone, which few segments or groups keep from being small. Without spread over runs,
    and with single runs, it is the permutation test of one run: the same swaps, the same p. Runs that are
    `paired` (run k of both was tuned on the same segments) are drawn together: what both share is no noise then.

    Clark, Dyer, Lavie & Smith (2011), ACL 176-181, pool runs so. Differs: their MultEval swaps each run of a segment by
    itself, as if it were another segment, and calls too much significant where segments, or runs, differ among
    themselves; here both are counted (what is chance in both even twice, which errs on the safe side).
    """
    sizes = {run.shape for run in (*first, *second)}
    if len(sizes) != 1 or not first or not second:
        raise ParameterError(f"paired tests need the same segments in all runs, got statistics {sorted(sizes)}")
    if samples < 1 or not len(first[0]):
        raise ParameterError("paired tests need at least one segment and one sample")
    if paired and len(first) != len(second):
        raise ParameterError(f"paired runs must be as many of both systems, got {len(first)} and {len(second)}")
    both = Pooled.of(metric, first), Pooled.of(metric, second)
    stats = np.stack([*first, *second], axis=1)  # [N, R, M]
    differs = np.flatnonzero((stats != stats[:, :1]).any(axis=(1, 2)))
    swaps = (some[:, differs] for some in selections(generator(seed), samples, len(stats)))
    work = partial(_swapped_means, metric, stats.sum(axis=0), stats[differs], len(first))
    gaps = np.concatenate(passes(work, swaps))
    noise = both[1].drawn(samples, seed + (1 if paired else 2)) - both[0].drawn(samples, seed + 1)
    observed = abs(both[1].mean - both[0].mean)
    p = max(extreme_share(np.abs(each), observed, samples) for each in (gaps, gaps + noise))
    return Comparison("permutation", both[0].mean, both[1].mean, p, samples)


def _swapped_means(metric: Metric, totals: Floats, stats: Floats, split: int, swaps: Bools) -> Floats:
    """[S] differences of mean scores after swaps [S, N]; the runs before `split` [R] are those of the first system."""
    moved = np.tensordot(swaps.astype(np.float64), stats, axes=1)  # [S, R, M]
    mine, others = np.arange(split), np.arange(split, len(totals))
    if len(mine) != len(others):  # each with each, so that swapping all segments swaps the systems
        mine, others = (each.ravel() for each in np.meshgrid(mine, others, indexing="ij"))
    means = [
        np.asarray(metric.score(totals[own] - moved[:, own] + moved[:, theirs])).mean(axis=1)
        for own, theirs in ((mine, others), (others, mine))
    ]
    return means[1] - means[0]
