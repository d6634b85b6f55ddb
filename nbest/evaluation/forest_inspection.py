"""What is in forests, and what is wrong with them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch

import numpy as np

from nbest.compute import segments
from nbest.corpus import Forests, NBest
from nbest.corpus.contract import Corpus, no_answer
from nbest.decisions.chosen import first_score, oracle_score, score_of
from nbest.evaluation.inspection import Inspection, inspect
from nbest.evaluation.leftovers import leftover_findings
from nbest.forests.posteriors import Posteriors, posteriors
from nbest.forests.scale import forest_scale
from nbest.model.loglinear import LogLinear


@dataclass(frozen=True)
class EdgeFeature:
    """One column: its range over edges, its spread over derivations, the weight the system gave it, and the score of
    the derivations that are best (and worst) by it alone."""

    name: str
    low: float
    high: float
    mean: float
    spread: float
    own_weight: float | None
    score: float | None
    reverse_score: float | None


@dataclass(frozen=True)
class ForestInspection:
    """Sizes, features, scores of simple choices, and findings: what will hurt, in words."""

    segments: int
    nodes: int
    edges: int
    empty: int
    smallest: int  # edges of the smallest and the largest forest
    largest: int
    arity: int  # most tails of an edge
    lattices: bool
    derivations: tuple[float, float] | None  # powers of ten: fewest and most of a forest that is not empty; None: none
    vocabulary: int
    features: tuple[EdgeFeature, ...]
    scores: dict[str, float]
    findings: tuple[str, ...]


@singledispatch
def inspect_corpus(corpus: Corpus, by_line: bool = False) -> Inspection | ForestInspection:
    """What is in a corpus, and what is wrong with it; `by_line`: its references are in a file (`inspect`)."""
    raise no_answer("inspect_corpus", corpus)


@inspect_corpus.register(NBest)
def _(corpus: NBest, by_line: bool = False) -> Inspection:
    return inspect(corpus, by_line=by_line)


@inspect_corpus.register(Forests)
def inspect_forests(forests: Forests, by_line: bool = False) -> ForestInspection:
    """Look at forests; with a metric also at the scores of simple choices."""
    uniform = posteriors(forests, np.zeros(forests.edges))
    filled = uniform.log_z > -np.inf
    counts = uniform.log_z[filled] / np.log(10.0)
    sizes = segments.lengths(forests.forest_edges)
    scale = forest_scale(forests)
    features = tuple(_feature(forests, d, scale[d]) for d in range(len(forests.feature_names)))
    return ForestInspection(
        segments=len(forests),
        nodes=forests.nodes,
        edges=forests.edges,
        empty=int((~filled).sum()),
        smallest=int(sizes.min(initial=forests.edges)),
        largest=int(sizes.max(initial=0)),
        arity=int(forests.arities.max(initial=0)),
        lattices=bool((forests.arities <= 1).all()),
        derivations=(float(counts.min()), float(counts.max())) if len(counts) else None,
        vocabulary=len(forests.vocabulary),
        features=features,
        scores={} if forests.metric is None else _scores(forests),
        findings=(*_findings(forests, uniform), *_feature_findings(features)),
    )


def _feature(forests: Forests, d: int, spread: float) -> EdgeFeature:
    name, column = forests.feature_names[d], np.asarray(forests.features[:, d], np.float64)
    low, high, mean = (column.min(), column.max(), segments.mean_of(column)) if len(column) else (0.0, 0.0, 0.0)
    score = reverse = None
    if forests.metric is not None:
        score, reverse = (score_of(forests, LogLinear({name: weight})) for weight in (1.0, -1.0))
    own = forests.own_weights.get(name)
    return EdgeFeature(
        name, float(low), float(high), float(mean), float(spread), own_weight=own, score=score, reverse_score=reverse
    )


def _scores(forests: Forests) -> dict[str, float]:
    own = first_score(forests)
    return ({} if own is None else {"own weights": own}) | {"oracle": oracle_score(forests)}


def _findings(forests: Forests, uniform: Posteriors) -> list[str]:
    found = []
    empty = int((uniform.log_z == -np.inf).sum())
    if empty:
        found.append(f"{empty} forests are empty: nothing can be chosen for them")
    single = int((uniform.log_z == 0.0).sum())
    if single:
        found.append(f"{single} forests have only one derivation: they teach nothing")
    unused = int((uniform.edges == 0.0).sum())
    if unused:
        share = 100.0 * unused / forests.edges
        found.append(f"{unused} edges ({share:.1f} %) are part of no derivation: they only cost time")
    if forests.symbols is None:
        found.append("the edges have no words: no metric of texts can be tuned")
    known = {word for group in forests.references or () for text in group for word in text.split()}
    found += leftover_findings(forests.vocabulary, sorted(known), called="words")
    return found


def _feature_findings(features: tuple[EdgeFeature, ...]) -> list[str]:
    return [
        f"feature {each.name!r} never differs between derivations of a forest: it cannot matter"
        for each in features
        if each.spread == 0
    ]
