"""`Texts` behaves like a list of strings."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from nbest.corpus import Texts
from nbest.corpus.texts import concatenate

strings = st.lists(
    st.one_of(st.text(max_size=5), st.sampled_from(["", "a", "é", "日本", "💥", "a\u2028b"])), max_size=8
)


def clean(lines):
    return [line.encode("utf-8", "replace").decode() for line in lines]


@settings(deadline=None, max_examples=100)
@given(strings, strings, st.data())
def test_like_a_list(first, second, data):
    texts = Texts.of(first)
    first, second = clean(first), clean(second)
    assert list(texts) == first
    assert len(texts) == len(first)
    assert [texts.raw(h) for h in range(len(texts))] == [line.encode() for line in first]
    rows = data.draw(st.lists(st.integers(0, len(first) - 1), max_size=6)) if first else []
    taken = texts.take(np.array(rows, np.int64))
    assert list(taken) == [first[h] for h in rows]
    packed = taken.compact()
    assert list(packed) == list(taken)
    assert len(packed.buffer) == sum(len(first[h].encode()) for h in rows)
    assert list(concatenate([taken, Texts.of(second), texts])) == [*taken, *second, *first]
    numbers = texts.numbers().tolist()
    order = list(dict.fromkeys(first))
    assert numbers == [order.index(line) for line in first]


def test_nothing():
    texts = Texts.of([])
    assert list(texts) == list(texts.compact()) == list(texts.take(np.zeros(0, np.int64))) == []
    assert texts.numbers().tolist() == []
    assert texts.numbers().dtype == np.int64


def test_lone_surrogates_become_question_marks():
    assert list(Texts.of(["a\ud800b"])) == ["a?b"]
