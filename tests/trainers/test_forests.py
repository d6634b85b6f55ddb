"""Trainers on forests: against the full enumeration as lists, and what they refuse."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

import nbest
from nbest.base.errors import CapabilityError, ConvergenceWarning, ParameterError
from nbest.corpus import Forests
from nbest.decisions.chosen import score_of
from nbest.forests.derivations import forests_of
from nbest.forests.kbest import kbest
from nbest.forests.scale import forest_scale
from nbest.metrics import BLEU, WER
from nbest.papers.pauls.paper import example_lists
from nbest.testing import toy_forests, toy_lists
from nbest.trainers import TRAINERS
from tests.cli.conftest import sausages

BIGRAMS = BLEU(tokenize="none", max_ngram_order=2)


def fitted(trainer, *corpora):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return trainer.fit(*corpora)


OF_STRINGS = {"lowdim", "vote", "weak"}
"""Trainers whose model has a feature of whole outputs, which the edges of a forest do not have."""


@pytest.mark.parametrize("name", sorted(OF_STRINGS))
def test_features_of_whole_outputs_are_refused(name):
    with pytest.raises(CapabilityError, match="read lists out of the forests first"):
        TRAINERS[name]().fit(sausages(1).with_metric(WER()))


@pytest.mark.parametrize("name", sorted(set(TRAINERS) - {"cobleu"} - OF_STRINGS))
def test_every_trainer_learns_from_lattices(name):
    dev, test = (sausages(seed).with_metric(WER()) for seed in (1, 2))
    options = {"restarts": 3, "hops": 1} if name == "mert" else {}
    model = fitted(TRAINERS[name](**options), dev, test)
    own = score_of(test, nbest.LogLinear({"am": 1.0}))
    assert model.scores_["heldout"] == score_of(test, model) < own - 5
    assert model.scores_["dev"] == score_of(dev, model)
    assert model.metric.startswith("WER|")
    again = fitted(TRAINERS[name](**options), dev, test)
    assert dict(again.weights) == dict(model.weights)


@pytest.mark.parametrize("name", ["risk", "cobleu", "mert"])
def test_lists_as_forests_give_what_lists_give(name):
    corpus = toy_lists(3, metric=BIGRAMS, noise=0.2, longest=6)
    lengths = corpus.lengths == corpus.lengths.max()
    corpus = corpus.select(np.flatnonzero(lengths))  # so that lists and forests have the same scale
    options = {"mert": {"restarts": 3}, "risk": {"polish": False}, "cobleu": {}}[name]
    model = fitted(TRAINERS[name](**options), corpus)
    other = fitted(TRAINERS[name](**options), forests_of(corpus))
    assert other.scores_["dev"] == pytest.approx(model.scores_["dev"])
    # up to a factor: a list that holds a text twice is calibrated on both, a forest on distinct strings
    ours, theirs = (np.array([m.weights[name] for name in corpus.feature_names]) for m in (other, model))
    np.testing.assert_allclose(ours / np.linalg.norm(ours), theirs / np.linalg.norm(theirs), atol=1e-4)


def test_risk_takes_statistics_of_edges():
    """Words right and wrong add up over the edges of these lattices, so no list is read out of them."""
    forests = sausages(3)
    offsets, symbols = forests.need_words("the test")
    owners = np.repeat(np.arange(len(forests)), np.diff(forests.forest_edges))
    stats = np.zeros((forests.edges, 2))
    for e in range(forests.edges):
        if offsets[e + 1] - offsets[e] == 2:
            truth = forests.references[owners[e]][0].split()
            said = forests.vocabulary[symbols[offsets[e + 1] - 1]]
            stats[e] = float(truth[forests.heads[e] - 1] != said), 1.0
    exact = forests.with_stats(WER(), stats)
    model = fitted(nbest.MinRisk(), exact)
    assert model.scores_["dev"] == score_of(forests.with_metric(WER()), model)
    assert model.scores_["dev"] < score_of(forests.with_metric(WER()), nbest.LogLinear({"am": 1.0})) - 5


@pytest.mark.parametrize("schedule", ["none", "temperature", "gamma"])
@pytest.mark.parametrize("optimiser", ["lbfgs", "adaptive"])
def test_cobleu_raises_cobleu(schedule, optimiser):
    forests = sausages(1).with_metric(BIGRAMS)
    trainer = nbest.MaxCoBLEU(schedule=schedule, optimiser=optimiser, variance=float("inf"))
    model = fitted(trainer, forests)
    history = trainer.result_.history
    assert len(history) == {"none": 1, "temperature": 7, "gamma": 7}[schedule]
    assert history[-1]["temperature"] == 0.0
    assert history[-1]["gamma"] == 1.0
    assert model.scores_["dev"] > score_of(forests, nbest.LogLinear({"am": 1.0})) + 10
    path = history[-1]["path"]
    assert min(path) <= path[0]


@pytest.mark.parametrize("optimiser", ["lbfgs", "adaptive"])
def test_cobp_finds_the_translation_that_is_never_the_one_best(optimiser):
    """Figures 1 and 2 of Pauls et al. (2009), both weights being free: CoBP makes H2 likely."""
    lists = example_lists()
    values = {}
    for name, start in (("from 1", {"TM": 1.0, "LM": 1.0}), ("from 0", None)):
        trainer = nbest.MaxCoBLEU(objective="cobp", optimiser=optimiser, start=start, variance=float("inf"))
        model = fitted(trainer, lists)
        values[name] = trainer.result_.history[-1]["cobleu"]
        assert model.posterior(lists).argmax() == 1  # weights below 0 make H2 the best, which no LM weight alone does
    assert min(values.values()) > 85  # from 52
    whole = nbest.MaxCoBLEU(variance=float("inf"))
    fitted(whole, lists)
    assert whole.result_.history[-1]["cobleu"] != values["from 0"]


def test_cobleu_starts_where_it_is_told():
    forests = sausages(1).with_metric(BIGRAMS)
    begun = nbest.MaxCoBLEU(start={"am": 1.0, "lm": 1.0}, iterations=1)
    assert fitted(begun, forests).weights["am"] == pytest.approx(1.0, abs=0.5)
    assert fitted(nbest.MaxCoBLEU(start="mert"), forests).scores_["dev"] > 50
    with pytest.raises(ParameterError, match="'start' of MaxCoBLEU"):
        nbest.MaxCoBLEU(start="merd").fit(forests)


def test_held_out_forests_choose_the_step():
    dev, held = (sausages(seed).with_metric(BIGRAMS) for seed in (1, 2))
    trainer = nbest.MaxCoBLEU(schedule="temperature")
    model = fitted(trainer, dev, held)
    assert model.scores_["heldout"] == max(step["heldout"] for step in trainer.result_.history)


REFUSED = {
    "metric": (sausages(1), CapabilityError, "no metric yet"),
    "words": (
        replace(sausages(1), symbols=None, symbol_offsets=None).with_stats(WER(), np.zeros((sausages(1).edges, 2))),
        CapabilityError,
        "words of the edges",
    ),
    "features": (sausages(1).with_metric(WER()).only_features([]), CapabilityError, "needs features"),
}


@pytest.mark.parametrize("what", REFUSED)
@pytest.mark.parametrize("name", ["mert", "risk"])
def test_what_cannot_be_trained_on_is_refused(name, what):
    forests, error, message = REFUSED[what]
    with pytest.raises(error, match=message):
        TRAINERS[name]().fit(forests)


def test_cobleu_wants_bleu():
    with pytest.raises(CapabilityError, match="BLEU only"):
        nbest.MaxCoBLEU().fit(sausages(1).with_metric(WER()))


@pytest.mark.parametrize("steps", [10, 100, 1000])
def test_a_sum_that_never_differs_has_no_scale(steps):
    """Chains of three parallel edges: one feature is 1 on each step, so the same in all derivations."""
    count = 1 + 3 * steps
    forests = Forests(
        node_offsets=np.array([0, steps + 1]),
        edge_offsets=np.concatenate([[0], 1 + 3 * np.arange(steps + 1)]),
        tail_offsets=np.concatenate([[0], np.arange(count)]),
        tails=np.repeat(np.arange(steps), 3),
        features=np.stack([np.full(count, 0.7), np.random.default_rng(steps).normal(size=count)], axis=1),
        feature_names=("covered", "other"),
        ids=("0",),
    )
    scale = forest_scale(forests)
    assert scale[0] == 0.0
    assert scale[1] > 1.0


@pytest.mark.parametrize("seed", range(5))
def test_scale_is_the_spread_over_derivations(seed):
    forests = toy_forests(seed, forests=6, limit=100)
    expected = []
    for i in range(6):
        one = forests.select([i])
        rows = kbest(one, np.zeros(one.edges), 1000).sums(one.features)
        expected.append(rows.var(axis=0) if len(rows) else np.zeros(3))
    np.testing.assert_allclose(forest_scale(forests), np.sqrt(np.mean(expected, axis=0)), atol=1e-6)
