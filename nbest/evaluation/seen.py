"""What one look at each block of lists tells of them all."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from nbest.base.types import Floats, Ints
from nbest.compute import segments
from nbest.corpus import NBest, Origin
from nbest.corpus.metric import Metric
from nbest.corpus.operations import first_of_equals, join
from nbest.corpus.order import SegmentNumbers
from nbest.decisions import first
from nbest.decisions.vote import plurality
from nbest.features.standardise import scale_of, spread_within

_ROWS = 20000  # hypotheses at the beginning that are kept to look for mixtures


@dataclass
class SeenColumn:
    """The range of a feature, and the statistics of what its largest, and its smallest, values choose."""

    low: float = np.inf
    high: float = -np.inf
    means: tuple[tuple[int, float], ...] = ()  # of the blocks, with their sizes
    by_largest: Floats | float = 0.0
    by_smallest: Floats | float = 0.0

    def add(self, values: Floats, block: NBest) -> None:
        """The values of a block."""
        if len(values):
            self.low, self.high = min(self.low, float(values.min())), max(self.high, float(values.max()))
            self.means = (*self.means, (len(values), segments.mean_of(values)))
        if block.scored:
            self.by_largest = self.by_largest + block.totals(segments.argmax(values, block.offsets))
            self.by_smallest = self.by_smallest + block.totals(segments.argmax(-values, block.offsets))

    @property
    def mean(self) -> float:
        """Over all hypotheses."""
        if len(self.means) == 1:
            return self.means[0][1]
        total = sum(size for size, _ in self.means)
        return sum(mean * (size / total) for size, mean in self.means)


class Seen:
    """Sizes and ranges of the lists of all blocks, their beginning, and their first hypotheses."""

    def __init__(self) -> None:
        self.metric: Metric | None = None
        self.feature_names: tuple[str, ...] = ()
        self.origins: Mapping[str, Origin] = {}
        self.sparse_names: set[str] = set()
        self.columns: list[SeenColumn] = []
        self.ids = SegmentNumbers()
        self.judged = True  # references or gains are with all segments
        self.distinct: int | None = 0
        self.unanswered = 0
        self.texts: list[str] = []  # of the first 20,000 hypotheses
        self.references: list[str] = []  # of their segments
        self.by_first: Floats | float = 0.0
        self.by_vote: Floats | float | None = 0.0  # None: some lists have no answers
        self._lengths = array("q")  # one piece of memory that grows: small arrays would stand between large ones
        self._spread: list[tuple[list[float], list[float]]] = []
        self._beginning: list[NBest] = []
        self._firsts: list[NBest] = []

    def add(self, block: NBest) -> None:
        """Look at a block."""
        if self.metric is None:
            self.metric = block.metric
        self.ids.add(block.ids)
        self.judged = self.judged and (block.references is not None or block.gains is not None)
        self._lengths.frombytes(block.lengths.tobytes())
        self.sparse_names.update(block.sparse_names)
        self._add_distinct(block)
        self._add_texts(block)
        if block.answers is not None:
            self.unanswered += int((block.answers.starts == block.answers.ends).sum())
        self._add_columns(block)
        if block.scored:
            chosen = first(None, block)
            self.by_first = self.by_first + block.totals(chosen)
            self._firsts.append(_only(block, chosen))
            self._add_votes(block)

    def _add_votes(self, block: NBest) -> None:
        voted = plurality(block)
        if voted is None:
            self.by_vote = None
        elif self.by_vote is not None:
            self.by_vote = self.by_vote + block.totals(voted)

    def _add_columns(self, block: NBest) -> None:
        if not self._spread:
            self.feature_names, self.origins = block.feature_names, block.origins
            self.columns = [SeenColumn() for _ in block.feature_names]
        if sum(part.hypotheses for part in self._beginning) < _ROWS:
            self._beginning.append(replace(block, texts=None, answers=None, sparse=None, sparse_names=()))
        self._spread += [(sizes.tolist(), squares.tolist()) for sizes, squares in map(spread_within, block.shards())]
        for d, column in enumerate(self.columns):
            column.add(np.asarray(block.features[:, d], np.float64), block)

    def _add_texts(self, block: NBest) -> None:
        left = _ROWS - len(self.texts)
        if block.texts is None or left <= 0:
            return
        self.texts += block.texts.take(slice(0, left))
        if block.references is not None and block.answers is None:  # of answers nothing else is left
            last = int(np.searchsorted(block.offsets, left))
            self.references += [text for group in block.references[:last] for text in group]

    def _add_distinct(self, block: NBest) -> None:
        if block.texts is None:
            self.distinct = None
        elif self.distinct is not None:
            self.distinct += int(first_of_equals(block, compare_features=False).sum())

    @property
    def lengths(self) -> Ints:
        """[N] hypotheses of each list."""
        return np.array(self._lengths, np.int64)

    @property
    def hypotheses(self) -> int:
        """H."""
        return int(self.lengths.sum())

    @property
    def scale(self) -> Floats:
        """[D] spread of each feature within lists."""
        return scale_of([(np.array(sizes), np.array(squares)) for sizes, squares in self._spread], self.hypotheses)

    def score(self, totals: Floats | float) -> float | None:
        """The metric of these statistics; None without one."""
        return None if self.metric is None else float(self.metric.score(np.asarray(totals)))

    @property
    def beginning(self) -> NBest:
        """As many of the first lists as hold 20,000 hypotheses, at least one."""
        lists = join(self._beginning)
        rows = min(lists.hypotheses, _ROWS)
        last = int(np.searchsorted(lists.offsets, rows, side="right")) - 1
        return lists.select(np.arange(max(last, min(1, len(lists)))))

    @property
    def firsts(self) -> NBest:
        """The first hypothesis of every list, as lists."""
        return join(self._firsts)


def _only(block: NBest, chosen: Ints) -> NBest:
    """The lists with nothing but what is chosen."""
    mask = np.zeros(block.hypotheses, bool)
    mask[chosen[chosen >= 0]] = True
    lists = block.without_sparse().only_features(()).keep(mask)
    return lists if lists.texts is None else replace(lists, texts=lists.texts.compact())
