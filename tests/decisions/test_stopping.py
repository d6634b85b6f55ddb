"""Stopping against integrals, and what would be chosen against the decisions themselves."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta

import nbest
from nbest.base.errors import CapabilityError, ParameterError
from nbest.corpus import NBest, Texts
from nbest.decisions.confidence import answer_probabilities
from nbest.decisions.stopping import Standing, Stopper, stays_ahead
from nbest.model.loglinear import LogLinear
from tests.evaluation.test_stopped import random_lists

MODELS = {
    "plurality": None,
    "1best": LogLinear({"f": 0.7}),
    "posteriors": LogLinear({"f": 0.7}, decision={"kind": "vote", "gamma": 2.0}),
    "scores": LogLinear({"f": 0.7}, decision={"kind": "vote", "pool": "scores"}),
    "shares": LogLinear({"f": 0.7}, decision={"kind": "vote", "pool": "scores", "gamma": 0.0}),
}
CANDIDATES = st.lists(st.tuples(st.sampled_from(["", "a", "b", "c"]), st.integers(-3, 3)), min_size=1, max_size=9)


@pytest.mark.parametrize("votes", [(0, 0), (1, 0), (3, 3), (4, 1), (40, 2), (700, 650), (3000, 2990), (5, 9)])
def test_staying_ahead_is_an_integral_of_beta(votes: tuple[int, int]) -> None:
    first, second = votes
    assert stays_ahead(first, second) == pytest.approx(beta.sf(0.5, first + 1, second + 1), abs=1e-9)


@pytest.mark.parametrize("name", MODELS)
@settings(max_examples=30, deadline=None)
@given(candidates=CANDIDATES)
def test_a_standing_chooses_as_the_decision_does(name: str, candidates: list[tuple[str, int]]) -> None:
    model, answers = MODELS[name], [answer for answer, _ in candidates]
    features = np.array([[score] for _, score in candidates], np.float64)
    standing = Standing(model)
    for k, (answer, score) in enumerate(candidates, 1):
        standing.add(answer, 0.0 if model is None else 0.7 * score)
        lists = NBest(np.array([0, k]), features[:k], ("f",), ("s",), texts=Texts.of(answers[:k]))
        decided = nbest.choose(model, lists, None if model else "vote")
        assert standing.place == decided.chosen[0]
        assert standing.answer == answers[standing.place]
        raw = answer_probabilities(model, lists, decided.decision)[standing.place]
        assert standing.probability <= raw + 1e-12
        assert standing.probability == pytest.approx(with_unseen(name, candidates[:k], float(raw)))


def with_unseen(name: str, candidates: list[tuple[str, int]], raw: float) -> float:
    """The probability of an answer with room for one that nobody has given."""
    voters = sum(bool(answer) for answer, _ in candidates)
    if name != "scores":
        return raw * voters / (voters + 1)
    sums = {answer: sum(0.7 * s for a, s in candidates if a == answer) for answer, _ in candidates if answer}
    total = sum(math.exp(each) for each in sums.values())
    return raw * total / (total + 1)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from(["", "a", "b", "c", "d"]), min_size=1, max_size=12))
def test_the_two_with_most_votes_are_kept(answers: list[str]) -> None:
    standing = Standing()
    for k, answer in enumerate(answers, 1):
        standing.add(answer)
        counts = sorted((answers[:k].count(each) for each in {*answers[:k]} - {""}), reverse=True)
        wanted = stays_ahead(*[*counts, 0][:2]) if counts else 0.0
        assert standing.stays == wanted


def test_when_it_stops() -> None:
    stopper = Stopper(0.9)
    assert [stopper.vote(answer) for answer in "aaa"] == [False, False, True]  # 3/4, 7/8, 15/16
    assert (stopper.standing.answer, stopper.standing.count) == ("a", 3)
    assert [Stopper(0.5, least=2).vote("a"), Stopper(0.5).vote("a")] == [False, True]
    short = Stopper(1.0, most=2)
    assert [short.vote("a"), short.vote("b")] == [False, True]
    sure = Stopper(0.9, model=MODELS["scores"])
    assert [sure.vote("a", 1.0), sure.vote("b", -1.0), sure.vote("a", 2.0)] == [False, False, True]
    assert sure.watched == pytest.approx(math.exp(3) / (math.exp(3) + math.exp(-1) + 1))


def test_large_scores_do_not_overflow() -> None:
    for name in ("1best", "posteriors", "scores"):
        standing = Standing(MODELS[name])
        for answer, score in (("a", 1e4), ("b", -1e4), ("a", -1e4)):
            standing.add(answer, score)
        assert 0.0 <= standing.probability <= 1.0
        assert standing.answer == "a" or name == "scores"


def test_arguments_are_checked() -> None:
    with pytest.raises(ParameterError, match="'at' of Stopper"):
        Stopper(1.5)
    with pytest.raises(ParameterError, match="'most' of Stopper must be at least 'least', which is 5; got 2"):
        Stopper(least=5, most=2)
    with pytest.raises(ParameterError, match="unknown rule 'vots'; known: confidence, votes; did you"):
        Stopper(rule="vots")
    with pytest.raises(CapabilityError, match="the model has mbr"):
        Standing(LogLinear({"f": 1.0}, decision={"kind": "mbr"}))


@pytest.mark.parametrize("name", MODELS)
def test_candidates_are_heard_as_they_are_chosen_from(name: str) -> None:
    model = MODELS[name]
    drawn = [("a", 1), ("b", 3), ("", 9), ("a", 2), ("b", -1), ("c", 4)]
    told = [{"text": f"said {answer}", "answer": answer, "features": {"f": score}} for answer, score in drawn]
    by_dict, by_vote = Stopper(1.0, model=model), Stopper(1.0, model=model)
    for k, (candidate, (answer, score)) in enumerate(zip(told, drawn, strict=True), 1):
        by_dict.add(candidate)
        by_vote.vote(answer, 0.0 if model is None else 0.7 * score)
        assert by_dict.standing.place == by_vote.standing.place
        assert by_dict.watched == pytest.approx(by_vote.watched)
        if model is not None:
            assert by_dict.standing.place == model.choose(told[:k]).index


def test_answers_are_found_by_the_rule_of_the_model() -> None:
    stopper = Stopper(0.8, model=LogLinear({"f": 1.0}, answer="last-number", decision={"kind": "vote"}), rule="votes")
    assert not stopper.add({"text": "so it is 12", "features": {"f": 0.0}})
    assert stopper.add({"text": "12, I think", "features": {"f": 1.0}})
    assert stopper.standing.answer == "12"
    with pytest.raises(ParameterError, match="text"):
        stopper.add({"features": {"f": 1.0}})
    with pytest.raises(ParameterError, match="f"):
        stopper.add({"text": "13"})


def test_a_calibrated_model_stops_by_its_calibrated_confidence() -> None:
    lists = random_lists(3, 60)
    model = nbest.calibrate(LogLinear({"f": 0.1}, decision={"kind": "vote"}), lists, right=0.5)
    assert model.calibration is not None
    standing = Standing(model)
    standing.add("a", 0.3)
    standing.add("a", 0.1)
    wanted = model.calibration.calibrated(np.array([standing.probability]))[0]
    assert standing.confidence == wanted != standing.probability
