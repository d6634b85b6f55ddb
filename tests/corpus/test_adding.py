"""References added to lists as hypotheses."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array

from nbest.base.errors import CapabilityError, ParameterError
from nbest.corpus.adding import add_references
from nbest.metrics import BLEU, WER
from nbest.testing import toy_lists
from nbest.trainers import MaxLikelihood

METRICS = [BLEU(tokenize="none"), WER()]


@pytest.mark.parametrize("metric", METRICS, ids=lambda each: each.name)
@pytest.mark.parametrize("seed", range(3))
def test_lists_end_with_their_references(metric, seed):
    corpus = toy_lists(seed, metric=metric)
    found = add_references(corpus)
    assert found.ids == corpus.ids
    for i in range(len(corpus)):
        low, high = corpus.offsets[i : i + 2]
        first, last = found.offsets[i : i + 2]
        added = len(corpus.references[i]) if high > low else 0
        assert last - first == high - low + added
        np.testing.assert_array_equal(found.features[first : last - added], corpus.features[low:high])
        if not added:
            continue
        losses = metric.losses(corpus.stats[low:high])
        for row in range(last - added, last):
            np.testing.assert_array_equal(found.features[row], corpus.features[low + losses.argmin()])
        assert [found.texts[row] for row in range(last - added, last)] == list(corpus.references[i])
        assert metric.losses(found.stats[first:last]).argmin() == losses.argmin() or losses.min() > 0
    again = found.with_metric(metric)
    np.testing.assert_array_equal(again.stats, found.stats)  # as the metric measures any hypothesis


@pytest.mark.parametrize("metric", METRICS, ids=lambda each: each.name)
def test_the_oracle_is_then_the_reference(metric):
    corpus = toy_lists(2, metric=metric)
    found = add_references(corpus)
    losses = metric.losses(found.stats)
    filled = found.lengths > 0
    best = np.array(
        [losses[low:high].min() for low, high in zip(found.offsets, found.offsets[1:], strict=False) if high > low]
    )
    np.testing.assert_allclose(best, 0.0, atol=1e-9)
    assert len(best) == filled.sum()


def test_given_features_are_those_of_the_references():
    corpus = toy_lists(1, metric=METRICS[0])
    count = sum(len(each) for each in corpus.references)
    given = np.random.default_rng(1).normal(size=(count, len(corpus.feature_names)))
    found = add_references(corpus, given)
    at = np.concatenate(
        [np.arange(end - len(some), end) for end, some in zip(found.offsets[1:], corpus.references, strict=True)]
    )
    np.testing.assert_array_equal(found.features[at], given)
    with pytest.raises(ParameterError, match="one row a reference"):
        add_references(corpus, given[1:])


def test_sparse_features_go_with_the_hypothesis_and_texts_need_not_be_there():
    corpus = toy_lists(1, metric=METRICS[0])
    columns = csr_array(np.arange(corpus.hypotheses, dtype=float)[:, None])
    found = add_references(replace(corpus.with_sparse(["row"], columns), texts=None))
    assert found.texts is None
    last = int(found.offsets[1]) - 1
    nearest = int(METRICS[0].losses(corpus.stats[: corpus.offsets[1]]).argmin())
    assert found.sparse[[last]].toarray().tolist() == [[float(nearest)]]
    with pytest.raises(CapabilityError, match="no sparse features for references"):
        add_references(corpus.with_sparse(["row"], columns), np.zeros((1, 1)))


def test_likelihood_has_it_for_its_gold_hypothesis():
    """Where the nearest hypotheses tie, likelihood sums over all of them; with y* over the references alone."""
    corpus = toy_lists(4, metric=METRICS[0], noise=0.3)
    one, other = MaxLikelihood().fit(corpus), MaxLikelihood().fit(add_references(corpus))
    assert dict(one.weights) != pytest.approx(dict(other.weights))


def test_lists_without_references_are_refused():
    with pytest.raises(CapabilityError, match="needs references"):
        add_references(replace(toy_lists(1, metric=METRICS[0]), references=None))
