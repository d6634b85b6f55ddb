"""The contract of a corpus, as a check that any container can be put through."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from nbest.base.errors import CapabilityError, ParameterError
from nbest.corpus.contract import Corpus, signature_of
from nbest.decisions.chosen import (
    best_lists,
    chosen_totals,
    first_score,
    oracle_score,
    oracle_totals,
    score_of,
    totals_of,
)
from nbest.evaluation.forest_inspection import inspect_corpus
from nbest.features.decorrelate import within_covariance
from nbest.features.standardise import corpus_scale, within_scale
from nbest.forests.derivations import as_forests
from nbest.forests.edge_stats import additive, adds_up
from nbest.forests.posteriors import filled
from nbest.lines.forests import lines_of
from nbest.model.loglinear import LogLinear
from nbest.objectives.forest_shard import shards_of
from nbest.trainers.differing import losses_differ
from nbest.trainers.lists import fit_on_lists

QUESTIONS: tuple[Any, ...] = (
    as_forests, filled, adds_up, additive, lines_of, shards_of, within_scale, corpus_scale,
    within_covariance, best_lists, chosen_totals,
    totals_of, first_score, oracle_score, oracle_totals, inspect_corpus, losses_differ, fit_on_lists,
)  # fmt: skip
"""What a container has to have a registered answer to (`nbest.corpus.contract` says what each one is)."""

_ALL = 10_000  # strings: all of a small forest


def check_corpus(corpus: Any) -> None:
    """Raise an `AssertionError` that says which part of `nbest.corpus.contract` the container of a corpus breaks.

    The corpus should be small and needs a metric with references, two segments or more and a dense feature. Answers are
    compared with those that the same corpus has as forests.
    """
    owner = type(corpus).__name__
    missing = [name for name in _members() if not hasattr(corpus, name)]
    assert not missing, f"{owner} has no {missing[0]}"
    for question in QUESTIONS:
        known = question.dispatch(type(corpus)) is not question.dispatch(object)
        assert known, f"nothing is registered for {owner} that answers {question.__name__}"
    for check in _CHECKS:
        try:
            check(corpus)
        except AssertionError as error:
            raise AssertionError(f"{owner}: {error or check.__name__.lstrip('_')}") from error
        except Exception as error:
            raise AssertionError(f"{owner}: {check.__name__.lstrip('_')}: {error!r}") from error


def _members() -> list[str]:
    return [name for name in vars(Corpus) if not name.startswith("_")]


def _equal(first: Any, second: Any, what: str) -> None:
    assert np.allclose(first, second, rtol=1e-6, atol=1e-9), f"{what} differ: {first} and {second}"


def _models(corpus: Corpus) -> list[LogLinear]:
    rng = np.random.default_rng(1)
    drawn = rng.normal(size=(3, len(corpus.feature_names)))
    return [LogLinear(dict(zip(corpus.feature_names, row.tolist(), strict=True))) for row in drawn]


# what it says of itself -----------------------------------------------------------------------------------------


def _sizes(corpus: Corpus) -> None:
    rows, count = len(corpus.features), len(corpus)
    assert corpus.sizes["segments"] == count == len(corpus.ids), "len, ids and sizes['segments'] differ"
    assert corpus.size == f"{rows} {list(corpus.sizes)[-1]}", "size must be the number of rows and what they are"
    offsets = np.asarray(corpus.row_offsets)
    assert offsets.shape == (count + 1,), "row_offsets must be [N+1]"
    assert (offsets[0], offsets[-1]) == (0, rows), "row_offsets must cover all rows"
    assert (np.diff(offsets) >= 0).all(), "row_offsets must not fall"
    assert corpus.features.shape[1] == len(corpus.feature_names), "a dense feature needs a name"
    assert corpus.names == (*corpus.feature_names, *corpus.sparse_names), "names are dense ones, then sparse ones"
    assert (corpus.sparse is None) == (not corpus.sparse_names), "sparse features and their names go together"
    text = repr(corpus)
    said = [str(value) for value in (*corpus.sizes.values(), len(corpus.feature_names), corpus.need_metric().name)]
    assert "\n" not in text, "repr is one line"
    assert all(each in text for each in said), "repr must have sizes, features and metric"


def _arrays(corpus: Corpus) -> None:
    for name, array in _own_arrays(corpus).items():
        assert not array.flags.writeable, f"{name} may be written to"


def _own_arrays(corpus: Corpus) -> dict[str, Any]:
    kept = vars(corpus) if hasattr(corpus, "__dict__") else {"features": corpus.features}
    return {name: value for name, value in kept.items() if isinstance(value, np.ndarray)}


def _copies(corpus: Corpus) -> None:
    for question in (lambda: score_of(corpus, _models(corpus)[0]), lambda: filled(corpus)):
        question()  # what is derived may be kept, but not in a copy
    for how, other in (
        ("pickled", pickle.loads(pickle.dumps(corpus))),
        ("deep-copied", copy.deepcopy(corpus)),
        ("copied", copy.copy(corpus)),
    ):
        assert other == corpus, f"not equal when {how}"
        _arrays(other)
        if is_dataclass(other):
            kept = set(vars(other)) - {field.name for field in fields(other)}
            assert not kept, f"{sorted(kept)} is carried when {how}"
    deep = _own_arrays(copy.deepcopy(corpus))
    shared = [name for name, array in _own_arrays(corpus).items() if np.shares_memory(array, deep[name])]
    assert not shared, f"{shared} is shared with a deep copy"


# parts ----------------------------------------------------------------------------------------------------------


def _parts(corpus: Corpus) -> None:
    order = np.arange(len(corpus))[::-1]
    turned = corpus.select(order)
    assert turned.ids == corpus.ids[::-1], "select must keep the order that is asked for"
    assert turned.select(order) == corpus, "select twice in reverse order must give the corpus"
    rows = np.concatenate([np.arange(*corpus.row_offsets[i : i + 2]) for i in order])
    assert np.array_equal(turned.features, corpus.features[rows]), "select must take the rows of its segments"
    assert len(corpus.select([])) == 0, "select of nothing"
    parts = corpus.shards(2)
    assert [len(part) for part in parts[:-1]] == [2] * (len(parts) - 1), "shards are blocks of segments"
    assert tuple(name for part in parts for name in part.ids) == corpus.ids, "shards must cover all segments in order"
    for low, part in zip(range(0, len(corpus), 2), parts, strict=True):
        assert part == corpus.select(np.arange(low, low + len(part))), "a shard is a selection of its segments"


def _columns(corpus: Corpus) -> None:
    name = corpus.feature_names[0]
    column = corpus.column(name)
    assert np.array_equal(column, corpus.features[:, 0]), "column must be the one of its name"
    more = corpus.with_features(["check_corpus"], 2.0 * column[:, None])
    assert more.feature_names == (*corpus.feature_names, "check_corpus"), "with_features adds names at the end"
    assert more.without_features(["check_corpus"]) == corpus, "without_features must undo with_features"
    only = more.only_features(["check_corpus", name])
    assert only.feature_names == ("check_corpus", name), "only_features must keep the order that is asked for"
    assert np.array_equal(only.features[:, 1], column), "only_features must take the columns of its names"
    _raises(ParameterError, lambda: corpus.column("no such feature"), "column of an unknown name")


def _measured(corpus: Corpus) -> None:
    metric, references = corpus.need_metric(), corpus.references
    assert corpus.scored, "a corpus with a metric is scored"
    assert references is not None, "check_corpus needs references"
    bare = corpus.with_references(references)
    assert not bare.scored, "with_references must drop what was measured by others"
    _raises(CapabilityError, bare.need_metric, "need_metric without a metric")
    again = bare.with_metric(metric)
    assert again.scored, "a corpus with a metric is scored"
    assert signature_of(again) == signature_of(corpus), "with_metric must give the metric"
    model = _models(corpus)[0]
    _equal(score_of(again, model), score_of(corpus, model), "score after the same metric is given again")


def _raises(kind: type[Exception], call: Callable[[], object], what: str) -> None:
    try:
        call()
    except kind:
        return
    raise AssertionError(f"{what} must raise {kind.__name__}")


# questions ------------------------------------------------------------------------------------------------------


def _choices(corpus: Corpus) -> None:
    sign = 1.0 if corpus.need_metric().higher_is_better else -1.0
    for model in _models(corpus):
        lists, _ = best_lists(corpus, model, _ALL)
        assert lists.ids == corpus.ids, "best_lists must have the segments of the corpus"
        assert filled(corpus) == int((lists.lengths > 0).sum()), "filled must count segments with something to choose"
        score = score_of(corpus, model)
        _equal(score, lists.score(model.predict(lists)), "score_of and the best of all strings")
        assert sign * oracle_score(corpus) >= sign * score - 1e-9, "oracle_score must not be worse than a model's"
    own = first_score(corpus)
    assert own is None or sign * oracle_score(corpus) >= sign * own - 1e-9, "oracle_score must not be worse than first"


def _totals(corpus: Corpus) -> None:
    if not adds_up(corpus):
        return
    metric, half = corpus.need_metric(), np.arange(len(corpus)) < len(corpus) // 2
    parts = [corpus.select(np.flatnonzero(each)) for each in (half, ~half)]
    model = _models(corpus)[0]
    found = []
    for each in (corpus, *parts):
        same, stats = additive(each)
        assert stats.shape == (len(same.features), len(metric.stat_names)), "additive statistics must be [rows, M]"
        found.append(totals_of(same, model, stats))
        assert oracle_totals(same, metric, stats).shape == found[-1].shape, "oracle_totals must be [M]"
        shards = shards_of(same, np.ones(len(same.names)), stats, metric)
        assert len(shards) == len(same.shards()), "shards_of must have the shards of the corpus"
    _equal(found[1] + found[2], found[0], "totals of two halves must add up to those of the whole")


def _scales(corpus: Corpus) -> None:
    within = within_scale(corpus)
    assert within.shape == (len(corpus.feature_names),), "within_scale must be [D]"
    assert (within >= 0).all(), "within_scale must not be negative"
    twice = corpus.with_features(["check_corpus"], 2.0 * corpus.column(corpus.feature_names[0])[:, None])
    _equal(within_scale(twice), [*within, 2.0 * within[0]], "within_scale of a column times 2")
    overall = corpus_scale(corpus, within)
    assert (overall >= within * (1 - 1e-9)).all(), "corpus_scale must not be below within_scale"


def _lines(corpus: Corpus) -> None:
    model = _models(corpus)[0]
    lines = lines_of(corpus, np.asarray(corpus.features, np.float64))
    weights = np.array([model.weights[name] for name in corpus.feature_names])
    here = lines.search(lines.scores(weights), np.zeros(len(weights)))
    _equal(lines.sign * here.value, score_of(corpus, model), "the value of a line that leads nowhere and score_of")
    along = lines.search(lines.scores(weights), np.eye(len(weights))[0])
    assert along.value >= here.value - 1e-9, "the best place of a line must not be worse than where it begins"


def _as_forests(corpus: Corpus) -> None:
    """Two roads: the same corpus as forests gives the same answers."""
    forests = as_forests(corpus)
    assert (forests.ids, forests.references) == (corpus.ids, corpus.references), "as_forests must keep the segments"
    assert filled(forests) == filled(corpus), "filled, as forests"
    assert losses_differ(forests) == losses_differ(corpus), "losses_differ, as forests"
    for model in _models(corpus):
        _equal(score_of(forests, model), score_of(corpus, model), "score_of, as forests")
        ours, theirs = (best_lists(each, model, 1)[0] for each in (corpus, forests))
        assert _best_texts(ours, model) == _best_texts(theirs, model), "best_lists, as forests"
    if len(set(np.diff(corpus.row_offsets))) == 1:  # forests weigh segments alike, lists hypotheses
        _equal(within_scale(forests), within_scale(corpus), "within_scale, as forests")


def _best_texts(lists: Any, model: LogLinear) -> list[str] | None:
    texts = lists.texts
    return None if texts is None else ["" if h < 0 else " ".join(texts[h].split()) for h in model.predict(lists)]


_CHECKS = (
    _sizes, _arrays, _parts, _copies, _columns, _measured, _choices, _totals, _scales, _lines, _as_forests,
)  # fmt: skip
