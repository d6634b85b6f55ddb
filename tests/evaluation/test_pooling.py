"""Several runs of a system, and segments that belong together: plain twins, and simulations where nothing differs."""

from __future__ import annotations

import numpy as np
import pytest

from nbest.base.errors import ParameterError
from nbest.base.randomness import generator
from nbest.evaluation.pooling import Pooled, pooled_permutation
from nbest.evaluation.significance import by_group, clustered, permutation
from nbest.metrics import BLEU, WER, External
from tests.evaluation.test_significance import stats_of, systems

MEAN = External()


def column(values):
    return MEAN.stats_of(values)


@pytest.mark.parametrize("metric", [WER(), BLEU()])
def test_single_runs_are_tested_as_ever(metric):
    references, first, second = systems(3)
    one, two = (stats_of(metric, texts, references) for texts in (first, second))
    plain = permutation(metric, one, two, samples=300, seed=7)
    assert pooled_permutation(metric, [one], [two], samples=300, seed=7) == plain
    assert pooled_permutation(metric, [one] * 3, [two] * 2, samples=300, seed=7).p == plain.p
    assert pooled_permutation(metric, [one, two], [one, two], samples=100).p == 1.0


@pytest.mark.parametrize("sizes", [(2, 3), (3, 3), (1, 3)])
def test_equals_plain_loops(sizes):
    """The same swaps and draws, one sample at a time: run by run, or where there are not as many, each with each."""
    rng = np.random.default_rng(5)
    metric, samples, seed = WER(), 50, 11
    first, second = ([np.stack([rng.poisson(2, 12), rng.integers(3, 9, 12)], 1) * 1.0 for _ in range(n)] for n in sizes)
    swaps = generator(seed).integers(2, size=(samples, 12), dtype=bool)
    draws = [generator(seed + k + 1).integers(n, size=(samples, max(n - 1, 1))) for k, n in enumerate(sizes)]

    def score(rows):
        rows = np.array(rows)
        return 100 * rows[:, 0].sum() / rows[:, 1].sum()

    means = [np.mean([score(run) for run in runs]) for runs in (first, second)]
    pairs = (
        [(k, k) for k in range(3)] if sizes == (3, 3) else [(k, m) for k in range(sizes[0]) for m in range(sizes[1])]
    )
    extreme = np.zeros(2)  # of swaps alone, and with drawn runs
    for s in range(samples):
        sides = []
        for mine, others, ways in ((first, second, pairs), (second, first, [(m, k) for k, m in pairs])):
            runs = [[(others[m] if swaps[s, i] else mine[k])[i] for i in range(12)] for k, m in ways]
            sides.append(np.mean([score(run) for run in runs]))
        noise = [np.mean([score(runs[k]) for k in draws[at][s]]) - means[at] for at, runs in enumerate((first, second))]
        for at, more in enumerate((0.0, noise[1] - noise[0])):
            extreme[at] += abs(sides[1] - sides[0] + more) >= abs(means[1] - means[0]) - 1e-9
    found = pooled_permutation(metric, first, second, samples=samples, seed=seed)
    assert (found.first, found.second) == pytest.approx(means)
    assert found.p == (extreme.max() + 1) / (samples + 1)


@pytest.mark.parametrize("of_runs", [0.0, 0.1])
def test_where_nothing_differs_little_is_significant(of_runs):
    """Segments, and runs, vary by themselves: the pooled test counts it, and swaps of each run alone do not."""
    rng = np.random.default_rng(int(10 * of_runs))
    pooled = alone = 0
    for trial in range(120):
        shared = rng.normal(size=60)
        both = [[column(own + of_runs * rng.normal() + 0.1 * rng.normal(size=60)) for _ in range(4)]
                for own in (shared + rng.normal(size=60), shared + rng.normal(size=60))]  # fmt: skip
        pooled += pooled_permutation(MEAN, *both, samples=200, seed=trial).p <= 0.05
        alone += permutation(MEAN, *map(np.concatenate, both), samples=200, seed=trial).p <= 0.05
    assert pooled <= 18 < alone


@pytest.mark.parametrize("runs", [1, 3])
def test_few_groups_keep_p_from_being_small(runs):
    """Of five groups one in 16 swaps none or all: p is no less, however many runs there are."""
    rng = np.random.default_rng(7)
    base = [column(rng.normal(size=5)) for _ in range(runs)]
    better = [column(10 + rng.normal(size=5)) for _ in range(3)]
    assert pooled_permutation(MEAN, base, better).p == pytest.approx(1 / 16, abs=0.01)


def test_what_differs_is_found():
    rng = np.random.default_rng(2)
    base = [column(rng.normal(size=80) + 0.02 * k) for k in range(3)]
    better = [column(run[:, 0] + 0.5 + 0.3 * rng.normal(size=80)) for run in base]
    assert pooled_permutation(MEAN, base, better, samples=500).p < 0.01


@pytest.mark.parametrize("ahead", [0.0, 0.5])
def test_runs_that_are_paired_share_their_noise(ahead):
    """Run k of both systems is good or bad together. Where nothing differs, little is significant; a difference that
    such noise would hide is found."""
    rng = np.random.default_rng(3)
    paired = apart = 0
    for trial in range(120):
        noise, own = rng.normal(size=5), rng.normal(size=(2, 60))
        both = [
            [column(0.5 * own[at] + noise[k] + at * ahead + 0.05 * rng.normal()) for k in range(5)] for at in (0, 1)
        ]
        paired += pooled_permutation(MEAN, *both, samples=200, seed=trial, paired=True).p <= 0.05
        apart += pooled_permutation(MEAN, *both, samples=200, seed=trial).p <= 0.05
    assert paired <= 18 if ahead == 0 else paired > 100 > apart


def test_paired_runs_come_in_pairs():
    with pytest.raises(ParameterError, match="as many of both systems, got 1 and 2"):
        pooled_permutation(MEAN, [column([1.0])], [column([1.0])] * 2, paired=True)


def test_mean_and_spread():
    found = Pooled((1.0, 2.0, 6.0))
    assert found.mean == 3
    assert found.spread == pytest.approx(np.std([1, 2, 6], ddof=1))
    assert Pooled((1.0,)).spread is None
    drawn = found.drawn(20000, 1)  # varies as a mean of three
    assert drawn.mean() == pytest.approx(0, abs=0.05)
    assert drawn.std() == pytest.approx(found.spread / np.sqrt(3), rel=0.05)


def test_segments_of_runs_must_be_the_same():
    with pytest.raises(ParameterError, match="same segments in all runs"):
        pooled_permutation(MEAN, [column([1.0])], [column([1.0, 2.0])])


def test_groups_are_added_up():
    stats = column([1.0, 2, 4, 8])
    np.testing.assert_array_equal(by_group(stats, ["b", "a", "b", "c"]), [[5, 2], [2, 1], [8, 1]])
    assert by_group(stats, None) is stats
    with pytest.raises(ParameterError, match="one entry for each of 4 segments, got 1"):
        by_group(stats, ["a"])
    assert clustered(["a", "b", "a"]) == (
        "segments of a group are tested together (2 groups of 3 segments; of so few p is at least 0.5)"
    )


def test_documents_that_vary_as_a_whole_are_no_evidence():
    rng = np.random.default_rng(4)
    groups = np.repeat(np.arange(15), 10)
    by_segment = by_document = 0
    for trial in range(120):
        one, two = (column(rng.normal(size=15)[groups] + 0.2 * rng.normal(size=150)) for _ in range(2))
        by_segment += permutation(MEAN, one, two, samples=200, seed=trial).p <= 0.05
        names = [f"d{g}" for g in groups]
        by_document += permutation(MEAN, by_group(one, names), by_group(two, names), samples=200, seed=trial).p <= 0.05
    assert by_document <= 18 < by_segment
