"""Exact line search over all derivations of forests."""

from __future__ import annotations

import numpy as np

from nbest.base.types import Floats, Ints
from nbest.compute import segments
from nbest.compute.row_tables import hashes_of, new_table, number, remember
from nbest.corpus import Forests
from nbest.corpus.metric import Metric
from nbest.forests.derivations import Derivations
from nbest.lines.envelope import sweep
from nbest.lines.forest_envelopes import Envelopes, envelopes
from nbest.lines.search import TOLERANCE, Columns, Step, best_step


class ForestLines(Columns):
    """Forests prepared for line searches: what `Lines` is for lists, and the same numbers on lists as forests.

    Derivations on an envelope are read out and measured once: one table maps their edges to rows of statistics, another
    their words, so that each string of a forest is measured once however many derivations it has.
    Searches add to these; one search at a time, with its threads inside. Memory: O(V) for a thread at a time; 48 to 96
    bytes for each derivation and string ever seen, and its statistics.
    """

    def __init__(self, forests: Forests, features: Floats, metric: Metric) -> None:
        """Lines of the edges of `forests` with these features [E, D], its own or scaled ones."""
        self.forests, self.layout = forests, forests.layout
        columns = [self.layout.spread(column) for column in features.T]
        self.columns = np.stack(columns) if columns else np.zeros((0, len(self.layout.first)))  # [D, E']
        self.metric = metric
        self.sign = 1.0 if metric.higher_is_better else -1.0
        self.stats = np.zeros((64, len(metric.stat_names)))  # of each distinct string of each forest, and free rows
        self.strings = 0  # how many are measured
        self.derivations = 0  # how many are known
        self._by_edges, self._by_words = new_table(), new_table()

    def intervals(
        self,
        scores: Floats,
        direction: Floats,
        bounds: tuple[float, float] = (-np.inf, np.inf),
        threads: int | None = 1,
    ) -> tuple[Floats, Floats]:
        """Cuts [C] within `bounds`, sorted, and the totals [C+1, M] before, between and after them."""
        found = envelopes(self.layout, scores, self.scores(direction), bounds, self._by_edges, threads)
        rows = self._rows(found)
        filled = segments.lengths(found.offsets) > 0
        first = np.full(len(self.forests), -1, np.int64)
        first[filled] = rows[found.offsets[:-1][filled]]
        later = np.ones(len(rows), bool)
        later[found.offsets[:-1][filled]] = False
        at = np.flatnonzero(later)
        return sweep(found.place[at], self.stats[rows[at]] - self.stats[rows[at - 1]], first, self.stats, TOLERANCE)

    def search(
        self,
        scores: Floats,
        direction: Floats,
        bounds: tuple[float, float] = (-np.inf, np.inf),
        threads: int | None = 1,
    ) -> Step:
        """The best interval within `bounds` on x, at its middle; of equally good ones the widest."""
        cuts, totals = self.intervals(scores, direction, bounds, threads)
        return best_step(cuts, self.sign * self.metric.score(totals), bounds)

    # statistics ------------------------------------------------------------------------------------------------

    def _rows(self, found: Envelopes) -> Ints:
        """[P] row of `stats` of each piece; derivations not seen before are measured and remembered."""
        fresh = np.flatnonzero(found.entry < 0)  # pieces, in the order in which derivations were read out
        if len(fresh) == 0:
            return found.entry
        offsets = np.searchsorted(fresh, found.offsets)
        derivations = Derivations(self.forests, offsets, found.edge_offsets, found.edges)
        entries = self._measure(derivations)
        self._by_edges = remember(self._by_edges, self.derivations, found.hashes, entries)
        self.derivations += len(fresh)
        rows = found.entry.copy()
        rows[fresh] = entries
        return rows

    def _measure(self, derivations: Derivations) -> Ints:
        """[K] row of `stats` of each derivation; those with new words are measured in one call."""
        words, owners = derivations.words, segments.owners(derivations.offsets)
        hashes = hashes_of(owners, words.offsets, words.ids)
        self._by_words, entries, new = number(self._by_words, self.strings, hashes)
        if len(new):
            while self.strings + len(new) > len(self.stats):
                self.stats = np.concatenate([self.stats, np.zeros_like(self.stats)])
            self.stats[self.strings : self.strings + len(new)] = self._stats(derivations, new, owners[new])
            self.strings += len(new)
        return entries

    def _stats(self, derivations: Derivations, chosen: Ints, owners: Ints) -> Floats:
        """[len(chosen), M] statistics of chosen derivations, which belong to these forests."""
        rows, edge_offsets = segments.rows_of(derivations.edge_offsets, chosen)
        part = Derivations(derivations.forests, np.zeros(1, np.int64), edge_offsets, derivations.edges[rows])
        concerned, counts = np.unique(owners, return_counts=True)
        references = derivations.forests.references
        assert references is not None, "with_metric checked that there are references"
        used = [references[i] for i in concerned]
        return np.asarray(self.metric.stats(part.texts(), segments.offsets_of(counts), used), np.float64)
