"""Sample risk: what the choices of a corpus cost, as a function of totals of as few statistics as it takes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nbest.base.types import Floats, Ints
from nbest.compute import segments
from nbest.corpus.metric import Metric
from nbest.metrics.rates import Accuracy, ErrorRate, Mean


@dataclass(frozen=True)
class SampleRisk:
    """Risk of totals [..., R], smaller is better: a sum of errors, or the metric (negated where higher is better).

    A rate part / whole is ruled by the sum of its part where the whole is the same for all hypotheses of a list: then
    R = 1 and the risk is the sum of the part, or of whole - part where higher is better. Else totals are those of the
    metric. Yuan, Gao & Bu (2007), eq. 4. Differs: any metric with additive statistics, not only a number of errors.
    """

    metric: Metric
    stats: Floats  # [H, R] what totals are summed from
    whole: float | None = None  # of all lists

    def __call__(self, totals: Floats) -> Floats:
        """[...] risk of totals [..., R]."""
        if self.whole is not None:
            return np.ascontiguousarray(totals[..., 0])
        score = np.asarray(self.metric.score(totals), np.float64)
        return np.asarray(-score if self.metric.higher_is_better else score)

    def score(self, totals: Floats) -> float:
        """The metric of totals [R]."""
        if self.whole is None:
            return float(self.metric.score(totals))
        part = self.whole - totals[0] if self.metric.higher_is_better else totals[0]
        return float(self.metric.score(np.array([part, self.whole])))


def sample_risk(metric: Metric, stats: Floats, lists: Ints) -> SampleRisk:
    """The risk of lists with statistics [H, M]."""
    if not isinstance(metric, ErrorRate | Accuracy | Mean) or not _constant(stats[:, 1], lists):
        return SampleRisk(metric, np.ascontiguousarray(stats, np.float64))
    filled = lists[:-1][segments.lengths(lists) > 0]
    part = stats[:, 1] - stats[:, 0] if metric.higher_is_better else stats[:, 0]
    return SampleRisk(metric, np.ascontiguousarray(part[:, None]), float(stats[filled, 1].sum()))


def _constant(values: Floats, lists: Ints) -> bool:
    """Whether values are the same for all hypotheses of each list."""
    filled = segments.lengths(lists) > 0
    return bool((segments.maxima(values, lists) == -segments.maxima(-values, lists))[filled].all())
