"""BLEU equals sacrebleu 2.6.0: statistics, score under every smoothing, signature."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu import metrics as sacrebleu

from nbest.base.errors import CapabilityError, ParameterError
from nbest.metrics import BLEU

from .corpora import corpora, nasty_texts, pairs, plain_texts, stats_of

texts = st.one_of(nasty_texts, plain_texts)
SMOOTHINGS = [
    ("exp", None),
    ("none", None),
    ("floor", None),
    ("floor", 0.3),
    ("floor", 0.0),
    ("add-k", None),
    ("add-k", 2),
]


def oracle_stats(oracle, corpus):
    rows = []
    for text, group in pairs(corpus):
        info = oracle._extract_reference_info([oracle._preprocess_segment(ref) for ref in group])
        rows.append(oracle._compute_segment_statistics(oracle._preprocess_segment(text), info))
    return rows


@pytest.mark.parametrize("tokenize", ["13a", "none", "intl", "char", "zh"])
@settings(deadline=None, max_examples=80)
@given(corpus=corpora(texts), lowercase=st.booleans(), order=st.integers(1, 5))
def test_statistics(tokenize, corpus, lowercase, order):
    options = {"tokenize": tokenize, "lowercase": lowercase, "max_ngram_order": order}
    metric = BLEU(**options)
    found = stats_of(metric, corpus)
    assert found.shape[1] == len(metric.stat_names)
    assert found.tolist() == oracle_stats(sacrebleu.BLEU(**options), corpus)


def consistent(draw, order):
    """Totals as they come from texts, with small counts so that zeros are common."""
    hyp = draw(st.integers(0, 30))
    total = [max(hyp - draw(st.integers(0, 3)) * n, 0) for n in range(order)]
    correct = [draw(st.integers(0, value)) for value in total]
    return [hyp, draw(st.integers(0, 40)), *correct, *total]


@pytest.mark.parametrize("effective", [False, True])
@pytest.mark.parametrize(("method", "value"), SMOOTHINGS)
@settings(deadline=None, max_examples=80)
@given(data=st.data(), order=st.integers(1, 5))
def test_score(method, value, effective, data, order):
    rows = [consistent(data.draw, order) for _ in range(data.draw(st.integers(1, 6)))]
    options = {"smooth_method": method, "smooth_value": value, "effective_order": effective, "max_ngram_order": order}
    expected = [sacrebleu.BLEU(**options)._compute_score_from_stats(list(row)).score for row in rows]
    totals = np.array(rows, np.float64)
    before = totals.copy()
    np.testing.assert_allclose(BLEU(**options).score(totals), expected, rtol=1e-12, atol=1e-12)
    assert (totals == before).all()


def test_score_far_out_of_range():
    small, large = np.full(10, 1e-90), np.full(10, 1e90)
    assert BLEU().score(np.stack([small, large])) == pytest.approx([100.0, 100.0])


def test_score_of_expectations_is_smooth():
    totals = np.array([10.5, 12.25, 7.5, 5.25, 3.5, 1.75, 10.5, 9.5, 8.5, 7.5])
    precisions = totals[2:6] / totals[6:]
    expected = 100 * np.exp(np.log(precisions).mean() + 1 - 12.25 / 10.5)
    assert BLEU().score(totals) == pytest.approx(expected)
    assert BLEU().score(totals[None, None]).shape == (1, 1)


@settings(deadline=None, max_examples=60)
@given(corpora())
def test_losses_are_sentence_bleu(corpus):
    metric = BLEU()
    oracle = sacrebleu.BLEU(effective_order=True)
    expected = [100 - oracle.sentence_score(text, group).score for text, group in pairs(corpus)]
    np.testing.assert_allclose(metric.losses(stats_of(metric, corpus)), expected, atol=1e-9)


@pytest.mark.parametrize("references", [1, 4, -1])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"lowercase": True},
        {"tokenize": "intl"},
        {"effective_order": True},
        {"smooth_method": "floor"},
        {"smooth_method": "add-k", "smooth_value": 2.5},
    ],
)
def test_signature(options, references):
    oracle = sacrebleu.BLEU(**options)
    oracle.num_refs = references
    assert BLEU(**options).signature(references) == str(oracle.get_signature())


def test_signature_tells_the_order():
    assert BLEU(max_ngram_order=2).signature() == BLEU().signature() + "|order:2"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tokenize": "13"}, "unknown tokenizer '13'; known: 13a, "),
        (
            {"smooth_method": "ex"},
            "of BLEU must be none, exp, floor or add-k, got 'ex'; did you mean 'exp'?",
        ),
        ({"smooth_value": -1.0}, "'smooth_value' of BLEU must be >= 0, got -1.0"),
        ({"max_ngram_order": 0}, "'max_ngram_order' of BLEU must be >= 1, got 0"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ParameterError) as caught:
        BLEU(**options)
    assert message in str(caught.value)


def test_signature_of_a_missing_tokeniser(monkeypatch):
    def missing(name):
        raise ImportError("pip install sentencepiece")

    monkeypatch.setattr("sacrebleu.metrics.bleu._get_tokenizer", missing)
    with pytest.raises(CapabilityError, match="'flores200' is not installed"):
        BLEU(tokenize="flores200").signature()
