"""Many compared with one: p-values against a plain computation, and as rare as they say."""

from __future__ import annotations

import numpy as np
import pytest

from nbest.base.randomness import generator
from nbest.metrics import BLEU, WER, External
from nbest.metrics.paired import better_than, selections


def plain(metric, first, others, samples, seed):
    """The same by one swap of one segment after the other."""
    sign = 1.0 if metric.higher_is_better else -1.0
    swaps = np.concatenate(list(selections(generator(seed), samples, len(first))))
    gains = np.zeros((samples, others.shape[1]))
    for s, swap in enumerate(swaps):
        for c in range(others.shape[1]):
            mine = np.where(swap[:, None], first, others[:, c]).sum(axis=0)
            theirs = np.where(swap[:, None], others[:, c], first).sum(axis=0)
            gains[s, c] = sign * (metric.score(mine) - metric.score(theirs))
    found = sign * (metric.score(others.sum(axis=0)) - metric.score(first.sum(axis=0)))
    p = []
    for c in range(others.shape[1]):
        spread = gains.std(axis=0)
        if spread[c] == 0 or found[c] <= 0:
            p.append(1.0)
            continue
        largest = [max(gain[d] / spread[d] for d in range(len(gain)) if spread[d] > 0) for gain in gains]
        p.append((1 + sum(value >= found[c] / spread[c] - 1e-9 for value in largest)) / (samples + 1))
    return np.array(p)


@pytest.mark.parametrize("metric", [WER(), BLEU(), External()], ids=lambda m: m.name)
def test_many_against_one(metric):
    rng = np.random.default_rng(1)
    width = len(metric.stat_names)
    first = rng.integers(1, 20, (25, width)).astype(float)
    others = np.stack([first, first + rng.integers(-1, 2, first.shape), rng.integers(1, 20, first.shape)], axis=1)
    found = better_than(metric, first, others, samples=100, seed=3)
    assert found == pytest.approx(plain(metric, first, others, 100, 3))
    assert found[0] == 1.0


def test_chance_is_rare_however_many_are_tried():
    rng, seen = np.random.default_rng(2), 0
    for _ in range(200):
        first = External().stats_of(rng.normal(size=40))
        others = np.stack([External().stats_of(rng.normal(size=40)) for _ in range(10)], axis=1)
        seen += bool((better_than(External(), first, others, samples=200) <= 0.05).any())
    assert 1 <= seen <= 20, "about 10 of 200"


def test_what_is_better_is_seen_and_what_is_worse_is_not():
    rng = np.random.default_rng(3)
    first = rng.normal(size=60)
    values = [first + rng.normal(gain, 0.5, 60) for gain in (1.0, 0.0, -1.0)]
    stats = np.stack([External().stats_of(each) for each in values], axis=1)
    p = better_than(External(), External().stats_of(first), stats)
    assert p[0] < 0.01
    assert p[1] > 0.05
    assert p[2] == 1.0
    costs = External(higher_is_better=False)
    assert better_than(costs, External().stats_of(first), stats)[2] < 0.01
