"""What trained bins say about features: is the effect of a feature on the score a straight line?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from nbest.base.errors import CapabilityError
from nbest.corpus import NBest
from nbest.features import Bins, apply_recipes, seed_weights
from nbest.model.loglinear import LogLinear
from nbest.report.charts import LineChart, Series
from nbest.report.picture import Picture
from nbest.report.svg import COLOURS, PALE
from nbest.studies.base import Progress, Study, about, build, counting_failures
from nbest.studies.keywords import FurtherSettings, Given, Seed, StudyLists
from nbest.trainers.keeping import as_learnt

PRIOR: dict[str, dict[str, Any]] = {"softbleu": {"variance": 1.0}}
"""What keeps the many weights of bins in bounds, for methods whose default is no prior."""


@dataclass(frozen=True)
class BinWeights(Study):
    """Rows: feature, bin, low, high (null: without end), mean, hypotheses, and weights of the bin: linear, trained
    (from there) and from_zero (trained from 0).

    Weights of softbleu are as it left them (the paper's lambda), those of other methods as models have them. A
    constant added to all bins of a feature changes no choice; in rows each feature's weights, weighted by
    its hypotheses, have mean 0.
    """

    name: ClassVar[str] = "bins"

    def picture(self) -> Picture:
        """A panel a feature: the weight of each bin at its mean, beside the line that the linear model draws."""
        panels = []
        for feature in dict.fromkeys(row["feature"] for row in self.rows):
            rows = self.chosen(feature=feature)
            means = [row["mean"] for row in rows]
            line = Series(
                name="linear", x=means, y=[row["linear"] for row in rows], colour=PALE, style="dashed", width=1.6
            )
            own = Series("trained bins", means, [row["trained"] for row in rows], COLOURS[0], dots=True)
            zero = Series("trained from 0", means, [row["from_zero"] for row in rows], COLOURS[1], dots=True)
            panels.append(LineChart([line, own, zero], feature, "value", "score"))
        reached = "; ".join(
            f"{name}: " + ", ".join(f"{key} {value:.2f}" for key, value in scores.items())
            for name, scores in self.settings["scores"].items()
        )
        subtitle = f"{self.metric.split('|')[0]}, {self.settings['method']}. {reached}"
        return Picture("What each feature adds to the score", subtitle, panels, columns=3, width=270, height=190)


def bins(
    corpus: NBest,
    heldout: Annotated[NBest | None, StudyLists(share=0.0)] = None,
    *,
    method: Annotated[str, Given("softbleu or risk.", ("--method", "-M"))] = "softbleu",
    count: Annotated[int, Given("Bins of each feature.", ("--bins",), least=1)] = 20,
    soft: Annotated[bool, Given("Bins that overlap.")] = False,
    features: Annotated[Sequence[str] | None, Given("Features to bin: NAME,NAME (all).")] = None,
    settings: Annotated[Mapping[str, Any] | None, FurtherSettings("method", "--variance 0.5, --iterations 50")] = None,
    seed: Seed = 1,
    threads: int | None = None,
    progress: Progress = None,
) -> BinWeights:
    """What each feature adds to the score when its effect need not be a straight line: weights of trained bins.

        nbest study bins dev.nbest --refs dev.ref --metric bleu --bins 20 --split 0.25 -o bins

    Trains a linear model, replaces its features by bins that score alike, and trains those further; and bins whose
    weights begin at 0. Nguyen, Mahajan & He (2007), section 4.3.2 and figure 3. Held-out lists are scored and choose
    nothing, so that the picture shows what training does to bins. `settings` go to all trainings; the bins have a prior
    (`PRIOR`) where none is given.
    """
    if not hasattr(build(method), "start"):
        raise CapabilityError(f"the method {method!r} cannot start from given weights; use softbleu or risk")
    common = {"seed": seed, "threads": threads}
    with counting_failures("trainings"), as_learnt():
        first = build(method, settings, **common)
        linear = first.fit(corpus)
        if progress is not None:
            progress(1, 3)
        recipe = Bins(count, soft, features).fit(corpus)
        plain = {"dev": corpus} if heldout is None else {"dev": corpus, "heldout": heldout}
        binned = {name: _binned(part, recipe) for name, part in plain.items()}
        seeded = seed_weights(recipe, _left(first, linear))
        start = {name: weight for name, weight in seeded.items() if name not in recipe["names"]}
        own, found = {**PRIOR.get(method, {}), **(settings or {})}, []
        for number, begin in enumerate((start, None)):
            trainer = build(method, {**own, "start": begin}, **common)
            model = trainer.fit(binned["dev"])
            found.append((model, _left(trainer, model)))
            if progress is not None:
                progress(2 + number, 3)
    (trained, weights), (from_zero, other) = found
    scores = {
        "linear": _scores(linear, plain),
        "as bins": _scores(LogLinear(start, versions={}), binned),
        "trained bins": _scores(trained, binned),
        "trained from 0": _scores(from_zero, binned),
    }
    kept = {"method": method, "bins": count, "soft": soft, "settings": dict(settings or {}), "seed": seed}
    rows = _rows(recipe, binned["dev"], {"linear": start, "trained": weights, "from_zero": other})
    return BinWeights(**about(corpus), settings={**kept, "scores": scores}, rows=tuple(rows))


def _left(trainer: Any, model: LogLinear) -> Mapping[str, float]:
    """Weights as training left them, where the trainer says so, else those of the model."""
    left: Mapping[str, float] | None = getattr(trainer, "weights_", None)
    return model.weights if left is None else left


def _scores(model: LogLinear, parts: Mapping[str, NBest]) -> dict[str, float]:
    return {name: part.score(model.predict(part)) for name, part in parts.items()}


def _binned(corpus: NBest, recipe: Mapping[str, Any]) -> NBest:
    """The lists with bins in the place of the features they are made of."""
    return apply_recipes(corpus, [recipe]).without_features(recipe["names"])


def _rows(recipe: Mapping[str, Any], binned: NBest, lines: Mapping[str, Mapping[str, float]]) -> list[dict[str, Any]]:
    assert binned.sparse is not None
    mass = dict(zip(binned.sparse_names, np.asarray(binned.sparse.sum(axis=0)).ravel().tolist(), strict=True))
    rows: list[dict[str, Any]] = []
    at = 0
    for j, (name, size) in enumerate(zip(recipe["names"], recipe["sizes"], strict=True)):
        columns = [f"{name}:bin{b}" for b in range(size)]
        counts = np.array([mass[column] for column in columns])
        centred = {}
        for line, weights in lines.items():
            values = np.array([weights[column] for column in columns])
            centred[line] = (values - values @ counts / counts.sum()).tolist()
        edges = [None, *np.asarray(recipe["edges"])[at + j + 1 : at + j + size].tolist(), None]
        means = np.asarray(recipe["means"])[at : at + size].tolist()
        for b in range(size):
            place = {"feature": name, "bin": b, "low": edges[b], "high": edges[b + 1], "mean": means[b]}
            rows.append({**place, "hypotheses": counts[b], **{line: each[b] for line, each in centred.items()}})
        at += size
    return rows
