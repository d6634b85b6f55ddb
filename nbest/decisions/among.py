"""Decisions among the best hypotheses only: those that hardly anybody believes in neither count nor are chosen."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from nbest.base.limits import check_count
from nbest.base.types import Ints
from nbest.compute import segments
from nbest.corpus import NBest
from nbest.model.loglinear import LogLinear


def among_best(
    decision: str, model: LogLinear, corpus: NBest, among: int | None, choose: Callable[[NBest], Ints]
) -> Ints:
    """[N] what `choose` takes of lists of the `among` best-scored hypotheses, as flat indices of the whole lists.

    Features that the model adds are those of the whole lists. None: all hypotheses.
    """
    if among is None:
        return choose(corpus)
    check_count(f"'among' of {decision}", among)
    corpus = model.prepare(corpus)
    best = segments.ranks(model.scores(corpus), corpus.offsets) < among
    choice, out = choose(corpus.keep(best)), np.full(len(corpus), -1)
    out[choice >= 0] = np.flatnonzero(best)[choice[choice >= 0]]
    return out
