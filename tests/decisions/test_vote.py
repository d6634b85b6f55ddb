"""Votes, the best of the majority, and the probability of answers against plain loops."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nbest
from nbest.base.errors import CapabilityError, ParameterError
from nbest.corpus import NBest, Texts
from nbest.corpus.ballots import ballot
from nbest.decisions import best_of_majority, vote
from nbest.decisions.confidence import answer_probabilities
from nbest.model.loglinear import LogLinear
from nbest.trainers.crossfit import crossfit


@st.composite
def voters(draw):
    """Lists with few distinct answers, some hypotheses without one, and scores with ties."""
    sizes = draw(st.lists(st.integers(0, 6), min_size=1, max_size=4))
    many = sum(sizes)
    texts = draw(st.lists(st.sampled_from(["a", "b", "c", ""]), min_size=many, max_size=many))
    scores = draw(st.lists(st.integers(-3, 3), min_size=many, max_size=many))
    offsets = np.cumsum([0, *sizes])
    features = np.array(scores, float).reshape(-1, 1) / 2
    return NBest(offsets, features, ("s",), tuple(map(str, range(len(sizes)))), texts=Texts.of(texts))


def of_each(lists):
    """The hypotheses of each list: (flat index, text, score)."""
    for low, high in zip(lists.offsets[:-1], lists.offsets[1:], strict=True):
        yield [(h, lists.texts[h], float(lists.features[h, 0])) for h in range(low, high)]


def weights_of(rows, pool, gamma):
    """What each answer of a list weighs, by a loop over its voters."""
    found = {}
    for _, text, score in rows:
        if text:
            found[text] = found.get(text, 0.0) + {"posteriors": math.exp(gamma * score), "scores": gamma * score}[pool]
    return found


def winner(rows, pool, gamma):
    weights = weights_of(rows, pool, gamma)
    best = max(weights.values(), default=None)
    wins = [text for text, weight in weights.items() if weight >= best - 1e-12]
    among = [row for row in rows if not weights or row[1] == wins[0]]
    return max(among, key=lambda row: (row[2], -row[0]))[0] if among else -1


MODEL = LogLinear({"s": 1.0})


@settings(deadline=None, max_examples=200)
@given(voters(), st.sampled_from(["posteriors", "scores"]), st.sampled_from([0.5, 1.0]))
def test_a_vote_against_a_loop(lists, pool, gamma):
    found = vote(MODEL, lists, pool=pool, gamma=gamma)
    for rows, chosen in zip(of_each(lists), found, strict=True):
        weights = weights_of(rows, pool, gamma)
        if len(set(weights.values())) < len(weights):
            assert weights[lists.texts[chosen]] == pytest.approx(max(weights.values()))  # a tie, but for rounding
        else:
            assert chosen == winner(rows, pool, gamma)


@settings(deadline=None, max_examples=100)
@given(voters())
def test_a_plurality_needs_no_model_and_its_ties_go_to_the_first(lists):
    expected = []
    for rows in of_each(lists):
        texts = [text for _, text, _ in rows if text]
        most = max(texts, key=texts.count, default="")
        expected.append(next((h for h, text, _ in rows if text == most), rows[0][0] if rows else -1))
    assert vote(None, lists).tolist() == expected
    assert vote(LogLinear({}), lists).tolist() == expected
    assert nbest.choose(None, lists, "vote").chosen.tolist() == expected
    assert nbest.mbr(None, lists, gain="wer").tolist() == nbest.mbr(MODEL, lists, gain="wer", gamma=0.0).tolist()


@settings(deadline=None, max_examples=200)
@given(voters(), st.sampled_from([0.0, 0.5, 0.7, 1.0]))
def test_the_best_of_the_majority_against_a_loop(lists, share):
    expected = []
    for rows in of_each(lists):
        texts = [text for _, text, _ in rows if text]
        most = max(map(texts.count, texts), default=0)
        kept = [row for row in rows if row[1] and texts.count(row[1]) >= share * most] if texts else rows
        expected.append(max(kept, key=lambda row: (row[2], -row[0]), default=(-1,))[0])
    assert best_of_majority(MODEL, lists, share=share).tolist() == expected


@settings(deadline=None, max_examples=100)
@given(voters(), st.sampled_from(["posteriors", "scores"]))
def test_probabilities_of_answers(lists, pool):
    found = answer_probabilities(MODEL, lists, {"kind": "vote", "pool": pool})
    for rows in of_each(lists):
        weights = weights_of(rows, pool, 1.0)
        if pool == "scores":
            weights = {text: math.exp(weight) for text, weight in weights.items()}
        for h, text, _ in rows:
            assert found[h] == pytest.approx(weights[text] / sum(weights.values()) if text else 0.0)


def test_other_decisions_have_the_posterior_of_the_answer():
    lists = NBest(np.array([0, 3]), np.array([[1.0], [0.5], [0.6]]), ("s",), ("0",), texts=Texts.of(["a", "b", "b"]))
    p = np.exp([1.0, 0.5, 0.6]) / np.exp([1.0, 0.5, 0.6]).sum()
    assert nbest.choose(MODEL, lists).confidence == pytest.approx([p[0]])
    assert nbest.choose(MODEL, lists, "vote").confidence == pytest.approx([p[1] + p[2]])
    assert nbest.choose(None, lists, "first").confidence == pytest.approx([1 / 3])
    assert nbest.choose(None, lists, "vote").confidence == pytest.approx([2 / 3])


def test_answers_are_compared_where_there_are_some():
    texts = Texts.of(["it is 7", "7 of course", "8", "no idea"])
    lists = NBest(np.array([0, 4]), np.zeros((4, 0)), (), ("0",), texts=texts).with_answers("last-number")
    votes = ballot(lists)
    assert votes.answers.tolist() == [0, 0, 1, -1]
    assert votes.votes.tolist() == [2, 1]
    assert votes.sums(np.arange(8.0).reshape(4, 2)).tolist() == [[2, 4], [4, 5]]
    tuned = LogLinear({}, answer="last-number")
    assert vote(tuned, replace(lists, answers=None, answer_rule="")).tolist() == [0]


@pytest.mark.parametrize("many", [3, 8, 9, 10, 11, 12, 20])
def test_shares_of_votes_are_exact(many):
    for few in range(many + 1):
        texts = Texts.of(["x"] * few + ["y"] * (many - few))
        lists = NBest(np.array([0, many]), np.zeros((many, 0)), (), ("0",), texts=texts)
        assert nbest.choose(None, lists, "vote").confidence[0] == max(few, many - few) / many


def test_a_hypothesis_without_an_answer_takes_nothing_from_those_with_one():
    lists = NBest(np.array([0, 3]), np.array([[900.0], [1.0], [0.0]]), ("s",), ("0",), texts=Texts.of(["", "b", "a"]))
    found = nbest.choose(MODEL, lists, "vote")
    assert found.texts == ["b"]
    assert found.confidence == pytest.approx([math.e / (1 + math.e)])


def test_mbr_is_as_sure_as_it_is_sharp():
    lists = NBest(np.array([0, 2]), np.array([[1.0], [0.0]]), ("s",), ("0",), texts=Texts.of(["a", "b"]))
    sharp = replace(MODEL, gamma=5.0)
    said = {"kind": "mbr", "gain": "exact", "gamma": 5.0}
    assert nbest.choose(sharp, lists, {"kind": "mbr", "gain": "exact"}).confidence == pytest.approx(
        nbest.choose(MODEL, lists, said).confidence
    )


@pytest.mark.parametrize("decision", [{"pool": "scores"}, {"gamma": 10.0}])
def test_votes_that_are_not_finite_are_refused(decision):
    lists = NBest(np.array([0, 2]), np.full((2, 1), 1e308), ("s",), ("0",), texts=Texts.of(["a", "a"]))
    with pytest.raises(ParameterError, match="some votes are not finite"):
        nbest.choose(MODEL, lists, {"kind": "vote", **decision})


def test_what_votes_refuse():
    lists = NBest(np.array([0, 1]), np.zeros((1, 0)), (), ("0",))
    with pytest.raises(CapabilityError, match="votes need the texts or answers"):
        vote(None, lists)
    lists = replace(lists, texts=Texts.of(["a"]), features=np.zeros((1, 1)), feature_names=("s",))
    with pytest.raises(ParameterError, match="'pool' of vote must be posteriors or scores, got 'sum'"):
        vote(MODEL, lists, pool="sum")
    with pytest.raises(ParameterError, match="'share' of best_of_majority must be between 0 and 1"):
        best_of_majority(MODEL, lists, share=2)


def test_crossfit_leaves_whole_groups_out():
    rng = np.random.default_rng(1)
    groups = tuple(f"g{i // 3}" for i in range(30))
    lists = NBest(
        np.arange(0, 121, 4), rng.normal(size=(120, 1)), ("s",), tuple(map(str, range(30))), groups=groups,
        texts=Texts.of(map(str, rng.integers(3, size=120))), gains=rng.integers(2, size=120).astype(float),
    )  # fmt: skip
    seen = []

    def fit(part):
        seen.append(set(part.groups))
        return LogLinear({"s": float(len(seen))})

    found = crossfit(fit, lists, folds=5)
    for fold in range(5):
        out = np.flatnonzero(found.fold == fold)
        assert not seen[fold] & {groups[i] for i in out}
        assert found.chosen[out].tolist() == LogLinear({"s": 1.0}).predict(lists)[out].tolist()
    assert found.models[3].weights == {"s": 4.0}
    with pytest.raises(ParameterError, match=r"'folds' must be between 2 and the number of groups \(10\), got 11"):
        crossfit(fit, lists, folds=11)
