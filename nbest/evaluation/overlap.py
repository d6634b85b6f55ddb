"""Which segments two corpora share: what is tuned on must not be tested on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from itertools import pairwise

import numpy as np

from nbest.corpus.contract import Corpus
from nbest.corpus.order import whole_numbers

_TELLING = 20  # letters of reference and first hypothesis by which a segment may be told, half of them the reference's
_MANY, _LETTERS = 3, 100  # different hypotheses, and letters of all of them, by which it may with a shorter reference


def shared_segments(first: Corpus, second: Corpus) -> int:
    """How many segments of `first` are also in `second`.

    All of them where the two corpora are the same. Else a segment is told by each of these, where both corpora have
    it, and only where nothing else in its own corpus is told so (a hundred questions may have the answer A):
    its input and references; its name (which is no number) and input or references; its references and first
    hypothesis, or all of them where references are short (an answer in a sentence that many have); all its texts and
    features. References alone tell nothing, and where both corpora have inputs these must agree.
    """
    if _references(first) == _references(second) and _contents(first) == _contents(second):
        return len(first)
    found: set[int] = set()
    for keys in _ways(first, second):
        mine, others = keys(first), keys(second)
        counts, known = Counter(mine), Counter(others)
        found |= {i for i, key in enumerate(mine) if key is not None and counts[key] == 1 and known[key] == 1}
    return len(found)


def _ways(first: Corpus, second: Corpus) -> list[Callable[[Corpus], Sequence[Hashable]]]:
    """What segments of both corpora can be told by."""
    ways: list[Callable[[Corpus], Sequence[Hashable]]] = []
    inputs = first.sources is not None and second.sources is not None
    if inputs:
        ways.append(lambda corpus: list(zip(corpus.sources or (), _references(corpus), strict=True)))
    if all(whole_numbers(corpus.ids) is None for corpus in (first, second)):
        ways.append(_named)
    if not inputs:
        ways.append(_contents)
        ways.append(_beginnings)
    return ways


def _references(corpus: Corpus) -> Sequence[Hashable]:
    return corpus.references or (None,) * len(corpus)


def _named(corpus: Corpus) -> list[Hashable]:
    sources = corpus.sources or (None,) * len(corpus)
    rows = zip(corpus.ids, sources, _references(corpus), strict=True)
    return [None if source is None and refs is None else (name, source, refs) for name, source, refs in rows]


def _beginnings(corpus: Corpus) -> list[Hashable]:
    """References and first hypothesis, or all hypotheses; None where these are too short or few, or have no texts."""
    texts = corpus.texts
    if texts is None:
        return [None] * len(corpus)
    found: list[Hashable] = []
    for refs, (low, high) in zip(_references(corpus), pairwise(corpus.row_offsets), strict=True):
        size = len(refs[0]) if isinstance(refs, tuple) else 0
        telling = 2 * size >= _TELLING
        own = tuple(texts[h] for h in range(low, min(high, low + 1) if telling else high))
        enough = size + len(own[0]) >= _TELLING if telling and own else _tells(own)
        found.append((refs, own) if enough else None)
    return found


def _tells(texts: Sequence[str]) -> bool:
    """Whether all hypotheses of a list are hardly those of another."""
    return len(set(texts)) >= _MANY and sum(map(len, texts)) >= _LETTERS


def _contents(corpus: Corpus) -> list[Hashable]:
    """Texts and features of each segment; None where there is nothing."""
    texts = corpus.texts
    names = np.argsort(corpus.feature_names)
    rows: list[Hashable] = []
    for low, high in pairwise(corpus.row_offsets):
        words = None if texts is None else tuple(texts[h] for h in range(low, high))
        features = np.asarray(corpus.features[low:high], np.float64)[:, names].tobytes()
        rows.append(None if low == high else (words, features))
    return rows
