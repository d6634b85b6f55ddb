"""Trainers of lists on forests: the best strings under the weights so far, more of them as the weights change."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import singledispatch, wraps
from typing import Any

import numpy as np

from nbest.base.parameters import check
from nbest.corpus import Forests, NBest, merge
from nbest.corpus.contract import Corpus, no_answer, signature_of
from nbest.decisions.chosen import best_lists, score_of
from nbest.forests.sampling import sample
from nbest.model.loglinear import LogLinear
from nbest.trainers.problem import prepare
from nbest.trainers.sharpness import decision_gamma

_STRINGS = 100  # read from each forest in a round
_ROUNDS = 6

Fit = Callable[..., LogLinear]


def on_lists(fit: Fit) -> Fit:
    """Let the `fit` of a trainer of lists take forests too, and check its parameters."""

    @wraps(fit)
    def either(self: Any, corpus: Corpus, heldout: Corpus | None = None) -> LogLinear:
        check(self)
        return fit_on_lists(corpus, self, fit, heldout)

    return either


@singledispatch
def fit_on_lists(corpus: Corpus, trainer: Any, fit: Fit, heldout: Corpus | None) -> LogLinear:
    """What the `fit` of a trainer of lists learns from any corpus.

    From forests by rounds of: read the best distinct strings under the weights so far, add them to the lists, train.
    Och & Ney (2002), with the forest in place of the decoder. Round 0 reads strings under the trainer's `start`, else
    under the weights of the system that made the forests, else draws them at random. The model of the round that is
    best on the forests themselves (held-out ones, if given) is returned. Ends when a round finds no new string.
    """
    raise no_answer(type(trainer).__name__, corpus)


@fit_on_lists.register(NBest)
def _(corpus: NBest, trainer: Any, fit: Fit, heldout: Corpus | None) -> LogLinear:
    return fit(trainer, corpus, heldout)


@fit_on_lists.register(Forests)
def _(corpus: Forests, trainer: Any, fit: Fit, heldout: Corpus | None) -> LogLinear:
    prepare(corpus, type(trainer).__name__, heldout)  # complain now, and in words of forests
    weights = getattr(trainer, "start", None) or corpus.own_weights or None
    sets = [corpus, *([] if heldout is None else [heldout])]
    pools: list[NBest | None] = [None] * len(sets)
    best: tuple[float, LogLinear] | None = None
    sign = 1.0 if corpus.need_metric().higher_is_better else -1.0
    for _ in range(_ROUNDS):
        known = 0 if pools[0] is None else pools[0].hypotheses
        pools = [_grown(each, pool, weights) for pool, each in zip(pools, sets, strict=True)]
        if pools[0] is None or pools[0].hypotheses == known:
            break
        model = fit(trainer, *pools)
        scores = {name: score_of(each, model) for name, each in zip(("dev", "heldout"), sets, strict=False)}
        model = replace(model, scores_=scores, metric=signature_of(corpus))
        reached = sign * scores["dev" if heldout is None else "heldout"]
        if best is None or reached > best[0]:
            best = (reached, model)
        weights = model.weights
    assert best is not None
    return replace(best[1], gamma=decision_gamma(best[1], sets[-1]))


@singledispatch
def _grown(corpus: Corpus, pool: NBest | None, weights: Any) -> NBest:
    """The pool with the best strings under these weights; with random ones when there are none."""
    raise no_answer("fit", corpus)


@_grown.register(NBest)
def _(corpus: NBest, pool: NBest | None, weights: Any) -> NBest:
    return corpus


@_grown.register(Forests)
def _(corpus: Forests, pool: NBest | None, weights: Any) -> NBest:
    if weights is None:
        new = sample(corpus, np.zeros(corpus.edges), _STRINGS).lists()
    else:
        new, _ = best_lists(corpus, LogLinear(dict(weights)), _STRINGS)
    return new if pool is None else merge(pool, new)
