"""Several methods on the same lists: settings chosen on held-out data, the test set looked at once."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from nbest.base.errors import look_up
from nbest.base.types import Ints
from nbest.corpus import NBest, split
from nbest.corpus.contract import signature_of
from nbest.decisions import corpus_oracle, first
from nbest.evaluation.significance import permutation
from nbest.model.loglinear import LogLinear
from nbest.trainers import TRAINERS

SETTINGS: dict[str, tuple[dict[str, Any], ...]] = {
    "likelihood": tuple({"variance": v} for v in (0.25, 0.5, 1.0, float("inf"))),
}
"""What each method may choose from on held-out data; others run with their defaults."""


@dataclass(frozen=True)
class Row:
    """One way to choose: scores on the three sets, p-value on test against the first hypotheses, seconds to train."""

    name: str
    dev: float
    heldout: float | None
    test: float
    p: float | None
    seconds: float | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    model: LogLinear | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Compared:
    """Rows for the first hypotheses, each method and the oracle; `best` is the method that held-out data prefer."""

    metric: str
    rows: tuple[Row, ...]
    best: str


_SAMPLES = 10000  # of a permutation test


def compare(
    dev: NBest,
    test: NBest,
    methods: Sequence[str],
    *,
    heldout: NBest | float = 0.25,
    settings: Mapping[str, Sequence[Mapping[str, Any]]] | None = None,
    common: Mapping[str, Any] | None = None,
    seed: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> Compared:
    """Train each method on dev, choose its settings (and the method) on held-out data, report test once.

    `heldout` may be a share of dev, which is then held out. `settings` lists what a method may choose from (default
    `SETTINGS`), `common` keywords go to every trainer that has them (`threads`, `seed`).
    p-values are of paired permutation tests on test against the first hypothesis of each list.
    """
    if isinstance(heldout, float):
        dev, heldout = split(dev, 1.0 - heldout, seed)
    kinds = {name: look_up(TRAINERS, name, "method") for name in methods}
    choices = {name: tuple((settings or SETTINGS).get(name, ({},))) for name in methods}
    total, done = sum(len(options) for options in choices.values()), 0
    rows = [_fixed("first hypothesis", (dev, heldout, test), partial(first, None))]
    sign = 1.0 if dev.need_stats()[1].higher_is_better else -1.0
    for name in methods:
        fitted = []
        for options in choices[name]:
            fitted.append(_fit(kinds[name], {**(common or {}), **options}, dev, heldout))
            done += 1
            if progress is not None:
                progress(done, total)
        pick = max(range(len(fitted)), key=lambda i: sign * fitted[i][0].scores_["heldout"])
        rows.append(_row(name, fitted[pick][0], test, sum(f[1] for f in fitted), settings=choices[name][pick]))
    best = max(rows[1:], key=lambda row: sign * (row.heldout or 0.0), default=rows[0]).name
    rows.append(_fixed("oracle", (dev, heldout, test), corpus_oracle))
    return Compared(signature_of(dev), tuple(rows), best)


def _fixed(name: str, sets: tuple[NBest, NBest, NBest], choose: Callable[[NBest], Ints]) -> Row:
    dev, heldout, test = (corpus.score(choose(corpus)) for corpus in sets)
    return Row(name, dev, heldout, test, None)


def _fit(kind: type, options: Mapping[str, Any], dev: NBest, heldout: NBest) -> tuple[LogLinear, float]:
    begin = time.perf_counter()
    trainer = kind()
    for key, value in options.items():
        if hasattr(trainer, key):
            setattr(trainer, key, value)
    model = trainer.fit(dev, heldout)
    return model, time.perf_counter() - begin


def _row(name: str, model: LogLinear, test: NBest, seconds: float, settings: Mapping[str, Any]) -> Row:
    choice = model.predict(test)
    stats, metric = test.need_stats()
    filled = test.lengths > 0
    tested = permutation(metric, stats[first(None, test)[filled]], stats[choice[filled]], samples=_SAMPLES)
    return Row(
        name,
        model.scores_["dev"],
        model.scores_["heldout"],
        test.score(choice),
        tested.p,
        seconds=seconds,
        settings=settings,
        model=model,
    )
