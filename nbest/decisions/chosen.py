"""What a model chooses in any corpus, and the best there is: questions of the corpus contract, the corpus first."""

from __future__ import annotations

from functools import partial, singledispatch

import numpy as np

from nbest.base.types import Floats, Ints
from nbest.compute.executors import current
from nbest.compute.jets import expand
from nbest.corpus import Forests, NBest
from nbest.corpus.contract import Corpus, no_answer
from nbest.corpus.metric import Metric
from nbest.decisions import BY_METRIC, decide, needs_one
from nbest.decisions.choose import STRINGS
from nbest.decisions.mbr import gain_of
from nbest.decisions.onebest import first
from nbest.decisions.oracle import corpus_oracle_score, oracle
from nbest.forests.expectations import expectations
from nbest.forests.kbest import kbest
from nbest.forests.oracle import forest_oracle
from nbest.model.loglinear import LogLinear


@singledispatch
def best_lists(corpus: Corpus, model: LogLinear, k: int) -> tuple[NBest, Forests | None]:
    """Lists to choose from and, where they were read from forests, these.

    Lists are as they are; of forests it is the k best distinct strings under the model.
    """
    raise no_answer("best_lists", corpus)


@best_lists.register(NBest)
def _(corpus: NBest, model: LogLinear, k: int) -> tuple[NBest, None]:
    return corpus, None


@best_lists.register(Forests)
def _(corpus: Forests, model: LogLinear, k: int) -> tuple[NBest, Forests]:
    return kbest(corpus, model.edge_scores(corpus), k, distinct=k > 1).lists(), corpus


def score_of(corpus: Corpus, model: LogLinear) -> float:
    """The metric of what a model chooses: hypotheses of lists, or derivations of forests."""
    return float(corpus.need_metric().score(_all_totals(corpus, model)))


def _all_totals(corpus: Corpus, model: LogLinear) -> Floats:
    return np.sum(current().map(partial(chosen_totals, model=model), corpus.shards()), axis=0)


@singledispatch
def chosen_totals(part: Corpus, model: LogLinear) -> Floats:
    """[M] statistics of what a model chooses in a shard: what `score_of` adds up."""
    raise no_answer("chosen_totals", part)


@chosen_totals.register(NBest)
def _(part: NBest, model: LogLinear) -> Floats:
    return part.totals(choice_of(model, part))


@chosen_totals.register(Forests)
def _(part: Forests, model: LogLinear) -> Floats:
    if model.decision and not needs_one(str(model.decision["kind"])):
        lists, forests = best_lists(part, model, STRINGS)
        return lists.totals(choice_of(model, lists, forests))
    lists, _ = best_lists(part, model, 1)
    return lists.totals(first(None, lists))


def choice_of(model: LogLinear, lists: NBest, forests: Forests | None = None) -> Ints:
    """[N] what a model chooses of lists, read from these forests if there are any, by its own decision, which is 1best
    where it has none."""
    if not model.decision:
        return model.predict(lists)
    options = {name: value for name, value in model.decision.items() if name != "kind"}
    if model.decision["kind"] in BY_METRIC:
        options.setdefault("gain", gain_of(model))
    return decide(str(model.decision["kind"]), model, lists, **options, forests=forests)


@singledispatch
def totals_of(corpus: Corpus, model: LogLinear, stats: Floats) -> Floats:
    """[M] statistics of what a model chooses, where `stats` [rows, M] add up over rows of features."""
    raise no_answer("totals_of", corpus)


@totals_of.register(NBest)
def _(corpus: NBest, model: LogLinear, stats: Floats) -> Floats:
    return _all_totals(corpus, model)


@totals_of.register(Forests)
def _(corpus: Forests, model: LogLinear, stats: Floats) -> Floats:
    return _best_sums(corpus, model.edge_scores(corpus), stats)


@singledispatch
def first_score(corpus: Corpus) -> float | None:
    """The metric of the system's own choices: of first hypotheses, or under its weights; None where nothing tells."""
    raise no_answer("first_score", corpus)


@first_score.register(NBest)
def _score_of_first(corpus: NBest) -> float:
    return corpus.score(first(None, corpus))


@first_score.register(Forests)
def _(corpus: Forests) -> float | None:
    return score_of(corpus, LogLinear(corpus.own_weights)) if corpus.own_weights else None


@singledispatch
def oracle_score(corpus: Corpus) -> float:
    """The metric of the best choices that are found, knowing the references."""
    raise no_answer("oracle_score", corpus)


@oracle_score.register(NBest)
def _(corpus: NBest) -> float:
    return corpus_oracle_score(corpus)


@oracle_score.register(Forests)
def _(corpus: Forests) -> float:
    return _score_of_first(forest_oracle(corpus).lists())


@singledispatch
def oracle_totals(corpus: Corpus, metric: Metric, stats: Floats) -> Floats:
    """[M] statistics of good choices, where `stats` [rows, M] add up over rows of features.

    Of lists those of least loss, of forests those that are best by the slope of the metric at uniform posteriors.
    """
    raise no_answer("oracle_totals", corpus)


@oracle_totals.register(NBest)
def _(corpus: NBest, metric: Metric, stats: Floats) -> Floats:
    return corpus.totals(oracle(corpus))


@oracle_totals.register(Forests)
def _(corpus: Forests, metric: Metric, stats: Floats) -> Floats:
    mean = expectations(corpus, np.zeros(corpus.edges), stats).sum(axis=0)
    slope = expand(metric.smooth, mean).gradient  # type: ignore[attr-defined]
    return _best_sums(corpus, stats @ slope, stats)


def _best_sums(forests: Forests, scores: Floats, stats: Floats) -> Floats:
    """[M] statistics of the best derivations by these edge scores."""
    return kbest(forests, scores, 1).sums(stats).sum(axis=0)
