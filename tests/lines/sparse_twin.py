"""Line searches along one column and minimum sample risk, in plain Python and fractions: every interval is tried."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt

import numpy as np

from tests.lines.brute import choose, crossings

LEAST = 1e-9


class Twin:
    """Lists with scores; nothing is remembered but the scores, everything else is computed anew."""

    def __init__(self, lists, scores, matrix, stats, risk, half=0.0, beyond=0.1):
        self.bounds = list(zip(lists[:-1].tolist(), lists[1:].tolist(), strict=True))
        self.scores = [Fraction(float(score)) for score in scores]
        self.columns = [[Fraction(float(v)) for v in column] for column in np.asarray(matrix).T]
        self.stats, self.risk_of = stats, risk
        self.half, self.beyond = Fraction(half), Fraction(half if half > 0 else beyond)

    def choice(self, column=None, x=0):
        """The first of the best hypotheses of each list after a step; -1 where it is empty."""
        slopes = [0] * len(self.scores) if column is None else self.columns[column]
        picks = [choose(self.scores[low:high], slopes[low:high], x) for low, high in self.bounds]
        return [low + pick if pick >= 0 else -1 for (low, _), pick in zip(self.bounds, picks, strict=True)]

    def risk(self, column=None, x=0):
        """The sample risk after a step."""
        return self.risk_of_choice(self.choice(column, x))

    def risk_of_choice(self, choice):
        return float(self.risk_of(self.stats[[h for h in choice if h >= 0]].sum(axis=0)))

    def intervals(self, column):
        """Cuts at which the statistics of a list change, and the risk before, between and after them."""
        slopes = self.columns[column]
        cuts = sorted(set().union(*(crossings(self.scores[p:q], slopes[p:q]) for p, q in self.bounds)))
        if not cuts:
            return [], [self.risk(column, 0)]
        middles = [(p + q) / 2 for p, q in zip(cuts[:-1], cuts[1:], strict=True)]
        choices = [self.choice(column, x) for x in (cuts[0] - 1, *middles, cuts[-1] + 1)]
        kept, risks = [], [self.risk_of_choice(choices[0])]
        for cut, old, new in zip(cuts, choices[:-1], choices[1:], strict=True):
            if any((self.stats[a] != self.stats[b]).any() for a, b in zip(old, new, strict=True) if a >= 0):
                kept.append(cut)
                risks.append(self.risk_of_choice(new))
        return kept, risks

    def middle(self, cuts, t):
        """The middle of an interval; of an end interval, a point beyond its cut."""
        if t == 0:
            return cuts[0] - self.beyond
        return cuts[-1] + self.beyond if t == len(cuts) else (cuts[t - 1] + cuts[t]) / 2

    def mean(self, cuts, risks, x):
        """Mean risk over x +- half (eq. 5)."""
        if self.half == 0:
            return None
        area = Fraction(0)
        edges = [x - self.half, *(c for c in cuts if x - self.half < c < x + self.half), x + self.half]
        for low, high in zip(edges[:-1], edges[1:], strict=True):
            area += (high - low) * Fraction(risks[sum(cut < (low + high) / 2 for cut in cuts)])
        return float(area / (2 * self.half))

    def search(self, column):
        """The best step, and the risk it leads to."""
        cuts, risks = self.intervals(column)
        now = self.risk()
        least = LEAST * max(1.0, abs(now))
        found = (np.inf, Fraction(0), now)
        for t, risk in enumerate(risks):
            if not cuts or risk >= now - least:
                continue
            x = self.middle(cuts, t)
            mean = self.mean(cuts, risks, x)
            mean = risk if mean is None else mean
            if mean < found[0] - least or (mean <= found[0] + least and abs(x) < abs(found[1])):
                found = (mean, x, risk)
        return found[1], found[2]

    def move(self, column, x):
        self.scores = [score + x * value for score, value in zip(self.scores, self.columns[column], strict=True)]


def msr_twin(twin, losses, *, dynamic, alpha, limit, window, passes=1):
    """Steps (column, x) of MSR or, `dynamic`, MSR-II; correlations are computed anew for every pair at every step.

    Also returns the value of every competing column at every step.
    """
    columns = range(len(twin.columns))
    base_choice, base_risk = twin.choice(), twin.risk()
    found = [twin.search(c) for c in columns]
    gains = [base_risk - risk for _, risk in found]
    top = max(gains)
    order = sorted(
        (c for c in columns if round(gains[c] / (top or 1), 12) > 0), key=lambda c: -round(gains[c] / top, 12)
    )

    def improves(choice):
        return {m for m, (a, b) in enumerate(zip(choice, base_choice, strict=True)) if a >= 0 and losses[a] < losses[b]}

    def correlation(one, other):
        return len(one & other) / sqrt(max(len(one), 1) * max(len(other), 1))

    improved = {c: improves(twin.choice(c, found[c][0])) for c in order}
    taken, steps, values = [], [], []
    risks = [base_risk]
    while len(taken) < limit and len(taken) < len(order):
        model = improves(twin.choice())
        left = [c for c in order if c not in taken][:window]
        value = {}
        for c in left:
            if dynamic:
                against = correlation(model, improved[c])
            else:
                against = sum(correlation(improved[i], improved[c]) for i in taken) / max(len(taken), 1)
            value[c] = (alpha * gains[c] / max(gains), against)
        best = left[0]
        for c in left[1:]:
            if _total(value[c], alpha) > _total(value[best], alpha) + 1e-12:
                best = c
        taken.append(best)
        values.append(value)
        steps.append((best, _step(twin, best, risks)))
    for _ in range(1, passes):
        for column in taken:
            steps.append((column, _step(twin, column, risks)))
    return steps, values, risks


def _total(value, alpha):
    return value[0] - (1 - alpha) * value[1]


def _step(twin, column, risks):
    x, _ = twin.search(column)
    x = Fraction(float(x))
    twin.move(column, x)
    risks.append(twin.risk())
    return float(x)
