"""Jackknifed lists: folds, order, complaints, and why one wants them."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from nbest.base.errors import ParameterError
from nbest.compute.executors import using
from nbest.compute.segments import offsets_of
from nbest.corpus import NBest, Texts
from nbest.metrics import WER
from nbest.model.loglinear import LogLinear
from nbest.systems.jackknife import fold_indices, jackknife, jackknifed_lists
from nbest.testing import toy_lists
from nbest.testing.tiny_systems import tiny_system
from nbest.trainers import MaxLikelihood
from tests.compute.elsewhere import Elsewhere

# folds -----------------------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=100)
@given(st.integers(2, 40), st.integers(2, 12), st.booleans(), st.integers(0, 9))
def test_folds(count, folds, shuffle, seed):
    folds = min(folds, count)
    pairs = list(fold_indices(count, folds, shuffle=shuffle, seed=seed))
    assert len(pairs) == folds
    assert sorted(i for _, test in pairs for i in test) == list(range(count))
    for train, test in pairs:
        assert sorted([*train, *test]) == list(range(count))
        assert train.tolist() == sorted(train)
        assert test.tolist() == sorted(test)
        assert len(test) in (count // folds, -(-count // folds))
        if not shuffle:
            assert test.tolist() == list(range(test[0], test[-1] + 1))
    again = list(fold_indices(count, folds, shuffle=shuffle, seed=seed))
    assert all(np.array_equal(a[1], b[1]) for a, b in zip(pairs, again, strict=True))


def test_shuffled_folds_depend_on_the_seed():
    drawn = {tuple(next(fold_indices(100, 10, shuffle=True, seed=seed))[1]) for seed in range(5)}
    assert len(drawn) == 5


@pytest.mark.parametrize(
    ("count", "folds", "reason"), [(9, 1, "must be >= 2, got 1"), (3, 4, "at most .* 4 for 3 items")]
)
def test_numbers_of_folds(count, folds, reason):
    with pytest.raises(ParameterError, match=f"'folds' of jackknife {reason}|{reason}"):
        list(fold_indices(count, folds))


# lists -----------------------------------------------------------------------------------------------------------

CORPUS = toy_lists(3, segments_=23, sparse=True)


def lookup(corpus):
    """A base system that knows the lists of every item (their numbers); it learns nothing."""
    return lambda train, test: corpus.select(list(test))


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("folds", [2, 5, 10, 23])
def test_lists_come_back_in_the_order_of_the_items(shuffle, folds):
    found = jackknife(range(23), lookup(CORPUS), folds, shuffle=shuffle, seed=4)
    assert found.ids == CORPUS.ids
    assert found.references == CORPUS.references
    assert np.array_equal(found.offsets, CORPUS.offsets)
    assert np.array_equal(found.features, CORPUS.features)
    assert np.array_equal(found.stats, CORPUS.stats)
    assert found.metric == CORPUS.metric
    assert list(found.texts) == list(CORPUS.texts)
    assert found.sparse_names == CORPUS.sparse_names
    assert np.array_equal(found.sparse.toarray(), CORPUS.sparse.toarray())


def test_items_may_come_in_any_order():
    items = np.random.default_rng(1).permutation(23).tolist()
    found = jackknife(items, lookup(CORPUS), 5)
    assert found.ids == tuple(f"s{i}" for i in items)


def test_repeated_hypotheses_stay():
    twice = NBest(
        offsets=np.array([0, 2, 4]), features=np.ones((4, 1)), feature_names=("f",), ids=("a", "b"),
        texts=Texts.of(["x"] * 4),
    )  # fmt: skip
    assert jackknife([0, 1], lookup(twice), 2).hypotheses == 4


def test_lists_without_texts_and_with_columns_in_another_order():
    bare = replace(CORPUS, texts=None, references=None, stats=None, metric=None)

    def decode(train, test):
        part = bare.select(test)
        return part.only_features(part.feature_names[::-1]) if 0 not in test else part

    found = jackknife(range(23), decode, 4)
    assert found.texts is None
    assert found.feature_names == CORPUS.feature_names
    assert np.array_equal(found.features, CORPUS.features)


def test_sparse_columns_are_united():
    def decode(train, test):
        part = replace(CORPUS.select(test), sparse=None, sparse_names=())
        name = f"only in the fold of {test[0]}"
        return replace(part, sparse=csr_array(np.ones((part.hypotheses, 1))), sparse_names=(name,))

    found = jackknife(range(23), decode, 3)
    assert len(found.sparse_names) == 3
    assert found.sparse.toarray().sum(axis=1).tolist() == [1.0] * found.hypotheses


def test_statistics_of_one_fold_alone_are_dropped():
    def decode(train, test):
        part = CORPUS.select(test)
        return part if 0 in test else replace(part, stats=None, metric=None)

    assert jackknife(range(23), decode, 3).stats is None


def test_training_items_are_the_others():
    seen = []

    def decode(train, test):
        seen.append((list(train), list(test)))
        return CORPUS.select(test)

    jackknife(range(23), decode, 4, shuffle=True, seed=2)
    expected = [(a.tolist(), b.tolist()) for a, b in fold_indices(23, 4, shuffle=True, seed=2)]
    assert seen == expected


def test_progress():
    calls = []
    jackknife(range(23), lookup(CORPUS), 4, progress=lambda done, of: calls.append((done, of)))
    assert calls == [(1, 4), (2, 4), (3, 4), (4, 4)]


# on workers ------------------------------------------------------------------------------------------------------


def chosen(train, test):
    return CORPUS.select(list(test))


def remembers(train, test):
    """Features that depend on what was trained on."""
    part = CORPUS.select(list(test))
    return replace(part, features=part.features + np.sum(train) + len(train) / 7)


def breaks(train, test):
    if 6 in test:
        raise ZeroDivisionError("the base system broke")
    return CORPUS.select(list(test))


def too_few(train, test):
    return CORPUS.select(list(test)[: -1 if 6 in test else None])


@pytest.mark.parametrize("decode", [chosen, remembers])
@pytest.mark.parametrize("folds", [2, 5, 23])
def test_workers_find_the_same(decode, folds):
    here = jackknife(range(23), decode, folds, shuffle=True, seed=3)
    calls = []
    with using(Elsewhere(2)) as executor:
        there = jackknife(
            range(23), decode, folds, shuffle=True, seed=3, progress=lambda done, of: calls.append((done, of))
        )
    assert executor.passes == 1
    assert there == here
    assert calls == [(done, folds) for done in range(1, folds + 1)]


def test_systems_on_workers():
    tiny = tiny_system("tagger")
    items = [each for each in tiny.inputs if not isinstance(each, tuple)]
    here = jackknifed_lists(tiny.training, items, 3, 2, threads=1)
    with using(Elsewhere(2)):
        assert jackknifed_lists(tiny.training, items, 3, 2, threads=1) == here


def test_workers_name_the_fold():
    with using(Elsewhere(2)), pytest.raises(ZeroDivisionError) as caught:
        jackknife(range(23), breaks, 4)
    assert caught.value.__notes__ == ["in fold 2 of 4 of jackknife"]
    with (
        using(Elsewhere(2)),
        pytest.raises(ParameterError, match=r"fold 2 of jackknife: decode must return .* 6, got 5"),
    ):
        jackknife(range(23), too_few, 4)


def test_a_wrong_fold_is_seen_before_the_next_is_begun():
    begun = []

    def decode(train, test):
        begun.append(1)
        return None

    with pytest.raises(ParameterError, match="fold 1 of jackknife"):
        jackknife(range(23), decode, 4)
    assert len(begun) == 1


# complaints ------------------------------------------------------------------------------------------------------


def broken_in_fold_two(change):
    count = []

    def decode(train, test):
        count.append(1)
        part = CORPUS.select(test)
        return change(part) if len(count) == 2 else part

    return decode


COMPLAINTS = [
    (lambda part: part.select(range(len(part) - 1)), r"fold 2 of jackknife: decode must return .* 6, got 5"),
    (lambda part: replace(part, ids=("s0", *part.ids[1:])), "fold 2 of jackknife: the id 's0' was used in fold 1"),
    (lambda part: part.only_features(("first",)), "fold 2 of jackknife: folds must have the same features; 'second'"),
    (lambda part: None, "fold 2 of jackknife: decode must return an NBest, got NoneType"),
    (lambda part: replace(part, texts=None), "fold 2 of jackknife: all folds must have texts"),
]


@pytest.mark.parametrize(("change", "reason"), COMPLAINTS)
def test_complaints_name_the_fold(change, reason):
    with pytest.raises(ParameterError, match=reason):
        jackknife(range(23), broken_in_fold_two(change), 4)


def test_errors_of_the_base_system_name_the_fold():
    def decode(train, test):
        raise ZeroDivisionError("the base system broke")

    with pytest.raises(ZeroDivisionError) as caught:
        jackknife(range(23), decode, 4)
    assert caught.value.__notes__ == ["in fold 1 of 4 of jackknife"]


def test_no_more_folds_than_items():
    with pytest.raises(ParameterError, match="got 10 for 3 items"):
        jackknife(range(3), lookup(CORPUS))


# what it is for --------------------------------------------------------------------------------------------------

WORDS = np.array(["ant", "bee", "cat", "dog", "elk", "fox"])


def sentences(seed, count):
    rng = np.random.default_rng(seed)
    return [(f"{seed}-{i}", tuple(rng.choice(WORDS, 6))) for i in range(count)]


def base_system(train, test):
    """Remembers what it was trained on: the share of a text's 4-grams that occurred there ("memory").

    An honest but weaker feature ("honest") counts right words, with noise. Candidates do not depend on the training.
    """
    known = Counter(gram for _, words in train for gram in grams(words))
    texts, rows, references = [], [], []
    for name, words in test:
        rng = np.random.default_rng(abs(int(name.replace("-", ""))))
        for k in range(6):
            said = np.array(words) if k == 0 else np.where(rng.random(6) < 0.4, rng.choice(WORDS, 6), words)
            texts.append(" ".join(said))
            right = np.mean(said == np.array(words))
            rows.append((np.mean([gram in known for gram in grams(said)]), right + rng.normal(0, 0.25)))
        references.append((" ".join(words),))
    return NBest(
        offsets=offsets_of(np.full(len(test), 6)),
        features=np.array(rows),
        feature_names=("memory", "honest"),
        ids=tuple(name for name, _ in test),
        texts=Texts.of(texts),
        references=tuple(references),
    ).with_metric(WER())


def grams(words):
    return [tuple(words[k : k + 4]) for k in range(len(words) - 3)]


def test_an_overconfident_base_system_is_seen_through():
    """On its own training data "memory" is always right, and a reranker trusts it; jackknifed lists tell the truth."""
    own_scores, fair_scores, own_shares, fair_shares = [], [], [], []
    for seed in range(1, 6):
        items, unseen = sentences(seed, 60), sentences(100 + seed, 100)
        own, fair = base_system(items, items), jackknife(items, base_system, 10)
        assert fair.ids == own.ids
        memory = LogLinear({"memory": 1.0})
        assert own.score(memory.predict(own)) == 0.0  # every sentence it was trained on is recognised
        assert fair.score(memory.predict(fair)) > 5.0
        test = base_system(items, unseen)
        for lists, scores, shares in ((own, own_scores, own_shares), (fair, fair_scores, fair_shares)):
            model = MaxLikelihood().fit(lists)
            scores.append(test.score(model.predict(test)))
            shares.append(model.weights["memory"] / model.weights["honest"])
    assert np.median(fair_shares) < 0.5 * np.median(own_shares)
    assert np.median(fair_scores) < np.median(own_scores)
