"""The n-gram kernel equals its plain Python twin, for any number of threads."""

from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from nbest.compute.segments import offsets_of
from nbest.corpus.words import Words
from nbest.metrics import ngrams

sequences = st.lists(st.integers(0, 3), max_size=12)


def as_words(lists):
    offsets = offsets_of(np.array([len(words) for words in lists], np.int64))
    return Words(offsets, np.array([word for words in lists for word in words], np.int32))


def counts(words, n):
    return Counter(tuple(words[at : at + n]) for at in range(len(words) - n + 1))


def twin(hypothesis, references, order):
    out = []
    for n in range(1, order + 1):
        limits = Counter()
        for reference in references:
            limits |= counts(reference, n)
        out.append((counts(hypothesis, n) & limits).total())
    return out


@settings(deadline=None, max_examples=200)
@given(
    st.lists(st.tuples(st.lists(sequences, max_size=3), st.lists(sequences, max_size=3)), min_size=1, max_size=4),
    st.integers(1, 6),
    st.integers(1, 3),
)
def test_kernel_is_its_twin(corpus, order, threads):
    offsets = offsets_of(np.array([len(hyps) for hyps, _ in corpus], np.int64))
    groups = offsets_of(np.array([len(refs) for _, refs in corpus], np.int64))
    hyps = as_words([hyp for hyps, _ in corpus for hyp in hyps])
    refs = as_words([ref for _, refs in corpus for ref in refs])
    found = ngrams.matches(hyps, offsets, refs, groups[:-1], groups[1:], order, 4, threads)
    expected = [twin(hyp, group, order) for hyps, group in corpus for hyp in hyps]
    assert found.tolist() == expected


def test_long_texts_take_linear_memory():
    rng = np.random.default_rng(0)
    ids = rng.integers(0, 50, 60_000).astype(np.int32)
    text = Words(np.array([0, len(ids)]), ids)
    one, none = np.array([0, 1]), np.array([0])
    found = ngrams.matches(text, one, text, none, none + 1, 4, 50)
    assert found.tolist() == ngrams.ngram_totals(text.lengths(), 4).tolist()
