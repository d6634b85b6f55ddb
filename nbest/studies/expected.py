"""The expected metric of a corpus, in the metric's own unit."""

from __future__ import annotations

from functools import partial

import numpy as np

from nbest.base.errors import ParameterError
from nbest.base.types import Floats, Ints
from nbest.compute.executors import executor_of
from nbest.corpus import NBest
from nbest.objectives.backends import Moments, current_backend
from nbest.objectives.shard import Shard, list_shards


class Expected:
    """Expected metric of hypotheses drawn from the posterior p = softmax(gamma * weights . features).

        order 1: m(mu)
        order 2: m(mu) + 1/2 sum_r (m(mu + v_r) + m(mu - v_r) - 2 m(mu)),     V = sum_r v_r v_r'

    m is the metric's score, mu and V are mean and covariance of the totals, v_r the columns of a root of V. Order 2 is
    the Taylor expansion of Smith & Eisner (2006), section 5, with second differences at one standard deviation instead
    of second derivatives: it is in percent, needs no formula of the metric, and both orders are exact for metrics
    that are linear in the totals. As gamma grows it becomes the 1-best metric (where no scores tie).
    Statistics that are never negative are kept so at mu - v_r.
    """

    def __init__(self, corpus: NBest, order: int = 2, threads: int | None = None) -> None:
        if order not in (1, 2):
            raise ParameterError(f"'order' of an expected metric must be 1 or 2, got {order}")
        stats, self.metric = corpus.need_stats()
        width = len(corpus.feature_names) + len(corpus.sparse_names)
        self.shards = list_shards(corpus, np.ones(width), np.zeros(corpus.hypotheses))
        self.least = np.where((stats >= 0).all(axis=0), 0.0, -np.inf)
        count = stats.shape[1] if order == 2 else 0
        self.pairs = np.stack(np.triu_indices(count), axis=1).astype(np.int64)
        self.threads = threads

    def moments(self, weights: Floats, gamma: float) -> Moments:
        """Mean and covariance of the totals, and the entropy; `weights` [D + D'] in the features' own units."""
        found = executor_of(self.threads).map(partial(_moments, weights, gamma, self.pairs), self.shards)
        return sum(found[1:], start=found[0])

    def score(self, moments: Moments) -> float:
        """The expected metric."""
        middle = float(self.metric.score(moments.mean))
        if not len(self.pairs):
            return middle
        spread, directions = np.linalg.eigh(moments.covariance)
        roots = (directions * np.sqrt(np.maximum(spread, 0.0))).T  # [M, M], a row a direction
        points = np.maximum(np.concatenate([moments.mean + roots, moments.mean - roots]), self.least)
        return middle + 0.5 * float((self.metric.score(points) - middle).sum())


def _moments(weights: Floats, gamma: float, pairs: Ints, shard: Shard) -> Moments:
    return current_backend().posteriors(shard, weights, gamma, pairs)
