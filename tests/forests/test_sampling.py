"""Draws against the probabilities of all derivations."""

from collections import Counter

import numpy as np
import pytest
from scipy.stats import chi2

from nbest.base.errors import ParameterError
from nbest.forests.sampling import sample
from nbest.testing.forests import derivation_sums, enumerate_derivations, toy_forests

FAILURE = 1e-6  # chance that a sound sampler fails a check
COUNT = 4000


def drawn(seed):
    forests = toy_forests(seed, ties=seed % 2 == 0, lattices=seed % 3 == 0, limit=200)
    scores = 0.7 * forests.features.sum(axis=1)
    if seed % 4 > 1:
        scores[np.random.default_rng(seed).random(len(scores)) < 0.15] = -np.inf
    return forests, scores


def probabilities(forests, scores, i):
    """Probability of each derivation of forest i, by its edges; those of score -inf are left out."""
    derivations = enumerate_derivations(forests, i)
    weights = np.exp(derivation_sums(derivations, scores))
    pairs = zip(derivations, weights, strict=True)
    return {derivation.edges: weight / weights.sum() for derivation, weight in pairs if weight > 0}


def rows(derivations, i):
    low, high = derivations.offsets[i : i + 2]
    bounds = derivations.edge_offsets
    return [tuple(derivations.edges[bounds[j] : bounds[j + 1]].tolist()) for j in range(low, high)]


def statistic(observed, expected):
    """Pearson's statistic and its degrees of freedom; cells expected fewer than 20 times are put together."""
    assert set(observed) <= set(expected)
    cells = [(observed[key], mean) for key, mean in expected.items() if mean >= 20]
    rest = [(observed[key], mean) for key, mean in expected.items() if mean < 20]
    if sum(mean for _, mean in rest) >= 20:
        cells.append(tuple(np.sum(rest, axis=0)))
    return sum((got - mean) ** 2 / mean for got, mean in cells), max(len(cells) - 1, 0)


def check_sampler(draw, seeds):
    """Frequencies of derivations, and of pairs of consecutive draws, over all forests together."""
    single, pairs = np.zeros(2), np.zeros(2)
    for seed in seeds:
        forests, scores = drawn(seed)
        found = draw(forests, scores, COUNT, seed)
        for i in range(len(forests)):
            p, got = probabilities(forests, scores, i), rows(found, i)
            assert len(got) == (COUNT if p else 0)
            single += statistic(Counter(got), {key: COUNT * x for key, x in p.items()})
            if len(p) <= 10:
                both = {(a, b): COUNT / 2 * x * y for a, x in p.items() for b, y in p.items()}
                pairs += statistic(Counter(zip(got[::2], got[1::2], strict=True)), both)
    for total, freedom in (single, pairs):
        assert freedom > 100
        assert FAILURE < chi2.sf(total, freedom) < 1 - FAILURE


@pytest.mark.parametrize("begin", [0, 1000, 2000])
def test_frequencies(begin):
    check_sampler(
        lambda forests, scores, count, seed: sample(forests, scores, count, seed=seed), range(begin, begin + 25)
    )


def test_the_check_fails_for_biased_samplers():
    def too_flat(forests, scores, count, seed):
        return sample(forests, 0.9 * scores, count, seed=seed)

    def dependent(forests, scores, count, seed):
        """Every draw twice, after the other."""
        once = sample(forests, scores, count // 2, seed=seed)
        order = np.repeat(np.arange(len(once)), 2)
        bounds = once.edge_offsets
        parts = [once.edges[bounds[j] : bounds[j + 1]] for j in order]
        sizes = np.concatenate([[0], np.cumsum([len(part) for part in parts])])
        return type(once)(forests, 2 * once.offsets, sizes, np.concatenate(parts))

    for draw in (too_flat, dependent):
        with pytest.raises(AssertionError):
            check_sampler(draw, range(25))


def test_draws_depend_on_seed_and_forest_only():
    forests, scores = drawn(3)
    found = sample(forests, scores, 50, seed=7, threads=1)
    for threads in (2, 3):
        assert np.array_equal(sample(forests, scores, 50, seed=7, threads=threads).edges, found.edges)
    assert not np.array_equal(sample(forests, scores, 50, seed=8).edges, found.edges)
    longer, fewer = sample(forests, scores, 90, seed=7), forests.select([0, 1, 2])
    shorter = sample(fewer, scores[: fewer.edges], 50, seed=7)
    for i in range(len(forests)):
        assert rows(longer, i)[:50] == rows(found, i)
    assert rows(shorter, 0) == rows(found, 0)


def test_large_scores_and_no_draws():
    forests, scores = drawn(5)
    assert np.array_equal(sample(forests, scores + 1e5, 20).offsets, sample(forests, scores, 20).offsets)
    assert len(sample(forests, scores, 0)) == 0
    with pytest.raises(ParameterError, match="'count' of sample must be >= 0, got -1"):
        sample(forests, scores, -1)
    with pytest.raises(ParameterError, match="'seed' must be >= 0"):
        sample(forests, scores, 1, seed=-1)
