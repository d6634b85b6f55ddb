"""Several methods on the same lists: settings chosen on held-out data, the test set looked at once."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from nbest.base.errors import ParameterError, look_up
from nbest.base.types import Ints
from nbest.corpus import NBest, split
from nbest.corpus.contract import signature_of
from nbest.decisions import corpus_oracle, first
from nbest.evaluation.pooling import Pooled, pooled_permutation
from nbest.evaluation.significance import by_group, clustered
from nbest.model.loglinear import LogLinear
from nbest.trainers import TRAINERS

SETTINGS: dict[str, tuple[dict[str, Any], ...]] = {
    "likelihood": tuple({"variance": v} for v in (0.25, 0.5, 1.0, float("inf"))),
}
"""What each method may choose from on held-out data; others run with their defaults."""


@dataclass(frozen=True)
class Row:
    """One way to choose: scores on the three sets, p-value on test against the first hypotheses, seconds to train.

    Of several runs scores are means, `runs` are those on test, and the model is that of the first run.
    """

    name: str
    dev: float
    heldout: float | None
    test: float
    p: float | None
    seconds: float | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    model: LogLinear | None = field(default=None, repr=False)
    runs: tuple[float, ...] = ()

    @property
    def spread(self) -> float | None:
        """Standard deviation of test scores over runs; None without several."""
        return Pooled(self.runs).spread


@dataclass(frozen=True)
class Compared:
    """Rows for the first hypotheses, each method and the oracle; `best` is the method that held-out data prefer.

    `note` says where segments were tested together.
    """

    metric: str
    rows: tuple[Row, ...]
    best: str
    note: str = ""


_SAMPLES = 10000  # of a permutation test


def compare(
    dev: NBest,
    test: NBest,
    methods: Sequence[str],
    *,
    heldout: NBest | float = 0.25,
    settings: Mapping[str, Sequence[Mapping[str, Any]]] | None = None,
    common: Mapping[str, Any] | None = None,
    seed: int | Sequence[int] = 1,
    progress: Callable[[int, int], None] | None = None,
) -> Compared:
    """Train each method on dev, choose its settings (and the method) on held-out data, report test once.

    `heldout` may be a share of dev, which is then held out. `settings` lists what a method may choose from (default
    `SETTINGS`), `common` keywords go to every trainer that has them (`threads`, `seed`). With several
    seeds each is trained with each of them; scores are then means, and the first seed splits.
    p-values are of paired permutation tests on test against the first hypothesis of each list; several runs are pooled
    (`pooled_permutation`), and segments of a group are swapped together.
    """
    runs_of: list[dict[str, Any]] = [{}] if isinstance(seed, int) else [{"seed": each} for each in seed]
    if not runs_of:
        raise ParameterError("'seed' of compare must be a whole number or several, got none")
    if isinstance(heldout, float):
        dev, heldout = split(dev, 1.0 - heldout, seed if isinstance(seed, int) else seed[0])
    kinds = {name: look_up(TRAINERS, name, "method") for name in methods}
    choices = {name: tuple((settings or SETTINGS).get(name, ({},))) for name in methods}
    total, done = len(runs_of) * sum(len(options) for options in choices.values()), 0
    rows = [_fixed("first hypothesis", (dev, heldout, test), partial(first, None))]
    sign = 1.0 if dev.need_stats()[1].higher_is_better else -1.0
    for name in methods:
        fitted = []
        begin = time.perf_counter()
        for options in choices[name]:
            runs = []
            for each in runs_of:
                runs.append(_fit(kinds[name], {**(common or {}), **options, **each}, dev, heldout))
                done += 1
                if progress is not None:
                    progress(done, total)
            fitted.append(runs)
        pick = max(range(len(fitted)), key=lambda i: sign * _mean(fitted[i], "heldout"))
        seconds = time.perf_counter() - begin
        rows.append(_row(name, fitted[pick], test, seconds, settings=choices[name][pick]))
    best = max(rows[1:], key=lambda row: sign * (row.heldout or 0.0), default=rows[0]).name
    rows.append(_fixed("oracle", (dev, heldout, test), corpus_oracle))
    return Compared(signature_of(dev), tuple(rows), best, clustered(_groups(test)))


def _fixed(name: str, sets: tuple[NBest, NBest, NBest], choose: Callable[[NBest], Ints]) -> Row:
    dev, heldout, test = (corpus.score(choose(corpus)) for corpus in sets)
    return Row(name, dev, heldout, test, None)


def _fit(kind: type, options: Mapping[str, Any], dev: NBest, heldout: NBest) -> LogLinear:
    trainer = kind()
    for key, value in options.items():
        if hasattr(trainer, key):
            setattr(trainer, key, value)
    return trainer.fit(dev, heldout)


def _mean(runs: Sequence[LogLinear], name: str) -> float:
    return Pooled(tuple(model.scores_[name] for model in runs)).mean


def _groups(test: NBest) -> list[str] | None:
    """The groups of the segments that have hypotheses."""
    return None if test.groups is None else [test.groups[i] for i in np.flatnonzero(test.lengths > 0)]


def _row(name: str, runs: Sequence[LogLinear], test: NBest, seconds: float, settings: Mapping[str, Any]) -> Row:
    stats, metric = test.need_stats()
    filled, groups = test.lengths > 0, _groups(test)
    base, *chosen = (
        by_group(stats[choice[filled]], groups) for choice in (first(None, test), *(m.predict(test) for m in runs))
    )
    found = Pooled.of(metric, chosen)
    return Row(
        name,
        _mean(runs, "dev"),
        _mean(runs, "heldout"),
        found.mean,
        pooled_permutation(metric, [base], chosen, samples=_SAMPLES).p,
        seconds=seconds,
        settings=settings,
        model=runs[0],
        runs=found.scores,
    )
