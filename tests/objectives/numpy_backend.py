"""A backend in plain NumPy, dense and by enumeration: the twin of the Numba one."""

from __future__ import annotations

import numpy as np

from nbest.compute import segments
from nbest.objectives.backends import Moments
from nbest.testing.forests import enumerate_derivations


def divided(columns, scale):
    """Columns divided by their scale; 0 where it is 0."""
    return np.divide(columns, scale, out=np.zeros_like(columns), where=scale > 0)


class NumpyBackend:
    """Lists as they are; forests as the lists of all their derivations."""

    device = None

    def block(self, corpus):
        return None

    def log_likelihood(self, shard, weights):
        scores, offsets = self.scores(shard, weights), shard.offsets
        golden, lengths = np.where(shard.gold, scores, -np.inf), segments.lengths(offsets)
        every, best = segments.logsumexp(scores, offsets), segments.logsumexp(golden, offsets)
        shard.room["residual"] = np.exp(scores - np.repeat(every, lengths)) - np.exp(golden - np.repeat(best, lengths))
        return float((best[lengths > 0] - every[lengths > 0]).sum())

    def residual_sum(self, shard):
        return self.weighted_sum(shard, shard.room["residual"])

    def rows(self, shard):
        """Scaled features [K, D], statistics [K, M], offsets, and how often each place [P] is used [K, P]."""
        if "numpy" not in shard.room:
            shard.room["numpy"] = self.of_forests(shard) if hasattr(shard, "forests") else self.of_lists(shard)
        return shard.room["numpy"]

    def of_lists(self, shard):
        corpus = shard.corpus
        columns = corpus.features.astype(np.float64)
        if corpus.sparse is not None:
            columns = np.concatenate([columns, corpus.sparse.toarray()], axis=1)
        stats = np.zeros((len(columns), 0)) if corpus.stats is None else corpus.stats
        return divided(columns, shard.scale), stats, corpus.offsets, np.eye(len(columns))

    def of_forests(self, shard):
        forests = shard.forests
        known = [enumerate_derivations(forests, i) for i in range(len(forests))]
        used = np.zeros((sum(map(len, known)), forests.edges))
        for row, derivation in enumerate(d for some in known for d in some):
            np.add.at(used[row], list(derivation.edges), 1.0)
        places = np.stack([forests.layout.spread(row) for row in used]) if len(used) else used
        offsets = segments.offsets_of(np.array([len(some) for some in known], np.int64))
        return used @ divided(forests.features.astype(np.float64), shard.scale), used @ shard.stats, offsets, places

    def posteriors(self, shard, weights, gamma, pairs):
        features, stats, offsets, _ = self.rows(shard)
        scores = gamma * (features @ weights)
        lengths = segments.lengths(offsets)
        log_p = scores - np.repeat(segments.logsumexp(scores, offsets), lengths)
        p = np.exp(log_p)
        means = segments.sums(p[:, None] * stats, offsets)
        centred = stats - np.repeat(means, lengths, axis=0)
        covariance = np.zeros((stats.shape[1], stats.shape[1]))
        for a, b in pairs:
            covariance[a, b] = covariance[b, a] = (p * centred[:, a] * centred[:, b]).sum()
        shard.room["p"] = p, log_p, means
        return Moments(means.sum(axis=0), covariance, -float((p * log_p).sum()))

    def feature_sum(self, shard, credit, pairs, *, temperature, gamma, start=None):
        features, stats, offsets, used = self.rows(shard)
        p, log_p, means = shard.room["p"]
        lengths = segments.lengths(offsets)
        curve = np.zeros_like(credit.quadratic)
        for a, b in pairs:
            curve[a, b], curve[b, a] = credit.quadratic[a, b], credit.quadratic[b, a]
        own = np.repeat(means, lengths, axis=0)
        worth = stats @ credit.linear + ((stats - 2 * own) @ curve * stats).sum(axis=1) + temperature * log_p
        worth = worth if start is None else worth + used @ start
        return (gamma * p * (worth - np.repeat(segments.sums(p * worth, offsets), lengths))) @ features

    def posterior(self, shard):
        return self.rows(shard)[3].T @ shard.room["p"][0]

    def scores(self, shard, weights):
        return self.rows(shard)[0] @ weights

    def weighted_sum(self, shard, amounts):
        return amounts @ self.rows(shard)[0]
