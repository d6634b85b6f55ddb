"""Linearised BLEU against sacrebleu's sentences and against all choices."""

from itertools import product

import numpy as np
import pytest
import sacrebleu

from nbest.corpus import Texts
from nbest.metrics import BLEU, SentenceBLEU
from nbest.objectives import Risk, Shard, value_and_gradient
from nbest.objectives.estimators import expected
from nbest.testing import toy_lists

TOKENS = BLEU(tokenize="none", max_ngram_order=2)


@pytest.mark.parametrize("order", [2, 4])
@pytest.mark.parametrize("lowercase", [False, True])
def test_it_is_the_mean_of_sacrebleus_sentences(order, lowercase):
    texts = ["the cat sat on the mat", "A dog, barked!", "one", "", "the the the the"]
    references = [("The cat sat on a mat",), ("a dog barked .", "A dog , barks"), ("one two",), ("no",), ("the end",)]
    metric = SentenceBLEU(lowercase=lowercase, max_ngram_order=order)
    found = metric.stats(Texts.of(texts), np.arange(len(texts) + 1), references)
    theirs = sacrebleu.BLEU(lowercase=lowercase, effective_order=True, max_ngram_order=order)
    each = [theirs.sentence_score(text, list(some)).score for text, some in zip(texts, references, strict=True)]
    np.testing.assert_allclose(found[:, 0], each, atol=1e-9)
    assert metric.score(found.sum(axis=0)) == pytest.approx(np.mean(each))
    np.testing.assert_allclose(metric.losses(found), 100.0 - found[:, 0])


def test_it_can_be_had_from_the_statistics_of_bleu():
    corpus = toy_lists(1, metric=TOKENS)
    metric = SentenceBLEU.of(TOKENS)
    assert metric.corpus == TOKENS
    np.testing.assert_array_equal(metric.from_bleu(corpus.stats), corpus.with_metric(metric).stats)
    assert "eff:yes" in metric.signature()


@pytest.mark.parametrize("order", [1, 2])
def test_its_expectation_is_exact_to_any_order(order):
    """A sum over segments: the mean over all choices of one hypothesis a segment, where corpus BLEU is approximated."""
    corpus = toy_lists(3, metric=SentenceBLEU.of(TOKENS), segments_=4).select([0, 1, 2, 3])
    rng = np.random.default_rng(1)
    weights = rng.normal(size=len(corpus.feature_names))
    shard = Shard(corpus, np.ones(len(weights)), corpus.metric.losses(corpus.stats))
    value, _ = value_and_gradient(Risk(corpus.metric, order=order), weights, [shard])
    scores = corpus.features @ weights
    lists = [range(low, high) for low, high in zip(corpus.offsets[:-1], corpus.offsets[1:], strict=True) if low < high]
    posterior = np.concatenate([np.exp(scores[list(each)]) / np.exp(scores[list(each)]).sum() for each in lists])
    exact = sum(
        posterior[list(choice)].prod() * corpus.metric.smooth(list(corpus.stats[list(choice)].sum(axis=0)))
        for choice in product(*lists)
    )
    assert -value == pytest.approx(exact, abs=1e-9)
    by_taylor = expected(corpus.metric.smooth, posterior, corpus.stats, corpus.offsets, f"taylor{order}")
    assert by_taylor == pytest.approx(exact, abs=1e-9)
