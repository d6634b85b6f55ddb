"""Stopping on recorded lists against the online object, and what it costs against counting by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import nbest
from nbest.corpus import NBest, Texts
from nbest.decisions.stopping import Stopper
from nbest.evaluation.drawn import decided, random_orders
from nbest.evaluation.stopped import FIXED, Limits, Plan, spent, traced
from nbest.model.loglinear import LogLinear

MODEL = LogLinear({"f": 0.5}, decision={"kind": "vote", "pool": "scores"})


def random_lists(seed: int = 1, count: int = 12) -> NBest:
    rng = np.random.default_rng(seed)
    offsets = np.append(0, np.cumsum(rng.integers(0, 9, size=count)))
    size = int(offsets[-1])
    texts = Texts.of([str(rng.choice(["", "a", "a", "b", "c"])) for _ in range(size)])
    gains = np.array([float(text == "a") for text in texts]) + 0.01 * rng.random(size)
    ids = tuple(map(str, range(count)))
    lists = NBest(offsets, rng.normal(1.0, 2.0, size=(size, 1)), ("f",), ids, texts=texts, gains=gains)
    return lists.with_metric(nbest.External())


@pytest.mark.parametrize("model", [None, MODEL])
@pytest.mark.parametrize(("rule", "at", "least", "most"), [
    ("votes", 0.8, 1, None), ("votes", 0.0, 3, None), ("confidence", 0.7, 2, 4), ("confidence", 1.0, 1, 3),
])  # fmt: skip
def test_recorded_lists_stop_where_the_online_object_does(
    model: LogLinear | None, rule: str, at: float, least: int, most: int | None
) -> None:
    lists = random_lists()
    scores = np.zeros(lists.hypotheses) if model is None else model.scores(lists)
    assert lists.texts is not None
    for order in random_orders(lists.offsets, 3, seed=5):
        gone = traced(lists, model, order)
        counts = gone.stops(rule, at, least=least, most=most)
        chosen = gone.taken(counts)
        for i, (low, high) in enumerate(zip(lists.offsets[:-1], lists.offsets[1:], strict=True)):
            stopper = Stopper(at, model=model, rule=rule, least=least, most=most)
            for h in order[low:high]:
                if stopper.vote(lists.texts[h], scores[h]):
                    break
            assert stopper.standing.count == counts[i]
            place = stopper.standing.place
            assert chosen[i] == (order[low + place] if place >= 0 else -1)


def test_a_fixed_number_is_what_the_decision_chooses_of_so_many() -> None:
    lists = random_lists(2)
    for by_model, model in ((False, None), (True, MODEL)):
        sizes = [1, 2, 5, 99]
        stats, drawn = spent(lists, MODEL, [Plan(FIXED, by_model, k) for k in sizes], orders=4, seed=3)
        decision = {"kind": "vote"} if model is None else model.decision
        np.testing.assert_allclose(stats, decided(lists, model, decision, sizes, orders=4, seed=3))
        np.testing.assert_array_equal(drawn, np.minimum(lists.lengths[:, None], sizes))


def test_what_is_spent_by_hand() -> None:
    texts = Texts.of(["a", "a", "a", "b"])
    lists = NBest(np.array([0, 0, 4]), np.zeros((4, 0)), (), ("x", "y"), texts=texts, gains=np.array([1.0, 1, 1, 0]))
    plans = [Plan("votes", False, 0.75), Plan("votes", False, 0.8), Plan("votes", False, 1.0)]
    stats, drawn = spent(lists.with_metric(nbest.External()), None, plans, Limits(most=3), orders=400)
    assert (drawn[0] == 0).all()
    assert (stats[0] == 0).all()
    assert drawn[1, 0] == 1.0  # 3/4 after one vote
    assert stats[1, 0, 0] == pytest.approx(0.75, abs=0.07)  # the first one is right in three of four orders
    assert drawn[1, 1] == pytest.approx(2.5, abs=0.07)  # 7/8 after a, a: half of the orders; else the most
    assert drawn[1, 2] == 3.0
    assert stats[1, 2, 0] == 1.0


def test_a_calibrated_model_with_a_rule_of_answers_is_as_sure_as_the_online_object() -> None:
    lists = random_lists(2, 60)
    lists = replace(lists, texts=Texts.of([f"{k}: so {text}" for k, text in enumerate(lists.texts or ())]))
    lists = lists.with_answers(r"so (\w+)").with_metric(nbest.External())
    model = nbest.calibrate(MODEL, lists, right=1.0)
    bare, scores = replace(lists, answers=None, answer_rule=""), model.scores(lists)
    order = np.arange(lists.hypotheses)
    gone = traced(bare, model, order)
    raw = traced(bare, replace(model, confidence={}), order)
    assert not np.array_equal(gone.watched["confidence"], raw.watched["confidence"])
    for low, high in zip(lists.offsets[:-1], lists.offsets[1:], strict=True):
        stopper = Stopper(model=model, rule="confidence", at=1.0)
        for h in range(low, high):
            stopper.vote(lists.answers[h], float(scores[h]))
            assert gone.watched["confidence"][h] == pytest.approx(stopper.watched)
