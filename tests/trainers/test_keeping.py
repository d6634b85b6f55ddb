"""Trainers that end below the base model keep it and say so; others are left alone."""

import warnings

import numpy as np
import pytest

from nbest.base.errors import ConvergenceWarning, KeptWarning
from nbest.corpus import NBest
from nbest.decisions.chosen import first_score
from nbest.decisions.onebest import first
from nbest.metrics import External
from nbest.model.loglinear import LogLinear
from nbest.trainers import TRAINERS, RandomSearch
from nbest.trainers.keeping import as_learnt

KEEPING = ("boosting", "grid", "mira", "msr", "msr2", "perceptron", "pro", "random", "softbleu")
START = ("boosting", "mira", "msr2", "perceptron", "pro", "softbleu")
METRIC = External(higher_is_better=True)


def made(seed, sign, *, best_first=False):
    """30 lists of four hypotheses that are worth `sign` times their first feature, roughly."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(30, 4, 2))
    worth = sign * features[:, :, 0] + 0.3 * rng.normal(size=(30, 4))
    order = np.argsort(-worth if best_first else rng.normal(size=worth.shape), axis=1)
    features = np.take_along_axis(features, order[:, :, None], axis=1).reshape(-1, 2)
    worth = np.take_along_axis(worth, order, axis=1).ravel()
    offsets, ids = np.arange(31) * 4, tuple(map(str, range(30)))
    return NBest(offsets, features, ("a", "b"), ids, stats=METRIC.stats_of(worth), metric=METRIC)


@pytest.mark.parametrize("method", KEEPING)
def test_first_hypotheses_are_kept_where_held_out_lists_prefer_them(method):
    dev, heldout = made(1, 1.0), made(2, -1.0, best_first=True)
    trainer = TRAINERS[method]()
    with pytest.warns(ConvergenceWarning, match="on held-out lists .*the first hypotheses.* are kept") as told:
        model = trainer.fit(dev, heldout)
    assert np.array_equal(model.predict(heldout), first(None, heldout))
    assert model.scores_["heldout"] == first_score(heldout)
    assert model.scores_["dev"] == dev.score(model.predict(dev))
    assert f"{first_score(heldout):.2f}" in str(told[-1].message)
    assert "are kept" in trainer.result_.message
    assert model.trainer["name"] == type(trainer).__name__


@pytest.mark.parametrize("method", START)
def test_weights_to_start_from_are_kept_where_held_out_lists_prefer_them(method):
    dev, heldout, start = made(1, 1.0), made(2, -1.0), LogLinear({"a": -1.0, "b": 0.1})
    best = heldout.score(start.predict(heldout))
    with pytest.warns(ConvergenceWarning, match="on held-out lists .*the weights to start from.* are kept"):
        model = TRAINERS[method](start=start.weights).fit(dev, heldout)
    assert model.scores_["heldout"] == best
    assert np.array_equal(model.predict(heldout), start.predict(heldout))


def test_without_held_out_lists_dev_decides():
    dev = made(3, 1.0, best_first=True)
    with pytest.warns(ConvergenceWarning, match="on these lists the first hypotheses"):
        model = RandomSearch(trials=1).fit(dev)
    assert np.array_equal(model.predict(dev), first(None, dev))


@pytest.mark.parametrize("method", KEEPING)
def test_what_is_better_stays(method):
    dev, heldout = made(1, 1.0), made(2, 1.0)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "(?!.*are kept)", ConvergenceWarning)
        model = TRAINERS[method]().fit(dev, heldout)
    assert model.scores_["heldout"] > first_score(heldout)
    assert any(model.weights.values())


def test_what_shows_a_training_gets_what_was_learnt():
    dev = made(3, 1.0, best_first=True)
    with warnings.catch_warnings(), as_learnt():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("error", KeptWarning)
        trainer = RandomSearch(trials=1)
        model = trainer.fit(dev)
    assert model.scores_["dev"] < first_score(dev)
    assert any(model.weights.values())
    assert "kept" not in trainer.result_.message
    with pytest.warns(KeptWarning):
        RandomSearch(trials=1).fit(dev)
