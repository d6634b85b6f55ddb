"""Segments that belong together (of one document, one speaker) stay together: in splits, in folds, in tests."""

from __future__ import annotations

import numpy as np

from nbest.base.errors import ParameterError
from nbest.base.randomness import generator
from nbest.base.types import Ints
from nbest.corpus.contract import C, Corpus, need_corpus


def units(corpus: Corpus) -> Ints:
    """[N] the number of each segment's group, from 0 in order of first appearance; without groups its own number."""
    if corpus.groups is None:
        return np.arange(len(corpus))
    seen: dict[str, int] = {}
    return np.array([seen.setdefault(name, len(seen)) for name in corpus.groups], np.int64)


def in_folds(corpus: Corpus, folds: int, seed: int) -> Ints:
    """[N] the fold of each segment, drawn at random by group."""
    mine = units(corpus)
    return (generator(seed).permutation(int(mine.max(initial=-1)) + 1) % folds)[mine]


def split(corpus: C, fraction: float, seed: int = 1) -> tuple[C, C]:
    """Two corpora with `fraction` and `1 - fraction` of the segments, drawn at random, each in the old order.

    Whole groups go to one side, so that the share is the nearest that these allow.
    """
    need_corpus("split", "corpus", corpus)
    if not 0 < fraction < 1:
        raise ParameterError(f"'fraction' of split must be between 0 and 1, got {fraction}")
    mine = units(corpus)
    sizes = np.bincount(mine)
    order = generator(seed).permutation(len(sizes))
    ends = np.cumsum(sizes[order])
    wanted = round(fraction * len(corpus))
    count = int(np.abs(ends - wanted).argmin()) + 1 if len(ends) else 0
    if not 0 < count < len(sizes) or (corpus.groups is None and not 0 < wanted < len(corpus)):
        what = "groups" if corpus.groups is not None else "segments"
        raise ParameterError(f"cannot split {len(sizes)} {what} by {fraction}: one part would be empty")
    first = np.isin(mine, order[:count])
    return corpus.select(np.flatnonzero(first)), corpus.select(np.flatnonzero(~first))
