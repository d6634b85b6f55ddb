"""Minimum sample risk at the size of Yuan, Gao & Bu (2007): 80,000 lists of 20, about 10^6 features, 2,000 taken.

Seconds of each stage (processor seconds in brackets), peak memory, growth, and the ratio to a plain version of E on a
small part. NBEST_BENCH_BIG=1 adds ten times the lists: 600 million entries of 12 bytes, which are held several times.
"""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Callable
from typing import TypeVar

import numpy as np

from benchmarks.ngram_lists import ngram_lists
from nbest.base.types import Floats
from nbest.corpus import NBest
from nbest.lines.sparse_index import SparseIndex, sparse_index
from nbest.lines.sparse_lines import SparseLines
from nbest.lines.sparse_totals import sample_risk
from nbest.trainers.sparse.base import SparseLists, sparse_lists
from nbest.trainers.sparse.msr import MSR, MSR2

T = TypeVar("T")

_SIZES = (8_000, 80_000)  # lists
_PLAIN = 300  # lists of the part that the plain version does


def main() -> None:
    """Print seconds, memory and ratios."""
    small = ngram_lists(_PLAIN)
    for kind in (MSR, MSR2):
        kind(limit=20).fit(small, small)  # compile
    _against_plain(small)
    for size in (*_SIZES, *((800_000,) if os.environ.get("NBEST_BENCH_BIG") == "1" else ())):
        _stages(ngram_lists(size))


def _stages(corpus: NBest) -> None:
    assert corpus.sparse is not None
    print(f"{len(corpus):,} lists x 20, {len(corpus.sparse_names):,} features, {corpus.sparse.nnz:,} entries")
    _parts(corpus)
    for kind in (MSR2, MSR):
        trainer = kind(limit=2000, window=1000)
        model = _timed(f"  {kind.__name__}, all of it", lambda trainer=trainer: trainer.fit(corpus))  # type: ignore[misc]
        assert trainer.result_ is not None
        history = trainer.result_.history
        print(f"    {trainer.result_.message}; CER {history[0]['dev']:.2f} to {model.scores_['dev']:.2f}")


def _parts(corpus: NBest) -> None:
    lists = _timed("  layout", lambda: sparse_lists(corpus, "benchmark"))
    index = _timed("  index", lambda: sparse_index(lists.matrix, lists.offsets))
    print(f"    {len(index.rows):,} entries differ within their lists")
    _timed("  E of all features", _lines(lists, index).search_all)


def _timed(what: str, function: Callable[[], T]) -> T:
    start, used = time.perf_counter(), time.process_time()
    out = function()
    seconds, busy = time.perf_counter() - start, time.process_time() - used
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"{what}: {seconds:.2f} s ({busy:.2f} s), peak memory {peak:.2f} GB")
    return out


def _lines(lists: SparseLists, index: SparseIndex) -> SparseLines:
    return SparseLines(index, lists.base, sample_risk(lists.problem.metric, lists.problem.stats, lists.offsets))


def _against_plain(corpus: NBest) -> None:
    lists = sparse_lists(corpus, "benchmark")
    index = sparse_index(lists.matrix, lists.offsets)
    lines = _lines(lists, index)
    start = time.perf_counter()
    _, reached = lines.search_all(1)
    ours, start = time.perf_counter() - start, time.perf_counter()
    plain = [_plain_gain(lists, index, column) for column in range(index.columns)]
    theirs = time.perf_counter() - start
    assert np.allclose(lines.risk - reached, plain)
    print(f"E of {index.columns:,} features, {len(corpus)} lists, one thread: {ours * 1e3:.1f} ms, ", end="")
    print(f"{theirs / ours:.0f} times slower: plain Python over the same index ({theirs:.2f} s)")


def _plain_gain(lists: SparseLists, index: SparseIndex, column: int) -> float:
    """How much the best weight of a column lowers the errors of the base model."""
    rows, values = (array.tolist() for array in index.entries(column))
    value = dict(zip(rows, values, strict=True))
    events: list[tuple[float, float]] = []
    risk = 0.0
    for i in index.segments_of(column):
        own = range(lists.offsets[i], lists.offsets[i + 1])
        active = _active(lists.base, value, own)
        at = active[0]
        risk += lists.losses[at] - lists.losses[max(own, key=lambda h: (lists.base[h], -h))]
        for _ in active[1:]:
            steeper = [h for h in active if value.get(h, 0) > value.get(at, 0)]
            if not steeper:
                break
            cuts = [(lists.base[at] - lists.base[h]) / (value.get(h, 0) - value.get(at, 0)) for h in steeper]
            nearest = min(cuts)
            after = max(
                (h for h, cut in zip(steeper, cuts, strict=True) if cut == nearest), key=lambda h: value.get(h, 0)
            )
            events.append((nearest, lists.losses[after] - lists.losses[at]))
            at = after
    least = min(risk, 0.0)
    events.sort()
    for place, (x, change) in enumerate(events):
        risk += change
        if place + 1 == len(events) or events[place + 1][0] - x > 1e-10 * max(1.0, abs(x)):
            least = min(least, risk)
    return -float(least)


def _active(scores: Floats, value: dict[int, float], own: range) -> list[int]:
    """The best hypothesis of each value, by rising value."""
    best: dict[float, int] = {}
    for h in own:
        held = best.setdefault(value.get(h, 0), h)
        if scores[h] > scores[held]:
            best[value.get(h, 0)] = h
    return [best[key] for key in sorted(best)]
