"""What is in candidate lists, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from nbest.base.types import Floats
from nbest.compute import segments
from nbest.corpus import NBest
from nbest.corpus.kept import Kept
from nbest.corpus.order import gaps
from nbest.decisions import corpus_oracle_score, random_score
from nbest.evaluation.findings import (
    case_findings,
    label_findings_of,
    leaked_labels,
    looks_like_cost,
    oracle_like,
    reference_findings,
)
from nbest.evaluation.leftovers import leftover_findings, punctuation_findings
from nbest.evaluation.overlap import shared_segments
from nbest.evaluation.seen import Seen
from nbest.metrics.normalise import NONE

_NOTHING_TO_GAIN = "the first hypothesis is already the best of every list: there is nothing to gain"
_NOTHING_RIGHT = (
    "no hypothesis of any list is right: are these its references, and is the answer a part of the text (--answer)?"
)
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


def inspect(corpus: NBest, other: NBest | None = None, *, by_line: bool = False) -> Inspection:
    """Look at lists; with statistics also at scores and signs, with `other` also at overlap between the two. `by_line`:
    references are not with the lists but in a file, so that it matters which segments are missing."""
    found = inspect_blocks([corpus], by_line=by_line)
    overlap = _overlap_findings(corpus, other) if other is not None else []
    return replace(found, findings=(*found.findings, *overlap)) if overlap else found


def inspect_blocks(blocks: Iterable[NBest], *, by_line: bool = False) -> Inspection:
    """`inspect` of lists that come block by block, each of which is looked at once; of measured ones features and
    statistics are kept on disk."""
    seen = Seen()
    with Kept() as kept:
        for block in blocks:
            seen.add(block)
            if block.scored:
                kept.add(block)
        scores = _scores(seen, kept) if kept.first is not None else {}
        scale = seen.scale
        features = tuple(_feature(seen, d, scale[d]) for d in range(len(seen.feature_names)))
        findings = [
            *_list_findings(seen, by_line=by_line or not seen.judged),
            *leftover_findings(seen.texts, seen.references),
            *(punctuation_findings(seen.texts, seen.references) if _as_they_are(seen) else ()),
            *_feature_findings(seen.beginning, seen.feature_names, scale),
            *(_score_findings(seen, kept, features, scores) if scores else ()),
        ]
    lengths = seen.lengths
    return Inspection(
        segments=len(lengths),
        hypotheses=seen.hypotheses,
        shortest=int(lengths.min(initial=seen.hypotheses)),
        longest=int(lengths.max(initial=0)),
        empty=int((lengths == 0).sum()),
        distinct_texts=seen.distinct,
        sparse_features=len(seen.sparse_names),
        features=features,
        scores=scores,
        findings=tuple(findings),
    )


def _as_they_are(seen: Seen) -> bool:
    """Whether the metric compares texts, and does not normalise them."""
    return getattr(seen.metric, "normalize", "") == NONE


def _feature(seen: Seen, d: int, spread: float) -> Feature:
    name, column = seen.feature_names[d], seen.columns[d]
    low, high, mean = (column.low, column.high, column.mean) if seen.hypotheses else (0.0, 0.0, 0.0)
    return Feature(
        name=name,
        origin=str(seen.origins[name]) if name in seen.origins else "",
        low=low,
        high=high,
        mean=mean,
        spread=float(spread),
        score=seen.score(column.by_largest),
        reverse_score=seen.score(column.by_smallest),
    )


def _scores(seen: Seen, kept: Kept) -> dict[str, float]:
    by_first = seen.score(seen.by_first)
    assert by_first is not None
    voted = None if seen.by_vote is None else seen.score(seen.by_vote)
    votes = {} if voted is None else {"vote": voted}
    return {"first": by_first, "random": random_score(kept), **votes, "oracle": corpus_oracle_score(kept)}


def _list_findings(seen: Seen, *, by_line: bool) -> list[str]:
    found = []
    empty, single = (int((seen.lengths == size).sum()) for size in (0, 1))
    if empty:
        found.append(f"{empty} lists are empty: nothing can be chosen for them")
    if single:
        found.append(f"{single} lists have only one hypothesis: they teach nothing")
    if seen.distinct is not None and seen.distinct < seen.hypotheses:
        found.append(
            f"{seen.hypotheses - seen.distinct} hypotheses repeat a text of their list: in lists of samples repeats "
            "are votes, keep them; where they are copies, or other derivations of one output, nbest convert --dedupe "
            "keeps the first of each"
        )
    if seen.unanswered:
        found.append(
            f"{seen.unanswered} hypotheses have no answer ({100 * seen.unanswered / seen.hypotheses:.1f} %): they are "
            "wrong by exact, and no votes"
        )
    missing, absent = gaps(seen.ids.numbers)
    if missing and by_line:
        found.append(
            f"{missing} segments are missing (the first is {absent}): references that go by line must have their lines"
        )
    return found


def _feature_findings(part: NBest, names: tuple[str, ...], scale: Floats) -> list[str]:
    """Features that cannot matter; and, in a part of the lists, such that are mixtures of others."""
    found, flat = [], [repr(name) for name, size in zip(names, scale, strict=True) if size == 0]
    if len(flat) == 1:
        found.append(f"feature {flat[0]} never differs within a list: it cannot matter")
    elif flat:
        found.append(f"features {', '.join(flat)} never differ within a list: they cannot matter")
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


def _score_findings(seen: Seen, kept: Kept, features: tuple[Feature, ...], scores: dict[str, float]) -> list[str]:
    metric = kept.need_metric()
    sign = 1.0 if metric.higher_is_better else -1.0
    leaked = leaked_labels(kept)
    found = label_findings_of(leaked, metric)
    others = [each for each in features if each.name not in leaked]
    found += [
        f"feature {each.name!r} alone chooses as well as the oracle: does it know the references?"
        for each in others
        if oracle_like(kept, each.score, each.reverse_score, scores)
    ]
    case = case_findings(seen.firsts)
    for feature in () if case else others:  # scores of another case mean nothing
        if looks_like_cost(kept, feature.name, feature.score, feature.reverse_score, scores=scores):
            found.append(
                f"feature {feature.name!r} looks like a cost: the smallest scores {feature.reverse_score:.2f}, "
                f"the largest {feature.score:.2f} (random {scores['random']:.2f}): is its sign right?"
            )
    if sign * scores["oracle"] <= sign * scores["first"] + 1e-9:
        found.append(_NOTHING_RIGHT if metric.higher_is_better and scores["oracle"] == 0 else _NOTHING_TO_GAIN)
    return [*found, *case, *reference_findings(seen.firsts)]


def _overlap_findings(corpus: NBest, other: NBest) -> list[str]:
    shared = shared_segments(corpus, other)
    if not shared:
        return []
    return [f"{shared} of {len(corpus)} segments are also in the other lists: never tune and test on the same data"]
