"""The hypothesis with the highest score."""

from __future__ import annotations

from nbest.corpus import NBest
from nbest.model import LogLinear
from nbest.types import Ints


def one_best(model: LogLinear, corpus: NBest) -> Ints:
    """[N] flat index of the best-scored hypothesis of each segment, ties to the first; -1 where a list is empty."""
    return model.predict(corpus)
