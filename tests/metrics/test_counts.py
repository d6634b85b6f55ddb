"""Accuracies, precision, recall and F against plain Python; external values."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbest.base.errors import CapabilityError, ParameterError
from nbest.metrics import F1, Exact, External, Precision, Recall, TokenAccuracy

from .corpora import corpora, flat, nasty_texts, pairs, plain_texts, stats_of

mixed = corpora(st.one_of(nasty_texts, plain_texts))


def split(text, lowercase):
    return (text.lower() if lowercase else text).split()


def places(hyp, ref):
    return sum(a == b for a, b in zip(hyp, ref, strict=False)), max(len(hyp), len(ref))


@settings(deadline=None, max_examples=100)
@given(corpus=mixed, lowercase=st.booleans())
def test_accuracies(corpus, lowercase):
    exact, token = [], []
    for text, group in pairs(corpus):
        hyp, refs = split(text, lowercase), [split(ref, lowercase) for ref in group]
        exact.append([hyp in refs, 1])
        found = [places(hyp, ref) for ref in refs]
        token.append(list(max(found, key=lambda pair: Fraction(*pair) if pair[1] else 1)))
    assert stats_of(Exact(lowercase=lowercase), corpus).tolist() == exact
    assert stats_of(TokenAccuracy(lowercase=lowercase), corpus).tolist() == token


@settings(deadline=None, max_examples=100)
@given(corpus=mixed, lowercase=st.booleans())
def test_elements(corpus, lowercase):
    expected = []
    for text, group in pairs(corpus):
        hyp = Counter(split(text, lowercase))
        refs = [Counter(split(ref, lowercase)) for ref in group]
        found = [((hyp & ref).total(), hyp.total(), ref.total()) for ref in refs]
        expected.append(list(max(found, key=lambda row: Fraction(2 * row[0], row[1] + row[2]) if any(row) else 1)))
    for metric in (Precision, Recall, F1):
        assert stats_of(metric(lowercase=lowercase), corpus).tolist() == expected


def test_scores_of_elements():
    totals = np.array([[6.0, 8.0, 12.0], [0.0, 0.0, 0.0], [0.0, 3.0, 0.0]])
    assert Precision().score(totals).tolist() == [75, 0, 0]
    assert Recall().score(totals).tolist() == [50, 0, 0]
    assert F1().score(totals).tolist() == [60, 0, 0]
    assert F1(beta=2).score(totals)[0] == pytest.approx(100 * 5 * 0.75 * 0.5 / (4 * 0.75 + 0.5))
    assert F1().losses(totals).tolist() == [40, 0, 100]
    assert (F1().name, F1(beta=0.5).name) == ("F1", "F0.5")
    with pytest.raises(ParameterError, match="'beta' of F1 must be > 0, got 0"):
        F1(beta=0)


def test_ties_go_to_the_first_reference():
    assert stats_of(F1(), ([["a b"]], [["a", "b", "a c"]])).tolist() == [[1, 2, 1]]
    assert stats_of(TokenAccuracy(), ([["a b"]], [["a c", "a b c d"]])).tolist() == [[1, 2]]


def test_external():
    comet = External(label="comet")
    stats = comet.stats_of([0.5, 0.75, -1])
    assert stats.tolist() == [[0.5, 1], [0.75, 1], [-1, 1]]
    assert comet.score(stats[:2].sum(axis=0)) == 0.625
    assert comet.losses(stats).tolist() == [0.25, 0, 1.75]
    assert External(higher_is_better=False).losses(stats).tolist() == [1.5, 1.75, 0]
    assert External(higher_is_better=False).losses(stats[:2]).tolist() == [0.5, 0.75]
    assert "label:comet" in comet.signature()


def test_external_refuses():
    with pytest.raises(CapabilityError, match="comet is not computed from texts; give one value for each hypothesis"):
        External(label="comet").stats(*flat([["a"]]), [["a"]])
    with pytest.raises(ParameterError, match="values of comet must be finite, got nan for hypothesis 1"):
        External(label="comet").stats_of([1, np.nan])
    with pytest.raises(ParameterError, match=r"must be one number a hypothesis, got shape \(1, 1\)"):
        External().stats_of([[1]])
