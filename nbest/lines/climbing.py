"""Line searches on lists in one kernel each, and whole rounds of them: what climbs side by side on threads.

The same numbers as `Lines.search`, piece by piece, without the interpreter and without an array of totals.
"""

from __future__ import annotations

import numpy as np

from nbest.compute.compilation import kernel
from nbest.lines.envelope import FAR, crossings, sorted_order
from nbest.lines.formulas import Formula, bound, least, score

Goal = tuple[Formula, float]
"""What is maximised: a formula, and 1 or, where lower is better, -1."""

TOLERANCE = 1e-10  # breakpoints nearer than this, relative, are one
BEYOND = 0.1, 1e-9  # how far past the outermost breakpoint to go when the best interval has no end; relative
GAIN = 1e-9  # a move must gain more than this
SMALL, LARGE = 1e-6, 1e6  # mean sizes of weights between which they are left as they are


@kernel
def middle(low, high):
    """The middle of an interval; of one without an end a little past the other, of one without ends 0."""
    if np.isinf(low) and np.isinf(high):
        return 0.0
    if np.isinf(low):
        return high - max(BEYOND[0], BEYOND[1] * abs(high))
    if np.isinf(high):
        return low + max(BEYOND[0], BEYOND[1] * abs(low))
    return 0.5 * (low + high)


@kernel
def _within(low, high, bounds):
    """The part of an interval within bounds, and whether there is any; a bound on a breakpoint is only a tie."""
    if bounds[0] == -np.inf and bounds[1] == np.inf:
        return low, high, True
    low = max(low, bounds[0])
    high = min(high, bounds[1])
    return low, high, high - low > TOLERANCE * max(1.0, min(abs(low), abs(high)))


@kernel
def _better(value, low, high, bounds, best):
    """The better one of an interval of this value and the best so far, both as value, low and high.

    Of equally good ones the wider, else the first.
    """
    low, high, inside = _within(low, high, bounds)
    if not inside or value < best[0] or (value == best[0] and not high - low > best[2] - best[1]):
        return best
    return value, low, high


@kernel
def best_along(place, sides, first, stats, goal, bounds, floor):
    """Of what `crossings` gives: the middle of the best interval within bounds, and its value.

    0 and `floor` where none is better than that. Where its `bound` tells, an interval is not scored.
    """
    formula, sign = goal
    width = stats.shape[1]
    totals = np.zeros(width)
    for i in range(len(first)):
        for j in range(width):
            totals[j] += stats[first[i], j]
    order = sorted_order(place)
    best = (floor, 0.0, np.inf)
    need = least(formula, sign * floor)
    cut = -np.inf
    for t in range(len(place) + 1):
        x = place[order[t]] if t < len(place) else np.inf
        if t == 0 or t == len(place) or x - cut > TOLERANCE * max(1.0, abs(x)):
            reached = cut < FAR and x > -FAR  # nothing can be reached beyond
            if reached and not bound(formula, totals) < need:
                value = sign * score(formula, totals)
                best = _better(value, cut, x, bounds, best)
                need = least(formula, sign * best[0])
            cut = x
        if t < len(place):
            before = sides[order[t], 0]
            after = sides[order[t], 1]
            for j in range(width):
                totals[j] += stats[after, j] - stats[before, j]
    return (middle(best[1], best[2]) if best[0] > floor else 0.0), best[0]


@kernel
def search(columns, scores, direction, lists, stats, goal, bounds, floor):
    """The best place along a direction that is better than `floor`, and its value; else 0 and `floor`."""
    place, sides, first = crossings(columns, scores, direction, lists, (0, len(lists[0]) - 1))
    return best_along(place, sides, first, stats, goal, bounds=bounds, floor=floor)


@kernel
def fill_scores(columns, weights, out):
    """Fill `out` [H] with the scores, weight by weight, a piece at a time that stays in the cache."""
    for low in range(0, len(out), 1024):
        piece = out[low : min(low + 1024, len(out))]
        piece[:] = 0.0
        for d in range(len(weights)):
            if weights[d] != 0.0:
                _add(piece, weights[d], columns[d, low : low + len(piece)])


@kernel
def _add(out, factor, values):
    for h in range(len(out)):
        out[h] += factor * values[h]


@kernel
def climb_round(columns, lists, stats, goal, signs, queue, free, state):
    """Search the coordinates of `queue`, last one first, and take each gain at once; `free` of all can be moved.

    `state` are scores [H], weights [D], which coordinates are settled [D] (no gain from here), the value [1], and how
    many searches were made [1]. All are changed in place. Returns how much of the queue is left: some where nothing is
    left to gain, or where the weights would get so small or large that the caller has to make the next move.
    """
    scores, weights, settled, value, searches = state
    direction = np.zeros(len(weights))
    for left in range(len(queue), 0, -1):
        axis = queue[left - 1]
        if _count(settled) == free:
            return left
        if settled[axis]:
            continue
        direction[axis] = 1.0
        edge = -weights[axis]
        bounds = edge if signs[axis] > 0 else -np.inf, edge if signs[axis] < 0 else np.inf
        x, found = search(columns, scores, direction, lists, stats=stats, goal=goal, bounds=bounds, floor=value[0])
        if found > value[0] + GAIN:
            if not _ordinary_size(weights, axis, x):
                return left
            for d in range(len(weights)):
                weights[d] += x * direction[d]
            _add(scores, x, columns[axis])
            value[0] = found
            settled[:] = False
        settled[axis] = True
        searches[0] += 1
        direction[axis] = 0.0
    return 0


@kernel
def _ordinary_size(weights, axis, x):
    """Whether the weights are surely of ordinary size after a step, however their mean is rounded."""
    total = 0.0
    for d in range(len(weights)):
        total += abs(weights[d] + x if d == axis else weights[d])
    size = total / len(weights)
    return SMALL * 1.001 < size < LARGE * 0.999


@kernel
def _count(marks):
    count = 0
    for mark in marks:
        count += mark
    return count
