"""N-grams of edges, of references and expected counts, against enumeration."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbest.base.errors import CapabilityError, ParameterError
from nbest.corpus import Forests, NBest, Texts
from nbest.forests import ngrams as module
from nbest.forests.derivations import forests_of
from nbest.forests.ngrams import (
    EdgeNgrams,
    Ngrams,
    completed,
    edge_ngrams,
    expected_counts,
    expected_counts_of_each,
    ngram_stats,
    reference_ngrams,
)
from nbest.forests.ngrams.annotation import annotate
from nbest.metrics import BLEU
from nbest.testing.forests import Derivation, derivation_sums, enumerate_derivations, toy_forests

Grams = Counter[tuple[str, ...]]


def grams(words: tuple[str, ...] | list[str], order: int) -> Grams:
    return Counter(tuple(words[i : i + n]) for n in range(1, order + 1) for i in range(len(words) - n + 1))


def named(forests: Forests, known: Ngrams, i: int, number: int) -> tuple[str, ...]:
    return tuple(forests.vocabulary[w] for w in known.words_of(i, int(number)))


def events(forests: Forests, found: EdgeNgrams, i: int, derivation: Derivation) -> Grams:
    at = found.event_offsets
    return Counter(
        named(forests, found.ngrams, i, g) for e in derivation.edges for g in found.events[at[e] : at[e + 1]]
    )


def check_events(forests: Forests, order: int) -> None:
    """Every n-gram of a derivation is an event of one of its edges."""
    split = annotate(forests, order)
    found = edge_ngrams(split, order)
    for i in range(len(split)):
        for derivation in enumerate_derivations(split, i):
            assert events(split, found, i, derivation) == grams(derivation.words, order)
            lengths = found.counts[list(derivation.edges)].sum(axis=0)
            assert lengths.tolist() == [max(0, len(derivation.words) - n) for n in range(order)]


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10**6), st.booleans(), st.integers(1, 4))
def test_events_of_the_edges_are_the_ngrams_of_the_words(seed: int, lattices: bool, order: int) -> None:
    check_events(toy_forests(seed, lattices=lattices, limit=80), order)


def check_many() -> None:
    for seed in range(20):
        check_events(toy_forests(seed, limit=80), 3)


def test_a_forgotten_boundary_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The check fails where contexts are one word too short."""

    def short(*arguments: object) -> object:
        *rest, most = arguments
        return completed.node_states(*rest, max(most - 1, 0))  # type: ignore[operator]

    monkeypatch.setattr(module, "node_states", short)
    with pytest.raises(AssertionError):
        check_many()


def test_numbers_are_those_of_the_container() -> None:
    split = annotate(toy_forests(4), 4)
    found = edge_ngrams(split, 4)
    known = found.ngrams
    assert found.events.dtype == found.counts.dtype == np.int32
    for i in range(len(split)):
        low, high = known.offsets[i : i + 2]
        rows = [known.words_of(i, g) for g in range(high - low)]
        assert len(set(rows)) == len(rows)
        assert [len(row) for row in rows] == known.orders[low:high].tolist()


def test_forests_that_are_not_annotated_are_refused() -> None:
    refused = 0
    for seed in range(10):
        forests = toy_forests(seed)
        if annotate(forests, 3) is forests:
            edge_ngrams(forests, 3)
        else:
            refused += 1
            with pytest.raises(CapabilityError, match=r"not local to the edges .* call .*annotate first"):
                edge_ngrams(forests, 3)
    assert refused
    with pytest.raises(ParameterError, match="'order'"):
        edge_ngrams(toy_forests(1), 0)


# references -----------------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10**6), st.booleans(), st.integers(1, 4))
def test_stats_are_the_ngrams_in_the_references(seed: int, lattices: bool, order: int) -> None:
    forests = toy_forests(seed, lattices=lattices, limit=80)
    two = tuple((*refs, " ".join(reversed(refs[0].split())) + " ant ant gnu ant") for refs in forests.references or ())
    metric = BLEU(tokenize="none", max_ngram_order=order)
    split, stats = ngram_stats(forests.with_references(two), metric)
    assert stats.order == order
    assert np.array_equal(stats.counts, edge_ngrams(split, order).counts)
    found = EdgeNgrams(stats.references.ngrams, stats.counts, stats.match_offsets, stats.matches)
    for i, refs in enumerate(two):
        limits: Grams = Counter()
        for ref in refs:
            limits |= grams(ref.split(), order)  # the union of counters takes the larger count
        for derivation in enumerate_derivations(split, i):
            wanted = grams(derivation.words, order)
            assert events(split, found, i, derivation) == Counter({g: c for g, c in wanted.items() if g in limits})
        low, high = stats.ngram_offsets[i : i + 2]
        known = {named(split, stats.references.ngrams, i, g): stats.limits[low + g] for g in range(high - low)}
        assert known == {g: c for g, c in limits.items() if "gnu" not in g}
        assert {len(g) for g in known} == set(stats.orders[low:high].tolist())


def test_stats_of_a_list_are_those_of_the_metric() -> None:
    """Clipped matches of each hypothesis, the metric's own tokens (13a) and its lower-casing."""
    texts = ["The cat, the cat sat.", "the U.S. cat", "", "a cat sat (on the mat)."]
    references = (("The cat sat on the mat.", "a cat, THE cat"), ("the U.S.A.",))
    corpus = NBest(
        offsets=np.array([0, 3, 4]), features=np.zeros((4, 1)), feature_names=("f",), ids=("a", "b"),
        texts=Texts.of(texts), references=references,
    )  # fmt: skip
    for metric in (BLEU(), BLEU(lowercase=True, max_ngram_order=2), BLEU(tokenize="char")):
        stats = metric.stats(Texts.of(texts), corpus.offsets, references)
        _, found = ngram_stats(forests_of(corpus), metric)
        order = metric.max_ngram_order
        assert np.array_equal(found.counts, stats[:, 2 + order :])
        for h, i in enumerate((0, 0, 0, 1)):
            counted = Counter(found.matches[found.match_offsets[h] : found.match_offsets[h + 1]].tolist())
            low = found.ngram_offsets[i]
            correct = np.zeros(order)
            for g, count in counted.items():
                correct[found.orders[low + g] - 1] += min(count, found.limits[low + g])
            assert np.array_equal(correct, stats[h, 2 : 2 + order])
        lengths = found.references.closest(np.array([stats[0, 0], stats[3, 0]]))
        assert lengths.tolist() == [stats[0, 1], stats[3, 1]]


def test_the_closest_reference() -> None:
    forests = replace(toy_forests(1, forests=3), references=(("a b c d", "a b"), (), ("a",)))
    found = reference_ngrams(forests)
    assert found.closest(np.array([3.0, 7.0, 0.0])).tolist() == [2.0, 0.0, 1.0]
    assert found.closest(np.array([3.1, 7.0, 9.0])).tolist() == [4.0, 0.0, 1.0]


# expectations ---------------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10**6), st.booleans(), st.integers(1, 4))
def test_expected_counts(seed: int, lattices: bool, order: int) -> None:
    forests = toy_forests(seed, lattices=lattices, limit=80)
    scores = np.random.default_rng(seed).normal(0.0, 3.0, forests.edges)
    scores[::7] = -np.inf
    found = expected_counts(forests, scores, order)
    for i in range(len(forests)):
        drawn = enumerate_derivations(forests, i)
        sums = derivation_sums(drawn, scores)
        low, high = found.ngrams.offsets[i : i + 2]
        got = {named(forests, found.ngrams, i, g): found.counts[low + g] for g in range(high - low)}
        wanted = dict.fromkeys(got, 0.0)
        totals = np.zeros(order)
        if len(drawn) and sums.max() > -np.inf:
            mass = np.exp(sums - sums.max())
            for derivation, p in zip(drawn, mass / mass.sum(), strict=True):
                totals += [p * max(0, len(derivation.words) - n) for n in range(order)]
                for g, count in grams(derivation.words, order).items():
                    wanted[g] += p * count
        assert got == pytest.approx(wanted, abs=1e-9)
        assert found.totals[i] == pytest.approx(totals, abs=1e-9)


@pytest.mark.parametrize("lattices", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_expected_counts_of_each_gamma_are_those_of_one(seed: int, lattices: bool) -> None:
    forests = toy_forests(seed, lattices=lattices, limit=80)
    scores = np.random.default_rng(seed).normal(size=forests.edges)
    gammas = (0.25, 1.0, 7.0)
    for gamma, found in zip(gammas, expected_counts_of_each(forests, scores, gammas, 3), strict=True):
        alone = expected_counts(forests, gamma * scores, 3)
        assert found.counts.tolist() == alone.counts.tolist()
        assert found.totals.tolist() == alone.totals.tolist()
        assert found.ngrams.words.tolist() == alone.ngrams.words.tolist()
        assert found.ngrams.offsets.tolist() == alone.ngrams.offsets.tolist()


def test_expected_counts_of_lists_are_sums_over_hypotheses() -> None:
    corpus = NBest(
        offsets=np.array([0, 3, 3]), features=np.zeros((3, 1)), feature_names=("f",), ids=("a", "b"),
        texts=Texts.of(["x x y", "x y", "z"]),
    )  # fmt: skip
    forests = forests_of(corpus)
    found = expected_counts(forests, np.log([0.5, 0.25, 0.25]), 2)
    got = {named(forests, found.ngrams, 0, g): found.counts[g] for g in range(len(found.counts))}
    wanted = {("x",): 1.25, ("x", "x"): 0.5, ("x", "y"): 0.75, ("y",): 0.75, ("z",): 0.25}
    assert got == pytest.approx(wanted)
    assert found.totals == pytest.approx(np.array([[2.25, 1.25], [0.0, 0.0]]))


def test_results_do_not_depend_on_threads() -> None:
    forests = toy_forests(5, forests=12)
    scores = np.random.default_rng(1).normal(size=forests.edges)
    one, two = (expected_counts(forests, scores, 3, threads=threads) for threads in (1, 3))
    assert np.array_equal(one.counts, two.counts)
    assert np.array_equal(one.ngrams.words, two.ngrams.words)
