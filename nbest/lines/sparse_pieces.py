"""Kernels of line searches along one sparse column: upper envelopes, list by list, and the choice of an interval.

With the weight of one column moved by x the score of a hypothesis is a line, score + x * value. Hypotheses of a list
that share a value stay in order whatever x is, so only the best-scoring one of each value, the *active candidate*, can
be chosen; counts of n-grams take few values. Yuan, Gao & Bu (2007), sections 2.3 and 2.6. Lists in which a column
takes many values go to the general envelope of `nbest.lines.envelope`.
"""

from __future__ import annotations

import numpy as np

from nbest.compute.compilation import kernel
from nbest.lines.envelope import FAR, envelope

MANY = 16  # values of a column in one list from which the general envelope is faster


@kernel
def best_without(rows, scores, place):
    """The best of the hypotheses low:high that are not among rows[p:q], the first of equals; `best` is that of all."""
    p, q, low, high, best = place
    inside = False
    for t in range(p, q):
        inside |= rows[t] == best
    if not inside:
        return best
    found = -1
    top = -np.inf
    t = p
    for h in range(low, high):
        if t < q and rows[t] == h:
            t += 1
        elif scores[h] > top:
            found, top = h, scores[h]
    return found


@kernel
def _active(entries, scores, place, few):
    """Active candidates of a list by rising value: scores `a`, values `b`, hypotheses `k`; their number, MANY if more.

    Entries p:q are those of the list; its other hypotheses have the value 0.
    """
    rows, values = entries
    p, q, low, high, _ = place
    a, b, k = few
    n = 0
    if q - p < high - low:
        k[0] = best_without(rows, scores, place)
        a[0], b[0] = scores[k[0]], 0.0
        n = 1
    for t in range(p, q):
        g = n - 1
        while g >= 0 and b[g] > values[t]:
            g -= 1
        score = scores[rows[t]]
        if g >= 0 and b[g] == values[t]:
            # rows rise, except that the group of 0 comes first; entries are never 0
            if score > a[g]:
                a[g], k[g] = score, rows[t]
            continue
        if n == MANY:
            return MANY
        for j in range(n, g + 1, -1):
            a[j], b[j], k[j] = a[j - 1], b[j - 1], k[j - 1]
        a[g + 1], b[g + 1], k[g + 1] = score, np.float64(values[t]), rows[t]
        n += 1
    return n


@kernel
def _hull(few, n, cuts, lines):
    """Upper envelope of n lines of rising slope: lines[0] up to cuts[0], ...; the number of cuts."""
    a, b, k = few
    lines[0] = k[0]
    count = 0
    at = 0
    while at < n - 1:
        nearest, after = np.inf, at + 1
        for j in range(at + 1, n):
            x = min(max((a[at] - a[j]) / (b[j] - b[at]), -FAR), FAR)
            if x <= nearest:  # of lines that meet in one point the steepest goes on
                nearest, after = x, j
        cuts[count] = nearest if count == 0 else max(nearest, cuts[count - 1])
        count += 1
        lines[count] = k[after]
        at = after
    return count


@kernel
def _pieces(entries, scores, place, room):
    """Which hypothesis of a list is chosen at which x: lines[0] up to cuts[0], ...; the number of cuts."""
    few, wide, cuts, lines, stack = room
    n = _active(entries, scores, place, few)
    if n < MANY:
        return _hull(few, n, cuts, lines)
    rows, values = entries
    p, q, low, high, _ = place
    slopes, heights = wide[0, : high - low], wide[1, : high - low]
    slopes[:] = 0.0
    for t in range(p, q):
        slopes[rows[t] - low] = values[t]
    count = envelope(a=scores[low:high], b=slopes, heights=heights, cuts=cuts, lines=lines, stack=stack)
    for j in range(count + 1):
        lines[j] += low
    return count


@kernel
def _order(place, n, order):
    """Stable order of the first n places."""
    if n > 48:
        for t, j in enumerate(np.argsort(place[:n], kind="mergesort")):
            order[t] = j
        return
    for t in range(n):
        j = t - 1
        while j >= 0 and place[order[j]] > place[t]:
            order[j + 1] = order[j]
            j -= 1
        order[j + 1] = t


@kernel
def _events(column, index, state, room, now, out):
    """Where the statistics of lists change along the column of entries p:end, and by how much; the number of places.

    `now` holds the totals of the present choice and gets those at x = -inf.
    """
    p, end = column
    _, rows, values, owners, lists = index
    scores, choice, stats = state
    _, _, piece, lines, _ = room
    place, change = out
    width = stats.shape[1]
    n = 0
    while p < end:
        i = owners[rows[p]]
        low, high = lists[i], lists[i + 1]
        q = p + 1
        while q < end and rows[q] < high:
            q += 1
        count = _pieces((rows, values), scores, (p, q, low, high, choice[i]), room)
        for r in range(width):
            now[r] += stats[lines[0], r] - stats[choice[i], r]
        for t in range(count):
            moved = False
            for r in range(width):
                change[n, r] = stats[lines[t + 1], r] - stats[lines[t], r]
                moved |= change[n, r] != 0.0
            if moved:
                place[n] = piece[t]
                n += 1
        p = q
    return n


@kernel
def intervals(which, index, longest, state, totals, tolerance):
    """Cuts of each column of `which`, one column after the other, and the totals before, between and after them.

    Returns cuts [T], their offsets [len(which) + 1] and totals [T + len(which), R]: those of column j start at row
    offsets[j] + j. Only places where the statistics of a list change are cuts; cuts nearer than `tolerance`, relative
    to their size and absolute below 1, are one. `index` are the arrays of a `SparseIndex`, offsets first, `state`
    scores [H], the present choice [N] and statistics [H, R]; `totals` [R] are those of the choice.
    """
    offsets, stats = index[0], state[2]
    entries, most = 0, 0
    for c in which:
        entries += offsets[c + 1] - offsets[c]
        most = max(most, offsets[c + 1] - offsets[c])
    few = np.empty(MANY), np.empty(MANY), np.empty(MANY, np.int64)
    many = np.empty(longest + MANY), np.empty(longest + MANY, np.int64), np.empty(longest + 1, np.int64)
    room = few, np.empty((2, longest)), many[0], many[1], many[2]
    width = stats.shape[1]
    place, change, order = np.empty(most), np.empty((most, width)), np.empty(most, np.int64)
    cuts, sums, ends = np.empty(entries), np.empty((entries + len(which), width)), np.zeros(len(which) + 1, np.int64)
    done = 0
    for j in range(len(which)):
        column = offsets[which[j]], offsets[which[j] + 1]
        sums[done + j] = totals
        n = _events(column, index, state, room, sums[done + j], out=(place, change))
        _order(place, n, order)
        first = done
        for t in range(n):
            x = place[order[t]]
            if done == first or x - cuts[done - 1] > tolerance * max(1.0, abs(x)):
                cuts[done] = x
                done += 1
                sums[done + j] = sums[done + j - 1]
            for r in range(width):
                sums[done + j, r] += change[order[t], r]
        ends[j + 1] = done
    return cuts[:done], ends, sums[: done + len(which)]


@kernel
def _inside(cuts, t, beyond):
    """The middle of interval t between cuts, of an end interval a point `beyond` its cut; NaN where out of reach."""
    n = len(cuts)
    if t == 0:
        return cuts[0] - max(beyond, 1e-9 * abs(cuts[0])) if cuts[0] > -FAR else np.nan
    if t == n:
        return cuts[n - 1] + max(beyond, 1e-9 * abs(cuts[n - 1])) if cuts[n - 1] < FAR else np.nan
    return 0.5 * (cuts[t - 1] + cuts[t])


@kernel
def choose(cuts, ends, risks, now, window, out):
    """For each column the best step and the risk there; 0 and `now` where no interval lowers the risk by `least`.

    Each interval that does is tried at its middle, an end interval `beyond` its only cut. Of these the least mean risk
    over middle +- half wins, of equals (within `least`) the nearest to 0.
    """
    half, beyond, least = window
    steps, reached = out
    for j in range(len(ends) - 1):
        own, risk = cuts[ends[j] : ends[j + 1]], risks[ends[j] + j : ends[j + 1] + j + 1]
        steps[j], reached[j] = 0.0, now
        n = len(own)
        smoothest = np.inf
        inner, outer, full = 0, 0, 0.0  # cuts inner:outer are in the window, whole pieces between them weigh `full`
        for t in range(n + 1):
            if n == 0 or risk[t] >= now - least:
                continue
            x = _inside(own, t, beyond)
            if np.isnan(x):
                continue
            mean = risk[t]
            if half > 0.0:
                while inner < n and own[inner] <= x - half:
                    if inner + 1 < outer:
                        full -= (risk[inner + 1] - now) * (own[inner + 1] - own[inner])
                    inner += 1
                if outer <= inner:
                    outer, full = inner, 0.0
                while outer < n and own[outer] < x + half:
                    if outer > inner:
                        full += (risk[outer] - now) * (own[outer] - own[outer - 1])
                    outer += 1
                if outer > inner:
                    area = full + (risk[inner] - now) * (own[inner] - (x - half))
                    area += (risk[outer] - now) * (x + half - own[outer - 1])
                    mean = now + area / (2.0 * half)
            if mean < smoothest - least or (mean <= smoothest + least and abs(x) < abs(steps[j])):
                smoothest, steps[j], reached[j] = mean, x, risk[t]
