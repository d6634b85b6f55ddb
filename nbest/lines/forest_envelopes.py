"""Upper envelopes over all derivations of a forest: the 1-best derivation as a function of x.

Along weights + x * direction the score of an edge is a line a + x * b, and so is that of a derivation. The envelope of
a node (the best of all its derivations at each x) follows bottom-up: an edge's is its own line plus the sum of
its tails' envelopes, whose pieces are cut at the cuts of either; a node's is the maximum over its edges. Every piece
remembers its edge and the pieces of the two tails, so that its derivation can be read out.

Kumar, Macherey, Dyer & Och (2009), ACL-IJCNLP 163-171, algorithms 1 and 2. Differs: tails' envelopes are sums of
convex functions, so their pieces come in order of slope, and edges are merged one by one into the envelope of their
head without sorting; only the interval of x that is asked for is kept. Cost: O(pieces of the tails + pieces of the
head) an edge; memory for one forest at a time. Of parallel lines the highest counts, of identical ones the first edge.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nbest.base.types import Floats, Ints
from nbest.compute.compilation import kernel
from nbest.compute.parallel import over_ranges
from nbest.compute.row_tables import EMPTY, Table, slot_of, with_number
from nbest.compute.vectors import most
from nbest.corpus.layout import Layout, forest_of
from nbest.lines.envelope import FAR


@dataclass(frozen=True)
class Envelopes:
    """Pieces of the envelopes of N roots, from left to right; those whose derivation `known` lacks are read out."""

    offsets: Ints  # [N+1]: pieces of forest i; an empty forest has none
    place: Floats  # [P] where each piece begins
    entry: Ints  # [P] entry of `known`, or -1 - k for derivation k that was read out
    edge_offsets: Ints  # [K+1]
    edges: Ints  # [X] edges of the derivations read out, numbers over all forests, from the top, left to right
    hashes: Table  # [K, 2] under which `known` would have found them


def envelopes(
    layout: Layout, a: Floats, b: Floats, bounds: tuple[float, float], known: Table, threads: int | None = None
) -> Envelopes:
    """Envelopes of lines a + x * b of edges [E'] for x within `bounds`. `known` is a table of `forests.tables`."""
    own = np.zeros(0, np.int64) if layout.edges is None else layout.edges
    parts: dict[int, tuple[np.ndarray, ...]] = {}

    def run(low: int, high: int) -> None:
        within = float(bounds[0]), float(bounds[1])
        parts[low] = _run(low, high, layout.graph, (a, b, own), bounds=within, known=known)

    over_ranges(run, layout.edge_offsets, threads)
    if not parts:
        run(0, 0)
    return _joined([parts[low] for low in sorted(parts)])


def _joined(parts: list[tuple[np.ndarray, ...]]) -> Envelopes:
    """The parts of ranges of forests as one; the numbers of derivations read out count on."""
    counts, place, entry, sizes, edges, hashes = ([part[k] for part in parts] for k in range(6))
    before = np.cumsum([0, *(len(size) for size in sizes)])
    shifted = [np.where(e < 0, e - shift, e) for e, shift in zip(entry, before, strict=False)]
    offsets, edge_offsets = (np.concatenate([[0], *part]).cumsum() for part in (counts, sizes))
    return Envelopes(
        offsets=offsets,
        place=np.concatenate(place),
        entry=np.concatenate(shifted),
        edge_offsets=edge_offsets,
        edges=np.concatenate(edges),
        hashes=np.concatenate(hashes),
    )


# one forest -----------------------------------------------------------------------------------------------------


@kernel
def _push(envelope, count, line, link, bounds):
    """Add a line, steeper than those there or as steep, to an envelope within bounds; the number of pieces."""
    lines, links = envelope
    a, b = line
    start, high = bounds
    while count:
        top_a, top_b = lines[count - 1, 1], lines[count - 1, 2]
        if b <= top_b:
            if a <= top_a:
                return count
        else:
            x = min(max((top_a - a) / (b - top_b), -FAR), FAR)
            if x > lines[count - 1, 0]:
                if x >= high:
                    return count
                start = x
                break
        count -= 1
    lines[count, 0], lines[count, 1], lines[count, 2] = start, a, b
    links[count, 0], links[count, 1], links[count, 2] = link
    return count + 1


@kernel
def _hidden(lines, pieces, line, old, bounds):
    """Whether an edge is nowhere above the old lines: a convex function under a linear one at both ends is between."""
    i, last_i, j, last_j = pieces
    a, b = line
    low, high = bounds
    size = len(old)
    slope, steepest = b + (lines[i, 2] + lines[j, 2]), b + (lines[last_i, 2] + lines[last_j, 2])
    if low == -np.inf and (slope < old[0, 2] or (slope == old[0, 2] and a + (lines[i, 1] + lines[j, 1]) > old[0, 1])):
        return False
    if high == np.inf and (
        steepest > old[size - 1, 2]
        or (steepest == old[size - 1, 2] and a + (lines[last_i, 1] + lines[last_j, 1]) > old[size - 1, 1])
    ):
        return False
    for k in range(0 if low > -np.inf else 1, size if high == np.inf else size + 1):
        x = old[k, 0] if k < size else high
        while i < last_i and lines[i + 1, 0] <= x:
            i += 1
        while j < last_j and lines[j + 1, 0] <= x:
            j += 1
        height = a + (lines[i, 1] + lines[j, 1]) + x * (b + (lines[i, 2] + lines[j, 2]))
        top = min(k, size - 1)
        if height > old[top, 1] + x * old[top, 2]:
            return False
    return True


@kernel
def _push_old(more, count, old, at, bounds):
    """`_push` piece `at` of an old envelope."""
    lines, links = old
    return _push(more, count, (lines[at, 1], lines[at, 2]), (links[at, 0], links[at, 1], links[at, 2]), bounds)


@kernel
def _add_edge(lines, pieces, line, edge, old, more, bounds):
    """Make `more` the envelope of the old lines and those of one more edge with these pieces of its two tails."""
    i, last_i, j, last_j = pieces
    a, b = line
    old_lines, size = old[0], len(old[0])
    count = 0
    at = 0
    while True:
        height, slope = a + (lines[i, 1] + lines[j, 1]), b + (lines[i, 2] + lines[j, 2])
        while at < size and old_lines[at, 2] <= slope:  # the old ones first: of identical lines they are kept
            count = _push_old(more, count, old, at, bounds)
            at += 1
        count = _push(more, count, (height, slope), (edge, i, j), bounds)
        next_i = lines[i + 1, 0] if i < last_i else np.inf
        next_j = lines[j + 1, 0] if j < last_j else np.inf
        if i == last_i and j == last_j:
            break
        if next_i <= next_j:
            i += 1
        if next_j <= next_i:
            j += 1
    while at < size:
        count = _push_old(more, count, old, at, bounds)
        at += 1
    return count


@kernel
def _reserve(array, used, size):
    """The array, or one at least twice as long with the same first rows, with room for `size` rows."""
    if size <= len(array):
        return array
    out = np.empty((max(size, 2 * len(array)), *array.shape[1:]), array.dtype)
    out[:used] = array[:used]
    return out


@kernel
def _envelope(forest, a, b, bounds, begin, lines, links, work):
    """Envelopes of all nodes of one forest: those of node v are the rows begin[v]:begin[v + 1] of lines and links."""
    starts, first, second = forest
    lines[0], links[0] = (bounds[0], 0.0, 0.0), (-1, 0, 0)  # node 0 stands for nothing
    begin[0], begin[1] = 0, 1
    total = 1
    old_lines, more_lines, old_links, more_links = work
    for v in range(1, len(starts) - 1):
        size = 0
        for e in range(starts[v], starts[v + 1]):
            i, end_i = begin[first[e]], begin[first[e] + 1]
            j, end_j = begin[second[e]], begin[second[e] + 1]
            if i == end_i or j == end_j:
                continue
            pieces, line = (i, end_i - 1, j, end_j - 1), (a[e], b[e])
            if size and _hidden(lines, pieces, line, old_lines[:size], bounds):
                continue
            need = size + (end_i - i) + (end_j - j)
            more_lines, more_links = _reserve(more_lines, 0, need), _reserve(more_links, 0, need)
            old, more = (old_lines[:size], old_links[:size]), (more_lines, more_links)
            size = _add_edge(lines, pieces, line, e, old=old, more=more, bounds=bounds)
            old_lines, more_lines, old_links, more_links = more_lines, old_lines, more_links, old_links
        lines, links = _reserve(lines, total, total + size), _reserve(links, total, total + size)
        lines[total : total + size], links[total : total + size] = old_lines[:size], old_links[:size]
        total += size
        begin[v + 1] = total
    return lines, links, (old_lines, more_lines, old_links, more_links)


# derivations ----------------------------------------------------------------------------------------------------


@kernel
def _derivation(links, piece, base, own, stack, edges, used):
    """Append the edges of a piece's derivation to `edges`, of which `used` are there; two hashes and the new end."""
    stack[0] = piece
    depth = 1
    one, two = EMPTY
    while depth:
        depth -= 1
        at = stack[depth]
        edge = base + links[at, 0]
        if len(own):
            edge = own[edge]
        if edge >= 0:  # extra edges of the layout are none of the forest's
            edges = _reserve(edges, used, used + 1)
            edges[used] = edge
            used += 1
            one, two = with_number(one, two, edge)
        for side in (2, 1):
            if links[at, side] > 0:
                stack[depth] = links[at, side]
                depth += 1
    return one, two, edges, used


@kernel
def _run(low, high, graph, edge_lines, bounds, known):
    """Envelopes of the roots of the forests low:high: the arrays of `Envelopes`, with sizes instead of offsets."""
    a, b, own = edge_lines
    nodes = most(low, high, graph.node_offsets)
    begin = np.zeros(nodes + 2, np.int64)
    stack = np.empty(nodes + 2, np.int64)
    lines, links = np.empty((1024, 3)), np.empty((1024, 3), np.int32)
    work = (np.empty((64, 3)), np.empty((64, 3)), np.empty((64, 3), np.int32), np.empty((64, 3), np.int32))
    counts = np.zeros(high - low, np.int64)
    place, entry = np.empty(64), np.empty(64, np.int64)
    sizes, edges, hashes = np.empty(64, np.int64), np.empty(256, np.int64), np.empty((64, 2), np.uint64)
    total, fresh, used = 0, 0, 0
    for i in range(low, high):
        forest, (v, end), (c, d) = forest_of(graph, i)
        count = end - v
        if count < 2:
            continue
        lines, links, work = _envelope(forest, a[c:d], b[c:d], bounds, begin, lines=lines, links=links, work=work)
        size = begin[count] - begin[count - 1]
        counts[i - low] = size
        place, entry = _reserve(place, total, total + size), _reserve(entry, total, total + size)
        sizes, hashes = _reserve(sizes, fresh, fresh + size), _reserve(hashes, fresh, fresh + size)
        for piece in range(begin[count - 1], begin[count]):
            one, two, edges, last = _derivation(links, piece, base=c, own=own, stack=stack, edges=edges, used=used)
            found = known[slot_of(known, one, two), 2]
            place[total] = lines[piece, 0]
            entry[total] = np.int64(found) - 1 if found else -1 - fresh
            if not found:
                sizes[fresh] = last - used
                hashes[fresh, 0], hashes[fresh, 1] = one, two
                fresh += 1
                used = last
            total += 1
    return counts, place[:total], entry[:total], sizes[:fresh], edges[:used], hashes[:fresh]
