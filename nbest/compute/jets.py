"""Truncated polynomials: exact first, second and third derivatives of any formula written once.

A `Jet` holds the Taylor coefficients of a value under a small change eps * e_r + delta * e_j, for all pairs (r, j) of
directions at once, up to eps^2 delta:

    value = c0 + c1 eps + c2 eps^2 + (d0 + d1 eps + d2 eps^2) delta

Arithmetic on jets follows from that of polynomials, so a metric writes its smooth formula once, with +, -, *, /, `log`,
`exp`, `sigmoid` and `minimum_zero` of this module, and it works on plain arrays and on jets alike.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nbest.base.types import Floats
from nbest.compute.compilation import kernel

Value = Any
"""A plain array or a jet."""


class Jet:
    """Coefficients [6, ...] in the order 1, eps, eps^2, delta, eps delta, eps^2 delta; the first is one for all."""

    __slots__ = ("c",)
    __array_ufunc__ = None  # so that array * jet comes here

    def __init__(self, coefficients: Floats) -> None:
        self.c = coefficients

    def __add__(self, other: Value) -> Jet:
        if isinstance(other, Jet):
            return Jet(self.c + other.c)
        out = self.c.copy()
        out[0] += other
        return Jet(out)

    __radd__ = __add__

    def __neg__(self) -> Jet:
        return Jet(-self.c)

    def __sub__(self, other: Value) -> Jet:
        return self + (-other)

    def __rsub__(self, other: Value) -> Jet:
        return -self + other

    def __mul__(self, other: Value) -> Jet:
        if not isinstance(other, Jet):
            return Jet(self.c * other)
        out = np.empty_like(self.c)
        _multiply(self.c.reshape(6, -1), other.c.reshape(6, -1), out.reshape(6, -1))
        return Jet(out)

    __rmul__ = __mul__

    def __truediv__(self, other: Value) -> Jet:
        return self * reciprocal(other)

    def __rtruediv__(self, other: Value) -> Jet:
        return reciprocal(self) * other

    def through(self, derivatives: Sequence[Floats]) -> Jet:
        """g(self), where `derivatives` are g, g', g'', g''' at the value."""
        g0, g1, g2, g3 = map(float, derivatives)
        out = np.empty_like(self.c)
        _compose(self.c.reshape(6, -1), (g0, g1, g2, g3), out.reshape(6, -1))
        return Jet(out)


@kernel
def _multiply(a, b, out):
    """out = a b, all [6, pairs]."""
    for k in range(a.shape[1]):
        a0, a1, a2, a3, a4, a5 = a[0, k], a[1, k], a[2, k], a[3, k], a[4, k], a[5, k]
        b0, b1, b2, b3, b4, b5 = b[0, k], b[1, k], b[2, k], b[3, k], b[4, k], b[5, k]
        out[0, k] = a0 * b0
        out[1, k] = a0 * b1 + a1 * b0
        out[2, k] = a0 * b2 + a1 * b1 + a2 * b0
        out[3, k] = a0 * b3 + a3 * b0
        out[4, k] = a0 * b4 + a1 * b3 + a3 * b1 + a4 * b0
        out[5, k] = a0 * b5 + a1 * b4 + a2 * b3 + a3 * b2 + a4 * b1 + a5 * b0


@kernel
def _compose(a, derivatives, out):
    """out = g(a), both [6, pairs]."""
    g0, g1, g2, g3 = derivatives
    for k in range(a.shape[1]):
        a1, a2, a3, a4, a5 = a[1, k], a[2, k], a[3, k], a[4, k], a[5, k]
        square = a1 * a1
        out[0, k] = g0
        out[1, k] = g1 * a1
        out[2, k] = g1 * a2 + 0.5 * g2 * square
        out[3, k] = g1 * a3
        out[4, k] = g1 * a4 + g2 * a1 * a3
        out[5, k] = g1 * a5 + g2 * (a1 * a4 + a2 * a3) + 0.5 * g3 * square * a3


def _apply(x: Value, plain: Callable[[Floats], Floats], derivatives: Callable[[Floats], Sequence[Floats]]) -> Value:
    return x.through(derivatives(x.c.reshape(-1)[0, ...])) if isinstance(x, Jet) else plain(x)


def reciprocal(x: Value) -> Value:
    """1 / x."""
    return _apply(x, lambda v: 1.0 / v, lambda v: (1 / v, -1 / v**2, 2 / v**3, -6 / v**4))


def log(x: Value) -> Value:
    """Natural logarithm."""
    return _apply(x, np.log, lambda v: (np.log(v), 1 / v, -1 / v**2, 2 / v**3))


def exp(x: Value) -> Value:
    """Exponential."""
    return _apply(x, np.exp, lambda v: (np.exp(v),) * 4)


def sigmoid(x: Value) -> Value:
    """1 / (1 + exp(-x)), without overflow."""

    def derivatives(v: Floats) -> Sequence[Floats]:
        u = _sigmoid(v)
        first = u * (1 - u)
        return u, first, first * (1 - 2 * u), first * (1 - 6 * first)

    return _apply(x, _sigmoid, derivatives)


def _sigmoid(v: Floats) -> Floats:
    small = np.exp(-np.abs(v))
    return np.where(v >= 0, 1.0, small) / (1.0 + small)


def minimum_zero(x: Value) -> Value:
    """min(x, 0); the branch is taken at the value, the right one at 0."""

    def derivatives(v: Floats) -> Sequence[Floats]:
        left = (v < 0).astype(np.float64)
        return np.minimum(v, 0.0), left, np.zeros_like(left), np.zeros_like(left)

    return _apply(x, lambda v: np.minimum(v, 0.0), derivatives)


@dataclass(frozen=True)
class Expansion:
    """A formula of M statistics around a point: value, gradient [M], Hessian [M, M], and
    `third` [M] = sum_ab d^3 m / (d_a d_b d_j) V_ab for the matrix V it was made with."""

    value: float
    gradient: Floats
    hessian: Floats
    third: Floats


def expand(formula: Callable[[Sequence[Value]], Value], point: Floats, covariance: Floats | None = None) -> Expansion:
    """Derivatives of `formula` at `point` [M]; `third` is contracted with `covariance` [M, M] (zero if None)."""
    size = len(point)
    spread, directions = (np.zeros(size), np.eye(size)) if covariance is None else np.linalg.eigh(covariance)
    coefficients = np.zeros((size, 6, size, size))  # [statistic, ., direction r, coordinate j]
    coefficients[:, 0] = np.asarray(point)[:, None, None]
    coefficients[:, 1] = directions[:, :, None]
    every = np.arange(size)
    coefficients[every, 3, :, every] = 1.0
    found = formula([Jet(each) for each in coefficients])
    if not isinstance(found, Jet):
        return Expansion(float(found), np.zeros(size), np.zeros((size, size)), np.zeros(size))
    c = found.c
    hessian = directions @ c[4]  # rows r: e_r' Q
    third = 2.0 * (spread @ c[5])  # the coefficient of eps^2 is half the second derivative
    return Expansion(float(c[0, 0, 0]), c[3, 0].copy(), 0.5 * (hessian + hessian.T), third)
