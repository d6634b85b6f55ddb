"""Upper envelopes of lines, segment by segment, and the totals between their breakpoints.

Along weights + x * direction the score of a hypothesis is a line a + x * b, and the hypothesis chosen for a segment is
the one on the upper envelope of its lines. `breakpoints` finds where any segment's choice changes, `sweep` the
corpus statistics in each interval between.

Och (2003), ACL 160-167, section 5. Differs: the envelope is found by repeated vectorised argmax (Eisner & Severance
1976) instead of sorting slopes: with K lines and an envelope of E pieces it costs O(K E), but in straight passes
over memory that is in cache, 17 times faster than sort and hull at K = 200. Ties go to the lowest index.
"""

from __future__ import annotations

import numpy as np

from nbest.compute.compilation import fast_kernel, kernel
from nbest.compute.growing import longer
from nbest.compute.intrinsics import fmax, fmin

FAR = 1e200
"""Lines whose slopes hardly differ may cross beyond all numbers; such crossings are put here."""


@fast_kernel
def _heights(a, b, x, out):
    """Fill `out` with a + x * b; the maximum."""
    top = -np.inf
    for k in range(len(a)):
        value = a[k] + x * b[k]
        out[k] = value
        top = fmax(top, value)
    return top


@kernel
def _first_equal(values, count, value):
    found = np.int32(count)
    for k in range(count):
        found = min(found, np.int32(k) if values[k] == value else np.int32(count))
    return found


@fast_kernel
def _outermost(a, b):
    """The lines that are highest at x = -inf and at x = +inf."""
    count = np.int32(len(a))
    low = np.inf
    high = -np.inf
    for k in range(len(a)):
        low = fmin(low, b[k])
        high = fmax(high, b[k])
    top_low = -np.inf
    top_high = -np.inf
    for k in range(len(a)):
        top_low = fmax(top_low, a[k] if b[k] == low else -np.inf)
        top_high = fmax(top_high, a[k] if b[k] == high else -np.inf)
    left = count
    right = count
    for k in range(len(a)):
        left = min(left, np.int32(k) if (b[k] == low) & (a[k] == top_low) else count)
        right = min(right, np.int32(k) if (b[k] == high) & (a[k] == top_high) else count)
    return left, right


@kernel
def envelope(a, b, heights, cuts, lines, stack):
    """Upper envelope of the lines a + x * b: lines[0] up to cuts[0], lines[1] up to cuts[1]...; the number of cuts."""
    left, right = _outermost(a, b)
    lines[0] = left
    if b[left] == b[right]:
        return 0
    count = 0
    depth = 1
    stack[0] = right
    current = left
    while depth > 0:
        other = stack[depth - 1]
        x = min(max((a[current] - a[other]) / (b[other] - b[current]), -FAR), FAR)
        top = _heights(a, b, x, heights)
        if top > max(heights[current], heights[other]):
            between = _first_equal(heights, len(a), top)
            if b[current] < b[between] < b[other]:
                stack[depth] = between
                depth += 1
                continue
        cuts[count] = x if count == 0 else max(x, cuts[count - 1])
        count += 1
        lines[count] = other
        current = other
        depth -= 1
    return count


@kernel
def breakpoints(features, scores, direction, lists, some):
    """Where the choice of a segment in low:high, which are `some`, changes along `direction`.

    `features` is [D, H], `scores` [H], `stats` [H, M]. Returns the places x (in segment order), the change of the
    totals at each (taken here, where a list's statistics are in cache), and the statistics [F, M] of the choices at
    x = -inf of the F lists that are not empty. `lists` are offsets [N+1], the length of the longest, and `stats`.
    """
    offsets, longest, stats = lists
    low, high = some
    slopes = np.empty(longest)
    heights = np.empty(longest)
    cuts = np.empty(longest)
    lines = np.empty(longest + 1, np.int32)
    stack = np.empty(longest + 1, np.int32)
    room = max(64, 8 * (high - low))
    width = stats.shape[1]
    place = np.empty(room)
    change = np.empty(room * width)
    begin = np.empty((high - low, width))
    filled = 0
    total = 0
    for i in range(low, high):
        start = offsets[i]
        size = offsets[i + 1] - start
        if size == 0:
            continue
        b = slopes[:size]
        b[:] = 0.0
        for d in range(len(direction)):
            step = direction[d]
            if step != 0.0:
                column = features[d, start : start + size]
                for k in range(size):
                    b[k] += step * column[k]
        count = envelope(
            a=scores[start : start + size], b=b, heights=heights[:size], cuts=cuts, lines=lines, stack=stack
        )
        for j in range(width):
            begin[filled, j] = stats[start + lines[0], j]
        filled += 1
        while total + count > len(place):
            place, change = longer(place, 2 * len(place)), longer(change, 2 * len(change))
        for q in range(count):
            place[total] = cuts[q]
            for j in range(width):
                change[total * width + j] = stats[start + lines[q + 1], j] - stats[start + lines[q], j]
            total += 1
    return place[:total], change[: total * width].reshape((total, width)), begin[:filled]


@kernel
def _sorted_order(values):
    """Stable order of float64 values: three passes of a radix sort on the upper 33 bits, then insertion."""
    count = len(values)
    keys = np.empty(count, np.uint64)
    bits = values.view(np.uint64)
    starts = np.zeros((3, 2048), np.int64)
    for i in range(count):
        key = bits[i]
        key = ~key if key >> np.uint64(63) else key | np.uint64(1 << 63)
        keys[i] = key
        for digit in range(3):
            starts[digit, (key >> np.uint64(31 + 11 * digit)) & np.uint64(2047)] += 1
    for digit in range(3):
        total = 0
        for j in range(2048):
            starts[digit, j], total = total, total + starts[digit, j]
    order = np.arange(count)
    other = np.empty(count, np.int64)
    for digit in range(3):
        for t in range(count):
            i = order[t]
            j = (keys[i] >> np.uint64(31 + 11 * digit)) & np.uint64(2047)
            other[starts[digit, j]] = i
            starts[digit, j] += 1
        order, other = other, order
    for t in range(1, count):
        i = order[t]
        j = t - 1
        while j >= 0 and values[order[j]] > values[i]:
            order[j + 1] = order[j]
            j -= 1
        order[j + 1] = i
    return order


@kernel
def sweep(place, change, begin, tolerance):
    """Sorted distinct cuts [E] and the totals [E+1, M] before, between and after them.

    `place`, `change` and `begin` are what `breakpoints` returns.
    Cuts nearer than `tolerance` (relative to their size, and absolute below 1) count as one.
    """
    order = _sorted_order(place)
    width = begin.shape[1]
    cuts = np.empty(len(place))
    sums = np.empty((len(place) + 1, width))
    sums[0] = 0.0
    for i in range(len(begin)):
        for j in range(width):
            sums[0, j] += begin[i, j]
    count = 0
    for t in range(len(place)):
        i = order[t]
        x = place[i]
        if count == 0 or x - cuts[count - 1] > tolerance * max(1.0, abs(x)):
            cuts[count] = x
            count += 1
            for j in range(width):
                sums[count, j] = sums[count - 1, j] + change[i, j]
        else:
            for j in range(width):
                sums[count, j] += change[i, j]
    return cuts[:count], sums[: count + 1]
