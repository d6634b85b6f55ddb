"""Rows of numbers, for use inside kernels: sums that vectorise (and add up in any order), and one in a fixed order."""

from __future__ import annotations

from nbest.compute.compilation import fast_kernel, kernel


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


@kernel
def weighted_rows(rows, which, weights, out):
    """out [R] = the sum of weights [D] times these columns of rows [R, .], each sum in the order of the columns.

    Four rows at a time, which hides that every addition waits for the one before.
    """
    r = 0
    while r + 3 < len(out):
        s0 = s1 = s2 = s3 = 0.0
        for d in range(len(which)):
            c, w = which[d], weights[d]
            s0 += w * rows[r, c]
            s1 += w * rows[r + 1, c]
            s2 += w * rows[r + 2, c]
            s3 += w * rows[r + 3, c]
        out[r], out[r + 1], out[r + 2], out[r + 3] = s0, s1, s2, s3
        r += 4
    while r < len(out):
        s0 = 0.0
        for d in range(len(which)):
            s0 += weights[d] * rows[r, which[d]]
        out[r] = s0
        r += 1


@kernel
def most(low, high, offsets):
    """The largest number of items of one segment of a range."""
    size = 0
    for i in range(low, high):
        size = max(size, offsets[i + 1] - offsets[i])
    return size
