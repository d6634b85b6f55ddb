"""Sums over projective trees against enumeration; trees as texts, checked and made projective."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbest.base.errors import FormatError, ParameterError
from nbest.formats.conllu import NO_HEAD
from nbest.systems.parser.eisner import best_heads, inside_trees, marginals
from nbest.systems.parser.trees import check_trees, crossings, fault, projective, text_of, tree_of
from tests.systems.parser_brute import is_projective, is_tree, sentence, treebank, trees


def test_number_of_trees() -> None:
    counts = [sum(1 for _ in trees(n)) for n in range(6)]
    assert counts == [1, 1, 2, 7, 30, 143]  # binom(3n - 2, n - 1) / n, of projective trees with one root word
    for n, count in enumerate(counts):
        assert np.exp(inside_trees(np.zeros((n + 1, n + 1)))[1]) == pytest.approx(count)


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 5), st.integers(0, 2**32), st.sampled_from([0.0, 1.0, 30.0]))
def test_sums_posteriors_and_best_tree_by_enumeration(n: int, seed: int, scale: float) -> None:
    arcs = np.random.default_rng(seed).normal(0, scale, (n + 1, n + 1))
    every = list(trees(n))
    scores = np.array([sum(arcs[h, d] for d, h in enumerate(tree, 1)) for tree in every])
    tables, log_z = inside_trees(arcs)
    assert log_z == pytest.approx(np.logaddexp.reduce(scores), rel=1e-12, abs=1e-9)
    expected = np.zeros((n + 1, n + 1))
    for tree, score in zip(every, scores, strict=True):
        for d, h in enumerate(tree, 1):
            expected[h, d] += np.exp(score - log_z)
    assert marginals(arcs, tables, log_z) == pytest.approx(expected, abs=1e-9)
    best = best_heads(arcs)
    assert best[0] == 0
    assert tuple(best[1:]) in every
    assert sum(arcs[h, d] for d, h in enumerate(best[1:], 1)) == pytest.approx(scores.max())


def test_long_sentences_and_large_scores_stay_finite() -> None:
    arcs = np.random.default_rng(3).normal(0, 300, (151, 151))
    tables, log_z = inside_trees(arcs)
    found = marginals(arcs, tables, log_z)
    assert np.isfinite(log_z)
    assert found[:, 1:].sum(axis=0) == pytest.approx(np.ones(150))
    assert found[0].sum() == pytest.approx(1)


@settings(deadline=None, max_examples=200)
@given(st.integers(1, 12), st.integers(0, 2**32))
def test_lifting(n: int, seed: int) -> None:
    heads = sentence(np.random.default_rng(seed), n).heads
    lifted = projective(heads)
    assert is_tree(lifted)
    assert is_projective(lifted)
    assert (crossings(heads) == []) == is_projective(heads)
    if is_projective(heads):
        assert lifted == heads
    assert projective(lifted) == lifted


def test_the_shortest_crossing_arc_is_lifted() -> None:
    assert projective((3, 4, 0, 3)) == (3, 3, 0, 3)  # 4 -> 2 crosses 3 -> 1 no more
    assert projective((3, 0, 2, 1)) == (2, 0, 2, 2)  # 3 -> 1 before 1 -> 4, which otherwise goes to 3


def test_trees_as_texts() -> None:
    assert text_of((2, 0), ("det", "root")) == "2:det 0:root"
    assert tree_of("2:acl:relcl 0:root") == ([2, 0], ["acl:relcl", "root"])
    assert tree_of("") == ([], [])
    for bad in ("det", "x:det", "2:", "-1:det"):
        with pytest.raises(ParameterError, match="a tree is a row of words"):
            tree_of(bad)


@pytest.mark.parametrize(
    ("heads", "message"),
    [
        ((NO_HEAD, 0), "no head"),
        ((0, 0), "exactly one word"),
        ((2, 1), "exactly one word"),
        ((2, 1, 0), "its own ancestor"),
        ((1, 0), "its own ancestor"),
        ((5, 0), "must be 0 to 2"),
    ],
)
def test_what_is_no_tree(heads: tuple[int, ...], message: str) -> None:
    found = fault(heads, ("x",) * len(heads))
    assert found is not None
    assert message in found[1]


def test_errors_say_where() -> None:
    bank = treebank(1)
    check_trees(bank)
    broken = [*bank, bank[0].with_column("deprel", ["_"] * len(bank[0]))]
    with pytest.raises(ParameterError, match="word 1 of sentence 13: the word has no head or no relation"):
        check_trees(broken)
    with pytest.raises(FormatError, match=r"x.conllu:1: the word has no head"):
        check_trees(broken, "x.conllu")
