"""Upper envelopes of lines, segment by segment, and the totals between their breakpoints.

Along weights + x * direction the score of a hypothesis is a line a + x * b, and the hypothesis chosen for a segment is
the one on the upper envelope of its lines. `crossings` finds where any segment's choice changes, `sweep` the
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
    return _from_to(a, b, left, right, heights=heights, cuts=cuts, lines=lines, stack=stack)


@kernel
def _from_to(a, b, left, right, heights, cuts, lines, stack):
    """`envelope` where its first and its last line are known."""
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
def ends_of(features, offsets):
    """[D, N, 2] the only hypothesis of least and that of largest value of each feature in each list.

    -1 where several share it, and in empty lists: then scores decide which one begins or ends an envelope.
    """
    found = np.full((len(features), len(offsets) - 1, 2), -1, np.int32)
    for d in range(len(features)):
        for i in range(len(offsets) - 1):
            start = offsets[i]
            low = high = np.int32(0)
            lows = highs = 0  # how many there are
            for k in range(offsets[i + 1] - start):
                value = features[d, start + k]
                if k == 0 or value < features[d, start + low]:
                    low, lows = np.int32(k), 0
                if k == 0 or value > features[d, start + high]:
                    high, highs = np.int32(k), 0
                lows += value == features[d, start + low]
                highs += value == features[d, start + high]
            if lows == 1 and highs == 1:
                found[d, i, 0], found[d, i, 1] = low, high
    return found


@kernel
def _axis_of(direction):
    """The number of the only feature of a direction, if it has just one and at 1; else -1."""
    axis = -1
    for d in range(len(direction)):
        if direction[d] != 0.0:
            if axis >= 0 or direction[d] != 1.0:
                return -1
            axis = d
    return axis


@kernel
def _fill_slopes(features, direction, start, b):
    b[:] = 0.0
    for d in range(len(direction)):
        step = direction[d]
        if step != 0.0:
            column = features[d, start : start + len(b)]
            for k in range(len(b)):
                b[k] += step * column[k]


@kernel
def crossings(features, scores, direction, lists, some):
    """Where the choice of a segment in low:high, which are `some`, changes along `direction`, and from what to what.

    `features` is [D, H], `scores` [H]; `lists` are offsets [N+1], the length of the longest, and `ends_of` them.
    Returns the places x [P] (in segment order), the hypotheses [P, 2] before and after, and those chosen at x = -inf
    [F] of the F lists that are not empty.
    """
    offsets, longest, ends = lists
    low, high = some
    slopes = np.empty(longest)
    heights = np.empty(longest)
    cuts = np.empty(longest)
    lines = np.empty(longest + 1, np.int32)
    stack = np.empty(longest + 1, np.int32)
    room = max(64, 8 * (high - low))
    place = np.empty(room)
    sides = np.empty(2 * room, np.int32)
    first = np.empty(high - low, np.int32)
    axis = _axis_of(direction)
    filled = 0
    total = 0
    for i in range(low, high):
        start = offsets[i]
        size = offsets[i + 1] - start
        if size == 0:
            continue
        a = scores[start : start + size]
        if axis >= 0:
            b = features[axis, start : start + size]
        else:
            b = slopes[:size]
            _fill_slopes(features, direction, start, b)
        left, right = np.int32(-1), np.int32(-1)
        if axis >= 0:
            left, right = ends[axis, i, 0], ends[axis, i, 1]
        if left < 0:
            left, right = _outermost(a, b)
        count = _from_to(a, b, left, right, heights=heights[:size], cuts=cuts, lines=lines, stack=stack)
        first[filled] = start + lines[0]
        filled += 1
        while total + count > len(place):
            place, sides = longer(place, 2 * len(place)), longer(sides, 2 * len(sides))
        for q in range(count):
            place[total] = cuts[q]
            sides[2 * total] = start + lines[q]
            sides[2 * total + 1] = start + lines[q + 1]
            total += 1
    return place[:total], sides[: 2 * total].reshape((total, 2)), first[:filled]


@kernel
def changes(sides, first, stats):
    """Of what `crossings` gives: how the statistics [H, M] change at each place [P, M], and those at -inf [F, M]."""
    width = stats.shape[1]
    change = np.empty((len(sides), width))
    for p in range(len(sides)):
        for j in range(width):
            change[p, j] = stats[sides[p, 1], j] - stats[sides[p, 0], j]
    begin = np.empty((len(first), width))
    for i in range(len(first)):
        for j in range(width):
            begin[i, j] = stats[first[i], j]
    return change, begin


@kernel
def sorted_order(values):
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

    `place` is what `crossings` returns, `change` and `begin` are what `changes` does.
    Cuts nearer than `tolerance` (relative to their size, and absolute below 1) count as one.
    """
    order = sorted_order(place)
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
