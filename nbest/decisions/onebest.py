"""The hypothesis with the highest score."""

from __future__ import annotations

import numpy as np

from nbest.base.types import Ints
from nbest.corpus import NBest
from nbest.decisions.arguments import check_arguments, need_model
from nbest.decisions.shards import chosen
from nbest.model.loglinear import LogLinear


def first(model: LogLinear | None, corpus: NBest) -> Ints:
    """[N] the first hypothesis of each list, which is the system's own best in most files; -1 where it is empty."""
    check_arguments("first", model, corpus)
    return np.where(corpus.lengths > 0, corpus.offsets[:-1], -1)


def one_best(model: LogLinear, corpus: NBest) -> Ints:
    """[N] flat index of the best-scored hypothesis of each segment, ties to the first; -1 where a list is empty."""
    check_arguments("one_best", model, corpus)
    need_model("one_best", model)
    return chosen(model.predict, corpus)
