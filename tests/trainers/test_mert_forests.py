"""MERT on forests is MERT on the lists of all their derivations."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from nbest.base.errors import CapabilityError, ParameterError
from nbest.compute import segments
from nbest.corpus import Forests
from nbest.forests.derivations import forests_of
from nbest.metrics import BLEU, WER
from nbest.testing import toy_lists
from nbest.testing.forests import toy_forests
from nbest.trainers import MERT
from nbest.trainers.dense.mert import _Search
from nbest.trainers.differing import losses_differ
from nbest.trainers.problem import Problem, prepare
from tests.lines.test_envelopes import enumerated, told_apart

pytestmark = [
    pytest.mark.filterwarnings("ignore:MERT. the weights collapsed"),
    pytest.mark.filterwarnings("ignore:MERT. the metric is the same for all weights"),
]

seeds = st.integers(0, 10**6)


def toy(seed, metric=None, **options):
    """Forests that have something to learn from."""
    forests = toy_forests(seed, **{"forests": 8, "limit": 100, **options}).with_metric(metric or WER())
    corpus = enumerated(forests)
    assume((corpus.lengths > 1).sum() > 2 and told_apart(corpus) and losses_differ(forests))
    return forests


def value_of(forests, model):
    """The metric of the best of all derivations, by enumeration."""
    corpus = enumerated(forests)
    return corpus.score(segments.argmax(model.scores(corpus), corpus.offsets))


@settings(deadline=None, max_examples=25)
@given(seeds, st.booleans(), st.sampled_from(["first", "best"]), st.booleans())
def test_equals_mert_on_all_derivations(seed, lattices, ascent, bleu):
    """Every start ends at the same value, as every line search finds the same best interval.

    Along features: combinations of them are of averages over forests here, over derivations there."""
    forests = toy(seed, BLEU(tokenize="none", max_ngram_order=2) if bleu else None, lattices=lattices)
    problem, corpus = prepare(forests, "MERT"), enumerated(forests)
    options = {"directions": 1, "elite": 2, "ascent": ascent, "axes": "features"}
    trainer = MERT(restarts=3, hops=1, seed=seed, threads=1, **options)
    found = _Search(trainer, problem).run()
    expected = _Search(trainer, Problem(corpus, corpus.metric, problem.scale)).run()
    assert found.value == pytest.approx(expected.value, abs=1e-9)
    assert [end["value"] for end in found.history] == pytest.approx([end["value"] for end in expected.history])
    assert found.evaluations == expected.evaluations


@settings(deadline=None, max_examples=10)
@given(seeds)
def test_lists_as_forests_give_the_very_same_weights(seed):
    corpus = toy_lists(seed=seed, segments_=8, noise=0.5)
    problem, forests = prepare(corpus, "MERT"), forests_of(corpus)
    trainer = MERT(restarts=3, hops=2, directions=2, axes="features", seed=seed)
    expected = _Search(trainer, problem).run()
    found = _Search(trainer, Problem(forests, corpus.metric, problem.scale)).run()
    assert np.array_equal(found.weights, expected.weights)
    assert (found.value, found.history) == (expected.value, expected.history)


@settings(deadline=None, max_examples=15)
@given(seeds, st.booleans())
def test_the_value_is_that_of_the_best_derivations(seed, lattices):
    forests = toy(seed, lattices=lattices)
    trainer = MERT(restarts=3, hops=1, seed=seed)
    model = trainer.fit(forests)
    assert value_of(forests, model) == pytest.approx(trainer.result_.value)
    assert model.scores_["dev"] == pytest.approx(trainer.result_.value)
    assert all(trainer.result_.value <= end["value"] + 1e-9 for end in trainer.result_.history)
    assert model.metric.startswith("WER")


def test_same_bits_whatever_the_threads():
    forests, found = toy_forests(3, forests=20).with_metric(WER()), []
    for threads in (1, 2, 3):
        trainer = MERT(restarts=3, hops=2, directions=2, threads=threads)
        found.append((trainer.fit(forests).weights, trainer.result_.value, trainer.result_.history))
    assert found[0] == found[1] == found[2]


@settings(deadline=None, max_examples=10)
@given(seeds, st.sampled_from(["+", "-"]))
def test_signs_and_frozen_weights_are_kept(seed, sign):
    forests = toy(seed)
    start = {"f0": 1.0 if sign == "+" else -1.0, "f2": 0.25}
    trainer = MERT(restarts=2, hops=1, signs={"f0": sign}, frozen=("f2",), start=start, seed=seed)
    model = trainer.fit(forests)
    assert model.weights["f0"] * start["f0"] >= 0
    assert model.weights["f2"] == pytest.approx(0.25)
    assert value_of(forests, model) == pytest.approx(trainer.result_.value)


def test_held_out_forests_and_lists():
    forests, held = (toy_forests(seed, forests=12).with_metric(WER()) for seed in (3, 4))
    for other in (held, enumerated(held)):
        model = MERT(restarts=2, hops=0).fit(forests, heldout=other)
        assert model.scores_["heldout"] == pytest.approx(value_of(held, model))


def test_a_feature_that_is_the_same_in_all_derivations_changes_nothing():
    forests = toy_forests(3, forests=12).with_metric(WER())
    roots = forests.node_offsets[1:][segments.lengths(forests.node_offsets) > 0] - 1
    at_root = np.isin(np.repeat(np.arange(forests.nodes), segments.lengths(forests.edge_offsets)), roots)
    more = forests.with_features(("zero", "top"), np.stack([0 * at_root, 7.0 * at_root], axis=1))
    plain, found = MERT(restarts=3).fit(forests), MERT(restarts=3).fit(more)
    assert {name: found.weights[name] for name in plain.weights} == pytest.approx(plain.weights)
    assert found.weights["zero"] == found.weights["top"] == 0.0


def test_what_cannot_be_trained_on_is_refused():
    forests = toy_forests(3)
    with pytest.raises(CapabilityError, match="no metric yet"):
        MERT().fit(forests)
    with pytest.raises(ParameterError, match="'hops' of MERT must be >= 0, got -1"):
        MERT(hops=-1).fit(forests.with_metric(WER()))
    with pytest.raises(ParameterError, match="'f9', which is no feature"):
        MERT(frozen=("f9",)).fit(forests.with_metric(WER()))
    assert isinstance(forests, Forests)
