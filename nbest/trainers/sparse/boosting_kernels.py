"""Kernels of boosting: how far the loss falls by one column, the best step, and the fast update after it.

Of every column four numbers are kept side by side (a cell), so that an update touches one line of memory: the mass of
the pairs that are for it (sum of weight * d over d > 0), of those against it, the last round that touched it, and its
own weight.
"""

from __future__ import annotations

import numpy as np

from nbest.compute.compilation import fast_kernel, kernel
from nbest.compute.intrinsics import fast_exp

BLOCK = 64  # columns whose best is kept
FOR, AGAINST, ROUND, OWN = range(4)  # of a cell
_STEPS = 200
_LARGEST = 600.0  # exponent
_NEAR = 1e-10  # of the last step; the one after it would be its square


@kernel
def model_step(plus, minus, size, own, pseudo, penalty):
    """The step t that makes least: plus / size exp(-size t) + minus / size exp(size t) + penalty / 2 (own + t)^2.

    This is the loss where all differences are `size` or -`size`; `pseudo` is added to both masses of pairs. Closed
    form without a penalty, else Newton's steps within a bracket.
    """
    up, down = plus / size + pseudo, minus / size + pseudo
    if penalty == 0.0:
        return np.log(up / down) / (2.0 * size)
    stiff, at = penalty / size**2, size * own
    sign = 1.0
    if down - up + stiff * at > 0:
        up, down, at, sign = down, up, -at, -1.0
    low, high = 0.0, up / stiff - at
    u = 0.0
    for _ in range(_STEPS):
        rise, fall = up * np.exp(-u), down * np.exp(u)
        slope = fall - rise + stiff * (at + u)
        if slope < 0:
            low = u
        else:
            high = u
        new = u - slope / (rise + fall + stiff)
        if not low <= new <= high:
            new = 0.5 * (low + high)
        near = abs(new - u) <= _NEAR * (1.0 + abs(u))
        u = new
        if near:
            break
    return sign * u / size


@kernel
def gain_of(plus, minus, size, own, penalty):
    """How far the best step lowers the penalised loss, were all differences `size` or -`size`; 0 where none does.

    (sqrt(plus) - sqrt(minus))^2 / size without a penalty. Masses that rounding made negative count as 0.
    """
    plus, minus = max(plus, 0.0), max(minus, 0.0)
    if size == 0.0:
        return 0.0
    if penalty == 0.0:
        return (np.sqrt(plus) - np.sqrt(minus)) ** 2 / size
    if plus == 0.0 and minus == 0.0 and own == 0.0:
        return 0.0
    step = model_step(plus, minus, size, own, pseudo=0.0, penalty=penalty)
    fall = -(plus * np.expm1(-size * step) + minus * np.expm1(size * step)) / size
    return max(fall - penalty * step * (own + 0.5 * step), 0.0)


@fast_kernel
def _slopes(masses, distances, t):
    """First and second derivative of sum masses exp(-t distances); huge, not infinite, beyond the range of exp."""
    first = second = 0.0
    for k in range(len(masses)):
        share = masses[k] * distances[k] * fast_exp(min(-t * distances[k], _LARGEST))
        first -= share
        second += share * distances[k]
    return first, second


@kernel
def line_step(masses, distances, size, own, pseudo, penalty, start):
    """The step t that makes least: sum masses exp(-t distances) + penalty / 2 (own + t)^2, smoothed.

    Smoothed: two more pairs of mass `pseudo` that differ by `size` and -`size`, so that the least is finite. Newton's
    steps from `start` within a bracket; the function is convex.
    """
    plus = minus = 0.0
    for k in range(len(masses)):
        if distances[k] > 0:
            plus += masses[k] * distances[k]
        else:
            minus -= masses[k] * distances[k]
    slope = minus - plus + penalty * own
    if slope == 0.0:
        return 0.0
    bound = np.arcsinh((max(plus, minus) + abs(penalty * own)) / (2.0 * pseudo * size)) / size
    low, high = (0.0, bound) if slope < 0 else (-bound, 0.0)
    t = min(max(start, low), high)
    for _ in range(_STEPS):
        rise, fall = pseudo * size * np.exp(-size * t), pseudo * size * np.exp(size * t)
        slope, curve = fall - rise + penalty * (own + t), size * (rise + fall) + penalty
        first, second = _slopes(masses, distances, t)
        slope, curve = slope + first, curve + second
        if slope < 0:
            low = t
        else:
            high = t
        new = t - slope / curve
        if not low <= new <= high:
            new = 0.5 * (low + high)
        near = abs(new - t) <= _NEAR * bound
        t = new
        if near:
            break
    return t


@kernel
def add_up(low, high, starts, rows, values, weights, sizes, cells, keys, penalty):
    """Masses and gains of columns low to high, from the weights of all pairs."""
    for c in range(low, high):
        plus = minus = 0.0
        for e in range(starts[c], starts[c + 1]):
            share = weights[rows[e]] * values[e]
            if share > 0:
                plus += share
            else:
                minus -= share
        cells[c, FOR], cells[c, AGAINST] = plus, minus
        keys[c] = gain_of(plus, minus, sizes[c], cells[c, OWN], penalty)


@kernel
def best_of_block(b, keys, tops, tops_at):
    """Set the best column of a block, the first of equals."""
    at = b * BLOCK
    for c in range(at + 1, min(at + BLOCK, len(keys))):
        if keys[c] > keys[at]:
            at = c
    tops[b], tops_at[b] = keys[at], at


@kernel
def move(step, column, pairs, state, shift, number):
    """Move the margins of some pairs, and the masses of all columns in which these pairs differ.

    Weight of a pair = exp(-margin - shift), from its margin each time, so that rounding does not add up. Returns the
    change of the sum of weights, and how many columns are in `touched`.
    """
    rows, distances = column
    offsets, columns, values = pairs
    margins, weights, cells, touched = state
    change, count = 0.0, 0
    for at in range(len(rows)):
        q = rows[at]
        margins[q] += step * distances[at]
        weight = np.exp(-margins[q] - shift)
        delta = weight - weights[q]
        weights[q] = weight
        change += delta
        for e in range(offsets[q], offsets[q + 1]):
            c, d = columns[e], values[e]
            cells[c, np.int64(d < 0)] += delta * abs(d)
            if cells[c, ROUND] != number:
                cells[c, ROUND] = number
                touched[count] = c
                count += 1
    return change, count


@kernel
def rank(touched, cells, sizes, keys, penalty, number, seen, tops, tops_at):
    """Gains of touched columns, and the best of their blocks; `seen` is the last round that touched a block."""
    for at in range(len(touched)):
        c = touched[at]
        keys[c] = gain_of(cells[c, FOR], cells[c, AGAINST], sizes[c], cells[c, OWN], penalty)
    for at in range(len(touched)):
        b = touched[at] // BLOCK
        if seen[b] != number:
            seen[b] = number
            best_of_block(b, keys, tops, tops_at)


@kernel
def rank_all(keys, tops, tops_at):
    """The best column of every block."""
    for b in range(len(tops)):
        best_of_block(b, keys, tops, tops_at)


@kernel
def choose_again(step, rows, values, scores, owners, offsets, stats, choice, totals):
    """Move the scores of some hypotheses, rising, choose again in their lists, and move the totals of the choice."""
    last = -1
    for at in range(len(rows)):
        scores[rows[at]] += step * values[at]
    for at in range(len(rows)):
        i = owners[rows[at]]
        if i == last:
            continue
        last = i
        best = offsets[i]
        for h in range(offsets[i] + 1, offsets[i + 1]):
            if scores[h] > scores[best]:
                best = h
        if best != choice[i]:
            for m in range(stats.shape[1]):
                totals[m] += stats[best, m] - stats[choice[i], m]
            choice[i] = best
