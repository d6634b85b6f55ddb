"""Lists that came block by block, kept to be looked at more than once: all but the first block on disk."""

from __future__ import annotations

from collections.abc import Iterator
from tempfile import TemporaryFile
from typing import IO

import numpy as np

from nbest.base.files import naming
from nbest.corpus.metric import Metric
from nbest.corpus.nbest import NBest


class Kept:
    """Features and statistics of measured lists, without texts. As a context it gives back what it took of the disk."""

    def __init__(self) -> None:
        self.first: NBest | None = None
        self._others: list[int] = []  # where each block begins
        self._file: IO[bytes] | None = None

    def add(self, block: NBest) -> None:
        """Keep a further block."""
        if self.first is None:
            self.first = block
            return
        with naming("temporary file"):
            if self._file is None:
                self._file = TemporaryFile()  # noqa: SIM115
            self._others.append(self._file.seek(0, 2))
            for array in (block.offsets, block.features, block.need_stats()[0]):
                np.save(self._file, array, allow_pickle=False)

    def __iter__(self) -> Iterator[NBest]:
        if self.first is None:
            return
        yield self.first
        for place in self._others:
            assert self._file is not None
            self._file.seek(place)
            offsets, features, stats = (np.load(self._file, allow_pickle=False) for _ in range(3))
            ids = tuple(map(str, range(len(offsets) - 1)))
            yield NBest(offsets, features, self.first.feature_names, ids, stats=stats, metric=self.need_metric())

    def need_metric(self) -> Metric:
        """What they are measured by."""
        assert self.first is not None
        return self.first.need_metric()

    def __enter__(self) -> Kept:
        return self

    def __exit__(self, *error: object) -> None:
        if self._file is not None:
            self._file.close()


def blocks_of(lists: NBest | Kept) -> list[NBest] | Kept:
    """Lists block by block, as often as one likes: one block where they are in memory."""
    return lists if isinstance(lists, Kept) else [lists]
