"""Derivations read out of forests: their features, words and texts, and the lists they make."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, singledispatch

import numpy as np

from nbest.base.types import Floats, Ints
from nbest.compute import segments
from nbest.compute.compilation import kernel
from nbest.compute.growing import longer
from nbest.corpus import Forests, NBest, Texts, Words
from nbest.corpus.contract import Corpus, no_answer


@dataclass(frozen=True)
class Derivations:
    """K derivations of N forests; each is the row of its edges from the top, left to right by tails."""

    forests: Forests
    offsets: Ints  # [N+1]: derivations of forest i
    edge_offsets: Ints  # [K+1]
    edges: Ints  # [X] numbers over all forests

    def __len__(self) -> int:
        return len(self.edge_offsets) - 1

    def sums(self, values: Floats) -> Floats:
        """[K, ...] sum of edge values [E, ...] over the edges of each derivation, as often as each is used."""
        return segments.sums(np.asarray(values, np.float64)[self.edges], self.edge_offsets)

    @cached_property
    def words(self) -> Words:
        """The words of each derivation, numbers into `forests.vocabulary`."""
        symbol_offsets, symbols = self.forests.need_words("reading derivations")
        offsets, ids = _read(self.edge_offsets, self.edges, self.forests.tail_offsets, symbol_offsets, symbols)
        return Words(offsets, ids)

    def texts(self) -> Texts:
        """The words of each derivation, joined by spaces."""
        pieces = Texts.of(self.forests.vocabulary)
        return Texts(*_join(self.words.offsets, self.words.ids, pieces.buffer, pieces.starts, pieces.ends))

    def lists(self) -> NBest:
        """The derivations as hypotheses, with the features of the forests; statistics where there is a metric."""
        forests = self.forests
        corpus = NBest(
            offsets=self.offsets,
            features=self.sums(forests.features),
            feature_names=forests.feature_names,
            ids=forests.ids,
            texts=None if forests.symbols is None else self.texts(),
            references=forests.references,
            sources=forests.sources,
            groups=forests.groups,
            origins=forests.origins,
        )
        return corpus if forests.metric is None else corpus.with_metric(forests.metric)


@kernel
def _read(edge_offsets, edges, tail_offsets, symbol_offsets, symbols):
    """Offsets and numbers of the words of each derivation."""
    count = len(edge_offsets) - 1
    most = 0
    for k in range(count):
        most = max(most, edge_offsets[k + 1] - edge_offsets[k])
    size = np.empty(most, np.int64)  # of the part of the row that begins here and is one derivation of its node
    place = np.empty(most + 1, np.int64)  # stack: where in the row, and which symbol is next
    following = np.empty(most + 1, np.int64)
    offsets = np.zeros(count + 1, np.int64)
    ids = np.empty(16, np.int32)
    total = 0
    for k in range(count):
        row = edges[edge_offsets[k] : edge_offsets[k + 1]]
        for at in range(len(row) - 1, -1, -1):
            end = at + 1
            for _ in range(tail_offsets[row[at] + 1] - tail_offsets[row[at]]):
                end += size[end]
            size[at] = end - at
        depth = 0
        if len(row):
            place[0], following[0] = 0, symbol_offsets[row[0]]
            depth = 1
        while depth:
            at = place[depth - 1]
            edge = row[at]
            s = following[depth - 1]
            if s == symbol_offsets[edge + 1]:
                depth -= 1
                continue
            following[depth - 1] = s + 1
            symbol = symbols[s]
            if symbol >= 0:
                if total == len(ids):
                    ids = longer(ids, 2 * total)
                ids[total] = symbol
                total += 1
            else:
                below = at + 1
                for _ in range(-1 - symbol):
                    below += size[below]
                place[depth], following[depth] = below, symbol_offsets[row[below]]
                depth += 1
        offsets[k + 1] = total
    return offsets, ids[:total].copy()


@kernel
def _join(offsets, ids, buffer, starts, ends):
    """Buffer, starts and ends of the texts with these words between spaces."""
    count = len(offsets) - 1
    total = 0
    for w in ids:
        total += ends[w] - starts[w] + 1
    out = np.empty(total, np.uint8)
    new_starts = np.empty(count, np.int64)
    new_ends = np.empty(count, np.int64)
    at = 0
    for k in range(count):
        new_starts[k] = at
        for i in range(offsets[k], offsets[k + 1]):
            if i > offsets[k]:
                out[at] = 32
                at += 1
            size = ends[ids[i]] - starts[ids[i]]
            for b in range(size):
                out[at + b] = buffer[starts[ids[i]] + b]
            at += size
        new_ends[k] = at
    return out[:at], new_starts, new_ends


def forests_of(corpus: NBest) -> Forests:
    """Lists as forests: one node a segment, each hypothesis an edge without tails, its words (between white space)
    its symbols. Statistics are not kept; metric and references are."""
    from nbest.corpus import intern

    filled = corpus.lengths > 0
    nodes = segments.offsets_of(filled.astype(np.int64))
    parts: dict[str, object] = {}
    if corpus.texts is not None:
        (words,), vocabulary = intern(corpus.texts)
        parts = {"symbol_offsets": words.offsets, "symbols": words.ids, "vocabulary": tuple(vocabulary)}
    return Forests(
        node_offsets=nodes,
        edge_offsets=segments.offsets_of(corpus.lengths[filled]),
        tail_offsets=np.zeros(corpus.hypotheses + 1, np.int64),
        tails=np.zeros(0, np.int32),
        features=corpus.features,
        feature_names=corpus.feature_names,
        ids=corpus.ids,
        references=corpus.references,
        sources=corpus.sources,
        groups=corpus.groups,
        metric=corpus.metric,
        origins=corpus.origins,
        **parts,  # type: ignore[arg-type]
    )


@singledispatch
def as_forests(corpus: Corpus) -> Forests:
    """A corpus as forests."""
    raise no_answer("as_forests", corpus)


@as_forests.register(Forests)
def _(corpus: Forests) -> Forests:
    return corpus


as_forests.register(NBest, forests_of)
