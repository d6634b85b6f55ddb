"""Pruned forests against enumeration."""

import numpy as np
import pytest

from nbest.base.errors import ParameterError
from nbest.forests.posteriors import posteriors
from nbest.forests.pruning import max_marginals, prune, trim
from nbest.metrics import WER
from nbest.testing.forests import derivation_sums, enumerate_derivations, toy_forests


def drawn(seed):
    """Forests whose first feature is the number of the edge, so that edges are known again, and scores."""
    forests = toy_forests(seed, ties=seed % 2 == 0, lattices=seed % 3 == 0, tails=2 + seed % 3, limit=300)
    scores = forests.features.sum(axis=1)
    if seed % 4 > 1:
        scores[np.random.default_rng(seed).random(len(scores)) < 0.15] = -np.inf
    numbered = forests.with_features(["number"], np.arange(forests.edges)).only_features(["number"])
    return numbered.with_metric(WER()), scores


def old_derivations(forests, i):
    """Derivations of forest i as edges of the forests it was made of, with their words."""
    number = forests.column("number").astype(int)
    return {(tuple(number[list(d.edges)].tolist()), d.words) for d in enumerate_derivations(forests, i)}


def check_trimmed(trimmed, forests, mask):
    """The derivations are those with all edges in the mask, and every node and edge is part of one."""
    for i in range(len(forests)):
        expected = {(d.edges, d.words) for d in enumerate_derivations(forests, i) if mask[list(d.edges)].all()}
        left = old_derivations(trimmed, i)
        assert left == expected
        low, high = trimmed.forest_edges[i : i + 2]
        assert {e for edges, _ in left for e in edges} == set(trimmed.column("number")[low:high].astype(int).tolist())
        nodes = range(trimmed.node_offsets[i], trimmed.node_offsets[i + 1])
        assert all(trimmed.edge_offsets[v] < trimmed.edge_offsets[v + 1] for v in nodes)
    for name in ("ids", "references", "sources", "vocabulary", "metric", "origins", "feature_names"):
        assert getattr(trimmed, name) == getattr(forests, name)


@pytest.mark.parametrize("seed", range(30))
def test_trim(seed):
    forests, _ = drawn(seed)
    mask = np.random.default_rng(seed).random(forests.edges) < 0.8
    before = mask.copy()
    check_trimmed(trim(forests, mask), forests, mask)
    assert np.array_equal(mask, before)
    check_trimmed(trim(forests), forests, np.ones(forests.edges, bool))
    with pytest.raises(AssertionError):
        check_trimmed(trim(forests, ~mask), forests, mask)


@pytest.mark.parametrize("seed", range(30))
def test_max_marginals(seed):
    forests, scores = drawn(seed)
    expected = np.full(forests.edges, -np.inf)
    for i in range(len(forests)):
        derivations = enumerate_derivations(forests, i)
        for derivation, value in zip(derivations, derivation_sums(derivations, scores), strict=True):
            used = list(derivation.edges)
            expected[used] = np.maximum(expected[used], value)
    assert np.allclose(max_marginals(forests, scores), expected, rtol=0, atol=1e-9)
    assert np.array_equal(max_marginals(forests, scores, threads=1), max_marginals(forests, scores, threads=3))


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize(
    "options", [{}, {"posterior": 0.4}, {"gap": 0.0}, {"gap": 1.5}, {"posterior": 0.1, "gap": 3.0}]
)
def test_prune(seed, options):
    forests, scores = drawn(seed)
    pruned = prune(forests, scores, **options)
    number = pruned.column("number").astype(int)
    used, marginals = posteriors(forests, scores).edges, max_marginals(forests, scores)
    for i in range(len(forests)):
        old = enumerate_derivations(forests, i)
        values = derivation_sums(old, scores)
        best = max(values, default=-np.inf)
        left = old_derivations(pruned, i)
        assert left <= {(d.edges, d.words) for d in old}
        if best == -np.inf:
            assert pruned.node_offsets[i] == pruned.node_offsets[i + 1]
            continue
        kept = {edges for edges, _ in left}
        assert any(d.edges in kept for d, value in zip(old, values, strict=True) if value >= best - 1e-9)
        gap = options.get("gap", np.inf)
        if "posterior" not in options and options:  # every derivation within the gap stays
            assert {d.edges for d, value in zip(old, values, strict=True) if value >= best - gap} <= kept
        firsts = [set(d.edges) for d, value in zip(old, values, strict=True) if value >= best - 1e-9]
        low, high = pruned.forest_edges[i : i + 2]
        threshold = options.get("posterior", 1e-3 if not options else 0.0)
        weak = [e for e in number[low:high] if used[e] < threshold or marginals[e] < best - gap - 1e-9]
        assert any(set(weak) <= first for first in firsts)  # only the best derivation's edges are excused


def test_pruning_more_keeps_less():
    for seed in range(10):
        forests, scores = drawn(seed)
        sizes = [prune(forests, scores, gap=gap).edges for gap in (0.0, 1.0, 4.0, 1e9)]
        assert sizes == sorted(sizes)
        assert sizes[-1] == trim(forests, scores > -np.inf).edges


def test_bad_arguments():
    forests, scores = drawn(1)
    with pytest.raises(ParameterError, match="'gap' of prune must be >= 0, got -1"):
        prune(forests, scores, gap=-1)
    with pytest.raises(ParameterError, match="'posterior' of prune must be >= 0, got nan"):
        prune(forests, scores, posterior=float("nan"))
    with pytest.raises(ParameterError, match="'mask' of trim must have one entry"):
        trim(forests, np.ones(1, bool))
