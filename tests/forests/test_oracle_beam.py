"""The beam oracle against enumeration with the metrics themselves."""

import numpy as np
import pytest

from nbest.base.errors import CapabilityError, ParameterError
from nbest.corpus import Texts
from nbest.forests.oracle import forest_oracle
from nbest.forests.oracle.beam import beam_oracle
from nbest.metrics import BLEU, CHRF, F1, WER
from nbest.testing.forests import enumerate_derivations, toy_forests

METRICS = [BLEU(tokenize="none"), BLEU(tokenize="13a", max_ngram_order=2), WER(), F1(), CHRF()]


def edges_of(derivations, i):
    """The edges of the only derivation of forest i, or None."""
    low, high = derivations.offsets[i : i + 2]
    assert high - low <= 1
    bounds = derivations.edge_offsets
    return tuple(derivations.edges[bounds[low] : bounds[high]].tolist()) if high > low else None


def compare(forests, derivations):
    """Loss of each derivation and the smallest of its forest."""
    metric = forests.metric
    losses = metric.losses(derivations.lists().stats)
    got, best = [], []
    for i in range(len(forests)):
        every = enumerate_derivations(forests, i)
        assert (edges_of(derivations, i) is None) == (not every)
        if every:
            assert edges_of(derivations, i) in {d.edges for d in every}
            texts = Texts.of(" ".join(d.words) for d in every)
            stats = metric.stats(texts, np.array([0, len(texts)]), [forests.references[i]])
            got.append(losses[derivations.offsets[i]])
            best.append(metric.losses(stats).min())
    return np.array(got), np.array(best)


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_beam(metric):
    shares = []
    for beam in (1, 8, 300):
        hits = []
        for seed in range(15):
            forests = toy_forests(seed, limit=300).with_metric(metric)
            got, best = compare(forests, beam_oracle(forests, beam=beam))
            assert (got >= best - 1e-9).all()
            hits += list(got <= best + 1e-9)
        shares.append(np.mean(hits))
    assert shares[0] < shares[1] <= shares[2] == 1.0
    assert shares[1] > 0.8


def test_beam_does_not_depend_on_threads():
    forests = toy_forests(2, forests=7).with_metric(METRICS[0])
    one, two = (beam_oracle(forests, beam=5, threads=threads) for threads in (1, 3))
    assert np.array_equal(one.edges, two.edges)
    with pytest.raises(ParameterError, match="'beam' of beam_oracle must be >= 1, got 0"):
        beam_oracle(forests, beam=0)


def test_forest_oracle_takes_a_beam_where_there_is_no_exact_way():
    tree = toy_forests(4).with_metric(WER())
    assert np.array_equal(forest_oracle(tree, beam=3).edges, beam_oracle(tree, beam=3).edges)
    with pytest.raises(CapabilityError, match="no metric yet"):
        forest_oracle(toy_forests(4))
