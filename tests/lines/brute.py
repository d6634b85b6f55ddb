"""The answers of exact line search by brute force, in fractions, and a checker that compares."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np


def crossings(a, b):
    """Every x at which two of the lines a + x b cross."""
    pairs = combinations(range(len(a)), 2)
    return {(a[i] - a[j]) / (b[j] - b[i]) for i, j in pairs if b[i] != b[j]}


def choose(a, b, x):
    """The first of the highest lines at x; -1 where there are none."""
    heights = [p + x * q for p, q in zip(a, b, strict=True)]
    return heights.index(max(heights)) if heights else -1


def lines_of(corpus, weights, direction):
    """For each segment, heights at 0 and slopes of its lines, as fractions."""
    rows = [[Fraction(value) for value in row] for row in corpus.features.tolist()]
    weights, direction = ([Fraction(float(w)) for w in vector] for vector in (weights, direction))
    dot = lambda vector, row: sum((v * f for v, f in zip(vector, row, strict=True)), Fraction(0))  # noqa: E731
    out = []
    for low, high in zip(corpus.offsets[:-1], corpus.offsets[1:], strict=True):
        out.append(([dot(weights, row) for row in rows[low:high]], [dot(direction, row) for row in rows[low:high]]))
    return out


def totals_at(corpus, lines, x):
    """[M] totals of the choices at x."""
    total = np.zeros(corpus.stats.shape[1])
    for low, (a, b) in zip(corpus.offsets, lines, strict=False):
        place = choose(a, b, x)
        if place >= 0:
            total = total + corpus.stats[low + place]
    return total


def places(lines):
    """A point inside each interval between crossings, from left to right."""
    cuts = sorted(set().union(*(crossings(a, b) for a, b in lines)))
    if not cuts:
        return [Fraction(0)]
    return [cuts[0] - 1, *((p + q) / 2 for p, q in zip(cuts[:-1], cuts[1:], strict=True)), cuts[-1] + 1]


def check_intervals(intervals, corpus, weights, direction):
    """`intervals(corpus, weights, direction)` -> cuts and totals must be those of brute force, interval by interval."""
    cuts, totals = intervals(corpus, weights, direction)
    assert len(totals) == len(cuts) + 1, f"{len(cuts)} cuts and {len(totals)} totals"
    assert (np.diff(cuts) > 0).all(), f"cuts must rise: {cuts}"
    lines = lines_of(corpus, weights, direction)
    for x in places(lines):
        expected, found = totals_at(corpus, lines, x), totals[np.searchsorted(cuts, float(x))]
        assert np.allclose(found, expected, rtol=0, atol=1e-9), f"totals at {float(x)}: {found}, expected {expected}"
    every = {float(cut) for a, b in lines for cut in crossings(a, b)}
    assert all(min(abs(cut - x) for x in every) <= 1e-9 * max(1, abs(cut)) for cut in cuts), f"no lines cross at {cuts}"


def best_value(corpus, weights, direction, bounds=(-np.inf, np.inf)):
    """The best metric of any interval that has a part inside the bounds, higher better."""
    lines = lines_of(corpus, weights, direction)
    sign = 1 if corpus.metric.higher_is_better else -1
    edges = [Fraction(bound) for bound in bounds if np.isfinite(bound)]
    cuts = sorted(set().union(*(crossings(a, b) for a, b in lines), edges))
    inner = [(p + q) / 2 for p, q in zip(cuts[:-1], cuts[1:], strict=True)]
    points = [cuts[0] - 1, *inner, cuts[-1] + 1] if cuts else [Fraction(0)]
    inside = [x for x in points if bounds[0] < x < bounds[1]]
    return max(sign * float(corpus.metric.score(totals_at(corpus, lines, x))) for x in inside)


# twins of the kernels -------------------------------------------------------------------------------------------


def envelope_twin(a, b):
    """Upper envelope by sorting slopes (Och 2003): the lines from left to right and the cuts between them."""
    best = {}
    for k in sorted(range(len(a)), key=lambda k: (-a[k], k)):
        best.setdefault(b[k], k)
    hull, cuts = [], []
    for slope in sorted(best):
        k = best[slope]
        while hull:
            x = (a[hull[-1]] - a[k]) / (slope - b[hull[-1]])
            if not cuts or x > cuts[-1]:
                break
            hull.pop()
            cuts.pop()
        if hull:
            cuts.append(x)
        hull.append(k)
    return hull, cuts


def intervals_twin(corpus, weights, direction, envelope=envelope_twin):
    """What `Lines.intervals` gives, in plain Python."""
    totals, changes = np.zeros(corpus.stats.shape[1]), {}
    for low, (a, b) in zip(corpus.offsets, lines_of(corpus, weights, direction), strict=False):
        if a:
            hull, cuts = envelope(a, b)
            totals = totals + corpus.stats[low + hull[0]]
            for x, old, new in zip(cuts, hull[:-1], hull[1:], strict=True):
                changes[x] = changes.get(x, 0) + corpus.stats[low + new] - corpus.stats[low + old]
    cuts = sorted(changes)
    return np.array([float(x) for x in cuts]), np.cumsum([totals, *(changes[x] for x in cuts)], axis=0)


def drops_the_middle(a, b):
    """A broken envelope: only the outermost lines count."""
    hull, cuts = envelope_twin(a, b)
    if len(hull) < 3:
        return hull, cuts
    left, right = hull[0], hull[-1]
    return [left, right], [(a[left] - a[right]) / (b[right] - b[left])]


def takes_the_last_of_equals(a, b):
    """A broken envelope: ties go to the highest index."""
    hull, cuts = envelope_twin(a, b)
    return [max(k for k in range(len(a)) if (a[k], b[k]) == (a[h], b[h])) for h in hull], cuts


def ignores_height(a, b):
    """A broken envelope: of parallel lines the first counts, not the highest."""
    hull, cuts = envelope_twin(a, b)
    return [b.index(b[h]) for h in hull], cuts
