"""Semirings: one inside and one outside kernel, and what an algorithm adds and multiplies.

A semiring is a small `NamedTuple` class (so that Numba compiles the kernels for it) with elements of `width` numbers:

    zero(), one()               elements, as tuples
    plus(a, b), times(a, b)     of alternatives, and of parts; both commutative here
    lift(scores, *values)       [E, width] the elements of edges

    inside(v)  = plus over the edges into v of    edge * product of inside(tails)
    outside(v) = plus over the edges out of v of  edge * outside(head) * product of inside(other tails), one at the root

The expectation semirings (Eisner 2002; Li & Eisner 2009) are kept as (log weight, mean, ...) instead of (weight,
weighted sum, ...): the same algebra, without overflow or cancellation. Training uses the faster kernels of
`posteriors` and `expectations`; these here are for everything else, and their judge.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nbest.base.types import Floats
from nbest.compute.compilation import compiled, kernel
from nbest.compute.parallel import over_ranges
from nbest.compute.plain import HAS_NUMBA
from nbest.corpus.layout import Layout

if HAS_NUMBA:
    from numba import types
    from numba.extending import overload, register_jitable
    from numba.np.unsafe.ndarray import to_fixed_tuple
else:
    from nbest.compute.plain import as_it_is as register_jitable  # type: ignore[no-redef]
    from nbest.compute.plain import no_overload as overload  # type: ignore[assignment]
    from nbest.compute.plain import to_fixed_tuple  # type: ignore[assignment]

if TYPE_CHECKING:
    from nbest.corpus import Forests


@register_jitable
def _log_add(a, b):
    top = max(a, b)
    if top == -np.inf:
        return top
    return top + math.log1p(math.exp(min(a, b) - top))


@register_jitable
def _share(a, total):
    """exp(a) / exp(total), 0 when both are log zero."""
    return 0.0 if a == -np.inf else math.exp(a - total)


class Log(NamedTuple):
    """Sums of weights, as logarithms: inside(root) is log Z."""

    tag: int = 0

    @staticmethod
    def zero():
        return (-np.inf,)

    @staticmethod
    def one():
        return (0.0,)

    @staticmethod
    def plus(a, b):
        return (_log_add(a[0], b[0]),)

    @staticmethod
    def times(a, b):
        return (a[0] + b[0],)

    @staticmethod
    def lift(scores: Floats) -> Floats:
        """Scores are logarithms already."""
        return scores[:, None]


class Max(NamedTuple):
    """The best derivation: inside(root) is its score (Viterbi)."""

    tag: int = 0
    zero, one, times = staticmethod(Log.zero), staticmethod(Log.one), staticmethod(Log.times)  # type: ignore[misc]
    lift = staticmethod(Log.lift)  # type: ignore[misc]

    @staticmethod
    def plus(a, b):
        return (max(a[0], b[0]),)


class Real(NamedTuple):
    """Sums of weights as they are; may overflow where `Log` does not."""

    tag: int = 0

    @staticmethod
    def zero():
        return (0.0,)

    @staticmethod
    def one():
        return (1.0,)

    @staticmethod
    def plus(a, b):
        return (a[0] + b[0],)

    @staticmethod
    def times(a, b):
        return (a[0] * b[0],)

    @staticmethod
    def lift(scores: Floats) -> Floats:
        """Weights exp(score)."""
        return np.exp(scores)[:, None]


class Counting(NamedTuple):
    """The number of derivations (of finite score): exact up to 2^53, then to 16 digits, inf past 1e308."""

    tag: int = 0
    zero, one = staticmethod(Real.zero), staticmethod(Real.one)  # type: ignore[misc]
    plus, times = staticmethod(Real.plus), staticmethod(Real.times)  # type: ignore[misc]

    @staticmethod
    def lift(scores: Floats) -> Floats:
        """1 for every edge that can be used."""
        return np.isfinite(scores).astype(np.float64)[:, None]


class Entropy(NamedTuple):
    """(log Z, entropy in nats of the distribution over derivations)."""

    tag: int = 0

    @staticmethod
    def zero():
        return (-np.inf, 0.0)

    @staticmethod
    def one():
        return (0.0, 0.0)

    @staticmethod
    def plus(a, b):
        total = _log_add(a[0], b[0])
        p, q = _share(a[0], total), _share(b[0], total)
        choice = (p * (total - a[0]) if p > 0.0 else 0.0) + (q * (total - b[0]) if q > 0.0 else 0.0)
        return (total, p * a[1] + q * b[1] + choice)

    @staticmethod
    def times(a, b):
        return (a[0] + b[0], a[1] + b[1])

    @staticmethod
    def lift(scores: Floats) -> Floats:
        """An edge alone has no entropy."""
        return np.stack([scores, np.zeros(len(scores))], axis=1)


class Expectation(NamedTuple):
    """(log Z, mean of an additive function r)."""

    tag: int = 0
    zero, one, times = staticmethod(Entropy.zero), staticmethod(Entropy.one), staticmethod(Entropy.times)  # type: ignore[misc]

    @staticmethod
    def plus(a, b):
        total = _log_add(a[0], b[0])
        return (total, _share(a[0], total) * a[1] + _share(b[0], total) * b[1])

    @staticmethod
    def lift(scores: Floats, values: Floats) -> Floats:
        """Values [E] of r."""
        return np.stack([scores, values], axis=1)


class Covariance(NamedTuple):
    """(log Z, mean of r, mean of s, covariance of r and s): second order."""

    tag: int = 0

    @staticmethod
    def zero():
        return (-np.inf, 0.0, 0.0, 0.0)

    @staticmethod
    def one():
        return (0.0, 0.0, 0.0, 0.0)

    @staticmethod
    def plus(a, b):
        total = _log_add(a[0], b[0])
        p, q = _share(a[0], total), _share(b[0], total)
        spread = p * q * (a[1] - b[1]) * (a[2] - b[2])
        return (total, p * a[1] + q * b[1], p * a[2] + q * b[2], p * a[3] + q * b[3] + spread)

    @staticmethod
    def times(a, b):
        return (a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3])

    @staticmethod
    def lift(scores: Floats, values: Floats, other: Floats) -> Floats:
        """Values [E] of r and of s."""
        return np.stack([scores, values, other, np.zeros(len(scores))], axis=1)


SEMIRINGS: dict[str, type] = {
    "log": Log,
    "max": Max,
    "real": Real,
    "counting": Counting,
    "entropy": Entropy,
    "expectation": Expectation,
    "covariance": Covariance,
}
"""Semirings by name; `nbest.testing.check_semiring` tests each."""


def inside(semiring: Any, forests: Forests, edges: Floats, threads: int | None = None) -> Floats:
    """[V, width] inside elements of nodes, from those of edges [E, width]; zero where there is no derivation."""
    layout = forests.layout
    return _own(layout, _inside(semiring, layout, _spread(semiring, layout, edges), threads))


def outside(semiring: Any, forests: Forests, edges: Floats, threads: int | None = None) -> tuple[Floats, Floats]:
    """[V, width] inside and [V, width] outside elements of nodes."""
    layout, graph, values = forests.layout, forests.layout.graph, _spread(semiring, forests.layout, edges)
    below = _inside(semiring, layout, values, threads)
    above = np.empty_like(below)
    function = _outside_kept if _is_ours(semiring) else _outside_new
    over_ranges(
        lambda low, high: function(semiring, low, high, graph, (values, below, above)), graph.edge_offsets, threads
    )
    return _own(layout, below), _own(layout, above)


def totals(semiring: Any, forests: Forests, edges: Floats, threads: int | None = None) -> Floats:
    """[N, width] inside elements of the roots; zero for an empty forest."""
    below = inside(semiring, forests, edges, threads)
    out = np.tile(np.array(semiring.zero()), (len(forests), 1))
    filled = np.diff(forests.node_offsets) > 0
    out[filled] = below[forests.node_offsets[1:][filled] - 1]
    return out


def _inside(semiring: Any, layout: Layout, values: Floats, threads: int | None) -> Floats:
    below = np.empty((layout.node_offsets[-1], values.shape[1]))
    function = _inside_kept if _is_ours(semiring) else _inside_new
    over_ranges(
        lambda low, high: function(semiring, low, high, layout.graph, (values, below)), layout.edge_offsets, threads
    )
    return below


def _is_ours(semiring: Any) -> bool:
    """Compiled kernels are kept on disk only for semirings of this file, which cannot change without them."""
    return type(semiring).__module__ == __name__


def _spread(semiring: Any, layout: Layout, edges: Floats) -> Floats:
    edges = np.asarray(edges, np.float64)
    one = semiring.one()
    return np.stack([layout.spread(edges[:, k], one[k]) for k in range(len(one))], axis=1)


def _own(layout: Layout, values: Floats) -> Floats:
    return np.stack([layout.gather_nodes(column) for column in values.T], axis=1)


# what Numba needs to know ----------------------------------------------------------------------------------------


def _plus(semiring: Any, a: Any, b: Any) -> Any: ...


def _times(semiring: Any, a: Any, b: Any) -> Any: ...


def _zero(semiring: Any) -> Any: ...


def _one(semiring: Any) -> Any: ...


def _element(semiring: Any, values: Any, row: int) -> Any: ...


def _put(values: Any, row: int, element: Any) -> Any: ...


@overload(_plus, inline="always")
def _compile_plus(semiring, a, b):
    function = register_jitable(semiring.instance_class.plus)
    return lambda semiring, a, b: function(a, b)


@overload(_times, inline="always")
def _compile_times(semiring, a, b):
    function = register_jitable(semiring.instance_class.times)
    return lambda semiring, a, b: function(a, b)


@overload(_zero, inline="always")
def _compile_zero(semiring):
    function = register_jitable(semiring.instance_class.zero)
    return lambda semiring: function()


@overload(_one, inline="always")
def _compile_one(semiring):
    function = register_jitable(semiring.instance_class.one)
    return lambda semiring: function()


@overload(_element, inline="always")
def _compile_element(semiring, values, row):
    width = len(semiring.instance_class.zero())
    return lambda semiring, values, row: to_fixed_tuple(values[row], width)


@overload(_put, inline="always")
def _compile_put(values, row, element):
    if isinstance(element, types.BaseTuple):

        def put(values, row, element):
            for k in range(len(element)):
                values[row, k] = element[k]

        return put
    return None


def _inside_of(semiring, low, high, graph, elements):
    node_offsets, edge_offsets, starts, first, second = graph
    values, below = elements
    for i in range(low, high):
        base, edge_base = node_offsets[i], edge_offsets[i]
        _put(below, base, _one(semiring))
        for v in range(1, node_offsets[i + 1] - base):
            total = _zero(semiring)
            for e in range(edge_base + starts[base + i + v], edge_base + starts[base + i + v + 1]):
                x = _times(semiring, _element(semiring, values, e), _element(semiring, below, base + first[e]))
                total = _plus(semiring, total, _times(semiring, x, _element(semiring, below, base + second[e])))
            _put(below, base + v, total)


def _outside_of(semiring, low, high, graph, elements):
    node_offsets, edge_offsets, starts, first, second = graph
    values, below, above = elements
    for i in range(low, high):
        base, edge_base, size = node_offsets[i], edge_offsets[i], node_offsets[i + 1] - node_offsets[i]
        for v in range(size):
            _put(above, base + v, _zero(semiring))
        if size > 1:
            _put(above, base + size - 1, _one(semiring))
        for v in range(size - 1, 0, -1):
            here = _element(semiring, above, base + v)
            for e in range(edge_base + starts[base + i + v], edge_base + starts[base + i + v + 1]):
                x = _times(semiring, here, _element(semiring, values, e))
                a, b = base + first[e], base + second[e]
                if a != base:  # node 0 stands for no tail
                    part = _times(semiring, x, _element(semiring, below, b))
                    _put(above, a, _plus(semiring, _element(semiring, above, a), part))
                if b != base:
                    part = _times(semiring, x, _element(semiring, below, a))
                    _put(above, b, _plus(semiring, _element(semiring, above, b), part))


_inside_kept, _outside_kept = kernel(_inside_of), kernel(_outside_of)
_new = compiled(keeping=False)  # whose methods, which are not ours, may change
_inside_new, _outside_new = _new(_inside_of), _new(_outside_of)
