"""The methods of Smith & Eisner (2006) as trainers: those of whole loops, and variants that are run on fixed lists."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from typing import Any

from nbest.corpus import NBest
from nbest.corpus.contract import Corpus, need_lists
from nbest.metrics import BLEU, SentenceBLEU
from nbest.model.loglinear import LogLinear
from nbest.trainers import MERT, MaxLikelihood, MinRisk

FEW = 2
"""Steps of L-BFGS at a temperature where few are taken: the first one goes only a little way down the gradient."""
STARTS, STOPS, VARIANCES = (100.0, 200.0, 1000.0), (0.01, 0.001), (0.5, 1.0, 2.0)
"""The paper's settings of annealed risk: first and last temperatures, sigma^2 of the quadratic penalty."""


@dataclass(frozen=True)
class ListMethod:
    """A trainer for segments of so many words on average, and the settings chosen on held-out lists in each round.

    `held` says what held-out data choose: lists within a round, whole sentences between rounds.
    """

    trainer: Callable[[float], Any]
    grid: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    warm: bool = False
    held: str = "round"


def minimum_error(restarts: int, words: float = 1.0) -> MERT:
    """The paper's: coordinate searches from random points, the one that gains most is moved along."""
    return MERT(restarts=restarts, hops=0, ascent="best", axes="features")


@dataclass
class LinearRisk(MinRisk):
    """Minimises the expected sum of the BLEU of sentences, in percent, in place of the BLEU of the corpus."""

    def fit(self, corpus: Corpus, heldout: Corpus | None = None) -> LogLinear:
        """The weights, with the scores of the metric of the lists; `take` is "last": held-out lists choose nothing."""
        found = super().fit(_linear(need_lists(corpus, "linearised BLEU is of lists")))
        return replace(found, scores_={})


def _linear(lists: NBest) -> NBest:
    stats, metric = lists.need_stats()
    assert isinstance(metric, BLEU)
    linear = SentenceBLEU.of(metric)
    return replace(lists, stats=linear.from_bleu(stats), metric=linear)


def annealed(
    t0: float, words: float = 1.0, *, t1: float = STOPS[0], kind: type[MinRisk] = MinRisk, **settings: Any
) -> MinRisk:
    """The paper's: no penalty, and the end of the path is taken, whatever held-out lists say.

    Beside one number for the corpus the temperature is of the mean entropy of segments. The loss of parsing is a sum
    of errors, as entropy is: then T is errors a nat, T / words of the rate a word that is minimised.
    """
    further = {"entropy": "mean", "variance": math.inf, "take": "last", **settings}
    return kind(t0=t0 / words, t1=t1 / words, polish=False, patience=100, **further)


def linear() -> MinRisk:
    """T beside the sum of the BLEU of sentences in units of 1, not of percent."""
    return annealed(200.0, 0.01, kind=LinearRisk)


def _of_corpus(t0: float, **settings: Any) -> Callable[[float], MinRisk]:
    """Annealed risk for a metric of the corpus, for which words do not matter."""
    return lambda words: annealed(t0, **settings)


METHODS = {
    "likelihood": ListMethod(
        lambda words: MaxLikelihood(), {"variance": [0.25, 0.5, 1.0, math.inf]}, held="round, prior in each round"
    ),
    "error1": ListMethod(partial(minimum_error, 1)),
    "error5": ListMethod(partial(minimum_error, 5)),
    "error10": ListMethod(partial(minimum_error, 10)),
    "risk100": ListMethod(_of_corpus(100.0)),
    "risk200": ListMethod(_of_corpus(200.0)),
    "risk1000": ListMethod(_of_corpus(1000.0)),
    "cold100": ListMethod(_of_corpus(100.0, t1=STOPS[1])),
    "cold200": ListMethod(_of_corpus(200.0, t1=STOPS[1])),
    "cold1000": ListMethod(_of_corpus(1000.0, t1=STOPS[1])),
    "few100": ListMethod(_of_corpus(100.0, iterations=FEW)),
    "few1000": ListMethod(_of_corpus(1000.0, iterations=FEW)),
    **{f"both{v:g}": ListMethod(_of_corpus(200.0, schedule="both", variance=v)) for v in VARIANCES},
    **{f"gamma{v:g}": ListMethod(_of_corpus(200.0, schedule="gamma", entropy="sum", variance=v)) for v in VARIANCES},
    "linear200": ListMethod(lambda words: linear()),
    "summed200": ListMethod(_of_corpus(200.0, entropy="sum")),
    "point200": ListMethod(_of_corpus(200.0, take="best"), held="round, point of the path in each round"),
    "error": ListMethod(lambda words: MERT(), warm=True),
    "risk": ListMethod(lambda words: MinRisk(), held="round, point of the path in each round"),
}
"""The paper's methods and settings, other readings of them, then those of `nbest tune` as they are."""
PARSING = {
    **{name: METHODS[name] for name in ("likelihood", "error1", "error5", "error10")},
    **{f"risk{t0:g}": ListMethod(partial(annealed, t0)) for t0 in STARTS},
    **{name: METHODS[name] for name in ("error", "risk")},
}
DRAWN = ("likelihood", "error10", "risk200", "risk1000", "error", "risk")
"""Methods that are tuned on further draws of dev and held-out sentences."""
LARGE = ("likelihood", "error10", "risk200", "error", "risk")
"""Methods that are also tuned on 2,000 dev sentences."""


# variants on fixed lists --------------------------------------------------------------------------------------------


def _variants() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for entropy, t1, iterations, t0 in product(("mean", "sum"), STOPS, (100, FEW), STARTS):
        settings = {"schedule": "temperature", "entropy": entropy, "t0": t0, "t1": t1, "iterations": iterations}
        found[f"{entropy}-{t0:g}-{t1:g}{'-few' if iterations == FEW else ''}"] = settings
    for schedule, entropy, variance in product(("both", "gamma"), ("mean", "sum"), VARIANCES):
        settings = {"schedule": schedule, "entropy": entropy, "t0": 200.0, "t1": STOPS[0], "variance": variance}
        found[f"{entropy}-{schedule}-{variance:g}"] = settings
    return found


VARIANTS = _variants()
"""Annealed risk by name: two readings of the temperature, starts, stops, steps; with a quadratic penalty too ("both"),
or with that alone and gamma in place of the temperature."""


def variant(name: str, take: str) -> MinRisk:
    """The trainer of a variant, which takes this point of the path."""
    settings = dict(VARIANTS[name])
    return annealed(settings.pop("t0"), t1=settings.pop("t1"), take=take, **settings)
