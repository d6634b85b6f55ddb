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

Value = Any
"""A plain array or a jet."""


class Jet:
    """Coefficients [6, ...] in the order 1, eps, eps^2, delta, eps delta, eps^2 delta."""

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
        a, b = self.c, other.c
        out = np.empty_like(a)
        out[0] = a[0] * b[0]
        out[1] = a[0] * b[1] + a[1] * b[0]
        out[2] = a[0] * b[2] + a[1] * b[1] + a[2] * b[0]
        out[3] = a[0] * b[3] + a[3] * b[0]
        out[4] = a[0] * b[4] + a[1] * b[3] + a[3] * b[1] + a[4] * b[0]
        out[5] = a[0] * b[5] + a[1] * b[4] + a[2] * b[3] + a[3] * b[2] + a[4] * b[1] + a[5] * b[0]
        return Jet(out)

    __rmul__ = __mul__

    def __truediv__(self, other: Value) -> Jet:
        return self * reciprocal(other)

    def __rtruediv__(self, other: Value) -> Jet:
        return reciprocal(self) * other

    def through(self, derivatives: Sequence[Floats]) -> Jet:
        """g(self), where `derivatives` are g, g', g'', g''' at the value."""
        g0, g1, g2, g3 = derivatives
        a = self.c
        out = np.empty_like(a)
        out[0] = g0
        out[1] = g1 * a[1]
        out[2] = g1 * a[2] + 0.5 * g2 * a[1] ** 2
        out[3] = g1 * a[3]
        out[4] = g1 * a[4] + g2 * a[1] * a[3]
        out[5] = g1 * a[5] + g2 * (a[1] * a[4] + a[2] * a[3]) + 0.5 * g3 * a[1] ** 2 * a[3]
        return Jet(out)


def _apply(x: Value, plain: Callable[[Floats], Floats], derivatives: Callable[[Floats], Sequence[Floats]]) -> Value:
    return x.through(derivatives(x.c[0])) if isinstance(x, Jet) else plain(x)


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
    variables = []
    for m in range(size):
        coefficients = np.zeros((6, size, size))  # [., direction r, coordinate j]
        coefficients[0] = point[m]
        coefficients[1] = directions[m][:, None]
        coefficients[3, :, m] = 1.0
        variables.append(Jet(coefficients))
    found = formula(variables)
    if not isinstance(found, Jet):
        return Expansion(float(found), np.zeros(size), np.zeros((size, size)), np.zeros(size))
    c = found.c
    hessian = directions @ c[4]  # rows r: e_r' Q
    third = 2.0 * (spread @ c[5])  # the coefficient of eps^2 is half the second derivative
    return Expansion(float(c[0, 0, 0]), c[3, 0].copy(), 0.5 * (hessian + hessian.T), third)
