"""chrF and chrF++ equal sacrebleu 2.6.0: statistics with the same choice of reference, score, signature."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu import metrics as sacrebleu

from nbest.base.errors import ParameterError
from nbest.metrics import CHRF, CHRFPlusPlus

from .corpora import corpora, nasty_texts, pairs, plain_texts, stats_of

options = st.fixed_dictionaries(
    {
        "char_order": st.integers(1, 7),
        "word_order": st.integers(0, 3),
        "beta": st.integers(0, 3),
        "lowercase": st.booleans(),
        "whitespace": st.booleans(),
        "eps_smoothing": st.booleans(),
    }
)


@settings(deadline=None, max_examples=200)
@given(corpus=corpora(st.one_of(nasty_texts, plain_texts)), options=options)
def test_statistics(corpus, options):
    metric, oracle = CHRF(**options), sacrebleu.CHRF(**options)
    expected = []
    for text, group in pairs(corpus):
        info = oracle._extract_reference_info([oracle._preprocess_segment(ref) for ref in group])
        expected.append(oracle._compute_segment_statistics(oracle._preprocess_segment(text), info))
    found = stats_of(metric, corpus)
    assert found.shape[1] == len(metric.stat_names)
    assert found.tolist() == expected


@settings(deadline=None, max_examples=150)
@given(data=st.data(), options=options)
def test_score(data, options):
    order = options["char_order"] + options["word_order"]
    rows = []
    for _ in range(data.draw(st.integers(1, 4))):
        sizes = data.draw(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=order, max_size=order))
        rows.append([count for hyp, ref in sizes for count in (hyp, ref, data.draw(st.integers(0, min(hyp, ref))))])
    expected = [sacrebleu.CHRF(**options)._compute_f_score(row) for row in rows]
    np.testing.assert_allclose(CHRF(**options).score(np.array(rows, float)), expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("references", [1, -1])
@pytest.mark.parametrize(
    "options", [{}, {"word_order": 2}, {"lowercase": True}, {"whitespace": True}, {"eps_smoothing": True}]
)
def test_signature(options, references):
    oracle = sacrebleu.CHRF(**options)
    oracle.num_refs = references
    assert CHRF(**options).signature(references) == str(oracle.get_signature())


def test_names():
    assert (CHRF().name, CHRFPlusPlus().name, CHRF(beta=3, word_order=1).name) == ("chrF2", "chrF2++", "chrF3+")
    with pytest.raises(ParameterError, match="'char_order' of chrF2 must be >= 1, got 0"):
        CHRF(char_order=0)
