"""How sharp the posterior should be for decisions that look at all of it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from nbest.corpus import Forests, NBest, prune
from nbest.decisions import consensus, mbr
from nbest.forests.kbest import kbest
from nbest.metrics import BLEU, External
from nbest.model import LogLinear
from nbest.types import Ints

_GAMMAS = tuple(2.0**k for k in range(-2, 7))
_SEGMENTS, _FORESTS = 100, 30  # looked at, spread over the corpus
_LONGEST = {True: 100, False: 30}  # hypotheses of a list, the best ones: for consensus, for mbr
_NEAR = 0.01  # relative to the best score


def decision_gamma(model: LogLinear, corpus: NBest | Forests) -> float:
    """The smallest gamma whose decisions are within 1 % of the best ones on the corpus, by its metric.

    Decisions by consensus for BLEU, by minimum Bayes risk under the metric otherwise, on at most 100 lists or 30
    forests. A posterior that is fair to the best hypotheses is too flat for these decisions, and large gamma gives the
    1-best, which is what was trained on: hence the smallest that is good. 1 where there are no texts to compare.
    """
    metric = corpus.metric
    if metric is None or isinstance(metric, External) or corpus.references is None:
        return 1.0
    by_consensus = isinstance(metric, BLEU)
    lists, forests = _few(model, corpus, _LONGEST[by_consensus])
    if lists.texts is None or lists.lengths.max(initial=0) < 2:
        return 1.0
    decide: Callable[..., Ints] = consensus if by_consensus else mbr
    values = [lists.score(decide(model, lists, forests=forests, gain=metric, gamma=g)) for g in _GAMMAS]
    signed = np.array(values) if metric.higher_is_better else -np.array(values)
    good = signed >= signed.max() - _NEAR * abs(signed.max())
    return float(_GAMMAS[int(good.argmax())])


def _few(model: LogLinear, corpus: NBest | Forests, longest: int) -> tuple[NBest, Forests | None]:
    """Some of the segments, with their best hypotheses."""
    most = _SEGMENTS if isinstance(corpus, NBest) else _FORESTS
    chosen = np.unique(np.linspace(0, max(len(corpus) - 1, 0), min(most, len(corpus))).astype(np.int64))
    if isinstance(corpus, NBest):
        lists = corpus.select(chosen)
        return prune(lists, longest, model.scores(lists)), None
    forests = corpus.select(chosen)
    return kbest(forests, model.edge_scores(forests), longest, distinct=True).lists(), forests
