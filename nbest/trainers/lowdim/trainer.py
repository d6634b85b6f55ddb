"""Low-dimensional reranking: inputs and outputs projected into one small space, where the right output is near."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from nbest.base.errors import CapabilityError, ParameterError, _known
from nbest.base.parameters import check, parameter, same_as
from nbest.base.types import Floats
from nbest.compute import segments
from nbest.corpus import NBest
from nbest.corpus.contract import need_corpus, need_lists
from nbest.features.lowdim.feature import NAME, cosines, need_both_texts
from nbest.features.lowdim.projections import Projections, recipe_of
from nbest.features.lowdim.solver import Directions
from nbest.features.lowdim.views import Names, Views
from nbest.features.standardise import within_scale
from nbest.model.loglinear import LogLinear
from nbest.optimisers.result import Result
from nbest.trainers.dense.mert import MERT
from nbest.trainers.finishing import finished
from nbest.trainers.problem import prepare
from nbest.trainers.trainer import Trainer

_WHOLE = (
    "LowDim scores whole outputs, which edges of a forest are not; "
    "read lists out of the forests first (nbest convert FORESTS LISTS --top 100)"
)
GRID = tuple(float(w) for w in range(101))  # of w, section 3.4


@dataclass
class LowDim(Trainer):
    """Learns projections A, B of inputs and outputs; the score is the base score plus w times their cosine.

        score_ij = s_ij + w x_i' A B' y_ij / (|A' x_i| |B' y_ij|)

    Jagarlamudi & Daume III (2012), NAACL 699-709. The model adds the cosine as the feature `lowdim`, so that it can
    also be one feature among others (`fit_features`). Lists need input texts (`sources`).
    """

    kind: str = same_as(Projections, "kind")
    tau: float = same_as(Projections, "tau")
    lam: float = same_as(Projections, "lam")
    k: int = same_as(Projections, "k")
    w: float | None = parameter(
        None,
        "weight of the cosine (None: the best of 0, 1, ..., 100 on held-out lists, else on the lists themselves)",
        finite=True,
    )
    base: bool = parameter(True, "whether the base score counts")
    inputs: str = same_as(Projections, "inputs")
    outputs: str = same_as(Projections, "outputs")
    binary: bool = same_as(Projections, "binary")
    cutoff: int = same_as(Projections, "cutoff")
    rounds: int = same_as(Projections, "rounds")
    step: float = same_as(Projections, "step")
    tolerance: float = same_as(Projections, "tolerance")
    seed: int = same_as(Projections, "seed")
    start: dict[str, float] | None = parameter(
        None, "weights of the base score (None: 1 for an only feature that differs, several are tuned by MERT)"
    )

    def fit(self, corpus: NBest, heldout: NBest | None = None) -> LogLinear:
        """Learn the projections from lists with statistics and input texts; held-out ones choose `w`."""
        self.check()
        check_lists(corpus, heldout)
        views, names = self.projections.views(corpus)
        directions, history = self.projections.directions(views)
        base = self.base_weights(corpus)
        w, reached = self.choose_w(corpus if heldout is None else heldout, names, directions, base)
        model = self.model(corpus, names, directions, base, w)
        message = f"{directions.k} directions, w {w:g}"
        weights = np.array(list(model.weights.values()))
        self.result_ = Result(
            weights, reached, directions.status, message, evaluations=directions.blocks, history=tuple(history)
        )
        return finished(self, model, corpus, heldout)

    def fit_features(self, corpus: NBest) -> dict[str, Any]:
        """The recipe of the feature `lowdim`, for any trainer to weigh beside others; `w` and `base` do not matter."""
        self.check()
        views, names = self.projections.views(corpus)
        directions, history = self.projections.directions(views)
        message = f"{directions.k} directions"
        weights = np.sqrt(directions.omega)
        self.result_ = Result(
            weights, np.nan, directions.status, message=message, evaluations=directions.blocks, history=tuple(history)
        )
        return recipe_of(directions, names)

    def fit_views(self, views: Views) -> Directions:
        """The directions for matrices of one's own; `nbest.features.lowdim.feature.cosines` scores with them."""
        self.check()
        return self.projections.directions(views)[0]

    def grid(
        self,
        corpus: NBest,
        heldout: NBest,
        *,
        tau: Iterable[float] | None = None,
        lam: Iterable[float] | None = None,
        k: Iterable[int] | None = None,
        w: Sequence[float] | None = None,
    ) -> tuple[LogLinear, list[dict[str, Any]]]:
        """The model of the best settings on held-out lists, and a row for all that were tried."""
        from nbest.trainers.lowdim.grid import search

        return search(self, corpus, heldout, tau=tau, lam=lam, k=k, w=w)

    # parts, which the grid uses as well ----------------------------------------------------------------------

    @property
    def projections(self) -> Projections:
        """What is learnt of the two views, by these settings."""
        return Projections(**{f.name: getattr(self, f.name) for f in fields(Projections)})

    def base_weights(self, corpus: NBest) -> dict[str, float]:
        """Weights of the base score."""
        names = corpus.feature_names
        if not self.base:
            return dict.fromkeys(names, 0.0)
        if self.start is not None:
            known = {*names, *corpus.sparse_names}
            odd = next((name for name in self.start if name not in known), None)
            if odd is not None:
                raise ParameterError(f"start weights name {odd!r}, which the corpus lacks; {_known(known, odd)}")
            return dict.fromkeys(names, 0.0) | {name: float(weight) for name, weight in self.start.items()}
        telling = [name for name, scale in zip(names, within_scale(corpus), strict=True) if scale > 0]
        if len(telling) < 2:
            return {name: float(name in telling) for name in names}
        return dict(MERT(progress=self.progress).fit(replace(corpus, sparse=None, sparse_names=())).weights)

    def choose_w(
        self, corpus: NBest, names: Names, directions: Directions, base: Mapping[str, float]
    ) -> tuple[float, float]:
        """The weight of the cosine, and the metric it reaches on these lists."""
        both, k = names.of(corpus), [directions.k]
        column = cosines(*both, corpus.offsets, directions.A, directions.B, sizes=k, threads=self.threads)
        return best_w(corpus, base_scores(corpus, base), column[:, 0], self.ws(base))

    def ws(self, base: Mapping[str, float], given: Sequence[float] | None = None) -> Sequence[float]:
        """Weights of the cosine to try: those given, the one that is set, 1 without a base score, or the grid."""
        if given is not None:
            return given
        if self.w is not None:
            return (self.w,)
        return GRID if any(base.values()) else (1.0,)

    def model(
        self, corpus: NBest, names: Names, directions: Directions, base: Mapping[str, float], w: float
    ) -> LogLinear:
        """Base weights and w as one model."""
        dense = None if corpus.sparse is None else (*(n for n in base if n not in corpus.sparse_names), NAME)
        return LogLinear({**base, NAME: w}, features=(recipe_of(directions, names),), dense=dense)

    def check(self) -> None:
        """Complain of settings that break a rule."""
        check(self)
        self.projections.check()


def check_lists(corpus: NBest, heldout: NBest | None) -> None:
    """Complain of lists that cannot be trained on or scored."""
    sets = [corpus, *([] if heldout is None else [heldout])]
    for each, owner, argument in zip(sets, ("LowDim", "fit"), ("corpus", "heldout"), strict=False):
        need_corpus(owner, argument, each)
        need_lists(each, _WHOLE)
    if NAME in corpus.feature_names:
        raise CapabilityError(f"these lists have a feature {NAME!r} already; leave it out (--drop {NAME})")
    need_both_texts(corpus)
    if corpus.sparse is not None or (within_scale(corpus) > 0).any():
        prepare(corpus, "LowDim", heldout, sparse=True)
        return
    for lists in sets:
        lists.need_stats()
    if corpus.lengths.max(initial=0) < 2:
        raise CapabilityError("LowDim needs lists with at least two hypotheses; every list here has fewer")


def base_scores(corpus: NBest, base: Mapping[str, float]) -> Floats:
    """[H] the base score."""
    return LogLinear(base, dense=tuple(n for n in base if n in corpus.feature_names), versions={}).scores(corpus)


def best_w(corpus: NBest, base: Floats, column: Floats, values: Sequence[float]) -> tuple[float, float]:
    """The weight of `column` [H] whose choices are best by the metric, the first of equals, and that metric."""
    _, metric = corpus.need_stats()
    reached = [corpus.score(segments.argmax(base + w * column, corpus.offsets)) for w in values]
    best = int(np.argmax(reached) if metric.higher_is_better else np.argmin(reached))
    return float(values[best]), reached[best]
