"""Sums and maxima over projective trees with one root word, for scores of arcs: Eisner's algorithm in logarithms.

Words are 1 to n and the root is 0; `arcs` is [n+1, n+1], head by dependent. Of the words i to j,

    split[i, j]  the words between i and j all hang below i or below j       sum_r  right[i, r] left[r + 1, j]
    right[i, j]  all below i:  sum_k  split[i, k] arcs[i, k] right[k, j]     (k: the last dependent of i)
    left[i, j]   all below j:  sum_k  left[i, k] split[k, j] arcs[j, k]      (k: the first dependent of j)
    Z = sum_d  arcs[0, d] left[1, d] right[d, n]

so every tree is counted once. Eisner (1996), COLING 340-345. Cost: O(n^3) time, O(n^2) memory.
Tables are rows for both ways that they are walked: `right_t` is `right` transposed and so on.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nbest.base.types import Floats
from nbest.compute.compilation import fast_kernel, kernel
from nbest.compute.intrinsics import fast_exp, fmax

_TINY = 1e-13  # posteriors below this are not followed further down


class Inside(NamedTuple):
    """Logarithms of sums, [n+1, n+1] each."""

    split: Floats
    right: Floats
    right_t: Floats
    left: Floats
    left_t: Floats
    right_arc: Floats  # split[i, j] + arcs[i, j]
    left_arc_t: Floats  # at [j, i]: split[i, j] + arcs[j, i]


@fast_kernel
def _log_sum(first, second):
    """log sum_k exp(first[k] + second[k]) of finite numbers."""
    top = first[0] + second[0]
    for k in range(1, len(first)):
        top = fmax(top, first[k] + second[k])
    total = 0.0
    for k in range(len(first)):
        total += fast_exp(first[k] + second[k] - top)
    return top + np.log(total)


@kernel
def inside_trees(arcs):
    """The `Inside` tables and log Z."""
    n = len(arcs) - 1
    split, right, right_t = np.zeros((n + 1, n + 1)), np.zeros((n + 1, n + 1)), np.zeros((n + 1, n + 1))
    left, left_t = np.zeros((n + 1, n + 1)), np.zeros((n + 1, n + 1))
    right_arc, left_arc_t = np.zeros((n + 1, n + 1)), np.zeros((n + 1, n + 1))
    for width in range(1, n):
        for i in range(1, n - width + 1):
            j = i + width
            split[i, j] = _log_sum(right[i, i:j], left_t[j, i + 1 : j + 1])
            right_arc[i, j] = split[i, j] + arcs[i, j]
            left_arc_t[j, i] = split[i, j] + arcs[j, i]
            right[i, j] = right_t[j, i] = _log_sum(right_arc[i, i + 1 : j + 1], right_t[j, i + 1 : j + 1])
            left[i, j] = left_t[j, i] = _log_sum(left[i, i:j], left_arc_t[j, i:j])
    log_z = 0.0
    if n:
        log_z = _log_sum(arcs[0, 1:] + left[1, 1:], right_t[n, 1:])
    return Inside(
        split=split, right=right, right_t=right_t, left=left, left_t=left_t, right_arc=right_arc, left_arc_t=left_arc_t
    ), log_z


@kernel
def marginals(arcs, tables, log_z):
    """[n+1, n+1] the posterior of each arc: inside tables walked back from the top."""
    n = len(arcs) - 1
    out = np.zeros((n + 1, n + 1))
    right, left = np.zeros((n + 1, n + 1)), np.zeros((n + 1, n + 1))  # posteriors; `left` is at [head, first word]
    for d in range(1, n + 1):
        p = np.exp(arcs[0, d] + tables.left[1, d] + tables.right[d, n] - log_z)
        out[0, d] = p
        right[d, n] += p
        left[d, 1] += p
    for width in range(n - 1, 0, -1):
        for i in range(1, n - width + 1):
            j = i + width
            p = right[i, j]
            if p > _TINY:
                for k in range(i + 1, j + 1):
                    share = p * fast_exp(tables.right_arc[i, k] + tables.right_t[j, k] - tables.right[i, j])
                    out[i, k] += share
                    right[k, j] += share
            p = left[j, i]
            if p > _TINY:
                for k in range(i, j):
                    share = p * fast_exp(tables.left[i, k] + tables.left_arc_t[j, k] - tables.left[i, j])
                    out[j, k] += share
                    left[k, i] += share
        for i in range(1, n - width + 1):
            _divide(i, j=i + width, out=out, right=right, left=left, tables=tables)
    return out


@kernel
def _divide(i, j, out, right, left, tables):
    """Pass the posterior of the words between i and j on; `out` of arcs between the two is complete by now."""
    p = out[i, j] + out[j, i]
    if p > _TINY:
        for r in range(i, j):
            share = p * fast_exp(tables.right[i, r] + tables.left_t[j, r + 1] - tables.split[i, j])
            right[i, r] += share
            left[j, r + 1] += share


@kernel
def best_heads(arcs):
    """[n+1] the heads of the best tree (0 at place 0); ties go to the lowest number at every choice."""
    n = len(arcs) - 1
    right, left = np.zeros((n + 1, n + 1)), np.zeros((n + 1, n + 1))
    split = np.zeros((n + 1, n + 1))
    choice = np.zeros((3, n + 1, n + 1), np.int64)
    for width in range(1, n):
        for i in range(1, n - width + 1):
            j = i + width
            split[i, j] = right[i, j] = left[i, j] = -np.inf
            for r in range(i, j):
                if right[i, r] + left[r + 1, j] > split[i, j]:
                    split[i, j], choice[0, i, j] = right[i, r] + left[r + 1, j], r
            for k in range(i + 1, j + 1):
                value = split[i, k] + arcs[i, k] + right[k, j]
                if value > right[i, j]:
                    right[i, j], choice[1, i, j] = value, k
            for k in range(i, j):
                value = left[i, k] + split[k, j] + arcs[j, k]
                if value > left[i, j]:
                    left[i, j], choice[2, i, j] = value, k
    return _read_out(arcs, right, left, choice)


@kernel
def _read_out(arcs, right, left, choice):
    n = len(arcs) - 1
    heads = np.zeros(n + 1, np.int64)
    if n == 0:
        return heads
    top, best = 1, -np.inf
    for d in range(1, n + 1):
        value = arcs[0, d] + left[1, d] + right[d, n]
        if value > best:
            top, best = d, value
    stack = np.empty((4 * n + 4, 3), np.int64)  # 1: all below i, 2: all below j
    depth = _push(stack, 0, 2, 1, top)
    depth = _push(stack, depth, 1, top, n)
    while depth:
        depth -= 1
        kind, i, j = stack[depth]
        if i == j:
            continue
        k = choice[kind, i, j]
        if kind == 1:
            heads[k] = i
            a, b = i, k
            depth = _push(stack, depth, 1, k, j)
        else:
            heads[k] = j
            a, b = k, j
            depth = _push(stack, depth, 2, i, k)
        r = choice[0, a, b]
        depth = _push(stack, depth, 1, a, r)
        depth = _push(stack, depth, 2, r + 1, b)
    return heads


@kernel
def _push(stack, depth, kind, i, j):
    stack[depth, 0], stack[depth, 1], stack[depth, 2] = kind, i, j
    return depth + 1
