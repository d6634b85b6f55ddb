"""The contract of a semiring, as a check that any semiring class can be put through."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from nbest.base.types import Floats
from nbest.corpus import Forests
from nbest.forests.semirings import outside, totals
from nbest.testing.forests import Derivation, enumerate_derivations, toy_forests

Lift = Callable[[Forests, np.random.Generator], Floats]
"""Makes elements [E, width] for the edges of forests."""


def check_semiring(semiring: Any, lift: Lift, *, seed: int = 1, forests: int = 30) -> None:
    """Raise an `AssertionError` that says which law of a commutative semiring is broken, or which kernel is wrong.

    Laws on elements that `lift` makes and on their sums and products; inside values of roots, and inside times outside
    of every node, against the enumeration of all derivations of random forests.
    """
    rng = np.random.default_rng(seed)
    for number in range(forests):
        corpus = toy_forests(seed * 1000 + number, forests=3, limit=100, ties=number % 3 == 0, lattices=number % 5 == 0)
        elements = lift(corpus, rng)
        _check_laws(semiring, [tuple(row) for row in elements[rng.permutation(len(elements))[:4]]])
        _check_inside(semiring, corpus, elements)
        _check_outside(semiring, corpus, elements)


def _check_laws(s: Any, drawn: list[tuple[float, ...]]) -> None:
    pool = [s.zero(), s.one(), *drawn, *(s.plus(a, b) for a in drawn for b in drawn)][:9]
    for a in pool:
        _same(s.plus(a, s.zero()), a, "zero adds nothing")
        _same(s.times(a, s.one()), a, "one changes nothing")
        _same(s.times(a, s.zero())[:1], s.zero()[:1], "zero times anything is zero")
        for b in pool:
            _same(s.plus(a, b), s.plus(b, a), "plus commutes")
            _same(s.times(a, b), s.times(b, a), "times commutes")
            for c in pool:
                _same(s.plus(s.plus(a, b), c), s.plus(a, s.plus(b, c)), "plus is associative")
                _same(s.times(s.times(a, b), c), s.times(a, s.times(b, c)), "times is associative")
                _same(s.times(a, s.plus(b, c)), s.plus(s.times(a, b), s.times(a, c)), "times distributes")


def _weight(s: Any, derivation: Derivation, elements: Floats) -> tuple[float, ...]:
    return reduce(s.times, (tuple(elements[e]) for e in derivation.edges), s.one())


def _check_inside(s: Any, corpus: Forests, elements: Floats) -> None:
    found = totals(s, corpus, elements, 1)
    assert np.array_equal(found, totals(s, corpus, elements, 2), equal_nan=True), "threads change the result"
    for i in range(len(corpus)):
        weights = [_weight(s, d, elements) for d in enumerate_derivations(corpus, i)]
        _same(tuple(found[i]), reduce(s.plus, weights, s.zero()), f"inside of the root of forest {i}")


def _check_outside(s: Any, corpus: Forests, elements: Floats) -> None:
    """The sum over derivations, each as often as it uses the node."""
    below, above = outside(s, corpus, elements, 1)
    heads = corpus.heads
    for i in range(len(corpus)):
        derivations = enumerate_derivations(corpus, i)
        for v in range(corpus.node_offsets[i], corpus.node_offsets[i + 1]):
            local = v - corpus.node_offsets[i]
            weights = [
                _weight(s, d, elements) for d in derivations for _ in range(int((heads[list(d.edges)] == local).sum()))
            ]
            found = s.times(tuple(below[v]), tuple(above[v]))
            if above[v, 0] == s.zero()[0] and not weights:
                continue  # zero, whatever it is multiplied with
            _same(found, reduce(s.plus, weights, s.zero()), f"inside times outside of node {local} of forest {i}")


def _same(found: tuple[float, ...], expected: tuple[float, ...], what: str) -> None:
    if found[0] == expected[0] == -np.inf:
        return  # log zero, whatever the means
    close = np.allclose(found, expected, rtol=1e-9, atol=1e-9)
    assert close, f"{what}: got {found}, expected {expected}"
