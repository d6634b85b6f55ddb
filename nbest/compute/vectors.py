"""Rows of numbers, for use inside kernels: sums that vectorise (and add up in any order)."""

from __future__ import annotations

from nbest.compute.compilation import fast_kernel


@fast_kernel
def add(out, factor, column):
    """out += factor * column."""
    for k in range(len(out)):
        out[k] += factor * column[k]


@fast_kernel
def add_three(out, f0, c0, f1, c1, f2, c2):
    """out += three columns, each times its factor."""
    for k in range(len(out)):
        out[k] += f0 * c0[k] + f1 * c1[k] + f2 * c2[k]


@fast_kernel
def dot(x, y):
    """Sum of x * y."""
    total = 0.0
    for k in range(len(x)):
        total += x[k] * y[k]
    return total


@fast_kernel
def combine(out, weights, columns):
    """out += weights [D] . columns [D, K]."""
    d = 0
    while d + 2 < len(weights):
        add_three(
            out, weights[d], c0=columns[d], f1=weights[d + 1], c1=columns[d + 1], f2=weights[d + 2], c2=columns[d + 2]
        )
        d += 3
    while d < len(weights):
        add(out, weights[d], columns[d])
        d += 1
