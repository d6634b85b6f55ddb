"""The labels that an arc may have: those seen in training with the tags of its words and its side."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nbest.base.types import Bools, Ints
from nbest.compute import segments
from nbest.compute.compilation import kernel


class LabelOptions(NamedTuple):
    """Labels of a cell (tag of head, tag of dependent, 1 if the dependent follows), rising; no cell is empty."""

    offsets: Ints  # [G * G * 2 + 1] for G numbers of tags
    labels: Ints  # [O]


def label_options(heads: Ints, dependents: Ints, after: Ints, labels: Ints, tags: int, size: int) -> LabelOptions:
    """Options from arcs of a treebank: tags of both words, sides, labels; `tags` and `size`: how many there are.

    The last tag is that of the root. A cell that was not seen takes the labels of the dependent's tag on that side with
    any head, and if there are none all labels seen; the root's labels are always those seen under the root.
    """
    seen = np.zeros((tags, tags, 2, size), bool)
    seen[heads, dependents, after, labels] = True
    root, others = seen[-1], seen[:-1]
    inner = np.asarray(others.any(axis=(0, 1, 2)))
    by_dependent = _filled(np.asarray(others.any(axis=0)), inner if inner.any() else np.ones(size, bool))
    top = root.any(axis=(0, 1))
    allowed = np.concatenate(
        [
            _filled(others, np.broadcast_to(by_dependent, others.shape)),
            _filled(root, top if top.any() else np.ones(size, bool))[None],
        ]
    ).reshape(-1, size)
    found = np.nonzero(allowed)[1]
    return LabelOptions(segments.offsets_of(allowed.sum(axis=1)), found.astype(np.int32))


def _filled(rows: Bools, instead: Bools) -> Bools:
    """Rows with those that are empty replaced."""
    return np.where(rows.any(axis=-1, keepdims=True), rows, instead)


@kernel
def arc_options(tags, options, tag_count):
    """Offsets [(n+1) * n + 1] of the labels of arc (h, d), number h * n + d - 1, and the labels."""
    n = len(tags) - 1
    offsets = np.zeros((n + 1) * n + 1, np.int64)
    at = 0
    for h in range(n + 1):
        for d in range(1, n + 1):
            size = 0
            if h != d:
                cell = (tags[h] * tag_count + tags[d]) * 2 + (h < d)
                size = options.offsets[cell + 1] - options.offsets[cell]
            offsets[at + 1] = offsets[at] + size
            at += 1
    labels = np.empty(offsets[-1], np.int64)
    at = 0
    for h in range(n + 1):
        for d in range(1, n + 1):
            if h != d:
                first = options.offsets[(tags[h] * tag_count + tags[d]) * 2 + (h < d)]
                for k in range(offsets[at + 1] - offsets[at]):
                    labels[offsets[at] + k] = options.labels[first + k]
            at += 1
    return offsets, labels
