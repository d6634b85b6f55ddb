"""Grid and random search try what they say and keep the best."""

from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from strategies import lists

from nbest.base.errors import CapabilityError, ParameterError
from nbest.features import within_scale
from nbest.model.loglinear import LogLinear
from nbest.testing import toy_lists
from nbest.trainers import GridSearch, RandomSearch
from nbest.trainers.differing import losses_differ


def sign_of(corpus):
    return 1.0 if corpus.metric.higher_is_better else -1.0


def value(corpus, scaled):
    """The metric of weights in scaled units, higher better."""
    plain = [w / s if s > 0 else 0.0 for w, s in zip(scaled, within_scale(corpus), strict=True)]
    model = LogLinear(dict(zip(corpus.feature_names, plain, strict=True)))
    return sign_of(corpus) * corpus.score(model.predict(corpus))


@pytest.mark.filterwarnings("ignore:.*the metric is the same for all weights", "ignore:.*first hypotheses are kept")
@settings(deadline=None, max_examples=40)
@given(lists(features=3), st.sampled_from([None, "f1"]), st.integers(2, 5))
def test_the_full_grid(corpus, base, points):
    assume((within_scale(corpus) > 0).all() and losses_differ(corpus))
    trainer = GridSearch(points=points, low=-2.0, high=1.0, base=base, threads=1)
    model = trainer.fit(corpus)
    place = 1 if base else 0
    best = -np.inf
    for pair in product(np.linspace(-2.0, 1.0, points), repeat=2):
        best = max(best, value(corpus, np.insert(pair, place, 1.0)))
    assert sign_of(corpus) * trainer.result_.value == pytest.approx(best, abs=1e-9)
    assert trainer.result_.evaluations == points**2
    assert trainer.result_.weights[place] == (0.0 if trainer.result_.status == "flat" else 1.0)
    assert sign_of(corpus) * model.scores_["dev"] == pytest.approx(max(best, value(corpus, np.zeros(3))), abs=1e-9)


def test_more_points_than_the_limit_are_scanned_by_feature():
    corpus = toy_lists(noise=0.3)
    trainer = GridSearch(points=7, limit=48)
    trainer.fit(corpus)
    assert "one feature at a time" in trainer.result_.message
    weights = trainer.result_.weights
    assert trainer.result_.value == -value(corpus, weights)
    for d in (1, 2):
        for other in np.linspace(-3, 3, 7):
            moved = weights.copy()
            moved[d] = other
            assert value(corpus, moved) <= value(corpus, weights)
    full = GridSearch(points=7, limit=49)
    full.fit(corpus)
    assert "tried all 49 points" in full.result_.message
    assert full.result_.value <= trainer.result_.value  # an error rate


def test_one_useful_feature():
    corpus = toy_lists().only_features(("first",))
    for trainer in (GridSearch(), GridSearch(limit=1)):
        trainer.fit(corpus)
        assert trainer.result_.value == -value(corpus, [1.0])


@pytest.mark.filterwarnings("ignore:.*the metric is the same for all weights", "ignore:.*first hypotheses are kept")
@settings(deadline=None, max_examples=30)
@given(lists(features=3), st.integers(1, 130), st.integers(0, 99))
def test_random_search(corpus, trials, seed):
    assume((within_scale(corpus) > 0).any() and losses_differ(corpus))
    trainer = RandomSearch(trials=trials, seed=seed, threads=1)
    model = trainer.fit(corpus)
    rng = np.random.default_rng(seed)
    best = max(value(corpus, rng.uniform(-1, 1, 3)) for _ in range(trials))
    assert sign_of(corpus) * trainer.result_.value == pytest.approx(best, abs=1e-9)
    assert sign_of(corpus) * model.scores_["dev"] == pytest.approx(max(best, value(corpus, np.zeros(3))), abs=1e-9)


def test_progress_is_told_to_the_end():
    for trainer, count in ((RandomSearch(trials=100), 100), (GridSearch(points=9), 81)):
        told = []
        trainer.progress = lambda done, total, told=told: told.append((done, total))
        trainer.fit(toy_lists())
        assert told[-1] == (count, count)


@pytest.mark.parametrize(
    ("trainer", "message"),
    [
        (GridSearch(points=1), "'points' of GridSearch must be >= 2, got 1"),
        (GridSearch(low=1.0, high=1.0), "'low' < 'high'"),
        (
            GridSearch(base="frist"),
            "'base' of GridSearch must be a feature that differs; known: .*did you mean 'first'",
        ),
        (RandomSearch(trials=0), "'trials' of RandomSearch must be >= 1, got 0"),
    ],
)
def test_bad_settings(trainer, message):
    with pytest.raises(ParameterError, match=message):
        trainer.fit(toy_lists())


def test_sparse_features_are_refused():
    for trainer in (GridSearch(), RandomSearch()):
        with pytest.raises(CapabilityError, match="tunes dense features"):
            trainer.fit(toy_lists(sparse=True))
