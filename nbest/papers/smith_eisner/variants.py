"""Variants of annealed risk on the fixed lists of one loop: many settings in the time of one round of decoding."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from nbest.base.files import replacing
from nbest.corpus import NBest, add_references
from nbest.corpus.metric import Metric
from nbest.decisions.chosen import score_of
from nbest.papers.data import arrays_of
from nbest.papers.run import Run
from nbest.papers.smith_eisner.methods import FEW, METHODS, VARIANTS, linear, minimum_error, variant
from nbest.trainers import MaxLikelihood

LISTS = "error10"
"""The loop whose lists are taken: nothing annealed made them, so they favour no variant."""
POINTS = ("last", "best")
"""Points of a path: its end, as in the paper, or the best by held-out lists."""


def _named(name: str) -> str:
    """A variant in words."""
    settings = VARIANTS[name]
    reading = {"mean": "averaged", "sum": "summed"}[settings["entropy"]]
    if settings["schedule"] == "gamma":
        return (
            f"gamma alone, sigma^2 = {settings['variance']:g} ({'over N' if reading == 'averaged' else 'as printed'})"
        )
    cooled = f"T = {settings['t0']:g} to {settings['t1']:g}, entropy {reading}"
    if settings["schedule"] == "both":
        return f"{cooled}, sigma^2 = {settings['variance']:g}"
    return f"{cooled}, {FEW} steps each" if settings["iterations"] == FEW else cooled


VARIANT_NAMES = {
    "likelihood": "maximum likelihood, prior by held-out lists",
    "likelihood-y*": "maximum likelihood, references added to lists",
    "error10": "minimum error, 10 starts",
    "linear": "T = 200 to 0.01, linearised BLEU",
    **{name: _named(name) for name in VARIANTS},
}
"""Rows of the table, in words."""


@dataclass(frozen=True)
class FixedLists:
    """Lists to tune on, lists that choose, lists to test on; all with statistics of one metric."""

    dev: NBest
    heldout: NBest
    test: NBest

    def scores(self, model: Any) -> dict[str, float]:
        """The metric of the 1-best of each."""
        return {name: score_of(getattr(self, name), model) for name in ("dev", "heldout", "test")}

    def tried(self, name: str, *, threads: int | None = None) -> dict[str, Any]:
        """A variant: scores at both points of its path, and what the cooling left of the entropy."""
        found: dict[str, Any] = {"variant": name}
        for take in POINTS:
            trainer = variant(name, take)
            trainer.threads = threads
            found[take] = self.scores(trainer.fit(self.dev, self.heldout))
            assert trainer.result_ is not None
            if take == "last":
                history = trainer.result_.history
                hot = [step["entropy"] for step in history if step["temperature"] > 0]
                found["entropy"] = hot[-1] / hot[0] if hot and hot[0] > 0 else None
                found |= {"steps": len(history), "evaluations": trainer.result_.evaluations}
        return found

    def compared(self, *, seed: int = 1, threads: int | None = None) -> Iterator[dict[str, Any]]:
        """What other methods of the paper reach on the same lists; held-out ones choose the prior of likelihood."""
        error = minimum_error(10)
        error.seed, error.threads = seed, threads
        yield {"variant": "error10", "last": self.scores(error.fit(self.dev))}
        yield {"variant": "likelihood", **self._likelihood(self.dev, threads)}
        if self.dev.references is not None:
            yield {"variant": "likelihood-y*", **self._likelihood(add_references(self.dev), threads)}
        trainer = linear()
        trainer.threads = threads
        yield {"variant": "linear", "last": self.scores(trainer.fit(self.dev))}

    def _likelihood(self, dev: NBest, threads: int | None) -> dict[str, Any]:
        priors = METHODS["likelihood"].grid["variance"]
        found = [self.scores(MaxLikelihood(variance=each, threads=threads).fit(dev)) for each in priors]
        best = max(range(len(found)), key=lambda at: found[at]["heldout"])
        return {"last": found[best], "prior": "none" if math.isinf(priors[best]) else f"{priors[best]:g}"}


def all_variants(lists: FixedLists, run: Run) -> dict[str, Any]:
    """Every variant, and what it is compared with."""
    rows = list(lists.compared(seed=run.seed, threads=run.threads))
    for number, name in enumerate(VARIANTS, 1):
        rows.append(lists.tried(name, threads=run.threads))
        run.progress(number, len(VARIANTS))
    sizes = {part: getattr(lists, part).sizes for part in ("dev", "heldout", "test")}
    return {"rows": rows, "sizes": sizes}


def keep_lists(path: Path, lists: NBest) -> None:
    """Leave lists without texts for a later step."""
    stats, _ = lists.need_stats()
    with replacing(path) as file:
        np.savez(file, offsets=lists.offsets, features=lists.features, stats=stats, names=lists.feature_names)


def kept_lists(path: Path, step: str, metric: Metric) -> NBest:
    """Lists that a step left."""
    arrays = arrays_of(path, ("offsets", "features", "stats", "names"), step)
    return NBest(
        offsets=arrays["offsets"],
        features=arrays["features"],
        feature_names=tuple(arrays["names"].tolist()),
        stats=arrays["stats"],
        metric=metric,
        ids=tuple(str(number) for number in range(len(arrays["offsets"]) - 1)),
    )
