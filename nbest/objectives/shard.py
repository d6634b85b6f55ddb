"""A part of a corpus as an objective sees it: scaled columns, dense and sparse, and room for posteriors."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from nbest import segments
from nbest.corpus import NBest
from nbest.types import Bools, Floats, Ints


@dataclass
class Shard:
    """Features [H, D + D'] divided by `scale` [D + D'], with offsets and losses."""

    corpus: NBest
    scale: Floats  # [D + D'], 0 marks a column to leave out
    losses: Floats  # [H]
    room: dict[str, Floats] = field(default_factory=dict)  # what pass one leaves for pass two

    @property
    def offsets(self) -> Ints:
        """[N+1] hypotheses of segment i."""
        return self.corpus.offsets

    @cached_property
    def gold(self) -> Bools:
        """[H] whether a hypothesis has the smallest loss of its list."""
        least = -segments.maxima(-self.losses, self.offsets)
        return self.losses <= np.repeat(least, segments.lengths(self.offsets)) + 1e-12

    def scores(self, weights: Floats) -> Floats:
        """[H] weights . features, with weights in units of scaled features."""
        plain = np.divide(weights, self.scale, out=np.zeros_like(weights), where=self.scale > 0)
        width = self.corpus.features.shape[1]
        scores = self.corpus.features @ plain[:width]
        return scores if self.corpus.sparse is None else scores + self.corpus.sparse @ plain[width:]

    def feature_sum(self, amounts: Floats) -> Floats:
        """[D + D'] sum over hypotheses of amount * scaled features."""
        total = amounts @ self.corpus.features
        if self.corpus.sparse is not None:
            total = np.concatenate([total, self.corpus.sparse.T @ amounts])
        return np.divide(total, self.scale, out=np.zeros_like(self.scale), where=self.scale > 0)


def scales(corpus: NBest, dense: Floats) -> Floats:
    """[D + D'] what to divide columns by: `dense` for dense ones, the root mean square for sparse ones."""
    if corpus.sparse is None:
        return dense
    squares = np.asarray(corpus.sparse.multiply(corpus.sparse).sum(axis=0)).ravel()
    return np.concatenate([dense, np.sqrt(squares / max(corpus.hypotheses, 1))])
