"""The sharpness for consensus and minimum Bayes risk is chosen on dev and kept in the model."""

from dataclasses import replace

import numpy as np
import pytest

import nbest
from nbest.base.errors import FormatError
from nbest.decisions import consensus, mbr
from nbest.metrics import BLEU, WER, External
from nbest.model.loglinear import LogLinear
from nbest.testing import toy_forests, toy_lists
from nbest.trainers.sharpness import _GAMMAS, _NEAR, decision_gamma


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("metric", [BLEU(tokenize="none"), WER()], ids=lambda m: m.name)
def test_the_smallest_good_one_is_chosen(seed, metric):
    corpus = toy_lists(seed, metric=metric, noise=0.3)
    model = LogLinear({"first": 1.0, "second": 1.0})
    sign, gain = 1.0 if metric.higher_is_better else -1.0, BLEU(tokenize="none")
    scores = np.array([sign * corpus.score(consensus(model, corpus, gain=gain, gamma=g)) for g in _GAMMAS])
    good = scores >= scores.max() - _NEAR * abs(scores.max())
    assert decision_gamma(model, corpus) == _GAMMAS[int(good.argmax())]


def texts(corpus, choice):
    """Equal texts may be in a list twice."""
    return ["" if h < 0 else corpus.texts[h] for h in choice]


def test_decisions_use_it_unless_told_otherwise():
    corpus = toy_lists(1, noise=0.3)
    flat = LogLinear({"first": 1.0, "second": 1.0}, gamma=0.0)
    sharp = replace(flat, gamma=1e6)
    for decide in (consensus, mbr):
        assert np.array_equal(decide(flat, corpus, gamma=2.0), decide(sharp, corpus, gamma=2.0))
        assert texts(corpus, decide(sharp, corpus)) == texts(corpus, sharp.predict(corpus))
        assert np.array_equal(decide(flat, corpus), decide(LogLinear({"third": 9.0}), corpus, gamma=0.0))


def test_a_model_keeps_it(tmp_path):
    model = LogLinear({"first": 1.0}, gamma=4.0)
    model.save(tmp_path / "model.json")
    assert nbest.load(tmp_path / "model.json").gamma == 4.0
    LogLinear({"first": 1.0}).save(tmp_path / "model.json")
    assert nbest.load(tmp_path / "model.json").gamma == 1.0
    for wrong in ("-1", "true", '"2"', "1e999"):
        (tmp_path / "bad.json").write_text(
            f'{{"format": "nbest-model/1", "kind": "loglinear", "weights": {{}}, "gamma": {wrong}}}'
        )
        with pytest.raises(FormatError, match="'gamma'"):
            nbest.load(tmp_path / "bad.json")


def test_trainers_choose_it():
    corpus = toy_lists(2, metric=BLEU(tokenize="none"), noise=0.3)
    model = nbest.MaxLikelihood().fit(corpus)
    assert model.gamma == decision_gamma(model, corpus)
    held = toy_lists(3, metric=BLEU(tokenize="none"), noise=0.3)
    assert nbest.MaxLikelihood().fit(corpus, held).gamma == decision_gamma(model, held)


def test_without_texts_it_is_one():
    model = LogLinear({"first": 1.0})
    corpus = toy_lists(1)
    assert decision_gamma(model, replace(corpus, texts=None)) == 1.0
    assert decision_gamma(model, replace(corpus, stats=None, metric=None)) == 1.0
    scored = replace(corpus, metric=External(), stats=External().stats_of(np.ones(corpus.hypotheses)))
    assert decision_gamma(model, scored) == 1.0


def test_forests_too():
    forests = toy_forests(3, forests=10).with_metric(BLEU(tokenize="none", max_ngram_order=2))
    assert decision_gamma(LogLinear({"f0": 1.0, "f1": -1.0}), forests) in _GAMMAS
