"""How much the start matters: the metric reached from the corners of the unit cube."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, ClassVar

import numpy as np

from nbest.base.errors import CapabilityError, ParameterError
from nbest.base.randomness import generator
from nbest.base.types import Floats
from nbest.compute import parallel
from nbest.compute.executors import executor_of
from nbest.corpus import NBest
from nbest.features import corpus_scale, within_scale
from nbest.model.loglinear import LogLinear
from nbest.report.charts import Histogram
from nbest.report.picture import Picture
from nbest.report.svg import COLOURS, PALE
from nbest.studies.base import Progress, Study, about, build, counting_failures
from nbest.studies.keywords import FurtherSettings, Given, Methods, Seed
from nbest.trainers.keeping import as_learnt

ONE_START: dict[str, dict[str, Any]] = {"mert": {"restarts": 0, "hops": 0}}
"""What makes a method climb from the given start alone."""


@dataclass(frozen=True)
class Starts(Study):
    """Rows: start (its number), method ("none" before training), signs (of the corner), metric, status, shares.

    shares are the learned weights times the spread of their features, divided by the sum of their sizes.
    """

    name: ClassVar[str] = "starts"

    def values(self, method: str) -> Floats:
        """[starts] the metric reached by a method; "none" is the metric before training."""
        return np.array([row["metric"] for row in self.chosen(method=method)])

    def picture(self) -> Picture:
        """Histograms before and after training, and of the weight of one feature if asked for."""
        methods = self.settings["methods"]
        before = [("", self.values("none"), PALE)]
        after = [(name, self.values(name), COLOURS[i % len(COLOURS)]) for i, name in enumerate(methods)]
        panels = [
            Histogram(before, "before training", self.unit),
            Histogram(after, "after training", self.unit),
        ]
        feature = self.settings["feature"]
        if feature is not None:
            shares = [
                (name, [row["shares"][feature] for row in self.chosen(method=name)], COLOURS[i % len(COLOURS)])
                for i, name in enumerate(methods)
            ]
            panels.append(Histogram(shares, "one weight after training", f"share of {feature} in all weights"))
        count, corners = self.settings["starts"], self.settings["corners"]
        which = f"all {corners}" if count == corners else f"{count} of {corners}"
        spreads = ", ".join(f"{name} {np.ptp(self.values(name)):.2f}" for name in methods)
        subtitle = f"{which} corners of the unit cube; range of the results: {spreads}"
        return Picture("Metric on dev from different starts", subtitle, panels, columns=3, width=340)


def starts(
    corpus: NBest,
    *,
    methods: Methods = ("softbleu", "mert"),
    count: Annotated[int, Given("Corners to start from, all if there are fewer.", least=1)] = 200,
    feature: Annotated[str | None, Given("Show the weights of this feature too.")] = None,
    settings: Annotated[
        Mapping[str, Mapping[str, Any]] | None, FurtherSettings("methods", "--iterations 50, --variance 0.5")
    ] = None,
    seed: Seed = 1,
    threads: int | None = None,
    progress: Progress = None,
) -> Starts:
    """How much the start matters: the metric on dev before and after training from corners of the unit cube.

        nbest study starts dev.nbest --refs dev.ref --metric bleu --count 100 --feature lm -o starts

    Each method starts from the corners {-1, 1}^D, all of them or a random sample of `count`. Nguyen, Mahajan & He
    (2007), figures 1 and 2. Weights of a corner are in units of features scaled by their spread over the corpus, the
    units of SoftBLEU; features that never differ within a list stay 0. MERT climbs from the one start only, without
    restarts and hops. `feature` adds a histogram of its weight.
    """
    scale = corpus_scale(corpus, within_scale(corpus))
    names = [name for name, size in zip(corpus.feature_names, scale, strict=True) if size > 0]
    _check(methods, count, feature, names)
    scale = scale[scale > 0]
    corners = _corners(len(names), count, seed)
    options = {name: {**ONE_START.get(name, {}), **(settings or {}).get(name, {})} for name in methods}
    executor, tell = executor_of(threads), parallel.counter(progress, len(corners))
    job = partial(_from_corner, corpus, names=names, scale=scale, options=options, seed=seed)
    with counting_failures("runs"):  # starts are independent: each runs in one thread, here or elsewhere
        found = executor.map(job, list(enumerate(corners)), tell)
    kept = {"methods": list(methods), "starts": len(corners), "corners": 2 ** len(names), "feature": feature}
    more = {"settings": dict(settings or {}), "seed": seed}
    return Starts(**about(corpus), settings={**kept, **more}, rows=tuple(row for part in found for row in part))


def _from_corner(
    corpus: NBest,
    numbered: tuple[int, Floats],
    *,
    names: Sequence[str],
    scale: Floats,
    options: Mapping[str, Mapping[str, Any]],
    seed: int,
) -> list[dict[str, Any]]:
    """The rows of one start: before training, then after each method."""
    number, signs = numbered
    start = dict(zip(names, (signs / scale).tolist(), strict=True))
    corner = dict(zip(names, signs.astype(int).tolist(), strict=True))
    begun = corpus.score(LogLinear(start, versions={}).predict(corpus))
    rows: list[dict[str, Any]] = [{"start": number, "method": "none", "signs": corner, "metric": begun}]
    for method, given in options.items():
        trainer = build(method, {**given, "start": start}, seed=seed, threads=1)
        with as_learnt():
            model = trainer.fit(corpus)
        parts = np.array([model.weights[name] for name in names]) * scale
        shares = dict(zip(names, (parts / max(np.abs(parts).sum(), 1e-300)).tolist(), strict=True))
        reached = {"metric": model.scores_["dev"], "status": trainer.result_.status, "shares": shares}
        rows.append({"start": number, "method": method, "signs": corner, **reached})
    return rows


def _check(methods: Sequence[str], count: int, feature: str | None, names: Sequence[str]) -> None:
    if count < 1:
        raise ParameterError(f"'count' of the study starts must be >= 1, got {count}")
    if not names:
        raise CapabilityError("the study starts needs a feature that differs within lists; these lists have none")
    if feature is not None and feature not in names:
        raise ParameterError(f"'feature' of the study starts must be one of {', '.join(names)}, got {feature!r}")
    if not methods:
        raise ParameterError("the study starts needs at least one method, got none")
    for method in methods:
        if not hasattr(build(method), "start"):
            raise CapabilityError(f"the method {method!r} has no start to vary; softbleu, mert and risk have one")


def _corners(width: int, count: int, seed: int) -> Floats:
    """[count, D] different corners of the cube in a fixed order; all of them where there are no more than `count`."""
    rng = generator(seed)
    if width <= 20:
        chosen = np.sort(rng.permutation(2**width)[:count])
        bits = chosen[:, None] >> np.arange(width) & 1
    else:  # too many to list; the same one is hardly ever drawn twice
        bits = np.unique(rng.integers(0, 2, (count, width)), axis=0)
    return 2.0 * bits - 1.0
