"""Settings of low-dimensional reranking chosen on held-out lists; what can be reused is."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from nbest.base.errors import ParameterError
from nbest.base.types import Floats
from nbest.corpus import NBest
from nbest.features.lowdim.feature import cosines
from nbest.features.lowdim.solver import Directions, Solver
from nbest.features.lowdim.views import Names, Views
from nbest.model.loglinear import LogLinear
from nbest.trainers.finishing import finished

if TYPE_CHECKING:
    from nbest.trainers.lowdim.trainer import LowDim


@dataclass(frozen=True)
class _GridPoint:
    trainer: LowDim
    directions: Directions
    cosines: Floats  # [H] of the held-out lists


def search(
    trainer: LowDim,
    corpus: NBest,
    heldout: NBest,
    *,
    tau: Iterable[float] | None = None,
    lam: Iterable[float] | None = None,
    k: Iterable[int] | None = None,
    w: Sequence[float] | None = None,
) -> tuple[LogLinear, list[dict[str, Any]]]:
    """The model that is best on held-out lists, and a row for each (tau, lam, k) with its best w.

    A row has the settings, `heldout` (with the base score, at the best `w`) and `alone` (without it). Covariances are
    made once for each tau; one solve for each lam serves every k and w, because directions are nested, and starts from
    the last one. The discriminative rounds depend on k and start from that solve. The first of equals is taken.
    """
    from nbest.trainers.lowdim.trainer import base_scores, best_w, check_lists

    settings = {name: _values(trainer, name, given) for name, given in (("tau", tau), ("lam", lam), ("k", k))}
    if w is not None and not len(w):
        raise ParameterError("'w' of the grid of LowDim must have values")
    check_lists(corpus, heldout)
    views, names = trainer.projections.views(corpus)
    base = trainer.base_weights(corpus)
    sign = 1.0 if heldout.need_stats()[1].higher_is_better else -1.0
    scores, flat = base_scores(heldout, base), np.zeros(heldout.hypotheses)
    rows: list[dict[str, Any]] = []
    best: tuple[float, _GridPoint, float] | None = None
    total = int(np.prod([len(values) for values in settings.values()]))
    for point in _points(trainer, views, names, heldout, settings):
        weight, reached = best_w(heldout, scores, point.cosines, trainer.ws(base, w))
        _, alone = best_w(heldout, flat, point.cosines, (1.0,))
        rows.append(_row(point.trainer, weight, reached, alone))
        if trainer.progress is not None:
            trainer.progress(len(rows), total)
        if best is None or sign * reached > best[0]:
            best = sign * reached, point, weight
    assert best is not None
    return _model(point=best[1], corpus=corpus, heldout=heldout, names=names, base=base, w=best[2]), rows


def _values(trainer: LowDim, name: str, given: Iterable[Any] | None) -> list[Any]:
    values = [getattr(trainer, name)] if given is None else list(given)
    if not values:
        raise ParameterError(f"{name!r} of the grid of LowDim must have values")
    if name == "lam" and trainer.kind == "generative":
        if len(values) > 1:
            raise ParameterError("the generative kind of LowDim has no 'lam' to try; leave it out of the grid")
        values = values[:1]
    for value in values:
        replace(trainer, **{name: value}).check()
    return sorted(values) if name == "k" else values


def _points(
    trainer: LowDim, views: Views, names: Names, heldout: NBest, settings: Mapping[str, list[Any]]
) -> Iterator[_GridPoint]:
    sizes = settings["k"]
    bags = names.of(heldout)
    for tau in settings["tau"]:
        solver = replace(trainer, tau=tau, progress=None).projections.solver(views)
        last: Directions | None = None
        for lam in settings["lam"]:
            own = replace(trainer, tau=tau, lam=lam, progress=None)
            found = last = _softened(own, views, solver, sizes[-1], last)
            few = [min(k, found.k) for k in sizes]
            columns = cosines(*bags, heldout.offsets, found.A, found.B, sizes=few, threads=own.threads)
            for at, k in enumerate(sizes):
                if trainer.kind != "discriminative":
                    yield _GridPoint(replace(own, k=k), found.top(k), columns[:, at])
                    continue
                mine, _ = (
                    own.projections.solve(views, solver, min(k, found.k), found.top(k)) if found.k else (found, None)
                )
                column = cosines(*bags, heldout.offsets, mine.A, mine.B, sizes=[mine.k], threads=own.threads)
                yield _GridPoint(replace(own, k=k), mine, column[:, 0])


def _softened(own: LowDim, views: Views, solver: Solver, k: int, last: Directions | None) -> Directions:
    """One solve for the largest k: of the model itself, or of what the discriminative rounds start from."""
    if own.kind == "discriminative":
        from nbest.optimisers.block_cg import Products

        return solver.solve(Products(views.targets(own.kind, own.lam), own.threads), k, last)
    return own.projections.solve(views, solver, k, last)[0]


def _row(trainer: LowDim, w: float, reached: float, alone: float) -> dict[str, Any]:
    lam = {} if trainer.kind == "generative" else {"lam": trainer.lam}
    return {"kind": trainer.kind, "tau": trainer.tau, **lam, "k": trainer.k, "w": w, "heldout": reached, "alone": alone}


def _model(
    point: _GridPoint, corpus: NBest, heldout: NBest, names: Names, base: Mapping[str, float], w: float
) -> LogLinear:
    own = replace(point.trainer, w=w)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = own.model(corpus, names, point.directions, base, w)
    return finished(own, model, corpus, heldout)
