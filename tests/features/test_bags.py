"""Extractors of bags against plain Python."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbest.base.errors import ParameterError
from nbest.corpus import Texts
from nbest.features.ngrams.bags import EXTRACTORS, Bags, bags

TEXTS = st.lists(st.text("abé猫 \t", max_size=12), max_size=6)


def by_name(bag: Bags) -> list[Counter]:
    assert len(set(bag.names)) == len(bag.names) == bag.counts.shape[1]
    return [Counter({name: n for name, n in zip(bag.names, row, strict=True) if n}) for row in bag.counts.toarray()]


def runs(items, between, low, high):
    return Counter(between.join(items[at : at + n]) for n in range(low, high + 1) for at in range(len(items) - n + 1))


@settings(max_examples=60, deadline=None)
@given(texts=TEXTS, low=st.integers(1, 3), more=st.integers(0, 2))
def test_extractors_are_their_plain_twins(texts, low, more):
    high, given_ = low + more, Texts.of(texts)
    size = f"{low}-{high}"
    suffixes = [Counter(w[-n:] for w in t.split() for n in range(low, high + 1) if n <= len(w)) for t in texts]
    assert by_name(bags(given_, f"suffixes{size}")) == suffixes
    assert by_name(bags(given_, f"labels{size}")) == [runs(t.split(), " ", low, high) for t in texts]
    assert by_name(bags(given_, f"characters{size}")) == [runs("".join(t.split()), "", low, high) for t in texts]


def test_defaults_are_those_of_the_paper():
    texts = Texts.of(["selling pressure"])
    assert set(bags(texts, "suffixes").names) == {"ng", "ing", "ling", "re", "ure", "sure"}
    assert set(bags(texts, "labels").names) == {"selling", "pressure", "selling pressure"}
    assert set(bags(texts, "words").names) == {"selling", "pressure"}
    assert {len(name) for name in bags(texts, "characters").names} == {1, 2}


def test_several_extractors_keep_their_names_apart():
    found = by_name(bags(Texts.of(["ab ab", ""]), "words+suffixes2"))
    assert found == [Counter({"0 ab": 2, "1 ab": 2}), Counter()]


def test_binary_counts_once():
    assert set(bags(Texts.of(["a a a b"]), "words", binary=True).counts.data) == {1.0}


@settings(max_examples=40, deadline=None)
@given(texts=TEXTS, other=TEXTS)
def test_columns_of_another_vocabulary(texts, other):
    names = bags(Texts.of(other), "labels").names
    found = bags(Texts.of(texts), "labels").within(names)
    assert found.shape == (len(texts), len(names))
    want = [{name: n for name, n in runs(text.split(), " ", 1, 2).items() if name in names} for text in texts]
    assert [{names[c]: row[c] for c in np.flatnonzero(row)} for row in found.toarray()] == want


@pytest.mark.parametrize("view", ["", "suffix", "labels0", "labels3-2", "labels+", "Labels", "labels2-"])
def test_views_that_do_not_exist_are_refused(view):
    with pytest.raises(ParameterError):
        bags(Texts.of(["a"]), view)


@pytest.mark.parametrize("name", sorted(EXTRACTORS))
def test_no_texts_and_empty_texts(name):
    assert bags(Texts.of([]), name).counts.shape == (0, 0)
    assert bags(Texts.of(["", " "]), name).counts.shape == (2, 0)
