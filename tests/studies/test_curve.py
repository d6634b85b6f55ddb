"""`study curve` against the metric of expected statistics, by enumeration."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, permutations

import numpy as np
import pytest

import nbest
from nbest.base.errors import ParameterError
from nbest.corpus import NBest, Texts
from nbest.model.loglinear import LogLinear
from nbest.studies.curve import curve
from nbest.testing import toy_lists

GAINS = {"a": (0.0, 1.0, 0.0), "b": (1.0, 0.0), "c": (0.5,), "d": ()}
SCORES = {"a": (3.0, 2.0, 1.0), "b": (1.0, 1.0), "c": (0.0,), "d": ()}


def small() -> NBest:
    gains, scores = (np.array([value for each in given.values() for value in each]) for given in (GAINS, SCORES))
    offsets = np.array([0, 3, 5, 6, 6])
    lists = NBest(offsets, np.stack([scores, -scores], axis=1), ("good", "bad"), tuple("abcd"), gains=gains)
    return lists.with_metric(nbest.External())


def test_values_by_hand() -> None:
    found = curve(small(), features=["good"], sizes=[2, 1, 3], samples=20)
    of = {(row["series"], row["k"]): row["value"] for row in found.rows}
    means = [1 / 3, 0.5, 0.5]
    assert of["random", 1] == of["random", 3] == pytest.approx(np.mean(means))
    assert of["good", 1] == of["random", 1]
    assert of["good", 2] == pytest.approx(np.mean([1 / 3, 0.5, 0.5]))  # of a: 0, 0 and 1
    assert of["good", 3] == pytest.approx(np.mean([0.0, 0.5, 0.5]))
    assert of["oracle", 2] == pytest.approx(np.mean([2 / 3, 1.0, 0.5]))
    assert of["oracle", 3] == pytest.approx(np.mean([1.0, 1.0, 0.5]))
    assert found.settings["shorter"] == 3
    assert all(row["low"] <= row["value"] <= row["high"] for row in found.rows)


def test_the_metric_of_expected_statistics() -> None:
    lists = toy_lists(5, noise=0.3, metric=nbest.BLEU()).select(range(4))
    stats, metric = lists.need_stats()
    scores = LogLinear({"first": 1.0}).scores(lists)
    expected = np.zeros(stats.shape[1])
    for low, high in zip(lists.offsets[:-1], lists.offsets[1:], strict=True):
        subsets = list(combinations(range(low, high), min(3, high - low)))
        chosen = [max(each, key=lambda h: scores[h]) for each in subsets if each]
        expected += stats[chosen].sum(axis=0) / len(subsets)
    found = curve(lists, model=LogLinear({"first": 1.0}), sizes=[3], samples=10)
    (row,) = found.chosen(series="model")
    assert row["value"] == pytest.approx(float(metric.score(expected)))


def test_groups_are_drawn_as_a_whole() -> None:
    gains = np.repeat([1.0, 0.0], 10)
    lists = NBest(np.arange(21), gains[:, None], ("f",), tuple(map(str, range(20))), gains=gains)
    bands = {}
    for groups in (None, tuple(map(str, gains))):
        found = curve(replace(lists, groups=groups).with_metric(nbest.External()), samples=200)
        bands[groups is None] = [(row["low"], row["high"]) for row in found.chosen(series="f")]
    assert bands[False] == [(0.0, 1.0)]
    assert 0.1 < bands[True][0][0] < bands[True][0][1] < 0.9


def test_by_default_the_best_features_are_shown_and_all_sizes() -> None:
    rng = np.random.default_rng(1)
    gains = rng.integers(2, size=600).astype(float)
    noise = rng.normal(size=(600, 7)) + gains[:, None] * [0, 1, 0, 2, 3, 0, 4]
    lists = NBest(np.arange(0, 601, 150), noise, tuple("abcdefg"), tuple("wxyz"), gains=gains)
    found = curve(lists.with_metric(nbest.External()), samples=10)
    assert {row["series"] for row in found.rows} == {"random", "oracle", *"bdeg"}
    sizes = [row["k"] for row in found.chosen(series="g")]
    assert sizes[:100] == list(range(1, 101))
    assert sizes[-1] == 150
    assert sizes == sorted(set(sizes))


def test_lower_is_better_where_the_metric_says_so() -> None:
    metric = nbest.External(higher_is_better=False)
    lists = small()
    assert lists.gains is not None
    found = curve(replace(lists, stats=metric.stats_of(lists.gains), metric=metric), samples=5)
    assert found.chosen(series="oracle", k=3)[0]["value"] == pytest.approx((0.0 + 0.0 + 0.5) / 3)


def test_arguments_are_checked() -> None:
    with pytest.raises(ParameterError, match="'sizes'"):
        curve(small(), sizes=[0])
    with pytest.raises(ParameterError, match="nothing"):
        curve(small(), features=["nothing"])
    with pytest.raises(ParameterError, match="are empty"):
        curve(small().select([3]))


def voting() -> NBest:
    texts = Texts.of(["x", "y", "x", "z", "z", ""])
    gains = np.array([0.0, 1.0, 0.0, 1.0, 1.0, 0.0])
    lists = NBest(np.array([0, 3, 6]), np.arange(6.0)[:, None], ("f",), ("a", "b"), texts=texts, gains=gains)
    return lists.with_metric(nbest.External())


def every_order(lists: NBest, k: int, model: LogLinear | None, decision: str) -> float:
    """The mean gain over all orders of three hypotheses of what the decision itself chooses of the first k."""
    found = []
    for order in permutations(range(3)):
        rows = np.array([low + place for low in (0, 3) for place in order])
        part = lists.reorder(rows).keep(np.tile(np.arange(3) < k, 2))
        assert part.gains is not None
        found.append(part.gains[nbest.choose(model, part, decision).chosen].mean())
    return float(np.mean(found))


@pytest.mark.parametrize("model", [None, LogLinear({"f": 0.5})])
def test_decisions_are_sampled_as_they_choose(model: LogLinear | None) -> None:
    lists = voting()
    found = curve(lists, model=model, features=["f"], sizes=[1, 2, 3], orders=80, samples=20)
    names = {row["series"]: (row["by"], row["decision"]) for row in found.rows if row["how"] == "sampled"}
    wanted = {"vote", "f, best-of-majority"} | ({"model, vote", "model, best-of-majority"} if model else set())
    assert set(names) == wanted
    for name, (by, decision) in names.items():
        scorer = {None: None, "model": model, "f": LogLinear({"f": 1.0})}[by]
        for row in found.chosen(series=name):
            assert row["value"] == pytest.approx(every_order(lists, row["k"], scorer, decision), abs=0.12)


def test_the_decision_of_the_model_is_shown_with_its_options() -> None:
    model = LogLinear({"f": -5.0}, decision={"kind": "vote", "pool": "scores"})
    found = curve(voting(), model=model, sizes=[3], orders=2, samples=5)
    (row,) = found.chosen(series="model, vote")
    assert row["value"] == pytest.approx(expected_vote(model))


def expected_vote(model: LogLinear) -> float:
    lists = voting()
    assert lists.gains is not None
    return float(lists.gains[nbest.choose(model, lists).chosen].mean())


def test_votes_without_a_model_compare_answers_as_the_model_does() -> None:
    texts = [f"{k}: it is {answer}" for k, answer in enumerate("aabcab")]
    lists = NBest(np.array([0, 3, 6]), np.zeros((6, 1)), ("s",), ("0", "1"), texts=Texts.of(texts))
    lists = replace(lists, gains=np.array([1.0, 1, 0, 0, 0, 1])).with_metric(nbest.External())
    model = LogLinear({"s": 1.0}, answer=r"is (\w+)", decision={"kind": "vote"})
    rows = curve(lists, model=model, sizes=[3], orders=1, samples=10).chosen(series="vote")
    same = curve(lists.with_answers(r"is (\w+)").with_metric(nbest.External()), sizes=[3], orders=1, samples=10)
    assert [row["value"] for row in rows] == [row["value"] for row in same.chosen(series="vote")]
    assert curve(lists, sizes=[3], orders=1, samples=10).chosen(series="vote")[0]["value"] != rows[0]["value"]


def test_decisions_may_be_none_or_named() -> None:
    assert {row["how"] for row in curve(voting(), decisions=[], samples=5).rows} == {"exact"}
    found = curve(voting(), decisions=["first", "mbr"], orders=1, samples=5)
    assert {row["series"] for row in found.rows if row["how"] == "sampled"} == {"first", "mbr"}
    with pytest.raises(ParameterError, match="unknown decision"):
        curve(voting(), decisions=["vot"])


def test_the_table_has_the_values_of_the_curve() -> None:
    found = curve(small(), features=["good"], sizes=[3, 2], samples=20)
    heads, _, *rows = (line.strip("| ").split(" | ") for line in found.said.splitlines() if line.startswith("|"))
    assert heads == ["best of k", "2", "3"]
    values = {(row["series"], row["k"]): row["value"] for row in found.rows}
    assert {row[0] for row in rows} == {name for name, _ in values}
    for name, *cells in rows:
        known = [values.get((name, k)) for k in (2, 3)]
        assert cells == ["-" if value is None else f"{value:.4f}" for value in known]
