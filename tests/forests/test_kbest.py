"""k-best derivations against sorted enumeration."""

from dataclasses import replace

import numpy as np
import pytest

import nbest.forests.kbest as kbest_module
from nbest.base.errors import CapabilityError, ParameterError
from nbest.compute import segments
from nbest.corpus import Forests
from nbest.forests.derivations import forests_of
from nbest.forests.kbest import kbest
from nbest.testing import toy_lists
from nbest.testing.forests import derivation_sums, enumerate_derivations, toy_forests


def drawn(seed):
    """Forests and scores: ties, lattices, edges of up to four tails and scores of -inf all occur."""
    forests = toy_forests(seed, ties=seed % 2 == 0, lattices=seed % 3 == 0, tails=2 + seed % 3, limit=400)
    scores = forests.features.sum(axis=1)
    if seed % 4 > 1:
        scores[np.random.default_rng(seed).random(len(scores)) < 0.15] = -np.inf
    return forests, scores


def rows(derivations, forest):
    """The derivations of one forest, as tuples of edges."""
    low, high = derivations.offsets[forest : forest + 2]
    bounds = derivations.edge_offsets
    return [tuple(derivations.edges[bounds[j] : bounds[j + 1]].tolist()) for j in range(low, high)]


def check_kbest(find, seeds, distinct):
    """Whether `find(forests, scores, k)` gives what sorting all derivations gives."""
    for seed in seeds:
        forests, scores = drawn(seed)
        for k in (1, 4, 1000):
            found = find(forests, scores, k)
            for i in range(len(forests)):
                _check_forest(rows(found, i), enumerate_derivations(forests, i), scores, k, distinct)


def _check_forest(found, derivations, scores, k, distinct):
    known = {}
    for derivation, value in zip(derivations, derivation_sums(derivations, scores), strict=True):
        if value > -np.inf:
            known[derivation.edges] = (value, derivation.words if distinct else derivation.edges)
    best = {}
    for value, name in known.values():
        best[name] = max(value, best.get(name, -np.inf))
    expected = sorted(best.values(), reverse=True)[:k]
    values, names = [known[edges][0] for edges in found], [known[edges][1] for edges in found]
    assert len(set(names)) == len(names) == len(expected)
    assert np.allclose(values, expected, rtol=0, atol=1e-9)
    assert np.allclose(values, [best[name] for name in names], rtol=0, atol=1e-9)
    if len(set(np.round(list(best.values()), 6))) == len(best):  # no ties: one answer
        assert names == sorted(best, key=best.get, reverse=True)[:k]


@pytest.mark.parametrize("distinct", [False, True])
def test_equals_sorted_enumeration(distinct):
    check_kbest(lambda forests, scores, k: kbest(forests, scores, k, distinct=distinct), range(60), distinct)


def test_the_check_fails_for_broken_searches():
    def without_last(forests, scores, k):
        return kbest(forests, scores, max(1, k - 1))

    def other_scores(forests, scores, k):
        return kbest(forests, np.where(np.isfinite(scores), 0.5 * scores + 0.1, scores), k)

    def not_distinct(forests, scores, k):
        return kbest(forests, scores, k)

    for find, distinct in ((without_last, False), (other_scores, False), (not_distinct, True)):
        with pytest.raises(AssertionError):
            check_kbest(find, range(20), distinct)


def test_ties_go_to_the_lowest_edge_at_the_top():
    forests = forests_of(toy_lists())
    found = kbest(forests, np.zeros(forests.edges), forests.edges)
    assert found.edges.tolist() == list(range(forests.edges))


@pytest.mark.parametrize("distinct", [False, True])
def test_results_do_not_depend_on_threads_or_repetition(distinct):
    for seed in range(8):
        forests, scores = drawn(seed)
        one = kbest(forests, scores, 20, distinct=distinct, threads=1)
        for threads in (2, 3):
            other = kbest(forests, scores, 20, distinct=distinct, threads=threads)
            assert np.array_equal(one.edges, other.edges)
            assert np.array_equal(one.offsets, other.offsets)
        longer = kbest(forests, scores, 200, distinct=distinct)
        for i in range(len(forests)):
            assert rows(one, i) == rows(longer, i)[:20]


def test_no_two_calls_share_the_room_they_write_to(monkeypatch):
    """Threads that did would find other derivations now and then, on large forests only."""
    rooms, kernel = [], kbest_module._kbest

    def spied(low, high, graph, edge_values, words, k, distinct):
        rooms.append(words[-1])
        return kernel(low, high, graph, edge_values, words, k=k, distinct=distinct)

    forests = toy_forests(seed=1, forests=4)
    monkeypatch.setattr(kbest_module, "_kbest", spied)
    monkeypatch.setattr(kbest_module, "over_ranges", lambda work, offsets, threads: [work(i, i + 1) for i in range(4)])
    kbest(forests, np.zeros(forests.edges), 3, distinct=True)
    assert len({id(room) for room in rooms}) == len(rooms) == 4


def chart(words, variants, degree, seed):
    """One forest with nodes for all spans of a sentence, two tails an edge, in order or swapped."""
    rng = np.random.default_rng(seed)
    spans = [(i, i + width) for width in range(1, words + 1) for i in range(words - width + 1)]
    base = {span: variants * number for number, span in enumerate(spans)}
    counts, tails, symbols = [], [], []
    for i, j in spans:
        for _ in range(variants if (i, j) != (0, words) else 1):
            counts.append(degree)
            cuts = rng.integers(i + 1, j, degree) if j > i + 1 else np.zeros(degree, int)
            pairs = [(base[i, cut], base[cut, j]) if cut else () for cut in cuts]
            tails += [[node + rng.integers(variants) for node in pair] for pair in pairs]
            symbols += [list(rng.permutation([-1, -2])) if pair else [rng.integers(words)] for pair in pairs]
    return Forests(
        node_offsets=np.array([0, len(counts)]),
        edge_offsets=segments.offsets_of(np.array(counts)),
        tail_offsets=segments.offsets_of(np.array([len(row) for row in tails])),
        tails=np.array([t for row in tails for t in row]),
        features=rng.normal(size=(len(tails), 1)),
        feature_names=("score",),
        ids=("chart",),
        symbol_offsets=segments.offsets_of(np.array([len(row) for row in symbols])),
        symbols=np.array([s for row in symbols for s in row]),
        vocabulary=tuple(f"w{w}" for w in range(words)),
    )


def eager(forests, scores, k):
    """Scores of the k best derivations of the only forest: k of every node, from all combinations."""
    known = []
    for v in range(forests.nodes):
        found = []
        for e in range(forests.edge_offsets[v], forests.edge_offsets[v + 1]):
            total = np.array([scores[e]])
            for tail in forests.tails[forests.tail_offsets[e] : forests.tail_offsets[e + 1]]:
                total = np.sort(np.add.outer(total, known[tail]).ravel())[::-1][:k]
            found.append(total)
        known.append(np.sort(np.concatenate(found))[::-1][:k])
    return known[-1]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_charts_of_many_derivations(seed):
    forests = chart(8, variants=3, degree=5, seed=seed)
    scores = forests.column("score")
    found = kbest(forests, scores, 500)
    assert np.allclose(found.sums(scores), eager(forests, scores, 500), rtol=0, atol=1e-9)
    words = list(found.texts())
    firsts = [j for j, text in enumerate(words) if text not in words[:j]]
    assert len(firsts) < len(words)
    different = kbest(forests, scores, len(firsts), distinct=True)
    assert np.allclose(different.sums(scores), found.sums(scores)[firsts], rtol=0, atol=1e-9)
    assert list(different.texts()) == [words[j] for j in firsts]


def chain(length, choices=2):
    """A lattice of `length` nodes in a row, with `choices` edges from each to the next; edge 0 of each scores 0."""
    count = length * choices
    arity = (np.arange(count) >= choices).astype(np.int64)
    return Forests(
        node_offsets=np.array([0, length]),
        edge_offsets=np.arange(length + 1) * choices,
        tail_offsets=segments.offsets_of(arity),
        tails=np.repeat(np.arange(length - 1), choices),
        features=-(np.arange(count) % choices)[:, None].astype(np.float64),
        feature_names=("score",),
        ids=("chain",),
        symbol_offsets=segments.offsets_of(arity + 1),
        symbols=np.concatenate([[-1] * a + [e % choices] for e, a in enumerate(arity)]),
        vocabulary=tuple(f"w{c}" for c in range(choices)),
    )


@pytest.mark.parametrize("distinct", [False, True])
def test_a_lattice_may_be_deep(distinct):
    forests = chain(30_000)
    scores = forests.column("score")
    assert kbest(forests, scores, 5, distinct=distinct).sums(scores).tolist() == [0, -1, -1, -1, -1]


def test_a_tail_whose_words_are_left_out_stays_at_its_best():
    """The words of 2^40 derivations of a tail are not used: distinct asks for none of them but the best."""
    forests = chain(41)
    symbols = forests.symbols.copy()
    bounds = forests.symbol_offsets
    symbols[bounds[-3] : bounds[-1]] = [0, 0, 1, 1]  # both edges into the root: only words of their own
    forests = replace(forests, symbols=symbols)
    found = kbest(forests, forests.column("score"), 10, distinct=True)
    assert list(found.texts()) == ["w0 w0", "w1 w1"]


def test_bad_arguments():
    forests, scores = drawn(1)
    with pytest.raises(ParameterError, match="'k' of kbest must be >= 1, got 0"):
        kbest(forests, scores, 0)
    with pytest.raises(ParameterError, match="one number for each"):
        kbest(forests, scores[1:], 1)
    with pytest.raises(CapabilityError, match="needs the words"):
        kbest(replace(forests, symbols=None, symbol_offsets=None), scores, 1, distinct=True)
