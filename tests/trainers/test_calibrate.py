"""`nbest.calibrate`: on held-out lists, in folds, without a model; what is right; models that keep it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import nbest
from nbest.base.errors import CapabilityError, ParameterError
from nbest.corpus import NBest, Texts
from nbest.model.loglinear import LogLinear
from nbest.trainers.calibrate import is_right, right_from


def voters(number: int = 120, seed: int = 1, empty: bool = False) -> NBest:
    """Lists of seven hypotheses with one of three answers; those with a high feature are right more often."""
    rng = np.random.default_rng(seed)
    hard = np.repeat(rng.random(number), 7)
    good = rng.normal(size=7 * number)
    right = rng.random(7 * number) < 1 / (1 + np.exp(3 * hard - 1.5 - good))
    texts = np.where(right, "yes", np.where(rng.random(len(right)) < 0.5, "no", "maybe")).tolist()
    offsets = np.arange(0, 7 * number + 1, 7)
    if empty:
        offsets, texts, good, right = (offsets.clip(7), texts[7:], good[7:], right[7:])
        offsets = offsets - 7
    ids = tuple(map(str, range(number)))
    lists = NBest(offsets, good[:, None], ("good",), ids, texts=Texts.of(texts), gains=right.astype(float))
    return lists.with_metric(nbest.External())


VOTE = {"kind": "vote"}


def test_confidence_on_held_out_lists_is_calibrated() -> None:
    heldout, test = voters(600, 1), voters(600, 2)
    model = nbest.calibrate(LogLinear({"good": 3.0}), heldout, decision=VOTE)
    found = nbest.choose(model, test)
    assert found.decision == VOTE
    hits = is_right(test, found.chosen, 1.0)
    raw = nbest.choose(replace(model, confidence={}), test).confidence
    assert np.array_equal(raw, found.probability)
    assert np.mean((found.confidence - hits) ** 2) < np.mean((raw - hits) ** 2)
    assert found.confidence.mean() == pytest.approx(hits.mean(), abs=0.05)


def test_a_model_file_keeps_it(tmp_path) -> None:
    lists = voters()
    model = nbest.calibrate(LogLinear({"good": 1.0}), lists, decision=VOTE)
    model.save(tmp_path / "m.json")
    again = nbest.load(tmp_path / "m.json")
    assert again.confidence == model.confidence
    assert np.array_equal(nbest.choose(again, lists).confidence, nbest.choose(model, lists).confidence)


def with_words(lists: NBest) -> NBest:
    """The same, with answers in longer texts that all differ."""
    texts = [f"{k}: it is {text}" for k, text in enumerate(lists.texts or ())]
    return replace(lists, texts=Texts.of(texts)).with_answers(r"is (\w+)").with_metric(nbest.External())


def test_answers_that_are_found_otherwise_are_not_calibrated(tmp_path) -> None:
    lists = with_words(voters())
    bare = replace(lists, answers=None, answer_rule="")
    model = nbest.calibrate(LogLinear({"good": 1.0}), lists, decision=VOTE)
    assert model.answer == r"is (\w+)"
    model.save(tmp_path / "m.json")
    model = nbest.load(tmp_path / "m.json")
    same = nbest.choose(model, bare)
    assert same.calibration is not None
    assert np.array_equal(same.chosen, nbest.choose(model, lists).chosen)
    assert np.array_equal(same.confidence, nbest.choose(model, lists).confidence)
    assert nbest.choose(model, bare.with_answers(r"(\w+)$")).calibration is None
    assert nbest.choose(model, replace(lists, answer_rule="")).calibration is None
    one = [{"text": text, "good": 1.0} for text in ("1: it is a", "2: it is a", "3: it is b")]
    assert model.choose(one).calibrated
    assert not model.choose([{**each, "answer": "a"} for each in one]).calibrated


def test_options_at_their_defaults_are_the_same_decision() -> None:
    lists = voters()
    model = nbest.calibrate(LogLinear({"good": 1.0}), lists, decision=VOTE)
    assert nbest.choose(model, lists, {"kind": "vote", "pool": "posteriors"}).calibration is not None
    assert nbest.choose(model, lists, {"kind": "vote", "gamma": 1.0}).calibration is not None
    assert nbest.choose(model, lists, {"kind": "vote", "pool": "scores"}).calibration is None
    with pytest.raises(ParameterError, match="give 'gain' of the decision by its name"):
        nbest.calibrate(model, lists, decision={"kind": "mbr", "gain": nbest.CHRF()})


@pytest.mark.parametrize("texts", ["alike", "alone"])
def test_choices_that_are_all_equally_sure(texts: str) -> None:
    lists = replace(voters(), texts=Texts.of(["x"] * voters().hypotheses))
    if texts == "alone":
        lists = lists.keep(np.arange(lists.hypotheses) % 7 == 0)
    model = nbest.calibrate(None, lists)
    right = is_right(lists, nbest.choose(model, lists).chosen, 1.0).mean()
    assert nbest.choose(model, lists).confidence == pytest.approx(np.full(len(lists), right), abs=0.02)


def test_one_group_is_not_enough() -> None:
    with pytest.raises(CapabilityError, match="at least 2 groups"):
        nbest.calibrate(None, replace(voters(), groups=("g",) * 120))


def test_another_decision_is_not_calibrated() -> None:
    lists = voters()
    model = nbest.calibrate(LogLinear({"good": 1.0}), lists, decision=VOTE)
    assert nbest.choose(model, lists).calibration is not None
    for other in ("1best", {"kind": "vote", "gamma": 0.5}):
        found = nbest.choose(model, lists, other)
        assert found.calibration is None
        assert np.array_equal(found.confidence, found.probability)


def test_votes_without_a_model() -> None:
    lists = voters()
    model = nbest.calibrate(None, lists)
    assert model.decision == VOTE
    assert not model.weights
    found = nbest.choose(model, lists)
    shares = nbest.choose(None, lists, "vote").probability
    assert np.array_equal(found.probability, shares)
    assert found.calibration is not None


def test_folds_know_nothing_of_what_they_choose() -> None:
    """With more columns of noise than segments a model remembers the lists it was fitted on."""
    lists = voters(60)
    noise = np.random.default_rng(3).normal(size=(lists.hypotheses, 80))
    lists = replace(lists, features=noise, feature_names=tuple(f"n{d}" for d in range(80)))
    trainer = nbest.MaxLikelihood(variance=100.0)
    model = trainer.fit(lists)
    blind, honest = (nbest.calibrate(model, lists, **how).calibration for how in ({}, {"trainer": trainer}))
    assert honest.how == "5 folds"
    assert blind.right[-1] > honest.right[-1] + 10
    assert honest.segments == 60


def test_empty_lists_are_left_out_and_have_no_confidence() -> None:
    lists = voters(80, empty=True)
    model = nbest.calibrate(LogLinear({"good": 1.0}), lists, decision=VOTE)
    found = nbest.choose(model, lists)
    assert model.calibration.segments == 79
    assert found.chosen[0] == -1
    assert found.confidence[0] == 0


def test_groups_are_counted_as_groups() -> None:
    copies = nbest.merge(*(replace(voters(80), ids=tuple(f"{i}.{c}" for i in range(80))) for c in range(3)))
    copies = replace(copies, groups=tuple(name.partition(".")[0] for name in copies.ids))
    known = nbest.calibrate(None, copies).calibration
    assert known.groups == 80
    assert known.design == pytest.approx(3.0, rel=0.03)


def test_what_is_right() -> None:
    lists = voters()
    assert right_from(lists) == 1.0
    exact = replace(lists, metric=nbest.make_metric("exact"))
    assert right_from(exact) == 100.0
    cost = nbest.External(higher_is_better=False)
    costs = replace(lists, metric=cost, stats=cost.stats_of(1.0 - lists.gains))
    with pytest.raises(ParameterError, match="at most VALUE: --right"):
        right_from(costs)
    assert np.array_equal(is_right(costs, np.arange(7), 0.0), is_right(exact, np.arange(7), 100.0))
    graded = nbest.External().stats_of(np.linspace(0, 1, lists.hypotheses))
    with pytest.raises(ParameterError, match="at least VALUE: --right"):
        right_from(replace(lists, stats=graded))


def test_too_few_segments() -> None:
    with pytest.raises(CapabilityError, match="at least 20 segments"):
        nbest.calibrate(None, voters(19))
