"""The features of lists that come in blocks: what one block lacks may be in another."""

from __future__ import annotations

import numpy as np

from nbest.corpus import NBest
from nbest.model.loglinear import LogLinear


class BlockNames:
    """The features of all blocks so far, with those that a model adds."""

    def __init__(self) -> None:
        self.dense: tuple[str, ...] = ()
        self.sparse: dict[str, None] = {}

    def prepared(self, model: LogLinear, block: NBest) -> NBest:
        """A block with the columns that the model adds; what it lacks and others may have is a sparse feature that none
        of its hypotheses has."""
        from scipy.sparse import csr_array

        block = model.prepare(block)
        self.dense = block.feature_names if block.hypotheses else self.dense or block.feature_names
        self.sparse.update(dict.fromkeys(block.sparse_names))
        missing = model.missing(block)
        return block.with_sparse(missing, csr_array((block.hypotheses, len(missing)))) if missing else block

    def check(self, model: LogLinear) -> None:
        """Complain where no block has a feature that the model needs."""
        from scipy.sparse import csr_array

        sparse = csr_array((0, len(self.sparse))) if self.sparse else None
        features = np.empty((0, len(self.dense)))
        names = tuple(self.sparse)
        model.check_features(NBest(np.zeros(1, np.int64), features, self.dense, (), sparse=sparse, sparse_names=names))
