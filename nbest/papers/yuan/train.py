"""The trainers, the interpolation and the study of alpha in the reproduction of Yuan, Gao & Bu (2007)."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from nbest.base.types import Floats, Ints
from nbest.corpus import NBest
from nbest.decisions import first
from nbest.evaluation.significance import permutation
from nbest.lm.mixture import Mixture
from nbest.model.loglinear import LogLinear
from nbest.papers.data import chosen_stats
from nbest.papers.yuan.lists import METRIC, NEWS, Kana
from nbest.studies.alpha import alpha
from nbest.trainers import TRAINERS
from nbest.trainers.settings_grid import search

ALPHAS = (0.7, 0.8, 0.9, 1.0)
_SAMPLES = 2000  # of a permutation test

Grid = Mapping[str, Sequence[Any]]


@dataclass(frozen=True)
class NamedMethod:
    """A trainer under the name that tables show, and the settings that are tried on dev."""

    title: str
    trainer: str
    grid: Grid
    quick: Grid
    adapts: bool = True  # whether it is in the table of adaptation, with the trainer's default settings


_MSR: Grid = {"alpha": ALPHAS, "smoothing": (0.0, 0.1, 0.5)}
_QUICK: Grid = {"alpha": (0.8, 1.0)}
_MARGIN: Grid = {"sensitive": ("none", "margin")}
METHODS = {
    "msr": NamedMethod("MSR", "msr", _MSR, _QUICK),
    "msr2": NamedMethod("MSR-II", "msr2", _MSR, _QUICK),
    "boosting": NamedMethod(
        "boosting", "boosting", {"smoothing": (3.0, 10.0, 30.0, 100.0, 300.0)}, {"smoothing": (10.0, 100.0)},
    ),
    "penalised": NamedMethod(
        "boosting, penalised", "boosting", {"smoothing": (10.0, 100.0), "penalty": (1e-5, 1e-4, 1e-3)},
        {"penalty": (1e-4, 1e-3)}, adapts=False,
    ),
    "perceptron": NamedMethod("perceptron", "perceptron", _MARGIN, _MARGIN),
    "mira": NamedMethod("MIRA", "mira", {"C": (0.003, 0.01, 0.03)}, {"C": (0.01, 0.03)}),
    "pro": NamedMethod("PRO", "pro", {"dense": (False,)}, {"dense": (False,)}, adapts=False),
}  # fmt: skip
"""Methods by the end of their steps' names."""
ADAPTING = tuple(name for name, method in METHODS.items() if method.adapts)


def against(lists: NBest, choice: Ints, base: Floats | None = None) -> dict[str, float]:
    """CER of a choice, and p of its difference from the converter's own (or from other stats [N, 2])."""
    own = chosen_stats(lists, first(None, lists)) if base is None else base
    return {"cer": lists.score(choice), "p": permutation(METRIC, own, chosen_stats(lists, choice), samples=_SAMPLES).p}


def tune(kana: Kana, name: str, method: str) -> dict[str, Any]:
    """A step: a method on the lists of a set, its settings chosen on dev; also on the gold sets where there are any."""
    lists, chosen = kana.prepared(name), METHODS[method]
    grid = chosen.quick if kana.run.quick else chosen.grid
    make = partial(TRAINERS[chosen.trainer], threads=kana.run.threads)
    begin = time.perf_counter()
    model, rows = search(make, grid, lists.train, lists.dev, progress=kana.run.progress)
    seconds = time.perf_counter() - begin
    best = min(rows, key=lambda row: row["heldout"])
    tried = [{**{key: row[key] for key in grid}, "dev": row["heldout"]} for row in rows]
    choice = model.predict(lists.test)
    return {
        "train": model.scores_["dev"], "dev": model.scores_["heldout"], **against(lists.test, choice),
        "gold": {gold: against(found, model.predict(found)) for gold, found in lists.gold.items()},
        "settings": {key: best[key] for key in grid}, "tried": tried, "seconds": seconds,
        "features": _weighed(model), "columns": len(lists.train.sparse_names), "choice": choice.tolist(),
    }  # fmt: skip


def _weighed(model: LogLinear) -> int:
    """How many n-grams have a weight."""
    return sum(weight != 0 for name, weight in model.weights.items() if name != "score")


def compare(kana: Kana, name: str) -> dict[str, Any]:
    """A step: p of the difference of every two methods on the test lists of a set."""
    lists = kana.read(f"{name}-test")
    choices = {method: np.array(kana.run.need(f"{name}-{method}")["choice"]) for method in METHODS}
    chosen = {method: chosen_stats(lists, choice) for method, choice in choices.items()}
    pairs = combinations(METHODS, 2)
    return {"p": [[a, b, permutation(METRIC, chosen[a], chosen[b], samples=_SAMPLES).p] for a, b in pairs]}


# adaptation -----------------------------------------------------------------------------------------------------


def count_of(kana: Kana, name: str, size: int) -> int:
    """How many sentences there are to adapt to; 0 where a smaller size has them all already."""
    available = kana.run.need("data")[name]["train"]
    smaller = [other for other in kana.sizes.adapt[name] if other < size]
    return 0 if smaller and max(smaller) >= available else min(size, available)


def interpolate(kana: Kana, name: str, size: int) -> dict[str, Any]:
    """A step: the news model interpolated with one of sentences of a domain; it converts the test text anew."""
    count = count_of(kana, name, size)
    if not count:
        return {"sentences": 0}
    parts = kana.parts(name)
    converter = kana.fit(kana.news.train, parts.train[:count])
    lists = kana.decoded(converter, parts.test, 1)
    stats = chosen_stats(lists, first(None, lists))
    base = kana.read(f"{name}-test")
    own = chosen_stats(base, first(None, base))
    assert isinstance(converter.lm, Mixture)
    reached = against(lists, first(None, lists), own)
    return {"sentences": count, **reached, "weight": converter.lm.weight, "stats": stats.tolist()}


def adapt(kana: Kana, name: str, size: int) -> dict[str, Any]:
    """A step: the methods, with their default settings, on the lists of the first sentences of a domain."""
    count = count_of(kana, name, size)
    if not count:
        return {"sentences": 0}
    lists = kana.prepared(name, count)
    other = np.array(kana.run.need(f"{name}-{size}-li")["stats"])
    found: dict[str, Any] = {}
    for done, method in enumerate(ADAPTING):
        kana.run.progress(done, len(ADAPTING))
        begin = time.perf_counter()
        model = TRAINERS[METHODS[method].trainer](threads=kana.run.threads).fit(lists.train, lists.dev)
        seconds = time.perf_counter() - begin
        choice = model.predict(lists.test)
        reached = {**against(lists.test, choice), "p_li": against(lists.test, choice, other)["p"]}
        found[method] = {"dev": model.scores_["heldout"], **reached, "features": _weighed(model), "seconds": seconds}
    return {"sentences": count, "columns": len(lists.train.sparse_names), "methods": found}


# alpha ----------------------------------------------------------------------------------------------------------


def study(kana: Kana, name: str, method: str) -> dict[str, Any]:
    """A step: CER of training and test lists of a set feature by feature, for each alpha."""
    lists = kana.prepared(name) if name in NEWS else kana.prepared(name, _most(kana, name))
    begin = time.perf_counter()
    found = alpha(
        lists.train, lists.test, alphas=ALPHAS, methods=(method,), points=101,
        settings={"limit": kana.sizes.limit}, threads=kana.run.threads, progress=kana.run.progress,
    )  # fmt: skip
    seconds = (time.perf_counter() - begin) / len(ALPHAS)
    kept = {"metric": found.metric, "settings": dict(found.settings), "rows": list(found.rows)}
    return {**kept, "seconds": seconds, "segments": len(lists.train), "columns": len(lists.train.sparse_names)}


def _most(kana: Kana, name: str) -> int:
    """All sentences of a domain that there are to adapt to."""
    return max(count_of(kana, name, size) for size in kana.sizes.adapt[name])
