"""Envelopes of forests against the enumeration of all derivations as lists, and against fractions."""

from bisect import bisect
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from nbest.compute import segments
from nbest.compute.executors import Threads, using
from nbest.compute.row_tables import hashes_of, new_table, number_rows, remember, slot_of
from nbest.corpus import Forests
from nbest.forests.derivations import Derivations, forests_of
from nbest.lines.forest_envelopes import envelopes
from nbest.lines.forests import forest_lines
from nbest.lines.search import list_lines
from nbest.metrics import BLEU, WER
from nbest.testing import toy_lists
from nbest.testing.forests import enumerate_derivations, toy_forests
from tests.lines import brute

METRICS = {"wer": WER(), "bleu": BLEU(tokenize="none", max_ngram_order=2)}
seeds, metrics = st.integers(0, 10**6), st.sampled_from(sorted(METRICS))
whole = st.lists(st.integers(-2, 2), min_size=3, max_size=3).map(lambda v: np.array(v, np.float64))
real = st.integers(0, 10**6).map(lambda seed: np.random.default_rng(seed).normal(size=3))


def enumerated(forests):
    """All derivations of all forests, as lists."""
    known = [enumerate_derivations(forests, i) for i in range(len(forests))]
    flat = [d for part in known for d in part]
    return Derivations(
        forests,
        segments.offsets_of(np.array([len(part) for part in known], np.int64)),
        segments.offsets_of(np.array([len(d.edges) for d in flat], np.int64)),
        np.array([e for d in flat for e in d.edges], np.int64),
    ).lists()


def told_apart(corpus):
    """Whether derivations with the same features (say, a node used twice, either way round) have the same statistics.

    Where not, the order of adding up decides between them, and lists and forests add in different orders.
    """
    rows = np.column_stack([segments.owners(corpus.offsets), corpus.features.round(9) + 0.0])
    both = np.column_stack([rows, corpus.stats])
    return len(np.unique(rows, axis=0)) == len(np.unique(both, axis=0))


def both(seed, metric, **options):
    """Forest lines and the list lines of the same derivations."""
    forests = toy_forests(seed, **options).with_metric(METRICS[metric])
    corpus = enumerated(forests)
    lines = list_lines(corpus.features, corpus.offsets, corpus.stats, corpus.metric)
    return forest_lines(forests, forests.features, forests.metric), lines, corpus


def found(lines, weights, direction, bounds=(-np.inf, np.inf), threads=1):
    with using(Threads(threads)):
        return lines.intervals(lines.scores(weights), direction, bounds)


def check_agree(one, two, bounds=(-np.inf, np.inf)):
    """Two pairs of cuts and totals say the same of every interval within bounds that is not mere rounding."""
    cuts = np.unique(np.concatenate([one[0], two[0], np.array(bounds)[np.isfinite(bounds)]]))
    middles = (cuts[:-1] + cuts[1:]) / 2
    wide = np.diff(cuts) > 1e-9 * np.maximum(1.0, np.abs(middles))
    ends = [cuts[0] - 1, cuts[-1] + 1] if len(cuts) else [0.0]
    for x in [*middles[wide], *ends]:
        if bounds[0] < x < bounds[1]:
            left, right = (totals[np.searchsorted(cuts, x)] for cuts, totals in (one, two))
            assert np.allclose(left, right, rtol=0, atol=1e-9), f"totals at {x}: {left}, expected {right}"


shapes = st.fixed_dictionaries(
    {"ties": st.booleans(), "lattices": st.booleans(), "nodes": st.integers(1, 6), "tails": st.integers(1, 4)}
)


@settings(deadline=None, max_examples=80)
@given(seeds, metrics, whole, whole, shapes)
def test_intervals_equal_brute_force_in_fractions(seed, metric, weights, direction, shape):
    """Whole numbers, so that ties are ties; real features are compared with the list search below."""
    forest, _, corpus = both(seed, metric, limit=12, **{**shape, "ties": True})
    brute.check_intervals(lambda _, *line: found(forest, *line), corpus, weights, direction)


@settings(deadline=None, max_examples=100)
@given(seeds, metrics, st.one_of(whole, real), st.one_of(whole, real), shapes)
def test_intervals_equal_those_of_all_derivations_as_lists(seed, metric, weights, direction, shape):
    assume(not shape["ties"] or ((np.rint(weights) == weights).all() and (np.rint(direction) == direction).all()))
    forest, lines, corpus = both(seed, metric, **shape)
    assume(shape["ties"] or told_apart(corpus))
    expected = lines.intervals(lines.scores(weights), direction)
    for _ in range(2):  # the second time every derivation is known
        check_agree(found(forest, weights, direction), expected)


edges = st.tuples(st.integers(-6, 6), st.integers(1, 4), st.sampled_from(["low", "high", "both"])).map(
    lambda e: (e[0] / 2 if e[2] != "high" else -np.inf, (e[0] + e[1]) / 2 if e[2] != "low" else np.inf)
)


@settings(deadline=None, max_examples=100)
@given(seeds, metrics, whole, whole, shapes, edges)
def test_bounds(seed, metric, weights, direction, shape, bounds):
    """Crossings at the very bound are common here: what lies beyond must not count."""
    forest, lines, corpus = both(seed, metric, **shape)
    assume(shape["ties"] or told_apart(corpus))
    cuts, totals = found(forest, weights, direction, bounds)
    assert ((cuts > bounds[0]) & (cuts < bounds[1])).all()
    check_agree((cuts, totals), lines.intervals(lines.scores(weights), direction), bounds)
    step = forest.search(forest.scores(weights), direction, bounds)
    expected = lines.search(lines.scores(weights), direction, bounds)
    assert bounds[0] <= step.x <= bounds[1]
    assert step.value == pytest.approx(expected.value, abs=1e-9)


@settings(deadline=None, max_examples=100)
@given(seeds, metrics, st.one_of(whole, real), st.one_of(whole, real), shapes)
def test_the_best_value_is_there(seed, metric, weights, direction, shape):
    """Re-evaluated by enumeration just where the step leads; the heights there, not on a tie."""
    forest, lines, corpus = both(seed, metric, **{**shape, "ties": False})
    assume(told_apart(corpus))
    step = forest.search(forest.scores(weights), direction)
    assert step.value == pytest.approx(lines.search(lines.scores(weights), direction).value, abs=1e-9)
    assume(direction.any() and (weights + step.x * direction).any())
    choice = segments.argmax(corpus.features @ (weights + step.x * direction), corpus.offsets)
    assert forest.sign * corpus.score(choice) == pytest.approx(step.value, abs=1e-9)


@settings(deadline=None, max_examples=60)
@given(seeds, whole, whole, shapes)
def test_nothing_depends_on_threads(seed, weights, direction, shape):
    forests = toy_forests(seed, **shape).with_metric(WER())
    expected = found(forest_lines(forests, forests.features, forests.metric), weights, direction)
    for threads in (2, 3, 9):
        lines = forest_lines(forests, forests.features, forests.metric)
        cuts, totals = found(lines, weights, direction, threads=threads)
        assert np.array_equal(cuts, expected[0])
        assert np.array_equal(totals, expected[1])


@settings(deadline=None, max_examples=60)
@given(seeds, whole, whole, st.booleans())
def test_lists_as_forests_give_the_same_step(seed, weights, direction, real):
    corpus = toy_lists(seed=seed, segments_=8, noise=0.5, metric=WER())
    direction = direction * (np.pi if real else 1.0)
    lines = list_lines(corpus.features, corpus.offsets, corpus.stats, corpus.metric)
    forest = forest_lines(forests_of(corpus), corpus.features, corpus.metric)
    for bounds in ((-np.inf, np.inf), (-0.5, 2.0)):
        expected = lines.search(lines.scores(weights), direction, bounds)
        step = forest.search(forest.scores(weights), direction, bounds)
        assert step.value == expected.value
        assert step.x == pytest.approx(expected.x, rel=1e-9, abs=1e-9)


def test_each_string_is_measured_once():
    measured = []

    class Counting(WER):
        def stats(self, texts, offsets, references):
            measured.extend((references[i], text) for i, text in zip(segments.owners(offsets), texts, strict=True))
            return super().stats(texts, offsets, references)

    for seed in range(5):
        measured.clear()
        forests = toy_forests(seed, ties=True).with_metric(Counting())
        lines = forest_lines(forests, forests.features, forests.metric)
        for weights in np.random.default_rng(seed).normal(size=(10, 3)):
            for direction in np.eye(3):
                found(lines, weights, direction)
        possible = {
            (forests.references[i], " ".join(d.words)) for i in range(5) for d in enumerate_derivations(forests, i)
        }
        assert len(measured) == len(set(measured)) == lines.shards[0].measured.strings > 0
        assert set(measured) <= possible


@pytest.mark.parametrize("tiny", [5e-324, 1e-310, 1e-300, 1e-17, 1e-13])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_slopes_that_hardly_differ(tiny, sign):
    """The crossing is at a huge x, or beyond all numbers: no warning, and no value that is not there."""
    forests = two_words([[1.0, 0.0], [0.0, sign * tiny], [0.0, 1.0], [0.5, -1.0]])
    lines = forest_lines(forests, forests.features, forests.metric)
    weights, direction = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    step = lines.search(lines.scores(weights), direction)
    assert np.isfinite(step.x)
    corpus = enumerated(forests)
    choice = segments.argmax(corpus.features @ (weights + step.x * direction), corpus.offsets)
    assert -corpus.score(choice) == step.value


def two_words(rows):
    """One lattice: two arcs, then two more, with these features."""
    return Forests(
        node_offsets=[0, 2],
        edge_offsets=[0, 2, 4],
        tail_offsets=[0, 0, 0, 1, 2],
        tails=[0, 0],
        features=np.array(rows),
        feature_names=("a", "b"),
        ids=("0",),
        symbol_offsets=[0, 1, 2, 4, 6],
        symbols=[0, 1, -1, 0, -1, 1],
        vocabulary=("ant", "bee"),
        references=(("ant bee",),),
    ).with_metric(WER())


def test_a_long_lattice():
    """20,000 nodes deep: no recursion; along the second feature every choice changes at x = 1."""
    size = 20_000
    forests = Forests(
        node_offsets=[0, size],
        edge_offsets=2 * np.arange(size + 1),
        tail_offsets=np.maximum(np.arange(2 * size + 1) - 2, 0),
        tails=np.repeat(np.arange(size - 1), 2),
        features=np.tile([[1.0, 0.0], [0.0, 1.0]], (size, 1)),
        feature_names=("a", "b"),
        ids=("0",),
        symbol_offsets=np.concatenate([[0, 1, 2], 2 + 2 * np.arange(1, 2 * size - 1)]),
        symbols=np.concatenate([[0, 1], np.tile([-1, 0, -1, 1], size - 1)]),
        vocabulary=("ant", "bee"),
        references=((" ".join(["bee"] * size),),),
    ).with_metric(WER())
    lines = forest_lines(forests, forests.features, forests.metric)
    cuts, totals = found(lines, np.array([1.0, 0.0]), np.array([0.0, 1.0]))
    assert cuts.tolist() == [1.0]
    assert totals[:, 0].tolist() == [size, 0.0]


def test_the_table_finds_what_it_was_given():
    rng = np.random.default_rng(4)
    known, hashes = new_table(), rng.integers(1, 2**63, (3000, 2)).astype(np.uint64)
    hashes[1::2, 0] = hashes[::2, 0]  # the first halves are equal, and all meet in one slot
    for low in range(0, 3000, 500):
        known = remember(known, low, hashes[low : low + 500], np.arange(low, low + 500))
    rows = [known[slot_of(known, one, two), 2] for one, two in hashes]
    assert rows == list(range(1, 3001))
    assert known[slot_of(known, hashes[0, 0], hashes[0, 1] + np.uint64(1)), 2] == 0


def test_rows_are_numbered_as_they_come():
    """Equal rows of one owner are one; order, length and owner tell rows apart."""
    rows = [(0, []), (0, [0]), (0, [0, 0]), (1, [0]), (0, [0]), (0, [1, 2]), (0, [2, 1]), (1, []), (0, [])]
    numbers = np.array([x for _, row in rows for x in row], np.int32)
    offsets = segments.offsets_of(np.array([len(row) for _, row in rows]))
    hashes = hashes_of(np.array([owner for owner, _ in rows]), offsets, numbers)
    table, entries, new = number_rows(new_table(), 0, hashes[:4])
    assert (entries.tolist(), new.tolist()) == ([0, 1, 2, 3], [0, 1, 2, 3])
    table, entries, new = number_rows(table, 4, hashes)
    assert (entries.tolist(), new.tolist()) == ([0, 1, 2, 3, 1, 4, 5, 6, 0], [5, 6, 7])


# a plain twin, and broken ones ----------------------------------------------------------------------------------


def joint(one, two):
    """Lines of the sum of two envelopes, given as (lines, cuts)."""
    cuts = sorted({*one[1], *two[1]})
    at = [cuts[0] - 1, *((p + q) / 2 for p, q in pairwise(cuts)), cuts[-1] + 1] if cuts else [0]
    picked = [[env[0][bisect(env[1], x)] for env in (one, two)] for x in at]
    return [(p[0] + q[0], p[1] + q[1], p[2] + q[2]) for p, q in picked]


def only_the_first_is_cut(one, two):
    """A broken sum: the cuts of the second tail are forgotten."""
    return joint(one, (two[0][:1], []))


def envelope_of(lines):
    hull, cuts = brute.envelope_twin([line[0] for line in lines], [line[1] for line in lines])
    return [lines[k] for k in hull], cuts


def twin(forests, weights, direction, merge=joint, hull=envelope_of):
    """Envelope of the root of forest 0 in plain Python: lines (a, b, edges) and cuts."""
    a, b = ([Fraction(float(x)) for x in forests.features @ v] for v in (weights, direction))
    known = []
    for v in range(forests.node_offsets[1]):
        lines = []
        for e in range(forests.edge_offsets[v], forests.edge_offsets[v + 1]):
            envelope = [(a[e], b[e], (e,))], []
            for tail in forests.tails[forests.tail_offsets[e] : forests.tail_offsets[e + 1]]:
                envelope = envelope_of(merge(envelope, known[tail])) if known[tail][0] else ([], [])
                if not envelope[0]:
                    break
            lines += envelope[0]
        known.append(hull(lines))
    return known[-1]


def check_twin(forests, weights, direction, **parts):
    """The heights of the twin's envelope are those of the best derivation, at every cut and between."""
    lines, cuts = twin(forests, weights, direction, **parts)
    corpus = enumerated(forests)
    a, b = corpus.features @ weights, corpus.features @ direction
    for x in [-9.0, 9.0, *map(float, cuts), *(float(p + q) / 2 for p, q in pairwise(cuts))]:
        height = max(float(line[0] + Fraction(x) * line[1]) for line in lines)
        assert height == pytest.approx((a + x * b).max()), f"the height at {x}"
    return lines, cuts


@settings(deadline=None, max_examples=60)
@given(seeds, whole, whole, shapes)
def test_envelopes_equal_their_twin(seed, weights, direction, shape):
    forests = toy_forests(seed, forests=1, limit=100, **{**shape, "ties": True})
    lines, cuts = check_twin(forests, weights, direction)
    layout, known = forests.layout, new_table()
    a, b = (layout.spread(forests.features @ v) for v in (weights, direction))
    out = envelopes(layout, a, b, (-np.inf, np.inf), known)
    assert out.place[0] == -np.inf
    assert out.place[1:] == pytest.approx([float(x) for x in cuts])
    rows = [out.edges[p:q].tolist() for p, q in pairwise(out.edge_offsets)]
    assert [list(line[2]) for line in lines] == rows
    assert out.entry.tolist() == [-1 - k for k in range(len(rows))]


@pytest.mark.parametrize(
    "broken", [{"merge": only_the_first_is_cut}, {"hull": lambda lines: (envelope_of(lines)[0][:1], [])}]
)
def test_the_checker_rejects_broken_envelopes(broken):
    """Two tails that are cut in different places."""
    forests = Forests(
        node_offsets=[0, 3],
        edge_offsets=[0, 2, 4, 5],
        tail_offsets=[0, 0, 0, 0, 0, 2],
        tails=[0, 1],
        features=np.array([[0.0, 0.0], [-1.0, 1.0], [0.0, 0.0], [-2.0, 1.0], [0.0, 0.0]]),
        feature_names=("a", "b"),
        ids=("0",),
        symbol_offsets=[0, 1, 2, 3, 4, 6],
        symbols=[0, 1, 0, 1, -1, -2],
        vocabulary=("ant", "bee"),
        references=(("ant bee",),),
    ).with_metric(WER())
    line = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    assert check_twin(forests, *line)[1] == [1, 2]
    with pytest.raises(AssertionError, match="the height at"):
        check_twin(forests, *line, **broken)
