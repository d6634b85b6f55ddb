"""Ids that were there, for readers that do not keep them."""

from __future__ import annotations

import numpy as np

from nbest.base.types import Ints


class KnownNames:
    """Names that were there: 8 bytes each."""

    def __init__(self) -> None:
        self.older = np.empty(0, np.int64)  # sorted
        self.newer: set[int] = set()

    def add(self, names: tuple[str, ...]) -> bool:
        """Whether all of them are new (two names may be taken for one: once in 2^64)."""
        own = list(map(hash, names))
        if not self.newer.isdisjoint(own) or self._is_older(np.sort(np.array(own, np.int64))):
            return False
        self.newer.update(own)
        if len(self.newer) > max(2**16, len(self.older) // 4):
            self.older = np.sort(np.concatenate([self.older, np.fromiter(self.newer, np.int64, len(self.newer))]))
            self.newer.clear()
        return True

    def _is_older(self, own: Ints) -> bool:
        """Whether one of them is among the older ones; sorted, they are looked up in one sweep through memory."""
        places = np.searchsorted(self.older, own)
        within = places < len(self.older)
        return bool((self.older[places[within]] == own[within]).any())
