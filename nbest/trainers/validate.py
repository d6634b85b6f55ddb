"""`nbest.validate`: what a model is worth, told by lists that it was not fitted on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from nbest.base.errors import CapabilityError
from nbest.base.types import Floats
from nbest.compute import segments
from nbest.corpus.contract import Corpus, are_lists, need_corpus, need_lists
from nbest.decisions.choose import Choice, choose
from nbest.decisions.chosen import choice_of, oracle_score
from nbest.decisions.onebest import first
from nbest.metrics.paired import by_group, interval, permutation, resampled
from nbest.model.equal import equal_weights
from nbest.model.evidence import Evidence
from nbest.model.loglinear import LogLinear
from nbest.trainers.crossfit import Crossed, crossed, crossfit

FORESTS = "models are fitted in folds of lists, and these are forests: hold some out (--split 0.25)"
"""Why forests are not validated in folds."""
_TESTED = {"first": "p", "equal": "p_equal"}
_MOST = 5000  # units that are drawn and swapped; of more, neighbours go together


def validate(
    model: LogLinear,
    corpus: Corpus,
    *,
    trainer: Any = None,
    folds: int = 5,
    seed: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> LogLinear:
    """The model with the evidence of what it is worth (`model.validation`): its score with an interval, those of the
    first hypotheses, of equal weights and of the oracle, and p against the first.

        model = nbest.validate(model, heldout)
        model = nbest.validate(model, dev, trainer=nbest.MERT(), folds=5)

    The corpus is measured by a metric, and the model was not fitted on it; with the `trainer` (or `Pipeline`) that
    fitted it, it is that which it was fitted on: models are fitted anew without each of `folds` parts, whole groups
    together, and choose of it.
    """
    need_corpus("validate", "corpus", corpus)
    if trainer is None:
        return replace(model, evidence=held_out(model, corpus).content())
    lists = need_lists(corpus, FORESTS)
    found = crossfit(trainer.fit, lists, folds=folds, seed=seed, progress=progress)
    return replace(model, evidence=left_out(found, lists).content())


def held_out(model: LogLinear, corpus: Corpus) -> Evidence:
    """What lists or forests tell that a model was not fitted on."""
    corpus = model.complete(corpus)
    return _evidence(corpus, _choice(model, corpus), "held-out lists")


def left_out(found: Crossed, corpus: Corpus, decision: Mapping[str, Any] | None = None) -> Evidence:
    """What models tell that were fitted in folds, each on the lists left out; by this decision, if one is said and it
    is not theirs."""
    found, lists = found.of_folds(need_lists(corpus, FORESTS))
    if decision is not None and any(model is not None and model.decision != decision for model in found.models):
        found = crossed(found.models, lists, found.fold, decision or {"kind": "1best"})
    return _evidence(lists, Choice(lists, found.chosen), f"{len(found.models)} folds")


def _evidence(corpus: Corpus, chosen: Choice, how: str) -> Evidence:
    metric = corpus.need_metric()
    filled = chosen.chosen >= 0
    if not filled.any():
        raise CapabilityError("no segment has hypotheses to choose from: nothing tells what the model is worth")
    equal = equal_weights(corpus)
    choices = {"tuned": chosen, "first": _first(corpus), "equal": None if equal is None else _choice(equal, corpus)}
    stats = {name: _stats(each) for name, each in choices.items() if each is not None}
    scores = {name: float(metric.score(each.sum(axis=0))) for name, each in stats.items()}
    groups = None if corpus.groups is None else [corpus.groups[i] for i in np.flatnonzero(filled)]
    drawn = {name: _units(by_group(each, groups)) for name, each in stats.items()}
    low, high = interval(resampled(metric, drawn["tuned"]))
    found = Evidence(
        how=how,
        segments=int(filled.sum()),
        groups=0 if groups is None else len(set(groups)),
        low=low,
        high=high,
        oracle=oracle_score(corpus),
        higher_is_better=metric.higher_is_better,
        **scores,
        **{key: permutation(metric, drawn[name], drawn["tuned"]).p for name, key in _TESTED.items() if name in drawn},
    )
    odd = next((name for name, value in found.content().items() if value in (np.inf, -np.inf) or value != value), None)
    if odd is not None:
        raise CapabilityError(f"{odd!r} by {metric.name} is no finite number on these lists")
    return found


def _first(corpus: Corpus) -> Choice | None:
    """The system's own choices; None where nothing tells them."""
    if are_lists(corpus):
        return Choice(corpus, first(None, corpus))
    return choose(None, corpus, "first") if corpus.own_weights else None


def _choice(model: LogLinear, corpus: Corpus) -> Choice:
    """What a model chooses of lists, which need no texts, or forests."""
    return Choice(corpus, choice_of(model, corpus)) if are_lists(corpus) else choose(model, corpus)


def _stats(found: Choice) -> Floats:
    """[N', M] of what is chosen of the segments that have hypotheses."""
    return found.lists.need_stats()[0][found.chosen[found.chosen >= 0]]


def _units(stats: Floats) -> Floats:
    """What is drawn and swapped as a whole: statistics as they are, or of many the sums of neighbours."""
    if len(stats) <= _MOST:
        return stats
    return segments.sums(stats, np.linspace(0, len(stats), _MOST + 1).astype(np.int64))
