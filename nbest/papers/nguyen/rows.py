"""Rows of table 1 of `nguyen-2007`: features from kernels or bins, soft BLEU with and without a prior, and tests."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from nbest.base.types import Floats
from nbest.corpus import NBest
from nbest.decisions import oracle
from nbest.evaluation.significance import permutation, wilcoxon
from nbest.features import Bins, GaussianKernels, apply_recipes, reestimate
from nbest.model.loglinear import LogLinear, load
from nbest.objectives import Risk
from nbest.papers.data import chosen_stats
from nbest.papers.nguyen.lists import METRIC, NguyenSizes, dev_lists, fit_quietly, jackknifed, kept, quietly
from nbest.papers.run import Run
from nbest.studies.bins import bins as bins_study
from nbest.studies.starts import starts as starts_study
from nbest.trainers import MERT, SoftBLEU
from nbest.trainers.sharpness import spread

KERNELS = ("ml-small", "ml-large", "pcp-dev", "pcp-train", "pcp-global")
MOVED = {"moved": ("means",), "moved-all": ("means", "variances", "priors")}
"""Rows with the kernels of pcp-train, re-estimated: what of them is moved."""
ROWS = ("baseline", "mert", "bins", "bins-zero", *KERNELS)
"""Rows of both tables, in their order; that of jackknifed lists has those of `MOVED` besides."""
NONE = float("inf")


class TableLists(NamedTuple):
    """What a table is made of: where weights are trained, the prior is chosen, and the result is tested; of the
    learning curve also lists that nothing was chosen on or looked at before."""

    train: NBest
    heldout: NBest
    test: NBest
    devtest: NBest | None = None

    def parts(self) -> dict[str, NBest]:
        """Those that are there, by name."""
        return {name: part for name, part in self._asdict().items() if part is not None}

    def each(self, recipe: Mapping[str, Any]) -> TableLists:
        """All with the columns of a recipe."""
        return TableLists(**{name: apply_recipes(part, [recipe]) for name, part in self.parts().items()})


def lists_of(run: Run, pair: str, on: str) -> TableLists:
    """Weights trained on jackknifed lists and the prior chosen on dev ("train"), or on the lists of all rounds on dev
    and devtest ("dev")."""
    if on == "train":
        return TableLists(_jackknifed(run, pair), kept(run, pair, "dev"), kept(run, pair, "test"))
    return TableLists(dev_lists(run, pair), kept(run, pair, "devtest"), kept(run, pair, "test"))


def _jackknifed(run: Run, pair: str) -> NBest:
    return jackknifed(run, pair, NguyenSizes.of(run).table)


# kernels --------------------------------------------------------------------------------------------------------


def make_kernels(run: Run, pair: str, kind: str) -> dict[str, Any]:
    """Fit the kernels of a row; the recipe is left in the run's work."""
    sizes = NguyenSizes.of(run)
    kernels = GaussianKernels(threads=run.threads, progress=run.progress)
    if kind.startswith("ml"):
        lists = _jackknifed(run, pair)
        few = lists.select(spread(len(lists), max(1, round(len(lists) * min(1.0, sizes.pool / lists.hypotheses)))))
        wanted = sizes.small if kind == "ml-small" else sizes.large
        recipe = kernels.fit_ml(few, min(wanted, few.hypotheses), seed=run.seed)
        fitted: dict[str, Any] = {"hypotheses": few.hypotheses, "log-likelihood": kernels.history_[-1].log_likelihood}
    else:
        lists = kept(run, pair, "dev") if kind == "pcp-dev" else _jackknifed(run, pair)
        how: dict[str, Any] = {"covariance": "global", "width": 1.0} if kind == "pcp-global" else {}
        recipe = kernels.fit_perceptron(lists, run.need(f"{pair}-train-baseline")["start"], **how)
        fitted = {"hypotheses": lists.hypotheses}
    LogLinear({}, features=(recipe,)).save(_recipe(run, pair, kind))
    return {"kernels": len(recipe["means"]), **fitted}


def _recipe(run: Run, pair: str, kind: str) -> str:
    return str(run.work / f"{pair}-{kind}-kernels.json")


# rows -----------------------------------------------------------------------------------------------------------


def train_row(run: Run, pair: str, on: str, kind: str) -> dict[str, Any]:
    """Train a row with each variance of the prior and with none; the best on held-out lists is `prior`.

    The prior is on the added columns only: on all weights it would make the posterior of the linear model flat.
    """
    sizes, lists = NguyenSizes.of(run), lists_of(run, pair, on)
    if kind == "baseline":
        return baseline(run, lists)
    base = run.need(f"{pair}-{on}-baseline")
    reference = references(LogLinear(base["start"]), lists)
    if kind == "mert":
        model, status = fit_quietly(MERT(seed=run.seed, threads=run.threads), lists.train)
        return {"none": {**_scores(model, lists), **tests(model, lists, reference), "status": status}}
    recipe = _features(run, pair, on, kind, lists)
    wide = lists.each(recipe)
    variances: tuple[float, ...] = (NONE, *sizes.variances)
    if kind in MOVED:
        variances = (run.need(f"{pair}-{on}-pcp-train")["prior"]["variance"],)
    best = [-np.inf]

    def after(trainer: SoftBLEU, found: Mapping[str, Any]) -> None:
        if kind == "pcp-train" and found["variance"] is not None and found["heldout"] > best[0]:
            best[0] = found["heldout"]
            LogLinear(_plain(trainer), (recipe,), dense=lists.train.feature_names).save(_model(run, pair, on, kind))

    start = {} if kind == "bins-zero" else base["start"]
    tried = with_priors(run, wide, variances, start, reference, after=after)
    return {"columns": len(wide.train.sparse_names), **summary(tried)}


def with_priors(
    run: Run,
    wide: TableLists,
    variances: Sequence[float],
    start: Mapping[str, float],
    reference: Mapping[str, Floats],
    after: Callable[[SoftBLEU, Mapping[str, Any]], None] | None = None,
) -> list[dict[str, Any]]:
    """Soft BLEU from given weights, others 0, with each variance of the prior on added columns; tests are against
    `reference`."""
    tried: list[dict[str, Any]] = []
    for number, variance in enumerate(variances):
        common: dict[str, Any] = {"iterations": NguyenSizes.of(run).iterations, "threads": run.threads}
        trainer = SoftBLEU(variance=variance, prior="sparse", start=dict(start), **common)
        model, status = fit_quietly(trainer, wide.train)
        tried.append(found_by(model, wide, variance, status) | tests(model, wide, reference))
        if after is not None:
            after(trainer, tried[-1])
        run.progress(number + 1, len(variances))
    return tried


def baseline(run: Run, lists: TableLists) -> dict[str, Any]:
    """The linear model without a prior, from which all others start, and with one; oracles beside it."""
    trainer = SoftBLEU(threads=run.threads, progress=run.progress)
    model, status = fit_quietly(trainer, lists.train)
    start, reference = _plain(trainer), references(model, lists)
    tried = [found_by(model, lists, NONE, status)]
    for variance in NguyenSizes.of(run).variances:
        trainer = SoftBLEU(variance=variance, threads=run.threads, progress=run.progress)
        model, status = fit_quietly(trainer, lists.train)
        tried.append(found_by(model, lists, variance, status) | tests(model, lists, reference))
    oracles = {name: part.score(oracle(part)) for name, part in lists.parts().items()}
    counts = {name: [len(part), part.hypotheses] for name, part in lists.parts().items()}
    return {"columns": 0, **summary(tried), "start": start, "oracle": oracles, "lists": counts}


def found_by(model: LogLinear, lists: TableLists, variance: float, status: str) -> dict[str, Any]:
    """BLEU of each part, the variance (None: no prior), and how training ended."""
    return {"variance": variance if np.isfinite(variance) else None, "status": status, **_scores(model, lists)}


def summary(tried: list[dict[str, Any]]) -> dict[str, Any]:
    """Without a prior, with the one that is best on held-out lists, and what was tried (without test)."""
    none = next((found for found in tried if found["variance"] is None), None)
    prior = max((found for found in tried if found["variance"] is not None), key=lambda found: float(found["heldout"]))
    short = [{key: found[key] for key in ("variance", "train", "heldout", "status")} for found in tried]
    return {"none": none, "prior": prior, "tried": short}


def _features(run: Run, pair: str, on: str, kind: str, lists: TableLists) -> dict[str, Any]:
    """The recipe of a row."""
    if kind in ("bins", "bins-zero"):
        return Bins(20).fit(lists.train)
    if kind not in MOVED:
        run.need(f"{pair}-kernels-{kind}")
        return dict(load(_recipe(run, pair, kind)).features[0])
    run.need(f"{pair}-{on}-pcp-train")
    model = load(_model(run, pair, on, "pcp-train"))
    risk = Risk(METRIC, order=1, alpha=100.0, segments=len(lists.train))
    step = 0.01 * float(np.sqrt(len(model.features[0]["means"])))
    common: dict[str, Any] = {"iterations": NguyenSizes.of(run).moves, "step": step, "threads": run.threads}
    return reestimate(model.features[0], lists.train, risk, model.weights, parts=MOVED[kind], **common)


def _model(run: Run, pair: str, on: str, kind: str) -> str:
    return str(run.work / f"{pair}-{on}-{kind}-model.json")


def _plain(trainer: SoftBLEU) -> dict[str, float]:
    """The weights as soft BLEU left them, lambda of the paper."""
    assert trainer.weights_ is not None
    return trainer.weights_


def references(model: LogLinear, lists: TableLists) -> dict[str, Floats]:
    """What a model chooses of the lists to test on: [N, M] statistics, 0 where a list is empty."""
    few = {name: part for name, part in lists.parts().items() if name in ("test", "devtest")}
    return {name: chosen_stats(part, model.predict(part)) for name, part in few.items()}


def _scores(model: LogLinear, lists: TableLists) -> dict[str, float]:
    return {name: part.score(model.predict(part)) for name, part in lists.parts().items()}


def tests(model: LogLinear, lists: TableLists, reference: Mapping[str, Floats]) -> dict[str, float]:
    """p of the difference from the baseline on test, and with devtest on both together."""
    own = references(model, lists)
    found = {
        "wilcoxon": wilcoxon(METRIC, reference["test"], own["test"], batch=10).p,
        "permutation": permutation(METRIC, reference["test"], own["test"]).p,
    }
    if lists.devtest is None:
        return found
    both = [np.concatenate([each["test"], each["devtest"]]) for each in (reference, own)]
    return found | {"both": permutation(METRIC, *both).p}


def time_training(run: Run, pair: str) -> dict[str, Any]:
    """Seconds of soft BLEU by RProp and of MERT on the same lists of dev, one after the other on one thread, twice.

    The first time is not counted: kernels may be compiled then. Section 2.3.3: RProp was about 6 times faster.
    """
    lists = dev_lists(run, pair)
    few = lists.select(spread(len(lists), NguyenSizes.of(run).timed))
    found: dict[str, Any] = {"segments": len(few), "hypotheses": few.hypotheses}
    for name, trainer in (
        ("softbleu", SoftBLEU(threads=1)),
        ("mert-1", MERT(restarts=1, hops=0, seed=run.seed, threads=1)),
        ("mert", MERT(seed=run.seed, threads=1)),
    ):
        for _ in range(2):
            began = time.process_time()
            model, status = fit_quietly(trainer, few)
            seconds = time.process_time() - began
        found[name] = {"seconds": seconds, "train": few.score(model.predict(few)), "status": status}
    return found


# figures --------------------------------------------------------------------------------------------------------


def try_starts(run: Run, pair: str) -> dict[str, Any]:
    """Soft BLEU and MERT from the corners of the unit cube (figures 1 and 2)."""
    sizes = NguyenSizes.of(run)
    few = _sample(run, pair, sizes.start_lists, sizes.start_k)
    common: dict[str, Any] = {"seed": run.seed, "threads": run.threads, "progress": run.progress}
    with quietly():
        study = starts_study(few, count=sizes.corners, feature="lm", **common)
    rows = [
        {"method": row["method"], "metric": row["metric"], "shares": {"lm": row.get("shares", {}).get("lm")}}
        for row in study.rows
    ]
    lists = {"segments": len(few), "hypotheses": few.hypotheses}
    return {"metric": study.metric, "settings": dict(study.settings), "rows": rows, **lists}


def shape_bins(run: Run, pair: str) -> dict[str, Any]:
    """What training does to bins that score like the linear model (figure 3)."""
    lists = lists_of(run, pair, "train")
    with_prior = {"variance": 1.0, "iterations": 100}
    common: dict[str, Any] = {"seed": run.seed, "threads": run.threads, "progress": run.progress}
    with quietly():
        study = bins_study(lists.train, lists.heldout, count=20, settings=with_prior, **common)
    return {"metric": study.metric, "settings": dict(study.settings), "rows": list(study.rows)}


def _sample(run: Run, pair: str, segments: int, k: int) -> NBest:
    """Some dev lists of all rounds, with hypotheses spread evenly over each."""
    dev = dev_lists(run, pair)
    few = dev.select(spread(len(dev), segments))
    place = np.arange(few.hypotheses) - np.repeat(few.offsets[:-1], few.lengths)
    size = np.repeat(np.maximum(few.lengths, 1), few.lengths)
    return few.keep(place * k // size != (place - 1) * k // size)
