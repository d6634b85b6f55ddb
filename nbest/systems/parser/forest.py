"""From the scores of experts to a packed forest of trees: arcs worth keeping, nodes of Eisner's algorithm, edges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nbest.base.errors import ParameterError
from nbest.base.types import Floats, Ints
from nbest.compute import segments
from nbest.compute.compilation import kernel
from nbest.systems.parser.eisner import best_heads, inside_trees, marginals
from nbest.systems.parser.emit import emit_trees
from nbest.systems.parser.labels import arc_options
from nbest.systems.parser.scores import Arcs, arc_scores, label_scores, places_of

if TYPE_CHECKING:
    from nbest.systems.parser.parser import Parser


class ParserForest(NamedTuple):
    """One forest, to be put beside others."""

    edges: Ints  # [V] edges into each node
    arities: Ints  # [E]
    tails: Ints  # [T]
    features: Floats  # [E, X] float32
    sizes: Ints  # [E] symbols of each edge
    symbols: Ints  # [S]: head * L + label


def forest(
    parser: Parser, columns: Ints, tags: Ints, weights: Floats, labels_an_arc: int, arc_floor: float
) -> ParserForest:
    """The forest of one sentence; rows of `columns` and `tags` are the root and its words."""
    sizes = (parser.arc_size, parser.rows, len(parser.labels), parser.vocabulary.tag_count)
    bounds = np.searchsorted(parser.templates[:, 0], np.arange(len(parser.names) + 1))
    arcs, scores, log_z = expert_scores(
        columns, tags, parser.options, parser.templates, bounds, sizes=sizes, tables=parser.tables
    )
    with np.errstate(over="ignore", invalid="ignore"):
        joint = weights @ scores
    kept = _kept(arcs, joint, labels_an_arc, arc_floor) if np.isfinite(joint).all() else None
    if kept is None or not kept[1]:
        raise ParameterError("the scores of whole trees exceed the range of numbers; scale the weights down")
    return ParserForest(
        *emit_trees(
            len(tags) - 1,
            len(parser.labels),
            arcs.offsets,
            labels=arcs.labels,
            keep=kept[0],
            scores=scores,
            log_z=log_z,
        )
    )


@kernel
def expert_scores(columns, tags, options, templates, bounds, sizes, tables):
    """The arcs of a sentence, scores [X, O] of labelled arcs, and log Z [X]."""
    offsets, labels = arc_options(tags, options, sizes[3])
    arcs = Arcs(offsets, labels)
    scores = np.empty((len(tables), len(labels)))
    log_z = np.empty(len(tables))
    for x in range(len(tables)):
        where = places_of(
            columns, tags, templates[bounds[x] : bounds[x + 1]], arc_size=sizes[0], rows=sizes[1], labels=sizes[2]
        )
        label_scores(arcs, where, tables[x], scores[x])
        log_z[x] = inside_trees(arc_scores(offsets, scores[x]))[1]
    return arcs, scores, log_z


@kernel
def _kept(arcs, joint, labels_an_arc, arc_floor):
    """[O] which labelled arcs to keep, and whether all numbers are finite."""
    sums = arc_scores(arcs.offsets, joint)
    keep = np.zeros(len(joint), np.bool_)
    tables, log_z = inside_trees(sums)
    if not np.isfinite(log_z):
        return keep, False
    posteriors = marginals(sums, tables, log_z)
    heads = best_heads(_best_labels(arcs.offsets, joint))
    n = len(heads) - 1
    for a in range(len(arcs.offsets) - 1):
        h, d = a // n, a % n + 1
        if h != d and (posteriors[h, d] >= arc_floor or heads[d] == h):
            _keep_labels(arcs.offsets[a], arcs.offsets[a + 1], joint, labels_an_arc, keep)
    return keep, True


@kernel
def _best_labels(offsets, joint):
    """[n+1, n+1] the score of the best label of each arc."""
    n = int(np.sqrt(len(offsets) - 1))
    out = np.full((n + 1, n + 1), -np.inf)
    for a in range(len(offsets) - 1):
        for k in range(offsets[a], offsets[a + 1]):
            out[a // n, a % n + 1] = max(out[a // n, a % n + 1], joint[k])
    return out


@kernel
def _keep_labels(first, last, joint, labels_an_arc, keep):
    """Mark the best labels of an arc; ties go to the lowest number."""
    for _ in range(min(labels_an_arc, last - first)):
        best = -1
        for k in range(first, last):
            if not keep[k] and (best < 0 or joint[k] > joint[best]):
                best = k
        keep[best] = True


def joined_forests(parts: Sequence[ParserForest], names: tuple[str, ...], labels: tuple[str, ...]) -> dict[str, Any]:
    """Fields of `Forests` for all sentences beside each other."""
    none: Ints = np.zeros(0, np.int64)
    edges, arities, sizes = (np.concatenate([none, *(part[k] for part in parts)]) for k in (0, 1, 4))
    tails, symbols = (np.concatenate([none.astype(np.int32), *(part[k] for part in parts)]) for k in (2, 5))
    words, numbers = np.unique(symbols[symbols >= 0], return_inverse=True)
    symbols[symbols >= 0] = numbers
    pairs = (divmod(int(word), len(labels)) for word in words)
    return {
        "node_offsets": segments.offsets_of(np.array([len(part.edges) for part in parts], np.int64)),
        "edge_offsets": segments.offsets_of(edges),
        "tail_offsets": segments.offsets_of(arities),
        "tails": tails,
        "features": np.concatenate([np.zeros((0, len(names)), np.float32), *(part.features for part in parts)]),
        "feature_names": names,
        "symbol_offsets": segments.offsets_of(sizes),
        "symbols": symbols,
        "vocabulary": tuple(f"{head}:{labels[label]}" for head, label in pairs),
    }
