"""Decisions as passes over the shards of a corpus."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from nbest.base.types import Ints
from nbest.compute.executors import Executor, current
from nbest.corpus import NBest


def chosen(choose: Callable[[NBest], Ints], corpus: NBest) -> Ints:
    """[N] what `choose` takes of the lists of every shard, as flat indices of the whole; -1 where it takes none."""
    parts = corpus.shards()
    found = current().map(choose, parts)
    if len(parts) == 1:
        return found[0]
    low, out = 0, []
    for part, choice in zip(parts, found, strict=True):
        out.append(np.where(choice >= 0, choice + low, -1))
        low += part.hypotheses
    return np.concatenate(out)


def stacked(function: Callable[[Any], Any], shards: list[Any], executor: Executor | None = None) -> Any:
    """The rows that a function makes of every shard, one below the other."""
    found = (executor or current()).map(function, shards)
    return found[0] if len(found) == 1 else np.concatenate(found)
