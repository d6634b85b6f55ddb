"""The learning curve of `nguyen-2007`: does what kernels gain on training lists carry over as there are more of them?

At the largest size also what the paper did not try: kernels over differences from the mean of the list, widths chosen
on dev, means from local updates, weights by annealed risk.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from nbest.base.types import Floats
from nbest.corpus import NBest
from nbest.features import Bins, GaussianKernels
from nbest.model.loglinear import LogLinear
from nbest.papers.nguyen.lists import NguyenSizes, fit_quietly, jackknifed, kept
from nbest.papers.nguyen.rows import (
    NONE,
    TableLists,
    baseline,
    found_by,
    references,
    summary,
    tests,
    with_priors,
)
from nbest.papers.run import Run
from nbest.trainers import MinRisk
from nbest.trainers.sharpness import spread

TRIED = ("pcp-within", "ml-within", "pcp-width", "pcp-local", "pcp-risk")
"""What is tried at the largest size only."""
_RISK_VARIANCES = (1e-3, 1e-2, 0.1, 1.0)
_AMONG = 10  # hypotheses that a local update chooses from


def kinds(run: Run) -> tuple[str, ...]:
    """Kinds of features, in the order of the table."""
    return ("linear", "bins", *(f"ml-{size}" for size in NguyenSizes.of(run).curve_kernels), "pcp")


def curve_row(run: Run, pair: str, size: int, kind: str) -> dict[str, Any]:
    """Train on so many lists with features of a kind, without a prior and with each variance."""
    lists = _lists(run, pair, size)
    if kind == "linear":
        return baseline(run, lists)
    start = run.need(f"{pair}-curve-{size}-linear")["start"]
    reference = references(LogLinear(start), lists)
    if kind == "pcp-width":
        return _by_width(run, lists, start, reference)
    recipe = _recipe(run, lists.train, kind, start)
    wide = lists.each(recipe)
    added = {} if kind == "bins" else {"kernels": len(recipe["means"])}
    if kind == "pcp-risk":
        return added | _by_risk(run, wide, start, reference)
    tried = with_priors(run, wide, (NONE, *NguyenSizes.of(run).variances), start, reference)
    return {"columns": len(wide.train.sparse_names), **added, **summary(tried)}


def _lists(run: Run, pair: str, size: int) -> TableLists:
    """So many jackknifed lists, evenly spread; dev; test; devtest."""
    return TableLists(jackknifed(run, pair, size), *(kept(run, pair, name) for name in ("dev", "test", "devtest")))


def _recipe(run: Run, lists: NBest, kind: str, start: Mapping[str, float], width: float = 0.5) -> dict[str, Any]:
    """The recipe of a kind, fitted to training lists."""
    if kind == "bins":
        return Bins(20).fit(lists)
    sizes = NguyenSizes.of(run)
    kernels = GaussianKernels(within=kind.endswith("within"), threads=run.threads, progress=run.progress)
    if kind.startswith("pcp"):
        return kernels.fit_perceptron(lists, start, width=width, among=_AMONG if kind == "pcp-local" else None)
    share = min(1.0, sizes.curve_pool / lists.hypotheses)
    few = lists.select(spread(len(lists), max(1, round(len(lists) * share))))
    wanted = sizes.large if kind == "ml-within" else int(kind.removeprefix("ml-"))
    return kernels.fit_ml(few, min(wanted, few.hypotheses), seed=run.seed)


def _by_width(
    run: Run, lists: TableLists, start: Mapping[str, float], reference: Mapping[str, Floats]
) -> dict[str, Any]:
    """Perceptron kernels of each width; width and variance are those that are best on held-out lists."""
    every = []
    for width in NguyenSizes.of(run).widths:
        recipe = _recipe(run, lists.train, "pcp", start, width)
        wide = lists.each(recipe)
        tried = with_priors(run, wide, NguyenSizes.of(run).variances, start, reference)
        every += [{**found, "width": width} for found in tried]
    best = max(every, key=lambda found: float(found["heldout"]))
    short = [{key: found[key] for key in ("width", "variance", "train", "heldout", "status")} for found in every]
    return {"columns": len(wide.train.sparse_names), "none": None, "prior": best, "tried": short}


def _by_risk(run: Run, wide: TableLists, start: Mapping[str, float], reference: Mapping[str, Floats]) -> dict[str, Any]:
    """Weights of all columns by annealed risk; held-out lists choose the stop and the variance."""
    tried = []
    for number, variance in enumerate(_RISK_VARIANCES):
        trainer = MinRisk(schedule="both", variance=variance, start=dict(start), iterations=20, threads=run.threads)
        model, status = fit_quietly(trainer, wide.train, wide.heldout)
        tried.append(found_by(model, wide, variance, status) | tests(model, wide, reference))
        run.progress(number + 1, len(_RISK_VARIANCES))
    return {"columns": len(wide.train.sparse_names), **summary(tried)}


def gap(rows: Mapping[int, Mapping[str, Any]]) -> tuple[float, float] | None:
    """a and b of  train - test = a N^-b  by least squares of logarithms; None where some gap is not positive."""
    sizes = np.array(sorted(rows), np.float64)
    gaps = np.array([rows[int(size)]["train"] - rows[int(size)]["test"] for size in sizes])
    if len(sizes) < 2 or (gaps <= 0).any():
        return None
    slope, constant = np.polyfit(np.log(sizes), np.log(gaps), 1)
    return float(np.exp(constant)), float(-slope)
