"""Kernels: which n-grams the edges of one forest complete, from the boundary words of their tails."""

from __future__ import annotations

import numpy as np

from nbest.compute.compilation import kernel
from nbest.compute.growing import room
from nbest.forests.ngrams import contexts
from nbest.forests.ngrams.contexts import LEFT, RIGHT


@kernel
def node_states(edge_starts, edges, most):
    """What each node of one forest needs (-1: part of no derivation), its contexts, and the trie they are rows of.

    First of all the node with two different contexts, -1 if there is none.
    """
    nodes = len(edge_starts) - 1
    useful, need = np.empty(nodes, np.bool_), np.empty(nodes, np.int8)
    ends = np.full((2, nodes), -1, np.int32)
    trie = contexts.new_trie()
    if nodes:
        contexts.needs(edge_starts, edges, useful, need)
    rows = np.int64(0)
    for v in range(nodes):
        seen = False
        for e in range(edge_starts[v], edge_starts[v + 1] if need[v] and useful[v] else edge_starts[v]):
            below = contexts.tails_of(edges, e)
            if not contexts.alive(below, useful):
                continue
            row = contexts.symbols_of(edges, e)
            trie = contexts.with_room(trie, rows, 2 * most)
            left, right = np.int32(-1), np.int32(-1)
            if need[v] & LEFT:
                left, rows = contexts.first_words(row, ends[0][below], most, trie, rows)
            if need[v] & RIGHT:
                right, rows = contexts.last_words(row, ends[1][below], most, trie, rows)
            if seen and (left != ends[0, v] or right != ends[1, v]):
                return v, need, ends, trie
            ends[0, v], ends[1, v], seen = left, right, True
    for v in range(nodes):
        if not useful[v]:
            need[v] = -1
    return -1, need, ends, trie


@kernel
def _spell(symbols, tails, states, most, spelling):
    """The words of an edge with those of its tails that n-grams can cross into; how many.

    The spelling is -1 where words are left out, and where the tail that a word comes from begins: n-grams from there
    on are the tail's own.
    """
    need, ends, trie = states
    spelt, inside = spelling
    size = 0
    for s in symbols:
        if s >= 0:
            spelt[size], inside[size] = s, size + 1
            size += 1
            continue
        t = tails[-1 - s]
        start = size
        if need[t] & LEFT:
            size = contexts.write_row(trie, ends[0, t], spelt, size)
            inside[start:size] = start
        if need[t] == (LEFT | RIGHT) and size - start < most:
            continue
        spelt[size], inside[size] = -1, size
        size += 1
        start = size
        if need[t] & RIGHT:
            size = contexts.write_row(trie, ends[1, t], spelt, size)
            inside[start:size] = start
    return size


@kernel
def _complete(spelling, trie, rows, growing, counts, events):
    """Fill counts and events of one edge; how many events, and how many n-grams there are now."""
    spelt, inside = spelling
    size, order = len(spelt), len(counts)
    found = 0
    for start in range(size):
        row = np.int32(-1)
        known = True
        for at in range(start, _last_new(spelt, inside, start, min(start + order, size)) + 1):
            if known and growing:
                row = contexts.add_row(trie, rows, row, spelt[at])
                rows = max(rows, row + 1)
            elif known:
                row = contexts.find_row(trie, row, spelt[at])
                known = row >= 0
            if start < inside[at]:
                counts[at - start] += 1
                if known:
                    events[found] = row
                    found += 1
    return found, rows


@kernel
def _last_new(spelt, inside, start, end):
    """Where the longest n-gram from `start` that is not within one tail ends; -1 if there is none."""
    last = -1
    for at in range(start, end):
        if spelt[at] < 0:
            break
        if start < inside[at]:
            last = at
    return last


@kernel
def _table_of(parents, words):
    """The trie with these rows, in arrays that may be written to."""
    trie = contexts.with_room(contexts.new_trie(), np.int64(0), len(parents))
    for g in range(len(parents)):
        contexts.add_row(trie, g, parents[g], words[g])
    return trie


@kernel
def _longest(edge_starts, edges, most):
    """Room for the words that any edge of a forest is spelt with."""
    longest = 0
    for e in range(edge_starts[0], edge_starts[-1]):
        longest = max(longest, len(contexts.symbols_of(edges, e)) + len(contexts.tails_of(edges, e)) * 2 * most)
    return longest


@kernel
def collect(edge_starts, edges, states, order, known, growing, weights):
    """Parents and words of the n-grams of one forest; counts, number of events and events of its edges; totals.

    Only the n-grams known are events unless `growing`. With weights of the edges [E] the events are not kept, and
    totals are the sum of weights of each n-gram.
    """
    need = states[0]
    trie = _table_of(known[0], known[1])
    rows = len(known[0])
    low, high = edge_starts[0], edge_starts[-1]
    counts = np.zeros((high - low, order), np.int32)
    sizes = np.zeros(high - low, np.int64)
    longest = _longest(edge_starts, edges, order - 1)
    spelt, inside = np.empty(longest, np.int32), np.empty(longest, np.int64)
    events = np.empty(longest * order, np.int32)
    totals = np.zeros(len(trie.parents) if len(weights) else 0)
    kept = 0
    for v in range(len(edge_starts) - 1):
        for e in range(edge_starts[v], edge_starts[v + 1] if need[v] >= 0 else edge_starts[v]):
            below = contexts.tails_of(edges, e)
            if not _derives(below, need):
                continue
            size = _spell(contexts.symbols_of(edges, e), below, states, order - 1, (spelt, inside))
            events = room(events, kept + size * order)
            if growing:
                trie = contexts.with_room(trie, rows, size * order)
            spelling = spelt[:size], inside[:size]
            found, rows = _complete(spelling, trie, rows, growing, counts=counts[e - low], events=events[kept:])
            if len(weights):
                totals = room(totals, rows)
                for g in events[:found]:
                    totals[g] += weights[e]
            else:
                sizes[e - low] = found
                kept += found
    parents, words = trie.parents[:rows].copy(), trie.words[:rows].copy()
    return parents, words, counts, sizes, events[:kept].copy(), totals[:rows].copy()


@kernel
def expected(forest_edges, event_offsets, events, ngram_offsets, weights):
    """[G] sum of the weights of the edges [E] that complete each n-gram, by their events: what `collect` adds up."""
    totals = np.zeros(ngram_offsets[-1])
    for i in range(len(forest_edges) - 1):
        own = totals[ngram_offsets[i] : ngram_offsets[i + 1]]
        for e in range(forest_edges[i], forest_edges[i + 1]):
            for k in range(event_offsets[e], event_offsets[e + 1]):
                own[events[k]] += weights[e]
    return totals


@kernel
def _derives(tails, need):
    for t in tails:
        if need[t] < 0:
            return False
    return True


@kernel
def reference_rows(offsets, ids, order):
    """Parents, words and limits of the n-grams of the references of one forest; a word -1 is in none."""
    size = (offsets[-1] - offsets[0]) * order
    trie = contexts.with_room(contexts.new_trie(), np.int64(0), size)
    limits = np.zeros(size, np.int32)
    seen = np.zeros(size, np.int32)
    rows = np.int64(0)
    for r in range(len(offsets) - 1):
        for start in range(offsets[r], offsets[r + 1]):
            row = np.int32(-1)
            for at in range(start, min(start + order, offsets[r + 1])):
                if ids[at] < 0:
                    break
                row = contexts.add_row(trie, rows, row, ids[at])
                rows = max(rows, row + 1)
                seen[row] += 1
                limits[row] = max(limits[row], seen[row])
        seen[:rows] = 0
    return trie.parents[:rows].copy(), trie.words[:rows].copy(), limits[:rows].copy()


@kernel
def orders_of(parents):
    """How many words each row has."""
    out = np.empty(len(parents), np.int32)
    for g in range(len(parents)):
        out[g] = out[parents[g]] + 1 if parents[g] >= 0 else 1
    return out


@kernel
def clip(low, high, offsets, texts, expected, out):
    """Fill the matches [H, order] of texts with expected counts: an n-gram counts at most as often as expected."""
    word_offsets, ids = texts
    ngram_offsets, parents, words, amounts = expected
    order = out.shape[1]
    longest = 0
    for h in range(offsets[low], offsets[high]):
        longest = max(longest, word_offsets[h + 1] - word_offsets[h])
    met = np.empty(longest * order, np.int32)  # n-grams of the text
    for i in range(low, high):
        a, b = ngram_offsets[i], ngram_offsets[i + 1]
        trie = _table_of(parents[a:b], words[a:b])
        seen = np.zeros(b - a, np.int32)
        for h in range(offsets[i], offsets[i + 1]):
            text = ids[word_offsets[h] : word_offsets[h + 1]]
            found = 0
            for start in range(len(text)):
                row = np.int32(-1)
                for at in range(start, min(start + order, len(text))):
                    row = contexts.find_row(trie, row, text[at]) if text[at] >= 0 else np.int32(-1)
                    if row < 0:
                        break
                    out[h, at - start] += max(0.0, min(1.0, amounts[a + row] - seen[row]))
                    seen[row] += 1
                    met[found] = row
                    found += 1
            for row in met[:found]:
                seen[row] = 0
