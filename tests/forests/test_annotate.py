"""Splitting nodes by boundary words, against enumeration; tokens of a metric on forests."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbest.base.errors import CapabilityError, ParameterError
from nbest.compute import segments
from nbest.corpus import Forests, NBest, Texts
from nbest.forests.derivations import forests_of
from nbest.forests.ngrams import annotation as module
from nbest.forests.ngrams.annotation import annotate, annotate_tracked
from nbest.forests.ngrams.tokens import reference_tokens, retokenised, text_tokens
from nbest.metrics.tokenise import tokeniser
from nbest.testing.forests import enumerate_derivations, toy_forests

EDGES = tuple[list[int], list[int]]


def forest(nodes: list[list[EDGES]], vocabulary: tuple[str, ...] = ("a", "b", "c", "d")) -> Forests:
    """One forest from the (tails, symbols) of the edges of each node."""
    flat = [edge for node in nodes for edge in node]
    return Forests(
        node_offsets=np.array([0, len(nodes)]),
        edge_offsets=segments.offsets_of(np.array([len(node) for node in nodes], np.int64)),
        tail_offsets=segments.offsets_of(np.array([len(tails) for tails, _ in flat], np.int64)),
        tails=np.array([t for tails, _ in flat for t in tails], np.int64),
        features=np.arange(float(len(flat)))[:, None],
        feature_names=("f",),
        ids=("one",),
        symbol_offsets=segments.offsets_of(np.array([len(symbols) for _, symbols in flat], np.int64)),
        symbols=np.array([s for _, symbols in flat for s in symbols], np.int64),
        vocabulary=vocabulary,
    )


def derivations(forests: Forests, origin: np.ndarray | None = None) -> list[list[tuple[tuple[int, ...], ...]]]:
    """Edges (as they were numbered before) and words of all derivations of each forest, sorted."""
    return [
        sorted(
            (tuple(e if origin is None else int(origin[e]) for e in d.edges), d.words)
            for d in enumerate_derivations(forests, i)
        )
        for i in range(len(forests))
    ]


def check(forests: Forests, order: int) -> None:
    split, origin = annotate_tracked(forests, order)
    assert derivations(split, origin) == derivations(forests)
    assert np.array_equal(split.features, forests.features[origin])
    assert split.references == forests.references
    assert split.ids == forests.ids
    again, same = annotate_tracked(split, order)
    assert again is split
    assert np.array_equal(same, np.arange(split.edges))


@settings(deadline=None, max_examples=100)
@given(st.integers(0, 10**6), st.booleans(), st.integers(1, 4))
def test_derivations_are_the_same_one_to_one(seed: int, lattices: bool, order: int) -> None:
    check(toy_forests(seed, ties=seed % 2 == 0, lattices=lattices, limit=100), order)


def check_many() -> None:
    for seed in range(20):
        check(toy_forests(seed, limit=100), 3)


def test_a_broken_split_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*arguments: object) -> object:
        found, made, heads, tails, origin = kernel(*arguments)
        return found, made, heads, np.zeros_like(tails), origin  # all edges lead to the first node

    kernel = module._split
    monkeypatch.setattr(module, "_split", broken)
    with pytest.raises((AssertionError, ParameterError)):
        check_many()


def test_lists_and_order_1_stay_as_they_are() -> None:
    forests = toy_forests(3)
    assert annotate(forests, 1) is forests
    lists = forests_of(
        NBest(
            offsets=np.array([0, 2, 2, 3]), features=np.zeros((3, 1)), feature_names=("f",), ids=("a", "b", "c"),
            texts=Texts.of(["x y z", "x", ""]),
        )
    )  # fmt: skip
    assert annotate(lists, 4) is lists


def test_a_lattice_keeps_last_words_only() -> None:
    """Two first words, two second words, one third: with bigrams the middle node needs its last word only."""
    lattice = forest([[([], [])], [([0], [-1, 0]), ([0], [-1, 1])], [([1], [-1, 2]), ([1], [-1, 3])], [([2], [-1, 0])]])
    split, origin = annotate_tracked(lattice, 2)
    assert np.diff(split.edge_offsets).tolist() == [1, 1, 1, 2, 2, 2]  # start, a, b, _c, _d, end
    assert origin.tolist() == [0, 1, 2, 3, 3, 4, 4, 5, 5]
    mirrored = forest(
        [[([], [])], [([0], [0, -1]), ([0], [1, -1])], [([1], [2, -1]), ([1], [3, -1])], [([2], [0, -1])]]
    )
    assert np.diff(annotate(mirrored, 2).edge_offsets).tolist() == [1, 1, 1, 2, 2, 2]


def test_nodes_are_split_only_by_what_can_be_seen_from_above() -> None:
    chain = forest([[([], [0]), ([], [1])], [([0], [-1])]])
    assert annotate(chain, 4) is chain
    empty = forest([[([], [])], [([], [0]), ([], [1])], [([0, 1], [-1, -2])]])  # what stands before has no words
    assert annotate(empty, 4) is empty
    mute = forest([[([], [0]), ([], [])], [([], [0]), ([], [1])], [([0, 1], [-1, -2])]])  # and here it may have
    assert np.diff(annotate(mute, 4).edge_offsets).tolist() == [1, 1, 1, 1, 4]


def test_what_is_in_no_derivation_splits_nothing() -> None:
    """Node 1 has no derivation; node 2 would put a word before node 0 but is not reached."""
    kept = forest([[([], [0]), ([], [1])], [], [([0], [2, -1])], [([0], [-1]), ([0, 1], [-2, -1])]])
    assert annotate(kept, 4) is kept


def test_growth_is_bounded_with_advice() -> None:
    binary = forest([[([], [w]) for w in range(4)], [([0, 0], [-1, -2])], [([1, 1], [-1, -2])], [([2, 2], [-1, -2])]])
    with pytest.raises(CapabilityError, match=r"forest 'one' grows beyond 100 edges .* order 4; prune"):
        annotate(binary, 4, limit=100)
    many = forest([[([], [w]) for w in range(4)], [([0] * 40, [-1 - k for k in range(40)])]])
    with pytest.raises(CapabilityError, match="prune"):  # 4^40 exceeds an int64
        annotate(many, 2)
    needed = annotate(binary, 2).edges
    assert annotate(binary, 2, limit=needed).edges == needed
    with pytest.raises(CapabilityError, match="prune"):
        annotate(binary, 2, limit=needed - 1)


def test_bad_arguments_are_refused() -> None:
    with pytest.raises(ParameterError, match=">= 1, got 0"):
        annotate(toy_forests(1), 0)
    with pytest.raises(CapabilityError, match="needs the words"):
        annotate(replace(toy_forests(1), symbols=None, symbol_offsets=None))
    for symbols in ([0], [-1, -1]):
        with pytest.raises(CapabilityError, match=r"edge 1 .* tail 0 not at all or more than once"):
            annotate(forest([[([], [0])], [([0], symbols)]]))


def test_results_do_not_depend_on_threads() -> None:
    forests = toy_forests(5, forests=12)
    one, two = (annotate_tracked(forests, 3, threads=threads) for threads in (1, 3))
    assert np.array_equal(one[1], two[1])
    assert np.array_equal(one[0].tails, two[0].tails)


def test_a_deep_lattice() -> None:
    size = 50_000
    start: list[EDGES] = [([], [])]
    deep = forest([start, *[[([v], [-1, v % 3]), ([v], [-1, 3])] for v in range(size)]])
    split = annotate(deep, 3)
    assert split.edges > deep.edges
    assert annotate(split, 3) is split


# tokens ---------------------------------------------------------------------------------------------------------

ODD = ("it's", "U.S.", "3.5", "(a,b)", "&quot;x", "", "New York", "-", "9-5", "<skipped>", "ÉTÉ,")


@pytest.mark.parametrize("lowercase", [False, True])
@pytest.mark.parametrize("tokenize", ["none", "13a", "char"])
def test_tokens_of_derivations_are_those_of_their_texts(tokenize: str, lowercase: bool) -> None:
    forests = toy_forests(2, limit=50, forests=8)
    tokenise = tokeniser(tokenize)
    for shift in (0, 5):
        named = replace(forests, vocabulary=ODD[shift : shift + 6])
        cut = retokenised(named, tokenize, lowercase)
        assert len(set(cut.vocabulary)) == len(cut.vocabulary)
        for i in range(len(forests)):
            pairs = zip(enumerate_derivations(named, i), enumerate_derivations(cut, i), strict=True)
            for before, after in pairs:
                line = " ".join(before.words)
                line = (line.lower() if lowercase else line).rstrip()
                assert list(after.words) == tokenise(line)
                texts = Texts.of([" ".join(before.words)])
                ids = text_tokens(texts, cut.vocabulary, tokenize, lowercase).ids
                assert [cut.vocabulary[t] for t in ids] == list(after.words)


def test_nothing_to_cut_gives_the_very_forests() -> None:
    forests = toy_forests(2)
    assert retokenised(forests) is forests
    assert retokenised(forests, "13a", True) is forests
    doubled = replace(forests, vocabulary=("ant", "bee", "ant", "dog", "elk", "fox"))
    assert retokenised(doubled).vocabulary == ("ant", "bee", "dog", "elk", "fox")


def test_tokenisers_that_need_the_line_are_refused() -> None:
    forests = replace(toy_forests(2), vocabulary=("'90s", "b", "c", "d", "e", "f"))
    with pytest.raises(CapabilityError, match=r"'intl' cuts the word .*90s.* use one of none, 13a, char"):
        retokenised(forests, "intl")
    assert retokenised(toy_forests(2), "intl").vocabulary == toy_forests(2).vocabulary
    with pytest.raises(CapabilityError, match="looks at whole lines"):
        retokenised(forests, "spm")


def test_tokens_of_references() -> None:
    forests = replace(toy_forests(2, forests=2), references=(("ant, zebra",), ("bee", "cat bee")))
    words, groups = reference_tokens(forests, "13a")
    assert groups.tolist() == [0, 1, 3]
    assert words.lengths().tolist() == [3, 1, 2]
    assert words.ids.tolist() == [0, -1, -1, 1, 2, 1]
    with pytest.raises(CapabilityError, match="no references"):
        reference_tokens(replace(forests, references=None))
