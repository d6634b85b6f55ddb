"""The decision of a model is settled on lists that it was not fitted on: 1-best, unless another is surely better."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import nbest
from nbest.corpus import NBest, Texts
from nbest.corpus.contract import signature_of
from nbest.decisions.choose import choose
from nbest.decisions.chosen import score_of
from nbest.metrics import BLEU, WER, Exact, External
from nbest.model.loglinear import LogLinear
from nbest.model.settled import settled_of
from nbest.testing import toy_forests, toy_lists
from nbest.trainers.crossfit import crossfit
from nbest.trainers.deciding import AMONG, lists_left, settle

BLIND = LogLinear({"third": 1.0})
WORDS = np.array([f"w{k}" for k in range(500)])


def copies(seed: int, metric: object = None) -> NBest:
    """Corrupted copies of references, of which a blind model takes any: those in their midst are better."""
    return toy_lists(seed, metric=metric or WER(), segments_=80, longest=20)  # type: ignore[arg-type]


def strangers(seed: int) -> NBest:
    """Texts of a list that have nothing in common: their midst tells nothing."""
    lists, rng = toy_lists(seed, segments_=60), np.random.default_rng(seed)
    texts = Texts.of(" ".join(rng.choice(WORDS, 5)) for _ in range(lists.hypotheses))
    worth = rng.normal(size=lists.hypotheses)
    return replace(lists, texts=texts, references=None, metric=External(), stats=External().stats_of(worth))


def answers(seed: int, right: float) -> NBest:
    """Lists of 7 answers, each right with some probability, where the others agree with nobody."""
    rng, count = np.random.default_rng(seed), 100
    good = rng.random((count, 7)) < right
    texts = np.where(good, "right", np.char.add("wrong", rng.integers(1000, size=good.shape).astype(str)))
    lists = NBest(
        offsets=np.arange(0, 7 * count + 1, 7),
        features=rng.normal(size=(7 * count, 1)),
        feature_names=("third",),
        ids=tuple(map(str, range(count))),
        texts=Texts.of(texts.ravel().tolist()),
        references=(("right",),) * count,
    )
    return replace(lists, answers=lists.texts).with_metric(Exact())


def held(model: LogLinear, lists: NBest) -> LogLinear:
    model = replace(model, metric=signature_of(lists))
    return settle(model, lists_left(model, None, lists, None))


@pytest.mark.parametrize("metric", [WER(), BLEU(tokenize="none")], ids=lambda m: m.name)
def test_what_helps_is_found_and_chosen_by(metric: nbest.Metric) -> None:
    for seed in range(5):
        lists = copies(seed, metric)
        found = held(BLIND, lists)
        assert found.decision["kind"] in ("mbr", "consensus")
        assert found.decision["among"] == AMONG
        known = settled_of(found.settled)
        assert known is not None
        one, *others = known.tried
        assert (known.how, known.segments, one.kind) == ("held-out lists", 79, "1best")
        assert [each.kind for each in others] == ["mbr", "consensus"]
        own = next(each for each in others if each.kind == found.decision["kind"])
        assert own.gamma == found.decision["gamma"]
        assert own.p is not None
        assert own.p <= 0.05
        assert one.score == pytest.approx(lists.score(BLIND.predict(lists)))
        assert own.score == pytest.approx(lists.score(choose(found, lists).chosen)), "tried as it is chosen by later"
        for other in others:
            again = {"kind": other.kind, "gamma": other.gamma, "among": AMONG}
            assert other.score == pytest.approx(lists.score(choose(found, lists, again).chosen))
        sign = 1.0 if metric.higher_is_better else -1.0
        best = max((each for each in others if each.p is not None and each.p <= 0.05), key=lambda t: sign * t.score)
        assert best.kind == own.kind


def test_what_does_not_help_is_left_alone() -> None:
    """One of twenty is taken by chance."""
    taken = [held(BLIND, strangers(seed)) for seed in range(20)]
    assert sum(bool(each.decision) for each in taken) <= 3
    assert all(each.settled for each in taken)


def test_a_good_model_keeps_the_one_best() -> None:
    for seed in range(5):
        found = held(LogLinear({"first": 10.0, "second": 10.0}), copies(seed))
        assert found.decision == {}
        known = settled_of(found.settled)
        assert known is not None
        assert min(each.p for each in known.tried if each.p is not None) > 0.05


def test_votes_where_there_are_answers() -> None:
    found = held(BLIND, answers(1, 0.4))
    assert found.decision["kind"] == "vote"
    assert [each["kind"] for each in found.settled["tried"]] == ["1best", "vote"]
    lists = answers(2, 0.4)
    assert lists.score(choose(found, lists).chosen) > lists.score(BLIND.predict(lists)) + 20
    assert held(BLIND, answers(3, 0.02)).decision == {}


def test_a_decision_of_the_trainer_stays_unless_another_is_better() -> None:
    """Votes tell nothing where texts differ, and all where answers repeat."""
    votes = replace(BLIND, decision={"kind": "vote", "pool": "scores"})
    lists = copies(1)
    found = held(votes, lists)
    assert [each["kind"] for each in found.settled["tried"]] == ["vote", "1best", "mbr", "consensus"]
    assert found.decision["kind"] in ("mbr", "consensus")
    assert found.settled["tried"][0]["score"] == pytest.approx(lists.score(choose(votes, lists).chosen))
    voters = replace(votes, weights={"third": 1e-6}, decision={"kind": "vote"})
    kept = held(voters, answers(1, 0.4))
    assert kept.decision == voters.decision
    assert kept.settled["tried"][0]["kind"] == "vote"
    rare = answers(1, 0.4)
    telling = replace(rare, features=(rare.need_stats()[0][:, :1] > 0) + 0.1 * rare.features)
    misled = replace(telling, answers=Texts.of("same" if i % 2 else "other" for i in range(rare.hypotheses)))
    assert held(replace(voters, weights={"third": 1.0}, decision={"kind": "vote", "gamma": 0.0}), misled).decision == {}


def test_models_of_folds_choose_of_what_they_were_not_fitted_on() -> None:
    """The lists of a fold are chosen from by the model of this fold alone."""
    lists = copies(1)
    crossed = crossfit(lambda part: replace(BLIND, metric=signature_of(part)), lists, folds=4)
    bad = LogLinear({"first": -10.0, "second": -10.0})
    found = settle(BLIND, lists_left(bad, lists, None, crossed))
    assert found.settled["how"] == "4 folds"
    assert found.decision
    good = replace(crossed, models=(LogLinear({"first": 10.0, "second": 10.0}),) * 4)
    assert settle(bad, lists_left(bad, lists, None, good)).decision == {}
    mixed = replace(crossed, models=(BLIND, *good.models[1:]))
    one = settle(BLIND, lists_left(BLIND, lists, None, mixed)).settled["tried"][0]
    own = np.where(crossed.fold == 0, BLIND.predict(lists), good.models[1].predict(lists))
    assert one["score"] == pytest.approx(lists.score(own))
    heldout = settle(BLIND, lists_left(BLIND, lists, lists, good))
    assert heldout.settled["how"] == "held-out lists"
    assert heldout.decision, "held-out lists are chosen from by the model itself"


def test_groups_are_swapped_together() -> None:
    """Two groups can never be sure."""
    lists = copies(1)
    assert held(BLIND, lists).decision
    halves = tuple("ab"[i % 2] for i in range(len(lists)))
    found = held(BLIND, replace(lists, groups=halves))
    assert found.decision == {}
    assert min(each["p"] for each in found.settled["tried"][1:]) >= 0.2


def test_features_that_a_model_adds_are_those_of_whole_lists() -> None:
    lists = copies(2)
    model = nbest.Pipeline(trainer=nbest.MaxLikelihood(), only="third", add="frequency", decision=None).fit(lists)
    found = held(model, lists)
    for each in found.settled["tried"][1:]:
        again = {"kind": each["kind"], "gamma": each["gamma"], "among": AMONG}
        assert each["score"] == pytest.approx(lists.score(choose(model, lists, again).chosen))


def test_nothing_is_settled_without_something_to_settle_it_on() -> None:
    lists = copies(1)
    forests = toy_forests(3, forests=30).with_metric(BLEU(tokenize="none", max_ngram_order=2))
    crossed = crossfit(lambda part: BLIND, lists, folds=3)
    for left in (
        lists_left(BLIND, lists, None, None),
        lists_left(BLIND, None, forests, None),
        lists_left(BLIND, None, replace(lists, texts=None), None),
        lists_left(BLIND, None, replace(lists, stats=None, metric=None), None),
        lists_left(BLIND, lists, None, replace(crossed, models=(None, BLIND, BLIND))),
    ):
        assert left is None
    assert settle(BLIND, None) is BLIND
    assert held(BLIND, lists.select(np.arange(15))).settled == {}, "too few segments"


def test_of_long_texts_some_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    lists = copies(1)
    assert lists.texts is not None
    monkeypatch.setattr("nbest.trainers.deciding._BYTES", 120_000)
    found = held(BLIND, lists)
    assert 20 <= found.settled["segments"] < len(lists)
    longer = replace(lists, texts=Texts.of(f"{text} {text}" for text in lists.texts))
    assert held(BLIND, longer).settled["segments"] < found.settled["segments"]


@pytest.mark.parametrize("decision", ["mbr", "consensus", {"kind": "consensus", "gamma": 2.0, "among": 3}])
def test_scores_of_a_model_are_by_its_decision(decision: object) -> None:
    dev, heldout = copies(1), copies(2)
    model = nbest.Pipeline(trainer=nbest.MaxLikelihood(), only="third", decision=decision).fit(dev, heldout)
    for name, lists in (("dev", dev), ("heldout", heldout)):
        assert model.scores_[name] == pytest.approx(lists.score(choose(model, lists).chosen))
        assert model.scores_[name] != pytest.approx(lists.score(model.predict(lists)))


def test_scores_of_forests_are_by_the_decision() -> None:
    forests = toy_forests(3, forests=10).with_metric(BLEU(tokenize="none", max_ngram_order=2))
    plain = LogLinear(dict.fromkeys(forests.feature_names, 0.3))
    for kind in ("mbr", "consensus"):
        model = replace(plain, decision={"kind": kind, "gamma": 0.1})
        found = choose(model, forests)
        assert score_of(forests, model) == pytest.approx(found.lists.score(found.chosen))
        assert score_of(forests, model) != pytest.approx(score_of(forests, plain))


def test_a_pipeline_settles_it_by_default() -> None:
    dev, heldout = copies(1), copies(2)
    trainer = nbest.MaxLikelihood()
    found = nbest.Pipeline(trainer=trainer, only="third").fit(dev, heldout)
    assert found.decision["kind"] in ("mbr", "consensus")
    assert found.scores_["heldout"] == pytest.approx(heldout.score(choose(found, heldout).chosen))
    plain = trainer.fit(*nbest.Pipeline(trainer=trainer, only="third").prepare(dev, heldout))
    assert (plain.decision, plain.settled) == ({}, {})
    assert nbest.Pipeline(trainer=trainer, only="third", decision=None).fit(dev, heldout) == plain
    assert nbest.Pipeline(trainer=trainer, only="third", decision="1best").fit(dev, heldout) == plain
    assert nbest.Pipeline(trainer=trainer, only="third").fit(dev).decision == {}


def test_the_default_trainer_settles_it_itself() -> None:
    dev, heldout = (copies(seed).without_features(["first", "second"]) for seed in (1, 2))
    found = nbest.Auto().fit(dev, heldout)
    assert found.decision["kind"] in ("mbr", "consensus")
    assert found.scores_["heldout"] == pytest.approx(heldout.score(choose(found, heldout).chosen))
    assert nbest.Pipeline(trainer=nbest.Auto()).fit(dev, heldout) == found
    plain = nbest.Auto(decision=None).fit(dev, heldout)
    assert (plain.decision, plain.settled) == ({}, {})
    assert nbest.Pipeline(trainer=nbest.Auto(), decision="1best").fit(dev, heldout) == plain
    assert nbest.Auto(decision="mbr").fit(dev, heldout).decision == {"kind": "mbr"}
