"""WER and CER equal jiwer 4.0.0 on one reference, and the best of several."""

import jiwer
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbest.metrics import CER, WER, edit

from .corpora import corpora, nasty_texts, pairs, plain_texts, stats_of


def words_of(text, lowercase):
    return (text.lower() if lowercase else text).split()


def characters_of(text, lowercase, spaces):
    text = text.lower() if lowercase else text
    return list(text.strip() if spaces else "".join(text.split()))


def distance(a, b):
    """Edit distance of two sequences, by the textbook."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        last, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (x != y))
    return row[-1]


def expected(corpus, split):
    rows = []
    for text, group in pairs(corpus):
        found = [(distance(split(text), split(ref)), len(split(ref))) for ref in group]
        rows.append(list(min(found, key=lambda pair: pair[0])))
    return rows


@settings(deadline=None, max_examples=100)
@given(corpus=corpora(st.one_of(nasty_texts, plain_texts)), lowercase=st.booleans(), spaces=st.booleans())
def test_statistics(corpus, lowercase, spaces):
    found = stats_of(WER(lowercase=lowercase), corpus)
    assert found.tolist() == expected(corpus, lambda text: words_of(text, lowercase))
    found = stats_of(CER(lowercase=lowercase, spaces=spaces), corpus)
    assert found.tolist() == expected(corpus, lambda text: characters_of(text, lowercase, spaces))


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(plain_texts, plain_texts.filter(bool)), min_size=1, max_size=4))
def test_jiwer(texts):
    hyps, refs = [hyp for hyp, _ in texts], [ref for _, ref in texts]
    corpus = ([[hyp] for hyp in hyps], [[ref] for ref in refs])
    for metric, oracle in ((WER(), jiwer.wer), (CER(), jiwer.cer)):
        totals = stats_of(metric, corpus).sum(axis=0)
        assert metric.score(totals) == pytest.approx(100 * oracle(refs, hyps))


@settings(deadline=None, max_examples=50)
@given(corpora())
def test_vocabularies_beyond_the_code_points(corpus):
    usual = stats_of(WER(), corpus)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(edit, "_POINTS", 0)
        assert (stats_of(WER(), corpus) == usual).all()


def test_words_across_the_surrogates():
    count = 0xD800 + 10
    text = " ".join(f"w{number}" for number in range(count))
    other = text.replace(f"w{0xD800 + 3}", "other")
    assert stats_of(WER(), ([[text, other, ""]], [[text]])).tolist() == [[0, count], [1, count], [count, count]]


def test_no_reference_words():
    scores = WER().score(np.array([[0, 0], [3, 0], [1.5, 6], [9, 3]]))
    assert scores.tolist() == [0, 100, 25, 300]


def test_losses_and_signature():
    stats = np.array([[2.0, 5.0], [0.0, 3.0]])
    assert WER().losses(stats).tolist() == CER().losses(stats).tolist() == [2, 0]
    assert WER().signature(-1).startswith("nrefs:var|case:mixed|unit:word|version:nbest-")
    assert "space:no" in CER(spaces=False).signature()
