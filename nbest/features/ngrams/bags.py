"""Bags of features of texts: counts of suffixes, characters, labels or words as a sparse matrix, with their names.

`EXTRACTORS` maps a name to its function. A view is named by one or more of them: `suffixes`, `suffixes1-3` (lengths),
`labels1-2+words`. Nothing here looks at two texts at once, so any corpus can be laid out in the columns of another.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from nbest.base.errors import ParameterError, look_up
from nbest.base.limits import LONGEST, check_count
from nbest.base.types import Ints
from nbest.compute import segments
from nbest.corpus import Texts, Words, characters, intern

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_SPEC = re.compile(r"([a-z]+)(?:(\d+)(?:-(\d+))?)?")


@dataclass(frozen=True)
class Bags:
    """[n, d] counts of d features in n texts, every column used, and the name of each feature."""

    counts: csr_array
    names: list[str]

    def within(self, vocabulary: Sequence[str]) -> csr_array:
        """[n, len(vocabulary)] the same counts in the columns of another vocabulary; what that lacks is left out."""
        from scipy.sparse import csr_array

        place = {name: at for at, name in enumerate(vocabulary)}
        new = np.array([place.get(name, -1) for name in self.names], np.int64)
        columns = new[self.counts.indices] if len(new) else self.counts.indices
        own = columns >= 0
        kept = segments.sums(own.astype(np.float64), self.counts.indptr).astype(np.int64)
        parts = (self.counts.data[own], columns[own], segments.offsets_of(kept))
        return csr_array(parts, shape=(self.counts.shape[0], len(vocabulary)))


def suffixes(texts: Texts, low: int = 2, high: int = 4) -> Bags:
    """Suffixes of `low` to `high` characters of each word; a shorter word has none of a length that it lacks.

    Jagarlamudi & Daume III (2012), section 4.1. Each distinct word is cut once.
    """
    (words,), vocabulary = intern(texts)
    seen: dict[str, int] = {}
    cuts = [[seen.setdefault(word[-n:], len(seen)) for n in range(low, high + 1) if n <= len(word)]
            for word in vocabulary]  # fmt: skip
    sizes = segments.offsets_of(np.array([len(cut) for cut in cuts], np.int64))
    flat = np.array([cut for own in cuts for cut in own], np.int64)
    of_words = _csr(np.ones(len(flat)), flat, sizes, len(seen))
    return Bags(_csr(np.ones(len(words.ids)), words.ids, words.offsets, len(vocabulary)) @ of_words, list(seen))


def character_ngrams(texts: Texts, low: int = 1, high: int = 2) -> Bags:
    """Runs of `low` to `high` characters, white space left out (so runs go on from one word to the next)."""
    (points,) = characters(texts)
    codes, ids = np.unique(points.ids, return_inverse=True)
    return _ngrams(Words(points.offsets, ids.astype(np.int32)), [chr(code) for code in codes], "", low, high)


def labels(texts: Texts, low: int = 1, high: int = 2) -> Bags:
    """Runs of `low` to `high` words of the text, e.g. of labels; a run is named by its words with spaces between."""
    (words,), vocabulary = intern(texts)
    return _ngrams(words, vocabulary, " ", low, high)


def word_counts(texts: Texts, low: int = 1, high: int = 1) -> Bags:
    """Words (and longer runs, if asked for)."""
    return labels(texts, low, high)


EXTRACTORS: dict[str, Callable[..., Bags]] = {
    "characters": character_ngrams,
    "labels": labels,
    "suffixes": suffixes,
    "words": word_counts,
}
"""Extractors by name."""


def bags(texts: Texts, view: str, *, binary: bool = False) -> Bags:
    """The bags of texts for a view such as `suffixes`, `characters1-3` or `suffixes+words`."""
    from scipy.sparse import csr_array, hstack

    parts = [_one(texts, part) for part in _parsed(view)]
    names = [name for bag in parts for name in bag.names]
    if len(parts) > 1:  # the same name may be a word and a suffix
        names = [f"{at} {name}" for at, bag in enumerate(parts) for name in bag.names]
    counts = csr_array(hstack([bag.counts for bag in parts], format="csr"))
    if binary:
        counts.data[:] = 1.0
    return Bags(counts, names)


def _parsed(view: str) -> list[tuple[str, dict[str, int]]]:
    out = []
    for part in str(view).split("+"):
        found = _SPEC.fullmatch(part)
        if not found:
            raise ParameterError(f"a view is NAME, NAME2 or NAME2-4, several joined by +, got {part!r} in {view!r}")
        name, low, high = found.groups()
        look_up(EXTRACTORS, name, "extractor")
        check_count(f"lengths of the extractor {name!r}", int((high or low or "0")[:6]), 0, LONGEST)
        sizes = {} if low is None else {"low": int(low), "high": int(high or low)}
        if sizes and not 1 <= sizes["low"] <= sizes["high"]:
            raise ParameterError(f"lengths of the extractor {name!r} must be 1 <= from <= to, got {part!r}")
        out.append((name, sizes))
    return out


def check_view(view: Any) -> None:
    """Complain of a view that cannot be extracted."""
    _parsed(view)


def _one(texts: Texts, part: tuple[str, dict[str, int]]) -> Bags:
    bag = EXTRACTORS[part[0]](texts, **part[1])
    bag.counts.sum_duplicates()
    return bag


def _ngrams(words: Words, names: list[str], between: str, low: int, high: int) -> Bags:
    """Counts of the runs of `low` to `high` items; a run is numbered by its beginning and its last item."""
    owners = np.repeat(np.arange(len(words.offsets) - 1), words.lengths())
    last = words.ids.astype(np.int64)
    runs, titles, found = last, names, []
    for size in range(1, high + 1):
        if size > 1:
            inside = owners[size - 1 :] == owners[: max(len(owners) - size + 1, 0)]
            keys = runs[: len(inside)][inside] * np.int64(max(len(names), 1)) + last[size - 1 :][inside]
            distinct, numbers = np.unique(keys, return_inverse=True)
            titles = [f"{titles[key // len(names)]}{between}{names[key % len(names)]}" for key in distinct.tolist()]
            runs = np.full(len(inside), -1, np.int64)
            runs[inside] = numbers
        if size >= low:
            found.append((runs, owners[: len(runs)], titles))
    return _counted(found, len(words.offsets) - 1)


def _counted(found: Sequence[tuple[Ints, Ints, list[str]]], n: int) -> Bags:
    from scipy.sparse import coo_array, csr_array, hstack

    parts = []
    for runs, owners, titles in found:
        own = runs >= 0
        places = (owners[own], runs[own])
        parts.append(csr_array(coo_array((np.ones(len(places[0])), places), shape=(n, len(titles)))))
    return Bags(csr_array(hstack(parts, format="csr")), [title for _, _, titles in found for title in titles])


def _csr(data: Any, columns: Ints, offsets: Ints, width: int) -> csr_array:
    from scipy.sparse import csr_array

    return csr_array((data, columns, offsets), shape=(len(offsets) - 1, width))
