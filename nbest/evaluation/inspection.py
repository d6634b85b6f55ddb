"""What is in candidate lists, and what is wrong with them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nbest.base.types import Bools, Floats
from nbest.compute import segments
from nbest.corpus import NBest
from nbest.corpus.operations import first_of_equals
from nbest.corpus.order import gaps
from nbest.decisions import corpus_oracle, first, random_score
from nbest.evaluation.findings import case_findings, label_findings, leaked_labels, looks_like_cost, oracle_like
from nbest.evaluation.overlap import shared_segments
from nbest.features import within_scale
from nbest.metrics import External

_ROWS = 20000  # hypotheses looked at for mixtures
_RESIDUE = 1e-4  # a feature counts as a mixture when the others explain all but this share of its spread


@dataclass(frozen=True)
class Feature:
    """One column: its range, its spread within lists, and the score when it alone chooses (highest, and lowest)."""

    name: str
    origin: str
    low: float
    high: float
    mean: float
    spread: float
    score: float | None
    reverse_score: float | None


@dataclass(frozen=True)
class Inspection:
    """Sizes, features, scores of simple choices, and findings: what will hurt, in words."""

    segments: int
    hypotheses: int
    shortest: int
    longest: int
    empty: int
    distinct_texts: int | None
    sparse_features: int
    features: tuple[Feature, ...]
    scores: dict[str, float]
    findings: tuple[str, ...]


def inspect(corpus: NBest, other: NBest | None = None) -> Inspection:
    """Look at lists; with statistics also at scores and signs, with `other` also at overlap between the two."""
    distinct = None if corpus.texts is None else first_of_equals(corpus, compare_features=False)
    scale = within_scale(corpus)
    features = tuple(_feature(corpus, d, scale[d]) for d in range(len(corpus.feature_names)))
    scores = _scores(corpus) if corpus.stats is not None else {}
    findings = [
        *_list_findings(corpus, distinct),
        *_feature_findings(corpus, scale),
        *(_score_findings(corpus, features, scores) if scores else ()),
        *(_overlap_findings(corpus, other) if other is not None else ()),
    ]
    return Inspection(
        segments=len(corpus),
        hypotheses=corpus.hypotheses,
        shortest=int(corpus.lengths.min(initial=corpus.hypotheses)),
        longest=int(corpus.lengths.max(initial=0)),
        empty=int((corpus.lengths == 0).sum()),
        distinct_texts=None if distinct is None else int(distinct.sum()),
        sparse_features=len(corpus.sparse_names),
        features=features,
        scores=scores,
        findings=tuple(findings),
    )


def _feature(corpus: NBest, d: int, spread: float) -> Feature:
    column = np.asarray(corpus.features[:, d], np.float64)
    name = corpus.feature_names[d]
    score = reverse = None
    if corpus.stats is not None:
        score = corpus.score(segments.argmax(column, corpus.offsets))
        reverse = corpus.score(segments.argmax(-column, corpus.offsets))
    low, high, mean = (column.min(), column.max(), segments.mean_of(column)) if len(column) else (0.0, 0.0, 0.0)
    origin = str(corpus.origins[name]) if name in corpus.origins else ""
    return Feature(
        name, origin, float(low), float(high), float(mean), spread=float(spread), score=score, reverse_score=reverse
    )


def _scores(corpus: NBest) -> dict[str, float]:
    return {
        "first": corpus.score(first(None, corpus)),
        "random": random_score(corpus),
        "oracle": corpus.score(corpus_oracle(corpus)),
    }


def _list_findings(corpus: NBest, distinct: Bools | None) -> list[str]:
    found = []
    empty, single = int((corpus.lengths == 0).sum()), int((corpus.lengths == 1).sum())
    if empty:
        found.append(f"{empty} lists are empty: nothing can be chosen for them")
    if single:
        found.append(f"{single} lists have only one hypothesis: they teach nothing")
    if distinct is not None and not distinct.all():
        repeats = int((~distinct).sum())
        found.append(
            f"{repeats} hypotheses repeat a text of their list: in lists of samples repeats are votes, keep them; "
            "where they are copies, or other derivations of one output, nbest convert --dedupe keeps the first of each"
        )
    missing, absent = gaps(corpus.ids)
    if missing:
        found.append(f"{missing} segments are missing (the first is {absent}): references must not shift for it")
    return found


def _feature_findings(corpus: NBest, scale: Floats) -> list[str]:
    names = corpus.feature_names
    found = [
        f"feature {n!r} never differs within a list: it cannot matter"
        for n, s in zip(names, scale, strict=True)
        if s == 0
    ]
    rows = min(corpus.hypotheses, _ROWS)
    last = int(np.searchsorted(corpus.offsets, rows, side="right")) - 1
    part = corpus.select(np.arange(max(last, min(1, len(corpus)))))
    useful = np.flatnonzero(scale > 0)
    if part.hypotheses <= len(useful) + len(part):
        return found
    columns = np.asarray(part.features[:, useful], np.float64) / scale[useful]
    means = segments.sums(columns, part.offsets) / np.maximum(part.lengths, 1)[:, None]
    centred = columns - np.repeat(means, part.lengths, axis=0)
    basis: list[int] = []  # columns that no earlier ones explain
    for j in range(len(useful)):
        size = np.linalg.norm(centred[:, j])
        weights, *_ = np.linalg.lstsq(centred[:, basis], centred[:, j], rcond=1e-10)
        if np.linalg.norm(centred[:, j] - centred[:, basis] @ weights) >= _RESIDUE * size:
            basis.append(j)
        elif size > 0:
            parts = [names[useful[basis[i]]] for i in np.argsort(-np.abs(weights)) if abs(weights[i]) > 1e-3]
            found.append(f"feature {names[useful[j]]!r} is a mixture of {', '.join(parts)}: leave it out (--drop)")
    return found


def _score_findings(corpus: NBest, features: tuple[Feature, ...], scores: dict[str, float]) -> list[str]:
    _, metric = corpus.need_stats()
    sign = 1.0 if metric.higher_is_better else -1.0
    found = label_findings(corpus)
    leaked = leaked_labels(corpus)
    found += [
        f"feature {each.name!r} alone chooses as well as the oracle: does it know the references?"
        for each in features
        if each.name not in leaked and oracle_like(corpus, each.score, each.reverse_score, scores)
    ]
    case = case_findings(corpus)
    for feature in () if case else features:  # scores of another case mean nothing
        if feature.name not in leaked and looks_like_cost(corpus, feature.name, scores):
            found.append(
                f"feature {feature.name!r} looks like a cost: the smallest scores {feature.reverse_score:.2f}, "
                f"the largest {feature.score:.2f} (random {scores['random']:.2f}): is its sign right?"
            )
    if sign * scores["oracle"] <= sign * scores["first"] + 1e-9:
        found.append("the first hypothesis is already the best of every list: there is nothing to gain")
    return [*found, *case, *_reference_findings(corpus)]


def _reference_findings(corpus: NBest) -> list[str]:
    """Whether the outputs fit the references of the line before or after better than their own."""
    chosen = first(None, corpus)
    if corpus.references is None or corpus.texts is None or len(corpus) < 5 or (chosen < 0).any():
        return []
    _, metric = corpus.need_stats()
    if isinstance(metric, External):  # its scores do not come from references
        return []
    sign = 1.0 if metric.higher_is_better else -1.0
    offsets = np.arange(len(corpus) + 1)
    own = corpus.score(chosen)
    for shift in (1, -1):
        moved = corpus.references[-shift:] + corpus.references[:-shift]
        stats = metric.stats(corpus.texts.take(chosen), offsets, moved)
        other = float(metric.score(stats.sum(axis=0)))
        if sign * other > sign * own:
            where = "before" if shift == 1 else "after"
            fit = f"{other:.2f}, own {own:.2f}"
            return [f"references do not line up: outputs fit the reference of the line {where} better ({fit})"]
    return []


def _overlap_findings(corpus: NBest, other: NBest) -> list[str]:
    shared = shared_segments(corpus, other)
    if not shared:
        return []
    return [f"{shared} of {len(corpus)} segments are also in the other lists: never tune and test on the same data"]
