"""A part of a corpus as an objective sees it: scaled columns, dense and sparse, and room for posteriors."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from nbest.base.types import Bools, Floats, Ints
from nbest.compute import segments
from nbest.compute.executors import HeldShard, current
from nbest.corpus import NBest
from nbest.corpus.contract import Corpus


@dataclass
class Shard(HeldShard):
    """Lists with features [H, D + D'] divided by `scale` [D + D'], and losses. Pickled, it has lost their texts."""

    corpus: NBest
    scale: Floats  # [D + D'], 0 marks a column to leave out
    losses: Floats  # [H]
    single: bool = False  # let a backend keep features in float32

    def __getstate__(self) -> dict[str, Any]:
        gone: dict[str, Any] = dict.fromkeys(("texts", "answers", "systems", "references", "sources", "positions"))
        bare = replace(self.corpus, **gone)
        return super().__getstate__() | {"corpus": bare}

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

    def dense_and_extra(self, weights: Floats) -> tuple[Floats, Floats]:
        """Weights of the scaled dense columns, and what the sparse ones add to scores ([0] without any)."""
        width = self.corpus.features.shape[1]
        if self.corpus.sparse is None:
            return weights, np.zeros(0)
        scale = self.scale[width:]
        plain = np.divide(weights[width:], scale, out=np.zeros(len(scale)), where=scale > 0)
        return weights[:width], self.corpus.sparse @ plain

    def with_extra(self, dense: Floats, share: Floats) -> Floats:
        """The gradient [D + D'] from its dense part and the share of each hypothesis."""
        if self.corpus.sparse is None:
            return dense
        scale = self.scale[len(dense) :]
        total = self.corpus.sparse.T @ share
        return np.concatenate([dense, np.divide(total, scale, out=np.zeros(len(scale)), where=scale > 0)])

    def weighted_sum(self, amounts: Floats) -> Floats:
        """[D + D'] sum over hypotheses of amount * scaled features."""
        total = amounts @ self.corpus.features
        if self.corpus.sparse is not None:
            total = np.concatenate([total, self.corpus.sparse.T @ amounts])
        return np.divide(total, self.scale, out=np.zeros_like(self.scale), where=self.scale > 0)


def list_shards(
    corpus: NBest, scale: Floats, losses: Floats, *, single: bool = False, block: int | None = None
) -> list[Shard]:
    """The shards of lists, with this scale [D + D'] and these losses [H]; `block` segments each."""
    parts = corpus.shards(block)
    ends = segments.offsets_of(np.array([part.hypotheses for part in parts]))
    return [Shard(part, scale, losses[a:b], single) for part, a, b in zip(parts, ends[:-1], ends[1:], strict=True)]


def scales(corpus: Corpus, dense: Floats) -> Floats:
    """[D + D'] what to divide columns by: `dense` for dense ones, the root mean square for sparse ones."""
    if corpus.sparse is None:
        return dense
    squares = sum(current().map(_squares, corpus.shards()))
    return np.concatenate([dense, np.sqrt(squares / max(len(corpus.features), 1))])


def _squares(part: Corpus) -> Floats:
    """[D'] sum of the squares of each sparse column."""
    matrix = part.sparse
    assert matrix is not None
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    squares = np.square(matrix.data, dtype=np.float64)
    return np.asarray(np.bincount(matrix.indices, squares, minlength=matrix.shape[1]), np.float64)
