"""References as hypotheses of their lists, for methods that want the right answer to be among those to choose from."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from nbest.base.errors import CapabilityError, ParameterError, need_kind
from nbest.base.types import Floats, Ints
from nbest.compute import segments
from nbest.corpus.nbest import NBest
from nbest.corpus.texts import Texts, concatenate


def add_references(corpus: NBest, features: Floats | None = None) -> NBest:
    """Each list with its references as further hypotheses, the last ones, with statistics of their own.

    features   [R, D] of all references in order, as the system that made the lists would score them. Without them a
               reference has the features, sparse ones too, of the hypothesis of its list with the least loss, ties to
               the first: the model then sees that hypothesis with a better output. An empty list stays empty.

    y* of Smith & Eisner (2006), footnote 2: likelihood has the reference itself for its gold hypothesis. To train on
    only; a list to choose from has no reference in it. References that a system has scored as lists can also be
    joined with `merge`.
    """
    need_kind("add_references", "corpus", corpus, NBest)
    if corpus.references is None:
        raise CapabilityError("add_references needs references and these lists have none; give them (with_references)")
    if features is not None and corpus.sparse is not None:
        raise CapabilityError("add_references has no sparse features for references; leave 'features' out")
    stats, metric = corpus.need_stats()
    nearest = segments.argmax(-metric.losses(stats), corpus.offsets)  # [N], -1 where a list is empty
    owners, texts = _references(corpus)
    if features is None:
        kept = nearest[owners] >= 0
        owners, texts = owners[kept], [text for text, keep in zip(texts, kept, strict=True) if keep]
    dense = corpus.features[nearest[owners]] if features is None else np.asarray(features, corpus.features.dtype)
    if dense.shape != (len(owners), len(corpus.feature_names)):
        wanted = f"[{len(owners)}, {len(corpus.feature_names)}], one row a reference"
        raise ParameterError(f"'features' of add_references must be {wanted}, got {list(dense.shape)}")
    more = Texts.of(texts)
    own = metric.stats(more, np.arange(len(texts) + 1), tuple(corpus.references[i] for i in owners))
    return _joined(corpus, owners, dense, own, nearest=nearest, texts=more)


def _references(corpus: NBest) -> tuple[Ints, list[str]]:
    """[R] the segment of each reference, and its text."""
    each = [(segment, text) for segment, some in enumerate(corpus.references or ()) for text in some]
    return np.array([segment for segment, _ in each], np.int64), [text for _, text in each]


def _joined(corpus: NBest, owners: Ints, dense: Floats, stats: Floats, *, nearest: Ints, texts: Texts) -> NBest:
    """The corpus with further hypotheses at the ends of the lists of these segments."""
    every = np.concatenate([segments.owners(corpus.offsets), owners])
    rows = np.argsort(every, kind="stable")
    assert corpus.stats is not None
    changed: dict[str, Any] = {
        "offsets": segments.offsets_of(np.bincount(every, minlength=len(corpus))),
        "features": np.concatenate([corpus.features, dense])[rows],
        "stats": np.concatenate([corpus.stats, stats])[rows],
        **dict.fromkeys(("gains", "answers", "systems", "positions")),
    }
    if corpus.texts is not None:
        changed["texts"] = concatenate([corpus.texts, texts]).take(rows)
    if corpus.sparse is not None:
        from scipy.sparse import vstack  # late: who chooses online has no sparse features

        changed["sparse"] = vstack([corpus.sparse, corpus.sparse[nearest[owners]]], format="csr")[rows]
    return replace(corpus, **changed)
