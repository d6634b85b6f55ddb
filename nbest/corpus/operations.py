"""Operations that make new lists out of lists: merge, prune, dedupe."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from nbest.base.errors import CapabilityError, ParameterError, need_kind
from nbest.base.types import Bools, Floats, Ints
from nbest.compute import segments
from nbest.corpus.container import OF_SEGMENTS
from nbest.corpus.nbest import NBest
from nbest.corpus.order import in_order
from nbest.corpus.recipes import shared_recipes
from nbest.corpus.texts import Texts, concatenate


def prune(corpus: NBest, k: int, scores: Floats | None = None) -> NBest:
    """The first `k` hypotheses of each segment, or the `k` with the highest `scores` [H], in the old order."""
    need_kind("prune", "corpus", corpus, NBest)
    if k < 1:
        raise ParameterError(f"'k' of prune must be >= 1, got {k}")
    keys = -np.arange(corpus.hypotheses, dtype=np.float64) if scores is None else scores
    return corpus.keep(segments.ranks(keys, corpus.offsets) < k)


def dedupe(corpus: NBest, by: str = "text") -> NBest:
    """Each segment without repeated hypotheses; the first stays. `by` is "text" or "text+features"."""
    need_kind("dedupe", "corpus", corpus, NBest)
    if by not in ("text", "text+features"):
        raise ParameterError(f"'by' of dedupe must be 'text' or 'text+features', got {by!r}")
    return corpus.keep(first_of_equals(corpus, by == "text+features"))


def first_of_equals(corpus: NBest, compare_features: bool) -> Bools:
    """[H] whether a hypothesis is the first of its segment with its text (and its features)."""
    if corpus.texts is None:
        raise CapabilityError("finding duplicates needs the texts of the hypotheses and these lists carry none")
    key = _pairs(segments.owners(corpus.offsets), corpus.texts.numbers())
    if compare_features:
        key = _pairs(key, _row_numbers(corpus))
    _, first = np.unique(key, return_index=True)
    mask = np.zeros(corpus.hypotheses, bool)
    mask[first] = True
    return mask


def _pairs(first: Ints, second: Ints) -> Ints:
    """[H] a number below H for each pair of numbers, equal for equal pairs."""
    return np.unique(first * (second.max(initial=0) + 1) + second, return_inverse=True)[1]


def _row_numbers(corpus: NBest) -> Ints:
    """[H] a number for each feature vector, dense and sparse, equal for equal vectors."""
    rows = np.ascontiguousarray(corpus.features + 0.0)  # -0.0 equals 0.0
    keys = [row.tobytes() for row in rows]
    if corpus.sparse is not None:
        matrix = corpus.sparse.copy()
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
        bounds = matrix.indptr
        for h, (low, high) in enumerate(zip(bounds[:-1], bounds[1:], strict=True)):
            keys[h] += matrix.indices[low:high].tobytes() + matrix.data[low:high].tobytes()
    seen: dict[bytes, int] = {}
    return np.array([seen.setdefault(key, len(seen)) for key in keys], np.int64)


def merge(first: NBest, *others: NBest) -> NBest:
    """The union of lists: segments by id (numbers in their order, else by first appearance), hypotheses in order of
    the arguments, without those whose text and features occurred before in their segment.

    All parts must have the same dense features; sparse ones are united. Statistics are kept when every part
    has them for the same metric. A segment's references and source come from the first part that has it.
    """
    parts = [first, *others]
    for part in parts:
        need_kind("merge", "lists", part, NBest)
    if any(part.texts is None for part in parts):
        raise CapabilityError("merge needs the texts of the hypotheses and some of these lists carry none")
    for number, part in enumerate(others, 2):
        if set(part.feature_names) != set(first.feature_names):
            odd = sorted(set(part.feature_names) ^ set(first.feature_names))[0]
            raise ParameterError(f"lists to merge must have the same features; {odd!r} is not in both 1 and {number}")
    parts = [first, *(part.only_features(first.feature_names) for part in others)]
    ids = in_order(dict.fromkeys(name for part in parts for name in part.ids))
    place = {name: i for i, name in enumerate(ids)}
    owner = np.concatenate([np.array([place[x] for x in p.ids], np.int64)[segments.owners(p.offsets)] for p in parts])
    rows = np.argsort(owner, kind="stable")
    joined = stack(parts)
    offsets = segments.offsets_of(np.bincount(owner, minlength=len(ids)))
    union = replace(joined, **(joined._rows(rows, offsets) | per_segment(parts, ids)))
    return union.keep(first_of_equals(union, compare_features=True))


def join(parts: list[NBest]) -> NBest:
    """All lists of all parts, one after the other; no id may be there twice."""
    if len(parts) == 1:
        return parts[0]
    offsets = segments.offsets_of(np.concatenate([part.lengths for part in parts]))
    ids = [name for part in parts for name in part.ids]
    bare = parts[0].texts is None
    blank = [replace(part, texts=Texts.of([""] * part.hypotheses)) for part in parts] if bare else parts
    stacked = stack(blank)
    own: dict[str, Any] = {"offsets": offsets, **per_segment(parts, ids)}
    return replace(stacked, texts=None if bare else stacked.texts, **own)


def stack(parts: list[NBest]) -> NBest:
    """All hypotheses of all parts in one corpus of a single segment."""
    texts = concatenate([part.texts for part in parts if part.texts is not None])
    features = np.concatenate([part.features for part in parts])
    sparse, sparse_names = unite_sparse(parts)
    metrics = {None if p.metric is None else (p.metric.name, p.metric.signature()) for p in parts}
    same = len(metrics) == 1 and parts[0].metric is not None
    filled = [p for p in parts if p.hypotheses] or parts
    gained = all(p.gains is not None for p in filled)
    return NBest(
        offsets=np.array([0, len(features)]),
        features=features,
        feature_names=parts[0].feature_names,
        ids=("all",),
        texts=texts,
        gains=np.concatenate([p.gains for p in filled if p.gains is not None]) if gained else None,
        answers=_of_all([p.answers for p in filled]),
        systems=_of_all([p.systems for p in filled]),
        answer_rule=filled[0].answer_rule if len({p.answer_rule for p in filled}) == 1 else "",
        sparse=sparse,
        sparse_names=sparse_names,
        stats=np.concatenate([p.stats for p in parts if p.stats is not None]) if same else None,
        metric=parts[0].metric if same else None,
        origins=parts[0].origins,
        recipes=shared_recipes([part.recipes for part in parts]),
    )


def _of_all(texts: list[Texts | None]) -> Texts | None:
    """Texts of all parts, where every one has some."""
    there = [each for each in texts if each is not None]
    return concatenate(there) if len(there) == len(texts) else None


def unite_sparse(parts: list[NBest]) -> tuple[Any, tuple[str, ...]]:
    """The sparse features of all hypotheses of all parts, columns by name; None where there are none."""
    if all(part.sparse is None for part in parts):
        return None, ()
    from scipy.sparse import coo_array

    names = list(dict.fromkeys(name for part in parts for name in part.sparse_names))
    place = {name: j for j, name in enumerate(names)}
    rows, columns, values, shift = [], [], [], 0
    for part in parts:
        if part.sparse is not None:
            matrix = part.sparse.tocoo()
            rows.append(matrix.row + shift)
            columns.append(np.array([place[name] for name in part.sparse_names], np.int64)[matrix.col])
            values.append(matrix.data)
        shift += part.hypotheses
    entries = (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))
    return coo_array(entries, shape=(shift, len(names))).tocsr(), tuple(names)


def per_segment(parts: list[NBest], ids: list[str]) -> dict[str, object]:
    """What belongs to segments, from the first part that has it."""
    made: dict[str, object] = {"ids": tuple(ids), "positions": None}
    for field in OF_SEGMENTS[1:]:
        known: dict[str, object] = {}
        for part in parts:
            known = dict(zip(part.ids, getattr(part, field) or (), strict=False)) | known
        made[field] = tuple(known[name] for name in ids) if len(known) == len(ids) else None
    return made
