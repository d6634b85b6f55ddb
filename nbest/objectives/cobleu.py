"""Consensus BLEU: the BLEU of expected n-gram counts over forests."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from nbest.base.errors import CapabilityError, ParameterError
from nbest.base.types import Floats, Ints
from nbest.compute import segments
from nbest.compute.compilation import kernel
from nbest.compute.parallel import over_ranges
from nbest.corpus import Forests
from nbest.forests.edge_stats import average_lengths
from nbest.forests.ngrams import NgramStats, ngram_stats
from nbest.forests.posteriors import run_both
from nbest.metrics import BLEU
from nbest.metrics.rates import FLOOR
from nbest.objectives.backends import Backend, StatCredit, current_backend
from nbest.objectives.forest_shard import ForestShard
from nbest.objectives.penalties import NO_PENALTY, Penalty

_NO_PAIRS = np.zeros((0, 2), np.int64)


@dataclass
class NgramShard(ForestShard):
    """Forests whose n-grams are local to edges, with numbers of n-grams for statistics."""

    found: NgramStats = field(kw_only=True)

    @classmethod
    def of(cls, forests: Forests, metric: BLEU, scale: Floats, *, single: bool = False) -> NgramShard:
        """Retokenise, split nodes by boundary words, count n-grams."""
        forests, found = ngram_stats(forests, metric)
        return cls(forests, scale, found.counts, single, found=found)

    @cached_property
    def matches(self) -> tuple[Ints, Ints, Ints]:
        """Reference n-grams that edges complete: offsets [N+1], edge and n-gram of each, numbers within the forest.

        One after the other, not edge by edge: most edges have few, and a loop over none or one is mispredicted.
        """
        layout, offsets, numbers = self.forests.layout, self.found.match_offsets, self.found.matches
        if layout.edges is not None:
            more = np.append(offsets, offsets[-1])  # one more, for extra edges
            rows, offsets = segments.rows_of(more, np.where(layout.edges >= 0, layout.edges, self.forests.edges))
            numbers = numbers[rows]
        edges = segments.owners(offsets)
        starts = offsets[layout.edge_offsets]
        edges -= np.repeat(layout.edge_offsets[:-1], np.diff(starts))
        return starts, edges.astype(np.int32), numbers

    @cached_property
    def reference_length(self) -> float:
        """Words of the references (of several, on average) of all forests that are not empty."""
        layout = self.forests.layout
        filled = run_both(layout, np.zeros(layout.edge_offsets[-1]))[0] > -np.inf
        references = self.found.references
        return float(average_lengths(references.reference_lengths, references.reference_offsets)[filled].sum())


@dataclass(frozen=True)
class Counts:
    """Additive over shards: expected n-grams of each order, clipped and not, words of references, entropy in nats."""

    all: Floats  # [order]
    clipped: Floats  # [order]
    reference_length: float
    entropy: float

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.all + other.all,
            self.clipped + other.clipped,
            self.reference_length + other.reference_length,
            self.entropy + other.entropy,
        )


@dataclass(frozen=True)
class NgramCredit:
    """What the second pass needs: what an n-gram of each order is worth, and more if its count is not clipped."""

    all: Floats  # [order]
    unclipped: Floats  # [order]


@dataclass(frozen=True)
class CoBLEU:
    """Minus the logarithm of the BLEU of expected n-gram counts, minus temperature times entropy; minimised.

        value = -min(0, 1 - |R| / C_1) - 1/K sum_n (ln Cclip_n - ln C_n) - T H + penalty
        C_n   = sum_i sum_g E_i[c(g)],    Cclip_n = sum_i sum_g min(E_i[c(g)], c(g, ref_i)),    g of order n

    Pauls, DeNero & Klein (2009), EMNLP 1418-1427, eq. 1 and section 2.2. The count of each n-gram is clipped in
    expectation, not in each derivation as in `Risk`. Of several references the largest count limits, and their average
    length counts. The paper's eight marked inside-outside programs for the gradient are one here: with

        r(h) = sum_{g in h} (1/K [E_i[c(g)] <= c(g, ref_i)] / Cclip_n - 1/K / C_n) + [C_1 <= |R|] |R| / C_1^2 l_1(h)

    the gradient is -sum_i Cov_i(phi, r) (`nbest.forests.expectations`). At a kink the indicators are 1, as in the
    paper. With `precision` only n-grams of the longest order count and there is no brevity penalty: minus the logarithm
    of eq. 1, CoBP, where `order` is 2. The appendix prints products of corpus sums; they are per segment here, as
    finite differences say.
    Differs: `floor` is added to all counts, so that one that vanishes gives no infinite slope (0: exactly the paper's);
    gamma multiplies scores, temperature the entropy, for annealing. Cost: two passes over edges and their n-grams.
    """

    order: int = 4
    temperature: float = 0.0
    gamma: float = 1.0
    penalty: Penalty = NO_PENALTY
    floor: float = FLOOR
    precision: bool = False
    backend: Backend = field(default_factory=current_backend)

    def __post_init__(self) -> None:
        for name in ("temperature", "gamma", "floor"):
            if not getattr(self, name) >= 0:
                raise ParameterError(f"'{name}' of CoBLEU must be >= 0, got {getattr(self, name)}")

    def moments(self, weights: Floats, shard: NgramShard) -> Counts:
        """Expected counts and entropy; additive over shards."""
        if shard.found.order != self.order:
            raise ParameterError(
                f"'order' of CoBLEU is {self.order}, and the n-grams were counted up to {shard.found.order}"
            )
        found = self.backend.posteriors(shard, weights, self.gamma, _NO_PAIRS)
        layout, counts = shard.forests.layout, shard.found
        used = self.backend.posterior(shard)
        expected = shard.room["expected"] = np.zeros(counts.ngram_offsets[-1])
        offsets = layout.edge_offsets, counts.ngram_offsets
        over_ranges(
            lambda low, high: _expect(low, high, offsets, shard.matches, used, out=expected), layout.edge_offsets
        )
        clipped = np.zeros(self.order)
        np.add.at(clipped, counts.orders - 1, np.minimum(expected, counts.limits))
        return Counts(found.mean, clipped, shard.reference_length, found.entropy)

    def combine(self, moments: Counts) -> tuple[float, NgramCredit]:
        """Corpus value and credit."""
        every, clipped = moments.all + self.floor, moments.clipped + self.floor
        words, wanted = every[0], moments.reference_length + self.floor
        some = np.arange(1, self.order + 1) >= (self.order if self.precision else 1)  # orders that count
        if not ((every[some] > 0).all() and (clipped[some] > 0).all()):
            n = int(((clipped > 0) | ~some).argmin()) + 1
            raise CapabilityError(
                f"no {n}-gram of the references is expected in the forests, so their CoBLEU is 0; "
                "use a lower 'max_ngram_order' of BLEU, or 'floor' > 0"
            )
        value = float((np.log(clipped[some]) - np.log(every[some])).mean())
        slope, gain = (
            np.divide(1.0, some.sum() * counts, out=np.zeros(self.order), where=some) for counts in (every, clipped)
        )
        if not self.precision:
            value += min(0.0, 1.0 - wanted / words)
            slope[0] -= wanted / words**2 if words <= wanted else 0.0
        return -value - self.temperature * moments.entropy, NgramCredit(slope, -gain)

    def gradient(self, weights: Floats, shard: NgramShard, credit: NgramCredit) -> Floats:
        """Gradient of this shard's part, at the posteriors that `moments` left."""
        layout, counts = shard.forests.layout, shard.found
        worth = np.where(shard.room["expected"] <= counts.limits, credit.unclipped[counts.orders - 1], 0.0)
        amounts = np.empty(layout.edge_offsets[-1])
        offsets = layout.edge_offsets, counts.ngram_offsets
        over_ranges(
            lambda low, high: _collect(low, high, offsets, shard.matches, worth, out=amounts), layout.edge_offsets
        )
        worths = StatCredit(credit.all, np.zeros((self.order, self.order)))
        return self.backend.feature_sum(
            shard, worths, _NO_PAIRS, temperature=self.temperature, gamma=self.gamma, start=amounts
        )


@kernel
def _expect(low, high, offsets, completed, used, out):
    """Expected counts of the n-grams of references, from the posteriors of edges."""
    edge_offsets, ngram_offsets = offsets
    match_offsets, edges, matches = completed
    for i in range(low, high):
        counts = out[ngram_offsets[i] : ngram_offsets[i + 1]]
        p = used[edge_offsets[i] : edge_offsets[i + 1]]
        for m in range(match_offsets[i], match_offsets[i + 1]):
            counts[np.uint32(matches[m])] += p[np.uint32(edges[m])]


@kernel
def _collect(low, high, offsets, completed, worth, out):
    """What the n-grams of references that an edge completes are worth."""
    edge_offsets, ngram_offsets = offsets
    match_offsets, edges, matches = completed
    for i in range(low, high):
        values = worth[ngram_offsets[i] : ngram_offsets[i + 1]]
        totals = out[edge_offsets[i] : edge_offsets[i + 1]]
        totals[:] = 0.0
        for m in range(match_offsets[i], match_offsets[i + 1]):
            totals[np.uint32(edges[m])] += values[np.uint32(matches[m])]
