"""The contract of a trainer, as a check that any trainer class can be put through."""

from __future__ import annotations

import inspect
import tempfile
import warnings
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from nbest.base.errors import CapabilityError, ConvergenceWarning
from nbest.corpus import NBest
from nbest.corpus.metric import Metric
from nbest.decisions.chosen import choice_of
from nbest.features import within_scale
from nbest.model.loglinear import load
from nbest.testing.corpora import in_other_order, snapshot, toy_lists, with_scaled

Make = Callable[..., Any]

_STATUSES = ("converged", "limit", "collapsed", "flat")
_WILD = np.array([1e-6, 1e6, 1.0])


def check_trainer(
    trainer: Make,
    *,
    seed: int = 1,
    metric: Metric | None = None,
    featureless: bool = False,
    **options: Any,
) -> None:
    """Raise an `AssertionError` that says which part of the contract of `nbest.trainers.trainer.Trainer` is broken.

    `trainer` is a class (or a function) that makes a trainer from keywords; it is checked with `options`, on made-up
    lists: what it stores, what it leaves unchanged, that it is deterministic and indifferent to the order of
    hypotheses and to the units of features, what it refuses, and that it learns what a single feature cannot tell.
    `metric` is that of the lists (default WER). `featureless` is for a trainer that makes a feature of its own: lists
    whose features are missing or never differ must then train rather than be refused. Of a trainer that says it is
    `unlabelled` nothing is asked that needs the metric.
    """

    def make(**more: Any) -> Any:
        return trainer(**{**options, **more})

    lists = toy_lists(seed, metric=metric)
    unlabelled = getattr(trainer, "unlabelled", False)
    labelled = () if unlabelled else (_check_refusals, _check_learning)
    for check in (*_CHECKS, *labelled, _check_taken if featureless else _check_refused):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                check(make, lists)
        except AssertionError:
            raise
        except Exception as error:
            raise AssertionError(f"{check.__name__.lstrip('_')}: {error!r}") from error


def _check_settings(make: Make, corpus: NBest) -> None:
    for name in inspect.signature(type(make())).parameters:
        given = object()
        stored = getattr(make(**{name: given}), name, None)
        assert stored is given, f"the keyword {name!r} must be stored as given, and checked only in fit"


def _check_inputs_unchanged(make: Make, corpus: NBest) -> None:
    trainer = make()
    names = inspect.signature(type(trainer)).parameters
    before, settings = snapshot(corpus), deepcopy({name: getattr(trainer, name) for name in names})
    trainer.fit(corpus, heldout=corpus)
    assert snapshot(corpus) == before, "fit modifies the lists"
    for name, value in settings.items():
        assert getattr(trainer, name) == value, f"fit modifies the setting {name!r}"


def _check_fit_twice(make: Make, corpus: NBest) -> None:
    trainer = make()
    first = dict(trainer.fit(corpus).weights)
    assert dict(trainer.fit(corpus).weights) == first, "fit twice differs from fit once"
    assert dict(make().fit(corpus).weights) == first, "two trainers with the same settings differ"


def _check_threads(make: Make, corpus: NBest) -> None:
    if "threads" in inspect.signature(type(make())).parameters:
        found = [dict(make(threads=threads).fit(corpus).weights) for threads in (1, 2, 3)]
        assert all(weights == found[0] for weights in found), "the weights depend on the number of threads"


def _check_random(make: Make, corpus: NBest) -> None:
    trainer = make()
    if "seed" in inspect.signature(type(trainer)).parameters and not getattr(trainer, "random", True):
        found = [dict(make(seed=seed).fit(corpus).weights) for seed in (1, 2)]
        assert found[0] == found[1], "the weights depend on the seed, and the trainer says that it is not random"


def _check_result(make: Make, corpus: NBest) -> None:
    trainer = make()
    assert getattr(trainer, "result_", None) is None, "result_ must be None before fit"
    model = trainer.fit(corpus)
    result = trainer.result_
    assert result is not None, "fit must leave a result_"
    assert result.status in _STATUSES, f"the status of result_ must be one of {_STATUSES}, got {result.status!r}"
    assert isinstance(result.message, str), "the message of result_ must be a str"
    assert result.message, "the message of result_ must not be empty"
    wide = model.prepare(corpus)
    assert set(model.weights) == {*wide.feature_names, *wide.sparse_names}, "every feature must have a weight"
    assert model.trainer.get("name") == type(trainer).__name__, "the model must name its trainer"
    assert model.metric, "the model must name its metric"


def _check_scores(make: Make, corpus: NBest) -> None:
    heldout = toy_lists(99, metric=corpus.metric)
    model = make().fit(corpus, heldout=heldout)
    for name, lists in (("dev", corpus), ("heldout", heldout)):
        score = lists.score(choice_of(model, lists))
        kept = model.scores_.get(name)
        assert kept == score, f"the model must keep its {name} score {score}, got {kept}"
    assert "heldout" not in make().fit(corpus).scores_, "a held-out score without held-out lists"


def _check_order_of_hypotheses(make: Make, corpus: NBest) -> None:
    found = make().fit(in_other_order(corpus)).scores_["dev"]
    _close(found, make().fit(corpus).scores_["dev"], "hypotheses in another order")


def _check_units(make: Make, corpus: NBest) -> None:
    plain = make().fit(corpus)
    factors = np.array([2.0**10, 2.0**-10, 1.0])
    for what, factor in (("powers of two", factors), ("wild units", _WILD)):
        scaled = with_scaled(corpus, factor)
        model = make().fit(scaled)
        _close(model.scores_["dev"], plain.scores_["dev"], f"features in other units ({what})")
        weights = np.array([model.weights[name] for name in corpus.feature_names]) * factor
        expected = np.array([plain.weights[name] for name in corpus.feature_names])
        assert np.allclose(weights, expected, rtol=1e-3, atol=1e-3 * np.abs(expected).max()), (
            f"a feature in other units ({what}) must get its weight in inverse units: {weights}, expected {expected}"
        )
        same = (model.predict(scaled) == plain.predict(corpus)).mean()
        assert same > 0.95, f"features in other units ({what}): only {100 * same:.0f} % of choices are the same"


def _check_saving(make: Make, corpus: NBest) -> None:
    model = make().fit(corpus)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        model.save(path)
        again = load(path)
    assert np.array_equal(again.scores(corpus), model.scores(corpus)), "a saved model scores differently"
    assert np.array_equal(again.predict(corpus), model.predict(corpus)), "a saved model chooses differently"
    assert dict(again.scores_) == dict(model.scores_), "a saved model loses its scores"
    assert again.seed == model.seed, "a saved model loses its seed"


def _check_useless_features(make: Make, corpus: NBest) -> None:
    constant = np.repeat(np.arange(len(corpus)) / 7.0, corpus.lengths)
    more = corpus.with_features(("zero", "constant"), np.stack([np.zeros(corpus.hypotheses), constant], axis=1))
    model = make().fit(more)
    for name in ("zero", "constant"):
        got = model.weights[name]
        assert got == 0, f"a feature that never differs within a list must get weight 0, {name!r} got {got}"
    assert all(np.isfinite(list(model.weights.values()))), f"weights must be finite, got {model.weights}"


def _check_refusals(make: Make, corpus: NBest) -> None:
    place = np.arange(corpus.hypotheses) - np.repeat(corpus.offsets[:-1], corpus.lengths)
    for what, lists, heldout in (
        ("lists without statistics", replace(corpus, stats=None, metric=None), None),
        ("lists of one hypothesis", corpus.keep(place == 0), None),
        ("lists of equal losses", _same(corpus), None),
        ("held-out lists without statistics", corpus, replace(corpus, stats=None, metric=None)),
    ):
        _refused(make, what, lists, heldout)


def _same(corpus: NBest) -> NBest:
    """Lists in which no hypothesis is better than another: all have the text of the first."""
    rows = np.repeat(corpus.offsets[:-1], corpus.lengths)
    texts = None if corpus.texts is None else corpus.texts.take(rows)
    return replace(corpus, texts=texts, stats=corpus.need_stats()[0][rows])


def _refused(make: Make, what: str, lists: NBest, heldout: NBest | None = None) -> None:
    trainer, message = make(), ""
    try:
        trainer.fit(lists, heldout=heldout)
    except CapabilityError as error:
        message = str(error)
    assert message, f"{what} must be refused with a CapabilityError"
    assert len(message) > 20, f"{what}: the CapabilityError does not say what is missing: {message}"
    assert trainer.result_ is None, f"{what} must be refused before the training, not after it"


def _flat(corpus: NBest) -> dict[str, NBest]:
    """Lists whose features tell nothing."""
    return {
        "lists in which no feature differs": replace(corpus, features=np.ones_like(corpus.features)),
        "lists without features": replace(corpus, features=np.zeros((corpus.hypotheses, 0)), feature_names=()),
    }


def _check_refused(make: Make, corpus: NBest) -> None:
    for what, lists in _flat(corpus).items():
        _refused(make, what, lists)


def _check_taken(make: Make, corpus: NBest) -> None:
    for what, lists in _flat(corpus).items():
        model = make().fit(lists)
        own = {name: weight for name, weight in model.weights.items() if name not in lists.feature_names}
        assert any(own.values()), f"{what}: a trainer with a feature of its own must give it a weight"
        rest = [weight for name, weight in model.weights.items() if name in lists.feature_names]
        assert not any(rest), f"{what}: features that never differ must get weight 0, got {rest}"


def _check_learning(make: Make, corpus: NBest) -> None:
    """On separable lists the model is at least as good as the best single feature of either sign."""
    _, metric = corpus.need_stats()
    sign = 1.0 if metric.higher_is_better else -1.0
    for lists in (corpus, with_scaled(corpus, _WILD)):
        model = make().fit(lists)
        found = sign * lists.score(model.predict(lists))
        for name in lists.feature_names:
            for way in (1.0, -1.0):
                single = type(model)({**dict.fromkeys(lists.feature_names, 0.0), name: way})
                alone = sign * lists.score(single.predict(lists))
                assert found >= alone, f"the model scores {sign * found}, the feature {name!r} alone {sign * alone}"
    assert (within_scale(corpus) > 0).all(), "the made-up lists must have features that differ"


def _close(found: float, expected: float, what: str) -> None:
    assert abs(found - expected) <= 1e-6 * max(1.0, abs(expected)), f"{what}: score {found}, expected {expected}"


_CHECKS = (
    _check_settings,
    _check_result,
    _check_inputs_unchanged,
    _check_fit_twice,
    _check_threads,
    _check_random,
    _check_scores,
    _check_order_of_hypotheses,
    _check_units,
    _check_saving,
    _check_useless_features,
)
