"""Exact line search over all derivations of forests."""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch

import numpy as np

from nbest.base.types import Floats, Ints
from nbest.compute import segments
from nbest.compute.row_tables import hashes_of, new_table, number_rows, remember
from nbest.corpus import Forests, NBest
from nbest.corpus.contract import Corpus, no_answer
from nbest.corpus.metric import Metric
from nbest.forests.derivations import Derivations
from nbest.lines.forest_envelopes import Envelopes, envelopes
from nbest.lines.positions import Pieces
from nbest.lines.search import Columns, Lines, Scores, list_lines


def forest_lines(forests: Forests, features: Floats, metric: Metric) -> Lines:
    """Lines of the edges of forests with these features [E, D], their own or scaled ones."""
    shards: list[Columns] = []
    edges = places = 0
    for part in forests.shards():
        own = [part.layout.spread(column) for column in features[edges : edges + part.edges].T]
        columns = np.stack(own) if own else np.zeros((0, part.layout.edge_offsets[-1]))
        shards.append(ForestColumns(columns, places, part, metric))
        edges, places = edges + part.edges, places + columns.shape[1]
    return Lines(shards, metric, alone=True)


@dataclass
class ForestColumns(Columns):
    """A shard of forests: what `ListColumns` is for lists, and the same numbers on lists as forests.

    One search at a time, with its threads inside: searches add to what is measured. Memory: O(V) for a thread at a
    time, and what `Measured` keeps.
    """

    forests: Forests
    metric: Metric

    @property
    def measured(self) -> Measured:
        """The derivations that searches have met so far."""
        if "measured" not in self.room:
            self.room["measured"] = Measured(self.forests, self.metric)
        return self.room["measured"]

    def pieces(self, scores: Scores, direction: Floats, bounds: tuple[float, float]) -> Pieces:
        """Within the bounds."""
        known = self.measured
        found = envelopes(self.forests.layout, self.own(scores), self.scores(direction), bounds, known.by_edges)
        rows = known.rows(found)
        begins = found.offsets[:-1][segments.lengths(found.offsets) > 0]
        later = np.ones(len(rows), bool)
        later[begins] = False
        at = np.flatnonzero(later)
        return found.place[at], known.stats[rows[at]] - known.stats[rows[at - 1]], known.stats[rows[begins]]


class Measured:
    """Statistics of derivations, each read out and measured once.

    One table maps their edges to rows of statistics, another their words, so that each string of a forest is measured
    once however many derivations it has. Memory: 48 to 96 bytes for each derivation and string ever seen, and its
    statistics.
    """

    def __init__(self, forests: Forests, metric: Metric) -> None:
        self.forests, self.metric = forests, metric
        self.stats = np.zeros((64, len(metric.stat_names)))  # of each distinct string of each forest, and free rows
        self.strings = 0  # how many are measured
        self.derivations = 0  # how many are known
        self.by_edges, self._by_words = new_table(), new_table()

    def rows(self, found: Envelopes) -> Ints:
        """[P] row of `stats` of each piece; derivations not seen before are measured and remembered."""
        fresh = np.flatnonzero(found.entry < 0)  # pieces, in the order in which derivations were read out
        if len(fresh) == 0:
            return found.entry
        offsets = np.searchsorted(fresh, found.offsets)
        derivations = Derivations(self.forests, offsets, found.edge_offsets, found.edges)
        entries = self._measure(derivations)
        self.by_edges = remember(self.by_edges, self.derivations, found.hashes, entries)
        self.derivations += len(fresh)
        rows = found.entry.copy()
        rows[fresh] = entries
        return rows

    def _measure(self, derivations: Derivations) -> Ints:
        """[K] row of `stats` of each derivation; those with new words are measured in one call."""
        words, owners = derivations.words, segments.owners(derivations.offsets)
        hashes = hashes_of(owners, words.offsets, words.ids)
        self._by_words, entries, new = number_rows(self._by_words, self.strings, hashes)
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


@singledispatch
def lines_of(corpus: Corpus, features: Floats) -> Lines:
    """A corpus prepared for line searches with these features [rows, D], its own or scaled ones."""
    raise no_answer("lines_of", corpus)


@lines_of.register(NBest)
def _(corpus: NBest, features: Floats) -> Lines:
    return list_lines(features, corpus.offsets, *corpus.need_stats())


@lines_of.register(Forests)
def _(corpus: Forests, features: Floats) -> Lines:
    return forest_lines(corpus, features, corpus.need_metric())
