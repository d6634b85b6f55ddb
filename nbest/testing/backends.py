"""The contract of a backend, as a check that any backend can be put through."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np

from nbest.base.types import Floats
from nbest.forests.derivations import forests_of
from nbest.metrics import BLEU, F1, make_metric
from nbest.objectives import CoBLEU, Likelihood, Quadratic, Risk, Shard, value_and_gradient
from nbest.objectives.backends import NUMBA, Backend
from nbest.objectives.cobleu import NgramShard
from nbest.objectives.forest_shard import ForestShard
from nbest.testing.corpora import snapshot, toy_lists
from nbest.testing.forests import toy_forests


def check_backend(backend: Backend, *, tolerance: float = 1e-9, seed: int = 1, segments: int = 12) -> None:
    """Raise an `AssertionError` that says which part of the contract of `nbest.objectives.backends.Backend` is broken.

    Every objective is asked for value and gradient, at several weights, on made-up lists (dense and sparse, some empty
    or of one hypothesis) and forests: the numbers must be those of the Numba backend up to `tolerance`, relative to
    their size, and the same bits when asked again. Shards and weights must not change, two shards not meet, and a
    shard that was lost must give its gradient as before. There are so many `segments`.
    """
    rng = np.random.default_rng(seed)
    for make, shards in _cases(seed, segments):
        width = len(shards[0].scale)
        for size in (0.01, 1.0, 4.0):  # not 0, where expected counts may be exactly at their limits
            _check(backend, make, shards, rng.normal(0.0, size, width), tolerance)


def _cases(seed: int, segments: int) -> Iterator[tuple[Any, list[Any]]]:
    """Objectives, as functions of their backend, and shards."""
    for name, sparse in (("wer", False), ("bleu", True)):
        lists = toy_lists(seed, noise=0.3, metric=make_metric(name), sparse=sparse, segments_=segments)
        width = len(lists.feature_names) + len(lists.sparse_names)
        scale = np.linspace(0.5, 2.0, width)
        shards = [Shard(part, scale, part.need_stats()[1].losses(part.need_stats()[0])) for part in lists.shards(5)]
        metric = lists.need_stats()[1]
        for order, gamma in ((1, 1.0), (2, 1.7)):
            yield (
                lambda who, metric=metric, order=order, gamma=gamma: Risk(
                    metric, order=order, temperature=0.2, gamma=gamma, backend=who
                ),
                shards,
            )
        yield lambda who: Likelihood(Quadratic(2.0), backend=who), shards
    forests = toy_forests(seed, tails=3, limit=200)
    stats = np.random.default_rng(seed).integers(0, 4, (forests.edges, 3)).astype(np.float64)
    yield (
        lambda who: Risk(F1(), temperature=0.1, gamma=1.3, backend=who),
        [ForestShard(forests, np.array([1.0, 0.5, 0.0]), stats)],
    )
    metric = BLEU(tokenize="none", max_ngram_order=2)
    for trees in (forests, forests_of(toy_lists(seed, noise=0.3))):
        shard = NgramShard.of(trees, metric, np.ones(len(trees.feature_names)))
        yield lambda who: CoBLEU(2, temperature=0.05, backend=who), [shard]


def _check(backend: Backend, make: Any, shards: list[Any], weights: Floats, tolerance: float) -> None:
    own, expected = [_copies(shards) for _ in range(2)]
    at, before = weights.copy(), [_snapshot(shard) for shard in own]
    value, slope = value_and_gradient(make(NUMBA), weights, expected)
    found, gradient = value_and_gradient(make(backend), weights, own)
    assert np.array_equal(at, weights), "the backend modifies the weights"
    objective = type(make(backend)).__name__
    size = tolerance * (1.0 + abs(value))
    assert abs(found - value) <= size, f"{objective} has the value {found} at {weights}, expected {value}"
    gap = np.abs(np.asarray(gradient) - slope).max(initial=0.0)
    size = tolerance * (1.0 + np.abs(slope).max(initial=0.0))
    assert gap <= size, f"{objective} has the gradient {gradient} at {weights}, expected {slope}"
    assert [_snapshot(shard) for shard in own] == before, "the backend modifies the shard"
    again, same = value_and_gradient(make(backend), weights, own)
    assert (again, same.tolist()) == (found, gradient.tolist()), f"{objective} differs when asked for again"
    later, other = value_and_gradient(make(backend), weights, _copies(own))
    assert (later, other.tolist()) == (found, gradient.tolist()), f"{objective} differs after a shard was lost"


def _copies(shards: list[Any]) -> list[Any]:
    """The same shards, as they arrive at a worker."""
    return [pickle.loads(pickle.dumps(shard)) for shard in shards]


def _snapshot(shard: Any) -> Any:
    corpus = getattr(shard, "corpus", None)
    content = snapshot(corpus) if corpus is not None else (shard.forests.features.tobytes(), shard.stats.tobytes())
    return content, shard.scale.tobytes()
