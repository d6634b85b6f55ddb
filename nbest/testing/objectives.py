"""The contract of a smooth objective, as a check that any objective can be put through."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from nbest.base.types import Floats
from nbest.compute import segments
from nbest.compute.executors import Executor, Serial, Threads
from nbest.corpus import NBest
from nbest.objectives import value_and_gradient
from nbest.objectives.base import Objective
from nbest.testing.corpora import in_other_order, snapshot, toy_lists

Make = Callable[[Sequence[NBest]], tuple[Objective, list[Any]]]
"""Makes an objective and one shard of each of the corpora given; settings must not depend on how a corpus is cut."""

_STEP = 1e-5


def check_objective(make: Make, corpus: NBest | None = None, *, seed: int = 1, kinks: bool = False) -> None:
    """Raise an `AssertionError` that says which part of the contract of `nbest.objectives.base.Objective` is broken.

    Checked on `corpus` (default: made-up lists with some that are empty or of one hypothesis) at random weights:
    gradient against central differences, shards in any number and order, hypotheses in another order, a
    constant added to the scores of one segment, a segment given twice, empty lists, lists of one hypothesis.
    `kinks`: the objective may have kinks where all hypotheses are alike likely, so weights 0 are left out.
    """
    lists = toy_lists(seed, noise=0.3) if corpus is None else corpus
    rng = np.random.default_rng(seed)
    width = len(lists.feature_names) + len(lists.sparse_names)
    drawn = [rng.normal(0.0, 1.0, width), rng.normal(0.0, 5.0, width)]
    for weights in drawn if kinks else [np.zeros(width), *drawn]:
        for check in _CHECKS:
            check(make, lists, weights)


def _both(
    make: Make, parts: Sequence[NBest], weights: Floats, executor: Executor | None = None
) -> tuple[float, Floats]:
    objective, shards = make(parts)
    value, gradient = value_and_gradient(objective, weights, shards, executor or Serial())
    assert np.shape(gradient) == weights.shape, f"gradient must have shape {weights.shape}, got {np.shape(gradient)}"
    assert np.isfinite(value), f"value must be finite, got {value} at {weights}"
    assert np.isfinite(gradient).all(), f"gradient must be finite, got {gradient} at {weights}"
    return float(value), np.asarray(gradient)


def _same(found: tuple[float, Floats], expected: tuple[float, Floats], what: str) -> None:
    size = 1.0 + abs(expected[0])
    assert abs(found[0] - expected[0]) <= 1e-9 * size, f"{what}: value {found[0]}, expected {expected[0]}"
    size = 1.0 + np.abs(expected[1]).max(initial=0.0)
    gap = np.abs(found[1] - expected[1]).max(initial=0.0)
    assert gap <= 1e-8 * size, f"{what}: gradient {found[1]}, expected {expected[1]}"


def _check_gradient(make: Make, corpus: NBest, weights: Floats) -> None:
    _, gradient = _both(make, [corpus], weights)
    differences = np.empty(len(weights))
    for d in range(len(weights)):
        step = np.zeros(len(weights))
        step[d] = _STEP * max(1.0, abs(weights[d]))
        above, below = (_both(make, [corpus], weights + sign * step)[0] for sign in (1, -1))
        differences[d] = (above - below) / (2 * step[d])
    gap = np.abs(gradient - differences).max()
    size = max(1.0, np.abs(differences).max())
    assert gap <= 1e-6 * size, f"gradient {gradient} differs from central differences {differences} at {weights}"


def _check_shards(make: Make, corpus: NBest, weights: Floats) -> None:
    whole = _both(make, [corpus], weights)
    for count in (2, 3, len(corpus)):
        parts = [corpus.select(part) for part in np.array_split(np.arange(len(corpus)), count)]
        _same(_both(make, parts, weights), whole, f"{count} shards must add up to the whole")
        _same(_both(make, parts[::-1], weights), whole, f"{count} shards in another order")
        one, two = _both(make, parts, weights), _both(make, parts, weights, Threads(2))
        assert one[0] == two[0], "the value must not depend on the number of threads"
        assert np.array_equal(one[1], two[1]), "the gradient must not depend on the number of threads"


def _check_order_of_hypotheses(make: Make, corpus: NBest, weights: Floats) -> None:
    found = _both(make, [in_other_order(corpus)], weights)
    _same(found, _both(make, [corpus], weights), "hypotheses in another order")


def _check_constant(make: Make, corpus: NBest, weights: Floats) -> None:
    segment = int(corpus.lengths.argmax())
    here = segments.owners(corpus.offsets) == segment
    moved = replace(corpus, features=corpus.features + 7.0 * here[:, None])
    found = _both(make, [moved], weights)
    _same(found, _both(make, [corpus], weights), "a constant added to the features of one segment is irrelevant")


def _check_given_twice(make: Make, corpus: NBest, weights: Floats) -> None:
    segment = int(corpus.lengths.argmax())
    again = corpus.select([segment])
    rows = np.arange(corpus.offsets[segment], corpus.offsets[segment + 1])
    twice = replace(
        corpus,
        **corpus._rows(
            np.concatenate([np.arange(corpus.hypotheses), rows]),
            np.append(corpus.offsets, corpus.offsets[-1] + len(rows)),
        ),
        ids=(*corpus.ids, "again"),
        references=None if corpus.references is None else (*corpus.references, corpus.references[segment]),
        sources=None,
    )
    found = _both(make, [twice], weights)
    _same(found, _both(make, [corpus, again], weights), "a segment given twice must count twice")
    alone, none = _both(make, [corpus], weights), _both(make, [again], weights)
    assert found != alone or none[0] == 0, "a segment given twice must count twice: the value did not change"


def _check_empty_lists(make: Make, corpus: NBest, weights: Floats) -> None:
    filled = corpus.select(np.flatnonzero(corpus.lengths > 0))
    _same(_both(make, [corpus], weights), _both(make, [filled], weights), "empty lists are irrelevant")
    empty = corpus.keep(np.zeros(corpus.hypotheses, bool))
    found = _both(make, [filled, empty], weights)
    _same(found, _both(make, [filled], weights), "a shard of empty lists is irrelevant")


def _check_one_hypothesis(make: Make, corpus: NBest, weights: Floats) -> None:
    place = np.arange(corpus.hypotheses) - np.repeat(corpus.offsets[:-1], corpus.lengths)
    single = corpus.keep(place == 0)
    objective, shards = make([single])
    _, gradient = value_and_gradient(objective, weights, shards, Serial())
    slope = objective.penalty(weights)[1]
    assert np.allclose(gradient, slope, rtol=0, atol=1e-9), "lists of one hypothesis must add nothing to the gradient"


def _check_inputs(make: Make, corpus: NBest, weights: Floats) -> None:
    before, at = snapshot(corpus), weights.copy()
    first = _both(make, [corpus], weights)
    assert snapshot(corpus) == before, "the objective modifies the corpus"
    assert np.array_equal(at, weights), "the objective modifies the weights"
    again = _both(make, [corpus], weights)
    assert first[0] == again[0], "the value differs when asked for again"
    assert np.array_equal(first[1], again[1]), "the gradient differs when asked for again"


_CHECKS = (
    _check_inputs,
    _check_gradient,
    _check_shards,
    _check_order_of_hypotheses,
    _check_constant,
    _check_given_twice,
    _check_empty_lists,
    _check_one_hypothesis,
)
