"""Where no weights are better than others, none are made up: not by exact search, not by trying."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

from nbest.base.errors import CapabilityError, ConvergenceWarning
from nbest.corpus import NBest, Texts
from nbest.forests.derivations import forests_of
from nbest.metrics import BLEU, WER
from nbest.trainers import MERT, TRAINERS, GridSearch, RandomSearch


def lists(texts, metric, references, seed=1):
    rng = np.random.default_rng(seed)
    size = len(texts) // len(references)
    corpus = NBest(
        offsets=np.arange(len(references) + 1) * size,
        features=rng.normal(size=(len(texts), 3)),
        feature_names=("f", "g", "h"),
        ids=tuple(map(str, range(len(references)))),
        texts=Texts.of(texts),
    )
    return corpus.with_metric(metric, references)


def no_bigram():
    """Losses differ by words that are right or wrong; BLEU of any choice is 0 for want of longer n-grams."""
    metric = BLEU(tokenize="none", smooth_method="none")
    return lists(["a b c", "x b c", "x y c", "a y z"] * 6, metric, [("a q r s",)] * 6)


SEARCHES = [MERT(), MERT(ascent="best"), GridSearch(), GridSearch(limit=1, points=3), RandomSearch(trials=50)]


@pytest.mark.parametrize("trainer", SEARCHES, ids=repr)
def test_a_metric_that_never_changes_gives_no_weights(trainer):
    with pytest.warns(ConvergenceWarning, match="the metric is the same for all weights that were tried"):
        model = trainer.fit(no_bigram())
    assert trainer.result_.status == "flat"
    assert set(model.weights.values()) == {0.0}


def test_given_weights_are_kept():
    trainer = MERT(start={"f": 1.0, "g": -2.0})
    with pytest.warns(ConvergenceWarning, match="those to start from are kept"):
        model = trainer.fit(no_bigram())
    assert model.weights["g"] / model.weights["f"] == pytest.approx(-2.0)
    assert model.weights["h"] == 0.0


@pytest.mark.parametrize("name", TRAINERS)
def test_forests_of_equal_losses_are_refused(name):
    corpus = lists(["a b", "c d", "e f"] * 4, WER(), [("x y",)] * 4)
    forests = forests_of(replace(corpus, stats=None, metric=None)).with_metric(WER())
    with pytest.raises(CapabilityError, match=r"the same loss by WER|LowDim|votes are for"):
        TRAINERS[name]().fit(forests)


@pytest.mark.parametrize("trainer", SEARCHES, ids=repr)
def test_one_list_that_differs_is_enough(trainer):
    texts = ["a b", "c d", "e f"] * 3 + ["c d", "e f", "x y"]
    corpus = lists(texts, WER(), [("x y",)] * 4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = trainer.fit(corpus)
    assert trainer.result_.status == "converged"
    assert any(model.weights.values())
    assert model.scores_["dev"] == 75.0
