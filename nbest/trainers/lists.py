"""Trainers of lists on forests: the best strings under the weights so far, more of them as the weights change."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any

import numpy as np

from nbest.base.types import Floats
from nbest.corpus import Forests, NBest, merge
from nbest.corpus.contract import signature_of
from nbest.decisions.chosen import score_of
from nbest.forests.kbest import kbest
from nbest.forests.sampling import sample
from nbest.metrics import BLEU
from nbest.model.loglinear import LogLinear
from nbest.trainers.base import prepare_forests
from nbest.trainers.sharpness import decision_gamma

_STRINGS = 100  # read from each forest in a round
_ROUNDS = 6

Fit = Callable[..., LogLinear]


def on_lists(fit: Fit) -> Fit:
    """Let the `fit` of a trainer of lists take forests too."""

    @wraps(fit)
    def either(self: Any, corpus: NBest | Forests, heldout: NBest | Forests | None = None) -> LogLinear:
        return fit_on_lists(self, fit, corpus, heldout) if isinstance(corpus, Forests) else fit(self, corpus, heldout)

    return either


def adds_up(forests: Forests) -> bool:
    """Whether statistics of the metric are known as sums over edges."""
    return forests.stats is not None or isinstance(forests.need_metric(), BLEU)


def fit_on_lists(trainer: Any, fit: Fit, forests: Forests, heldout: NBest | Forests | None) -> LogLinear:
    """Rounds of: read the best distinct strings under the weights so far, add them to the lists, train on the lists.

    Och & Ney (2002), with the forest in place of the decoder. Round 0 reads strings under the trainer's `start`, else
    under the weights of the system that made the forests, else draws them at random. The model of the round that is
    best on the forests themselves (held-out ones, if given) is returned. Ends when a round finds no new string.
    """
    prepare_forests(forests, type(trainer).__name__, heldout)  # complain now, and in words of forests
    weights = getattr(trainer, "start", None) or forests.own_weights or None
    sets = [forests, *([heldout] if isinstance(heldout, Forests) else [])]
    pools: list[NBest | None] = [None] * len(sets)
    best: tuple[float, LogLinear] | None = None
    sign = 1.0 if forests.need_metric().higher_is_better else -1.0
    for _ in range(_ROUNDS):
        known = 0 if pools[0] is None else pools[0].hypotheses
        pools = [_grown(pool, each, weights) for pool, each in zip(pools, sets, strict=True)]
        if pools[0] is None or pools[0].hypotheses == known:
            break
        model = fit(trainer, pools[0], pools[1] if len(pools) > 1 else heldout)
        model = replace(model, scores_=_scores(model, forests, heldout), metric=signature_of(forests))
        reached = sign * model.scores_["dev" if heldout is None else "heldout"]
        if best is None or reached > best[0]:
            best = (reached, model)
        weights = model.weights
    assert best is not None
    return replace(best[1], gamma=decision_gamma(best[1], forests if heldout is None else heldout))


def _scores(model: LogLinear, forests: Forests, heldout: NBest | Forests | None) -> dict[str, float]:
    scores = {"dev": score_of(model, forests)}
    return scores if heldout is None else scores | {"heldout": score_of(model, heldout)}


def _grown(pool: NBest | None, forests: Forests, weights: Any) -> NBest:
    """The pool with the best strings under these weights; with random ones when there are none."""
    if weights is None:
        new = sample(forests, np.zeros(forests.edges), _STRINGS).lists()
    else:
        new = kbest(forests, _edge_scores(forests, weights), _STRINGS, distinct=True).lists()
    return new if pool is None else merge(pool, new)


def _edge_scores(forests: Forests, weights: Any) -> Floats:
    return LogLinear(dict(weights)).edge_scores(forests)
