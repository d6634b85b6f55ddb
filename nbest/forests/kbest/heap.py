"""Records of derivations and pairing heaps of them, in arrays.

A record is a derivation of a node, or a candidate for one: an edge with a record of each of its two tails. Record v is
the best derivation of node v, for v < V'. A record that waits in the heap of its node uses LINK for its next sibling;
one that left it for the list of its node, for the derivation that follows.
Fredman, Sedgewick, Sleator & Tarjan (1986), Algorithmica 1:111-129 (two-pass variant).
"""

from __future__ import annotations

from nbest.compute.compilation import kernel

EDGE, LEFT, RIGHT, LINK, CHILD, HEAD, FIELDS = range(7)  # columns of a table of records
UNKNOWN, NONE = -1, -2  # what follows a derivation: not asked for yet, nothing


@kernel
def precedes(records, values, a, b):
    """Whether a comes before b: by value, then by lower edge, then by order of creation."""
    if values[a] != values[b]:
        return values[a] > values[b]
    if records[a, EDGE] != records[b, EDGE]:
        return records[a, EDGE] < records[b, EDGE]
    return a < b


@kernel
def meld(records, values, a, b):
    """The top of two heaps made one; -1 is the empty heap."""
    if a < 0:
        return b
    if b < 0:
        return a
    if not precedes(records, values, a, b):
        a, b = b, a
    records[b, LINK] = records[a, CHILD]
    records[a, CHILD] = b
    return a


@kernel
def without_top(records, values, top):
    """The heap that is left when its top is taken away."""
    pairs = -1
    at = records[top, CHILD]
    while at >= 0:
        other = records[at, LINK]
        rest = -1 if other < 0 else records[other, LINK]
        joined = meld(records, values, at, other)
        records[joined, LINK] = pairs
        pairs = joined
        at = rest
    heap = -1
    while pairs >= 0:
        following = records[pairs, LINK]
        heap = meld(records, values, heap, pairs)
        pairs = following
    records[top, CHILD] = -1
    return heap


@kernel
def fill(records, values, at, edge, left, right, head, score):
    """Write record number `at`."""
    records[at, EDGE], records[at, LEFT], records[at, RIGHT], records[at, HEAD] = edge, left, right, head
    records[at, LINK], records[at, CHILD] = UNKNOWN, -1
    values[at] = score + (values[left] + values[right])
