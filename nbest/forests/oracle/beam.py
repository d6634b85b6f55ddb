"""Good derivations by a metric of whole texts, found with a beam from the leaves up."""

from __future__ import annotations

import numpy as np

from nbest.base.errors import ParameterError
from nbest.base.types import Ints
from nbest.compute import segments
from nbest.compute.compilation import kernel
from nbest.compute.growing import roomy
from nbest.compute.parallel import over_ranges
from nbest.corpus import Forests
from nbest.forests.derivations import Derivations
from nbest.forests.kbest import joined
from nbest.forests.oracle.errors import as_tokens
from nbest.forests.oracle.items import EDGE, SIZE, WORDS, add_combinations, copy, empty, read_out, same_words
from nbest.metrics.ngrams import ReferenceTrie, add_reference, table_bits, use_up
from nbest.metrics.normalise import NONE

_PRECISION, _RATIO = 0.85, 0.72  # of unigrams, and from one order to the next


def beam_oracle(forests: Forests, *, beam: int = 50, threads: int | None = None) -> Derivations:
    """A derivation of each forest with a small loss by the metric of the forests, each segment alone.

    Every node keeps the `beam` rows of words y with the largest gain

        G(y) = -|y| + sum_n c_n(y) / (K p r^(n-1)),        p = 0.85, r = 0.72, n = 1 to K,

    c_n the n-grams of y that are in the references (clipped): a linear form of BLEU that says of a part what it adds to
    the whole. Tromble, Kumar, Och & Macherey (2008), EMNLP 620-629; differs: clipped, and p and r are fixed. Of the
    derivations the root keeps, the one with the smallest `metric.losses` is returned, ties to the first.
    A real derivation, so its loss is never below the smallest; it is the smallest if no node has more than `beam`
    combinations of derivations of its edges' tails. Rank i of one tail goes with rank j of the other if i j <= beam.
    Cost: O(E beam log(beam) L) time and O(V beam L) memory for L words.
    """
    if beam < 1:
        raise ParameterError(f"'beam' of beam_oracle must be >= 1, got {beam}")
    metric = forests.need_metric()
    tokenizer, lowercase = getattr(metric, "tokenize", "none"), getattr(metric, "lowercase", False)
    vocabulary, references, groups, distinct = as_tokens(
        forests, tokenizer, lowercase, getattr(metric, "normalize", NONE)
    )
    order = getattr(metric, "max_ngram_order", 4)
    gains = 1.0 / (order * _PRECISION * _RATIO ** np.arange(order))
    words = (*forests.need_words("an oracle"), vocabulary.offsets, vocabulary.ids)
    known = groups, references.offsets, references.ids
    parts: dict[int, tuple[Ints, Ints, Ints]] = {}

    def work(low: int, high: int) -> None:
        parts[low] = _beams(low, high, forests.structure, words, known, gains=gains, beam=beam, distinct=distinct)

    over_ranges(work, forests.forest_edges, threads)
    kept = joined(forests, [parts[low] for low in sorted(parts)])
    choice = kept.lists().oracle()
    return _only(kept, choice)


def _only(derivations: Derivations, choice: Ints) -> Derivations:
    """The derivation chosen for each forest; -1 for none."""
    rows, edge_offsets = segments.rows_of(derivations.edge_offsets, choice[choice >= 0])
    offsets = segments.offsets_of((choice >= 0).astype(np.int64))
    return Derivations(derivations.forests, offsets, edge_offsets, derivations.edges[rows])


@kernel
def _gain(words, gains, trie, left, matched):
    """G of one row of words."""
    for node in range(len(trie.limits)):
        left[node] = trie.limits[node]
    for n in range(len(gains)):
        matched[n] = 0
    use_up(words, len(gains), trie, left, matched)
    total = -float(len(words))
    for n in range(len(gains)):
        total += gains[n] * matched[n]
    return total


@kernel
def _keep(candidates, count, beam, gains, trie, tail_offsets, items, used):
    """Append the `beam` candidates of a node with the largest gain and different words, best first."""
    matched = np.empty(len(gains), np.int32)
    left = np.empty_like(trie.limits)
    value = np.empty(count)
    for c in range(count):
        row = candidates[0][c]
        value[c] = _gain(candidates[1][row[WORDS] : row[WORDS] + row[SIZE]], gains, trie, left, matched)
    kept = np.empty(min(beam, count), np.int64)
    size = 0
    for c in np.argsort(-value, kind="mergesort"):
        if size == len(kept):
            break
        other = size - 1
        while other >= 0 and value[kept[other]] == value[c] and not same_words(kept[other], c, candidates):
            other -= 1
        if other >= 0 and value[kept[other]] == value[c]:
            continue
        kept[size] = c
        size += 1
        edge = candidates[0][c, EDGE]
        items = copy(c, candidates, tail_offsets[edge + 1] - tail_offsets[edge], items, used)
    return items


@kernel
def _trie(low, high, reference_offsets, reference_ids, order, unigrams):
    """The n-grams of references low to high, and how often each may count."""
    size = (reference_offsets[high] - reference_offsets[low]) * order
    bits = table_bits(size)
    keys, values = np.full(1 << bits, -1, np.int64), np.empty(1 << bits, np.int32)
    limits, seen = np.zeros(size + 1, np.int32), np.zeros(size + 1, np.int32)
    trie, nodes = ReferenceTrie(unigrams, keys, values, bits, limits), 0
    for j in range(low, high):
        words = reference_ids[reference_offsets[j] : reference_offsets[j + 1]]
        nodes = add_reference(words, order, nodes, trie, seen)
    return ReferenceTrie(unigrams, keys, values, bits, limits[: nodes + 1].copy())


@kernel
def _beams(low, high, structure, words, known, gains, beam, distinct):
    """What the roots of a range of forests keep: how many a forest, edges a derivation, edges."""
    node_offsets, edge_offsets, tail_offsets, tails = structure
    groups, reference_offsets, reference_ids = known
    counts = np.zeros(high - low, np.int64)
    sizes, edges, stack = np.empty(16, np.int64), np.empty(16, np.int64), np.empty(16, np.int64)
    derivations, total = 0, 0
    unigrams = np.zeros(distinct, np.int32)
    for i in range(low, high):
        trie = _trie(groups[i], groups[i + 1], reference_offsets, reference_ids, order=len(gains), unigrams=unigrams)
        base, nodes = node_offsets[i], node_offsets[i + 1] - node_offsets[i]
        items, used = empty()
        bounds = np.zeros(nodes + 1, np.int64)
        for v in range(nodes):
            candidates, taken = empty()
            for e in range(edge_offsets[base + v], edge_offsets[base + v + 1]):
                below = tails[tail_offsets[e] : tail_offsets[e + 1]]
                candidates = add_combinations(
                    e, tails=below, bounds=bounds, beam=beam, items=items, words=words, store=candidates, used=taken
                )
            items = _keep(
                candidates, taken[0], beam, gains=gains, trie=trie, tail_offsets=tail_offsets, items=items, used=used
            )
            bounds[v + 1] = used[0]
        for item in range(bounds[nodes - 1] if nodes else 0, bounds[nodes]):
            before = total
            stack, edges, total = read_out(
                item, store=items, tail_offsets=tail_offsets, stack=stack, edges=edges, total=total
            )
            sizes = roomy(sizes, derivations)
            sizes[derivations] = total - before
            derivations += 1
            counts[i - low] += 1
        for word in reference_ids[reference_offsets[groups[i]] : reference_offsets[groups[i + 1]]]:
            unigrams[word] = 0
    return counts, sizes[:derivations].copy(), edges[:total].copy()
