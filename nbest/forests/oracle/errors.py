"""The fewest word errors of a lattice, exactly."""

from __future__ import annotations

import numpy as np

from nbest.base.errors import CapabilityError
from nbest.base.types import Ints
from nbest.compute import segments
from nbest.compute.compilation import kernel
from nbest.compute.growing import roomy
from nbest.compute.parallel import over_ranges
from nbest.corpus import Forests, Texts
from nbest.corpus.words import Words
from nbest.forests.derivations import Derivations
from nbest.forests.kbest import joined
from nbest.metrics.normalise import NONE, normalised
from nbest.metrics.references import flatten
from nbest.metrics.tokenise import tokens

_NONE = np.int32(1 << 30)  # errors of a node without derivation


def oracle_errors(forests: Forests, *, lowercase: bool = False, threads: int | None = None) -> tuple[Derivations, Ints]:
    """The derivation of each lattice with the fewest word errors, and how many [N]; none, and -1, where it is empty.

        d(v, r) = min over edges e into v of the fewest errors of words(tail) words(e) against the first r words

    Errors are insertions, deletions and substitutions of words (`str.split()`), as of `WER`; of several references the
    one with the fewest counts, ties to the first, then to the lowest edge from the end of the lattice. Exact.
    A lattice has edges of at most one tail, whose words come before those of the edge. Cost: O(words of edges x R)
    time and O(V R) memory for a reference of R words.
    """
    if not is_lattice(forests):
        raise CapabilityError(
            "exact word errors need lattices: edges of at most one tail, whose words come first (symbols -1, w, ...); "
            "use nbest.forests.oracle.forest_oracle, which searches other forests with a beam"
        )
    vocabulary, references, groups, _ = as_tokens(forests, "none", lowercase)
    words = *forests.need_words("word errors"), vocabulary.offsets, vocabulary.ids
    known = groups, references.offsets, references.ids
    errors = np.full(len(forests), -1, np.int64)
    parts: dict[int, tuple[Ints, Ints, Ints]] = {}

    def work(low: int, high: int) -> None:
        parts[low] = _oracle(low, high, forests.structure, words, known, errors=errors)

    over_ranges(work, forests.forest_edges, threads)
    return joined(forests, [parts[low] for low in sorted(parts)]), errors


def is_lattice(forests: Forests) -> bool:
    """Whether every edge has at most one tail, whose words come once and before those of the edge."""
    offsets, symbols = forests.need_words("looking for lattices")
    arities = forests.arities
    if (arities > 1).any():
        return False
    uses = segments.sums((symbols < 0).astype(np.float64), offsets)
    firsts = symbols[offsets[:-1][(arities == 1) & (uses == 1)]]
    return bool((uses == arities).all() and (firsts < 0).all())


def as_tokens(
    forests: Forests, tokenizer: str, lowercase: bool, normalize: str = NONE
) -> tuple[Words, Words, Ints, int]:
    """Tokens of each word of the vocabulary, of each reference, [N+1] the references of forest i, how many tokens.

    Words are normalised one by one here, though they may not be so in a text.
    """
    if forests.references is None:
        raise CapabilityError("an oracle needs references; call forests.with_references(references)")
    nothing = np.zeros(len(forests) + 1, np.int64)
    flat, groups = flatten(Texts.of([]), nothing, forests.references)
    (vocabulary, references), count = tokens(
        tokenizer, *normalised(normalize, Texts.of(forests.vocabulary), flat), lowercase=lowercase
    )
    return vocabulary, references, groups, count


@kernel
def _extend(below, edge, words, reference, rows):
    """Fill rows 0 to m: fewest errors after each of the m words of an edge that follows `below`; m."""
    symbol_offsets, symbols, starts, pieces = words
    size = len(reference)
    for r in range(size + 1):
        rows[0, r] = below[r]
    m = 0
    for s in range(symbol_offsets[edge], symbol_offsets[edge + 1]):
        if symbols[s] < 0:
            continue
        for piece in pieces[starts[symbols[s]] : starts[symbols[s] + 1]]:
            before, row = rows[m], rows[m + 1]
            row[0] = before[0] + 1
            for r in range(size):
                kept = before[r] + (1 if reference[r] != piece else 0)
                row[r + 1] = min(kept, before[r + 1] + 1, row[r] + 1)
            m += 1
    return m


@kernel
def _longest(low, high, words):
    """The most words of one of the edges low to high."""
    symbol_offsets, symbols, starts, _ = words
    most = 0
    for e in range(low, high):
        size = 0
        for s in range(symbol_offsets[e], symbol_offsets[e + 1]):
            if symbols[s] >= 0:
                size += starts[symbols[s] + 1] - starts[symbols[s]]
        most = max(most, size)
    return most


@kernel
def _tail(structure, e):
    """Row of the tail of an edge: that of node v is v + 1, and 0 stands for no tail."""
    first = structure.tail_offsets[e]
    return structure.tails[first] + 1 if first < structure.tail_offsets[e + 1] else 0


@kernel
def _table(structure, i, words, reference, rows):
    """d(v, r) of forest i, node v in row v + 1; row 0 is that of no words."""
    base, nodes = structure.node_offsets[i], structure.node_offsets[i + 1] - structure.node_offsets[i]
    edge_offsets, size = structure.edge_offsets, len(reference)
    table = np.full((nodes + 1, size + 1), _NONE, np.int32)
    for r in range(size + 1):
        table[0, r] = r
    for v in range(nodes):
        for e in range(edge_offsets[base + v], edge_offsets[base + v + 1]):
            tail = _tail(structure, e)
            if table[tail, 0] < _NONE:
                row = rows[_extend(table[tail], e, words, reference, rows)]
                for r in range(size + 1):
                    table[v + 1, r] = min(table[v + 1, r], row[r])
    return table


@kernel
def _back(rows, m, r):
    """Where in the reference the best alignment of the edge's words, which ends at r, begins."""
    while m > 0:
        if r > 0 and rows[m, r] == rows[m, r - 1] + 1:
            r -= 1
        elif rows[m, r] == rows[m - 1, r] + 1:
            m -= 1
        else:
            m, r = m - 1, r - 1
    return r


@kernel
def _read_out(structure, i, table, words, reference, rows, edges, total):
    """Append the edges of a derivation that reaches the table's last entry, the lowest first."""
    base, edge_offsets = structure.node_offsets[i], structure.edge_offsets
    v, r = len(table) - 1, len(reference)
    while v > 0:
        for e in range(edge_offsets[base + v - 1], edge_offsets[base + v]):
            tail = _tail(structure, e)
            if table[tail, 0] == _NONE:
                continue
            m = _extend(table[tail], e, words, reference, rows)
            if rows[m, r] == table[v, r]:
                edges = roomy(edges, total)
                edges[total] = e
                total += 1
                v, r = tail, _back(rows, m, r)
                break
    return edges, total


@kernel
def _oracle(low, high, structure, words, known, errors):
    """Derivations of a range of forests: how many a forest, edges a derivation, edges."""
    node_offsets, edge_offsets, _, _ = structure
    groups, reference_offsets, reference_ids = known
    counts = np.zeros(high - low, np.int64)
    sizes = np.empty(high - low, np.int64)
    edges = np.empty(16, np.int64)
    derivations, total = 0, 0
    for i in range(low, high):
        base, nodes = node_offsets[i], node_offsets[i + 1] - node_offsets[i]
        longest = _longest(edge_offsets[base], edge_offsets[base + nodes], words)
        before = total
        for j in range(groups[i], groups[i + 1]):
            reference = reference_ids[reference_offsets[j] : reference_offsets[j + 1]]
            rows = np.empty((longest + 1, len(reference) + 1), np.int32)
            table = _table(structure, i, words, reference, rows)
            fewest = table[nodes, len(reference)]
            if nodes == 0 or fewest == _NONE or (errors[i] >= 0 and fewest >= errors[i]):
                continue
            errors[i] = fewest
            edges, total = _read_out(structure, i, table, words, reference, rows=rows, edges=edges, total=before)
        if errors[i] >= 0:
            counts[i - low], sizes[derivations] = 1, total - before
            derivations += 1
    return counts, sizes[:derivations].copy(), edges[:total].copy()
