"""The ladder and the weights: rungs against plain choices, what is learned against models fitted by hand."""

from dataclasses import replace

import numpy as np
import pytest

import nbest
from nbest.base.errors import CapabilityError, ParameterError
from nbest.corpus.ballots import ballot, pooled
from nbest.corpus.grouping import in_folds
from nbest.features import within_scale
from nbest.metrics import make_metric
from nbest.model.loglinear import LogLinear
from nbest.studies.ladder import ladder
from nbest.studies.weights import weights
from nbest.testing import check_picture, toy_lists
from nbest.trainers.dense.vote import with_answered

LISTS = toy_lists(3, noise=0.3)


def rungs(found):
    return {row["rung"]: row for row in found.rows}


def test_rungs_that_need_no_learning():
    found = rungs(ladder(LISTS, methods=(), folds=4, samples=50))
    assert list(found) == ["first", "random", "plurality", "equal weights", "best single feature", "oracle"]
    assert found["first"]["score"] == LISTS.score(np.where(LISTS.lengths > 0, LISTS.offsets[:-1], -1))
    assert found["plurality"]["score"] == LISTS.score(nbest.vote(None, LISTS))
    equal = LogLinear(dict(zip(LISTS.feature_names, 1 / within_scale(LISTS), strict=True)))
    assert found["equal weights"]["score"] == LISTS.score(equal.predict(LISTS))
    assert found["oracle"]["score"] == LISTS.score(nbest.corpus_oracle(LISTS))
    means = [LISTS.stats[a:b].mean(axis=0) for a, b in zip(LISTS.offsets[:-1], LISTS.offsets[1:], strict=True) if b > a]
    assert found["random"]["score"] == pytest.approx(float(LISTS.metric.score(np.sum(means, axis=0))))
    for row in found.values():
        assert row["low"] <= row["score"] <= row["high"]
        assert (row["p"] is None) == (row["rung"] == "first")
    assert found["oracle"]["p"] < 0.01


def test_plurality_compares_answers_as_the_metric_does():
    texts = ["Paris", "paris", "PARIS", "Rome", "Rome", "Rome"] * 6
    lists = nbest.NBest(
        np.arange(0, 31, 5), np.zeros((30, 0)), (), tuple(map(str, range(6))), texts=nbest.Texts.of(texts[:30])
    )
    for lowercase in (True, False):
        metric = make_metric("exact", lowercase=lowercase)
        found = rungs(ladder(lists.with_metric(metric, [("paris",)] * 6), methods=(), folds=2, samples=10))
        expected = lists.with_metric(metric, [("paris",)] * 6)
        by_hand = expected.score(nbest.vote(None, expected, normalize="lower" if lowercase else "none"))
        assert found["plurality"]["score"] == by_hand
        assert (by_hand > 0) == lowercase


def test_what_is_learned_is_chosen_of_the_fold_left_out():
    lists = LISTS.select(np.flatnonzero(LISTS.lengths > 0))
    found = rungs(ladder(lists, methods=("likelihood", "likelihood/vote"), folds=4, samples=50, seed=7))
    fold = in_folds(lists, 4, 7)
    stats, surest = np.zeros((len(lists), lists.stats.shape[1])), np.zeros(len(lists))
    for number in range(4):
        model = nbest.MaxLikelihood().fit(lists.select(np.flatnonzero(fold != number)))
        out = np.flatnonzero(fold == number)
        part = lists.select(out)
        stats[out] = part.stats[model.predict(part)]
        surest[out] = nbest.choose(model, part).confidence
    assert found["likelihood"]["score"] == pytest.approx(float(lists.metric.score(stats.sum(axis=0))))
    half = np.argsort(-surest, kind="stable")[: round(len(lists) / 2)]
    assert found["likelihood"]["score_50"] == pytest.approx(float(lists.metric.score(stats[half].sum(axis=0))))
    assert found["likelihood/vote"]["learned"]


def test_the_best_single_feature_is_named():
    good = np.random.default_rng(2).normal(size=LISTS.hypotheses) / 4 + LISTS.losses()  # less is better
    found = ladder(LISTS.with_features(["good"], good[:, None]), methods=(), folds=4, samples=20)
    assert rungs(found)["best single feature"]["features"] == {"-good": 4}
    assert all(row["features"] is None for row in found.rows if row["rung"] != "best single feature")
    assert "| best single feature (-good) |" in found.said


def test_several_best_single_features_are_named_with_their_folds():
    found = ladder(LISTS, methods=(), folds=4, samples=20)
    (row,) = found.chosen(rung="best single feature")
    features = {"am": 1, "-a long name of a feature": 2, "lm": 1, "words": 1}
    several = replace(found, rows=({**row, "features": features},))
    called = "best single feature (-a long name of a feature in 2 folds, am in 1, lm in 1, ...)"
    assert f"| {called} |" in several.said
    older = replace(found, rows=tuple({k: v for k, v in row.items() if k != "features"} for row in found.rows))
    assert "| best single feature |" in older.said
    check_picture(replace(found, rows=tuple({**row, "features": features} for row in found.rows)).picture().svg())


def test_groups_are_drawn_and_tested_together():
    grouped = replace(LISTS, groups=tuple(str(i // 8) for i in range(len(LISTS))))
    found = ladder(grouped, methods=(), folds=2, samples=50, against="oracle")
    assert found.settings["unit"] == "group"
    assert "4 groups of" in found.said
    assert rungs(found)["first"]["p"] >= 0.125 - 0.02  # four swaps have no smaller one


def test_a_method_that_cannot_take_the_lists_is_left_out_and_said():
    lists = toy_lists(1, sparse=True)
    found = ladder(lists, methods=("mert", "likelihood"), folds=2, samples=20)
    assert "likelihood" in rungs(found)
    assert "mert" not in rungs(found)
    assert "mert is left out: MERT tunes dense features" in found.said
    with pytest.raises(CapabilityError, match="MERT tunes dense features"):
        ladder(lists, methods=("mert",), folds=2)


def test_what_the_ladder_refuses():
    with pytest.raises(ParameterError, match="'against' must be one of first, random"):
        ladder(LISTS, methods=(), folds=2, against="mean")
    with pytest.raises(ParameterError, match="unknown method 'nothing'"):
        ladder(LISTS, methods=("nothing",), folds=2)
    with pytest.raises(ParameterError, match="unknown decision 'nothing'"):
        ladder(LISTS, methods=("risk/nothing",), folds=2)
    with pytest.raises(CapabilityError, match="nothing can be tested against mert: MERT tunes dense features"):
        ladder(toy_lists(1, sparse=True), methods=("mert", "likelihood"), folds=2, samples=20, against="mert")


def test_weights_of_a_feature_that_matters_and_of_one_that_does_not():
    noise = np.random.default_rng(1).normal(size=(LISTS.hypotheses, 2))
    planted = np.stack([noise[:, 0] / 2 - LISTS.losses(), noise[:, 1]], axis=1)
    lists = LISTS.only_features([]).with_features(["good", "noise"], planted)
    found = weights(lists, draws=12, folds=4, samples=200)
    first, second = found.rows
    assert [first["feature"], second["feature"]] == ["good", "noise"]
    model = nbest.MaxLikelihood().fit(lists)
    strength = np.array([model.weights[name] for name in ("good", "noise")]) * within_scale(lists)
    assert [first["share"], second["share"]] == pytest.approx(strength / np.abs(strength).sum())
    assert first["weight"] == model.weights["good"]
    assert first["low"] > 0.5 > second["high"]
    assert second["low"] < 0 < second["high"]
    assert first["cost_low"] > 0  # leaving it out is worse, though lower is better in WER
    assert second["cost_low"] <= 0 <= second["cost_high"]


def test_a_column_that_the_method_adds_cannot_be_left_out():
    found = weights(LISTS, method="vote", draws=2, folds=2, samples=20, settings={"variance": 1.0})
    costs = {row["feature"]: row["cost"] for row in found.rows}
    assert costs.pop("answered", None) is None
    votes = pooled(with_answered(LISTS), ballot(LISTS))
    model = nbest.VoteLikelihood(variance=1.0).fit(LISTS)
    strength = np.array([model.weights[name] for name in votes.feature_names]) * within_scale(votes)
    shares = dict(zip(votes.feature_names, strength / np.abs(strength).sum(), strict=True))
    assert {row["feature"]: row["share"] for row in found.rows} == pytest.approx(shares)
    assert costs
    assert None not in costs.values()
    prepared = weights(model.prepare(LISTS), method="vote", draws=2, folds=2, samples=20, settings={"variance": 1.0})
    assert prepared.rows == found.rows


def test_weights_of_sparse_features_and_without_costs():
    lists = toy_lists(1, sparse=True, noise=1.0)
    found = weights(lists, draws=2, folds=2, samples=20, top=50)
    assert {row["feature"] for row in found.rows} & set(lists.sparse_names)
    assert all(row["cost"] is not None for row in found.rows)
    assert all(row["cost"] is None for row in weights(lists, draws=2, folds=0).rows)
    with pytest.raises(ParameterError, match="must be 0 or at least 2, got 1"):
        weights(lists, draws=2, folds=1)
