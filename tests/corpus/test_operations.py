"""split, prune, dedupe and merge against plain lists."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from strategies import text_lists

from nbest.base.errors import CapabilityError, ParameterError
from nbest.corpus import NBest, Texts, dedupe, merge, prune, split
from nbest.metrics import BLEU, WER, Precision, Recall
from nbest.testing import toy_lists

from .test_nbest import rows_of


@pytest.mark.parametrize("fraction", [0.05, 0.5, 0.9])
def test_split(fraction):
    corpus = toy_lists()
    rows = {row[0]: row for row in rows_of(corpus)}
    draws = set()
    for seed in range(5):
        parts = split(corpus, fraction, seed)
        assert len(parts[0]) == round(fraction * len(corpus))
        assert sorted(parts[0].ids + parts[1].ids) == sorted(corpus.ids)
        for part in parts:
            assert list(part.ids) == [name for name in corpus.ids if name in part.ids]
            assert rows_of(part) == [rows[name] for name in part.ids]
        assert split(corpus, fraction, seed)[0].ids == parts[0].ids
        draws.add(parts[0].ids)
    assert len(draws) > 1


@pytest.mark.parametrize("fraction", [0, 1, -0.5, 2, float("nan")])
def test_bad_fractions(fraction):
    with pytest.raises(ParameterError, match="'fraction' of split must be between 0 and 1, got"):
        split(toy_lists(), fraction)


def test_too_small_to_split():
    with pytest.raises(ParameterError, match=r"cannot split 1 segments by 0.5: one part would be empty"):
        split(toy_lists().select([0]), 0.5)


@settings(deadline=None, max_examples=60)
@given(text_lists(longest=5), st.integers(1, 4), st.data())
def test_prune(corpus, k, data):
    rows = rows_of(corpus)
    assert rows_of(prune(corpus, k)) == [(*head, hyps[:k]) for *head, hyps in rows]
    size = corpus.hypotheses
    scores = np.array(data.draw(st.lists(st.integers(-2, 2), min_size=size, max_size=size)), np.float64)
    found = rows_of(prune(corpus, k, scores))
    for i, (*head, hyps) in enumerate(rows):
        here = scores[corpus.offsets[i] : corpus.offsets[i + 1]]
        best = sorted(sorted(range(len(hyps)), key=lambda h: (-here[h], h))[:k])
        assert found[i] == (*head, [hyps[h] for h in best])


def test_prune_to_nothing_is_refused():
    with pytest.raises(ParameterError, match="'k' of prune must be >= 1, got 0"):
        prune(toy_lists(), 0)


@settings(deadline=None, max_examples=100)
@given(text_lists(longest=6))
def test_dedupe(corpus):
    for by, key in (("text", lambda row: row[1]), ("text+features", lambda row: (row[1], row[0]))):
        expected = []
        for *head, hyps in rows_of(corpus):
            first = {}
            for row in hyps:
                first.setdefault(key(row), row)
            expected.append((*head, list(first.values())))
        assert rows_of(dedupe(corpus, by)) == expected


def test_dedupe_refuses():
    with pytest.raises(ParameterError, match=r"'by' of dedupe must be 'text' or 'text.features', got 'words'"):
        dedupe(toy_lists(), "words")
    with pytest.raises(CapabilityError, match="needs the texts"):
        dedupe(replace(toy_lists(), texts=None))


# merge ----------------------------------------------------------------------------------------------------------


def named(corpus, row):
    """Features of a hypothesis by name, zeros of the sparse ones left out."""
    sparse = dict(zip(corpus.sparse_names, row[2], strict=True)) if row[2] is not None else {}
    dense = dict(zip(corpus.feature_names, row[0], strict=True))
    return frozenset(dense.items()), frozenset((name, value) for name, value in sparse.items() if value)


def twin(parts):
    """The union by plain dicts: {id: {(text, features): None}}."""
    union = {}
    for part in parts:
        for name, *_, hyps in rows_of(part):
            found = union.setdefault(name, {})
            for row in hyps:
                found.setdefault((row[1], named(part, row)))
    return {name: list(found) for name, found in union.items()}


def as_twin(corpus):
    return {name: [(row[1], named(corpus, row)) for row in hyps] for name, *_, hyps in rows_of(corpus)}


@st.composite
def with_sparse(draw, corpora):
    corpus = draw(corpora)
    if draw(st.booleans()):
        return corpus
    names = draw(st.permutations(["p", "q", "r"]))[: draw(st.integers(0, 3))]
    size = corpus.hypotheses * len(names)
    values = draw(st.lists(st.sampled_from([0.0, 0.0, 1.0, -2.0]), min_size=size, max_size=size))
    matrix = csr_array(np.array(values).reshape(corpus.hypotheses, len(names)))
    return replace(corpus, sparse=matrix, sparse_names=tuple(names))


@settings(deadline=None, max_examples=150)
@given(st.lists(with_sparse(text_lists(longest=3)), min_size=1, max_size=3))
def test_merge_is_the_union(parts):
    union = merge(*parts)
    assert list(as_twin(union).items()) == list(twin(parts).items())
    assert as_twin(merge(union, *parts)) == as_twin(union)
    assert as_twin(merge(*parts, *parts)) == as_twin(union)
    assert set(union.sparse_names) == {name for part in parts for name in part.sparse_names}


def test_merge_takes_features_by_name():
    corpus = toy_lists()
    turned = corpus.only_features(("third", "first", "second"))
    assert as_twin(merge(corpus, turned)) == as_twin(merge(corpus))
    with pytest.raises(ParameterError, match="same features; 'third' is not in both 1 and 3"):
        merge(corpus, corpus, corpus.without_features(("third",)))
    with pytest.raises(CapabilityError, match="merge needs the texts"):
        merge(corpus, replace(corpus, texts=None))


def test_explicit_zeros_are_no_difference():
    corpus = toy_lists().select([0])
    stored = csr_array((np.zeros(1), (np.zeros(1, int), np.zeros(1, int))), shape=(corpus.hypotheses, 1))
    none = csr_array((corpus.hypotheses, 1))
    parts = [replace(corpus, sparse=matrix, sparse_names=("p",)) for matrix in (stored, none)]
    assert merge(*parts).hypotheses == merge(corpus).hypotheses


def test_merge_keeps_statistics_of_the_same_metric_only():
    wer = dedupe(toy_lists(), "text+features")
    assert np.array_equal(merge(wer, wer).stats, wer.stats)
    assert merge(wer, wer).metric == WER()
    for other in (BLEU(), WER(lowercase=True)):
        assert merge(wer, wer.with_metric(other)).stats is None
    assert merge(wer, replace(wer, stats=None, metric=None)).metric is None
    precision, recall = wer.with_metric(Precision()), wer.with_metric(Recall())
    assert merge(precision, recall).metric is None


def one(name, text, **more):
    return NBest(
        offsets=np.array([0, 1]),
        features=np.zeros((1, 1)),
        feature_names=("f",),
        ids=(name,),
        texts=Texts.of([text]),
        **more,
    )


def test_merge_keeps_references_and_sources():
    first = one("a", "x", references=(("r",),), sources=("s",))
    again = one("a", "y", references=(("other",),), sources=("t",))
    second = one("b", "z", references=(("q",),), sources=("u",))
    union = merge(first, again, second)
    assert union.references == (("r",), ("q",))
    assert union.sources == ("s", "u")
    assert list(union.texts) == ["x", "y", "z"]
    assert merge(first, one("b", "z")).references is None
    assert merge(one("a", "x"), first).references == (("r",),)
