"""A training that ends below what there was before it is not taken."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from functools import wraps
from typing import Any

import numpy as np

from nbest.base.errors import KeptWarning
from nbest.corpus.contract import Corpus, are_lists
from nbest.decisions.chosen import first_score, score_of
from nbest.decisions.onebest import first
from nbest.model.loglinear import LogLinear
from nbest.trainers.finishing import finished
from nbest.trainers.lists import Fit

_keeping: ContextVar[bool] = ContextVar("keeping", default=True)


@contextmanager
def as_learnt() -> Iterator[None]:
    """Let trainers inside return what they learnt also where their base model is better, without a word of it.

    For studies and papers that show what a training does, not what is best to be used.
    """
    before = _keeping.set(False)
    try:
        yield
    finally:
        _keeping.reset(before)


def keeping_base(fit: Fit) -> Fit:
    """Let the `fit` of a trainer return the base model where that is better than what was learnt, with a warning.

    The base model are the weights `start`, else none at all, which choose the first hypotheses. Compared on held-out
    lists; without any on those to train on. Where held-out lists make a trainer choose just what the base model does,
    that is said, too. For trainers whose goal is another than the metric, or that see few points; equal scores by other
    choices are no reason. Forests have no first hypotheses: there nothing is compared. Nor is it inside `as_learnt`.
    """

    @wraps(fit)
    def kept(self: Any, corpus: Any, heldout: Any = None) -> LogLinear:
        model = fit(self, corpus, heldout)
        judge = corpus if heldout is None else heldout
        if not (_keeping.get() and corpus.whole and judge.whole and judge.scored):
            return model
        return _better(self, model, corpus, heldout)

    return kept


def _better(trainer: Any, model: LogLinear, corpus: Corpus, heldout: Corpus | None) -> LogLinear:
    """The model, or the base model where it is better."""
    start = getattr(trainer, "start", None)
    base = LogLinear(dict.fromkeys(corpus.feature_names, 0.0) | dict(start or {}), dense=model.dense)
    judge, key, where = (corpus, "dev", "these lists") if heldout is None else (heldout, "heldout", "held-out lists")
    judge, metric = model.complete(judge), corpus.need_metric()
    before = first_score(judge) if start is None else score_of(_used(judge, base), base)
    assert before is not None
    reached = model.scores_[key]
    what = "the first hypotheses" if start is None else "the weights to start from"
    if before == reached and heldout is not None and _alike(judge, model, None if start is None else base):
        _say(trainer, f"on {where} nothing learnt is better than {what} ({metric.name} {before:.2f}), which are kept")
    elif before > reached if metric.higher_is_better else before < reached:
        said = f"on {where} {what} have {metric.name} {before:.2f} and what was learnt {reached:.2f}: {what} are kept"
        _say(trainer, said)
        return finished(trainer, base, corpus, heldout)
    return model


def _alike(corpus: Corpus, model: LogLinear, base: LogLinear | None) -> bool:
    """Whether a model chooses just what the base model, or nothing, does; only lists tell."""
    if not are_lists(corpus):
        return False
    own = first(None, corpus) if base is None else base.predict(corpus)
    return np.array_equal(own, model.predict(corpus))


def _used(corpus: Corpus, model: LogLinear) -> Corpus:
    """Lists without their sparse features, where a model has no weight for any: a matrix may be of millions."""
    if not are_lists(corpus) or set(model.weights) & set(corpus.sparse_names):
        return corpus
    return corpus.without_sparse()


def _say(trainer: Any, what: str) -> None:
    """As a warning, and in the result of the training, whose weights stay those that were found."""
    trainer.result_ = replace(trainer.result_, message=f"{trainer.result_.message}; {what}")
    warnings.warn(f"{type(trainer).__name__}: {what}", KeptWarning, stacklevel=6)
