"""TER equals sacrebleu 2.6.0."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu import metrics as sacrebleu

from nbest.metrics import TER

from .corpora import corpora, nasty_texts, pairs, plain_texts, stats_of

SWITCHES = ["normalized", "no_punct", "asian_support", "case_sensitive"]
options = st.fixed_dictionaries({switch: st.booleans() for switch in SWITCHES})


@settings(deadline=None, max_examples=60)
@given(corpus=corpora(st.one_of(nasty_texts, plain_texts)), options=options)
def test_statistics_and_score(corpus, options):
    metric, oracle = TER(**options), sacrebleu.TER(**options)
    found = stats_of(metric, corpus)
    for row, (text, group) in zip(found, pairs(corpus), strict=True):
        expected = oracle.sentence_score(text, group)
        assert row.tolist() == [expected.num_edits, expected.ref_length]
        assert metric.score(row) == pytest.approx(expected.score)


@pytest.mark.parametrize("switch", [None, *SWITCHES])
def test_signature(switch):
    options = {switch: True} if switch else {}
    oracle = sacrebleu.TER(**options)
    oracle.num_refs = -1
    assert TER(**options).signature(-1) == str(oracle.get_signature())


def test_each_distinct_text_of_a_segment_once(monkeypatch):
    calls = []
    compute = sacrebleu.TER._compute_segment_statistics

    def counted(self, hypothesis, known):
        calls.append(hypothesis)
        return compute(self, hypothesis, known)

    monkeypatch.setattr(sacrebleu.TER, "_compute_segment_statistics", counted)
    found = stats_of(TER(), ([["a b", "a c", "a b"], ["a b"]], [["a b"], ["b a"]]))
    assert found.tolist() == [[0, 2], [1, 2], [0, 2], [1, 2]]
    assert calls == ["a b", "a c", "a b"]
