"""Phrase pairs of an aligned corpus, with their counts.

A source span and a target span are a phrase pair when they share at least one link and no link leaves them; target
words without links at the border of a target span may be in or out, and source spans with such words at their border
are spans like any other. Och & Ney (2004), Computational Linguistics 30(4) 417-449, fig. 3; Koehn, Och & Marcu (2003).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from nbest.base.errors import ParameterError
from nbest.base.types import Floats, Ints
from nbest.compute.compilation import kernel
from nbest.compute.parallel import each, over_ranges
from nbest.compute.segments import offsets_of
from nbest.corpus.words import Words
from nbest.systems.translator.alignment.links import Links
from nbest.systems.translator.phrases.lexical import lexical_factors
from nbest.systems.translator.phrases.numbers import Numbers, PairCounts

_RUN = 5_000  # sentence pairs whose phrases are held at a time


@dataclass(frozen=True)
class PhraseCounts:
    """Distinct phrase pairs: source phrase k is `source_ids[source_starts[k]:][:source_sizes[k]]`, target likewise."""

    source_ids: Ints  # the words of the corpus
    source_starts: Ints
    source_sizes: Ints
    target_ids: Ints
    target_starts: Ints
    target_sizes: Ints
    sources: Ints  # int32 [P] source phrase of each pair
    targets: Ints  # int32 [P]
    counts: Ints  # int32 [P]
    lexical: Floats  # float32 [P, 2] largest log lex(e|f) and log lex(f|e) over the occurrences


def extract_phrases(
    source: Words,
    target: Words,
    links: Links,
    *,
    longest: int = 7,
    threads: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> PhraseCounts:
    """All phrase pairs with at most `longest` words a side; `progress(done, total)` counts sentence pairs.

    Cost: time and memory grow with the distinct phrase pairs, some four a source word.
    """
    sizes = {len(source.offsets) - 1, len(target.offsets) - 1, len(links)}
    if len(sizes) != 1:
        raise ParameterError(f"'source', 'target' and 'links' of extract_phrases must have one length, got {sizes}")
    if longest < 1:
        raise ParameterError(f"'longest' of extract_phrases must be >= 1, got {longest}")
    source_factors, target_factors = lexical_factors(source, target, links)
    numbers = Numbers(source.ids), Numbers(target.ids)
    pairs = PairCounts()
    for low in range(0, len(links), _RUN):
        high = min(low + _RUN, len(links))
        spans = phrase_spans(source, target, links, low, high, longest=longest, threads=threads)
        sides = [(0, spans[0], spans[1]), (1, spans[2], spans[3])]
        found = each(lambda side: numbers[side[0]].of(side[1], side[2]), sides, threads)
        pairs.add(found[0], found[1], _lexical(target_factors, spans[2], spans[3]),
                  _lexical(source_factors, spans[0], spans[1]))  # fmt: skip
        if progress is not None:
            progress(high, len(links))
    (first, first_sizes), (second, second_sizes) = numbers[0].phrases(), numbers[1].phrases()
    phrases: dict[str, Any] = {"source_ids": source.ids, "source_starts": first, "source_sizes": first_sizes}
    phrases |= {"target_ids": target.ids, "target_starts": second, "target_sizes": second_sizes}
    return PhraseCounts(**phrases, **pairs.all())


def phrase_spans(
    source: Words, target: Words, links: Links, low: int, high: int, longest: int, threads: int | None = None
) -> Ints:
    """[4, pairs] source start, source size, target start, target size of the phrase pairs of sentences low:high.

    Starts are places in the corpus.
    """
    sizes = np.zeros(high - low, np.int64)
    spans = np.zeros((4, 0), np.int32)
    texts = source.offsets, target.offsets, links.offsets, links.source, links.target

    def fill(at: Ints, out: Ints) -> None:
        def work(a: int, b: int) -> None:
            _extract(low, low + a, low + b, texts, longest=longest, out=(sizes, at, out))

        over_ranges(work, source.offsets[low : high + 1], threads)

    fill(np.zeros(0, np.int64), spans)
    at = offsets_of(sizes)
    spans = np.empty((4, at[-1]), np.int32)
    fill(at, spans)
    return spans


@kernel
def _lexical(factors, starts, sizes):
    """[pairs] sum of the factors of each span."""
    out = np.empty(len(starts), np.float32)
    for k in range(len(starts)):
        total = 0.0
        for word in range(starts[k], starts[k] + sizes[k]):
            total += factors[word]
        out[k] = total
    return out


@kernel
def _reach(places, others, size):
    """First and last place on the other side that each word is linked to; (big, -1) without links."""
    first, last = np.full(size, 1 << 30, np.int64), np.full(size, -1, np.int64)
    for k in range(len(places)):
        first[places[k]] = min(first[places[k]], others[k])
        last[places[k]] = max(last[places[k]], others[k])
    return first, last


@kernel
def _extract(base, low, high, texts, longest, out):
    """Counts the phrase pairs of each sentence from `base` on into `sizes`, or, when `at` is given, writes them."""
    source_offsets, target_offsets, link_offsets, link_source, link_target = texts
    sizes, at, spans = out
    for n in range(low, high):
        sources, targets = source_offsets[n + 1] - source_offsets[n], target_offsets[n + 1] - target_offsets[n]
        begin, end = link_offsets[n], link_offsets[n + 1]
        first, last = _reach(link_source[begin:end], link_target[begin:end], sources)
        back_first, back_last = _reach(link_target[begin:end], link_source[begin:end], targets)
        where = at[n - base] if len(at) else 0
        count = 0
        for a in range(sources):
            top, bottom = 1 << 30, -1
            for b in range(a, min(a + longest, sources)):
                top, bottom = min(top, first[b]), max(bottom, last[b])
                if bottom - top >= longest:
                    break
                if bottom < 0 or not _closed(back_first[top : bottom + 1], back_last[top : bottom + 1], a, b):
                    continue
                start = top
                while start >= 0 and (start == top or back_last[start] < 0) and bottom - start < longest:
                    stop = bottom
                    while stop < targets and (stop == bottom or back_last[stop] < 0) and stop - start < longest:
                        if len(at):
                            spans[0, where + count] = source_offsets[n] + a
                            spans[1, where + count] = b - a + 1
                            spans[2, where + count] = target_offsets[n] + start
                            spans[3, where + count] = stop - start + 1
                        count += 1
                        stop += 1
                    start -= 1
        sizes[n - base] = count


@kernel
def _closed(back_first, back_last, a, b):
    for j in range(len(back_first)):
        if back_last[j] >= 0 and (back_first[j] < a or back_last[j] > b):
            return False
    return True
