"""The features of lists that come in blocks: what one block lacks may be in another."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from nbest.corpus import NBest
from nbest.model.loglinear import LogLinear


class BlockNames:
    """The features of all blocks so far, with those that a model adds."""

    def __init__(self) -> None:
        self.dense: tuple[str, ...] = ()
        self.sparse: dict[str, None] = {}
        self._numbers: dict[str, int] = {}  # of the sparse features of the lists, in order of first appearance

    def prepared(self, model: LogLinear, block: NBest) -> NBest:
        """A block with the columns that the model adds; what it lacks and others may have is a sparse feature that none
        of its hypotheses has."""
        from scipy.sparse import csr_array

        block = model.prepare(self._in_order(block))
        self.dense = block.feature_names if block.hypotheses else self.dense or block.feature_names
        self.sparse.update(dict.fromkeys(block.sparse_names))
        missing = model.missing(block)
        return block.with_sparse(missing, csr_array((block.hypotheses, len(missing)))) if missing else block

    def _in_order(self, block: NBest) -> NBest:
        """The block with its sparse features in the order of all blocks: scores are sums in this order."""
        from scipy.sparse import csr_array

        if block.sparse is None:
            return block
        numbers = [self._numbers.setdefault(name, len(self._numbers)) for name in block.sparse_names]
        order = np.argsort(np.array(numbers, np.int64))
        if (np.diff(order) > 0).all():
            return block
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        matrix = csr_array((block.sparse.data, place[block.sparse.indices], block.sparse.indptr), block.sparse.shape)
        matrix.sort_indices()
        return replace(block, sparse=matrix, sparse_names=tuple(block.sparse_names[i] for i in order))

    def check(self, model: LogLinear) -> None:
        """Complain where no block has a feature that the model needs."""
        from scipy.sparse import csr_array

        sparse = csr_array((0, len(self.sparse))) if self.sparse else None
        features = np.empty((0, len(self.dense)))
        names = tuple(self.sparse)
        model.check_features(NBest(np.zeros(1, np.int64), features, self.dense, (), sparse=sparse, sparse_names=names))
