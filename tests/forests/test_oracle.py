"""Exact oracles against enumeration with rapidfuzz and jiwer."""

from dataclasses import replace

import jiwer
import numpy as np
import pytest
from rapidfuzz.distance import Levenshtein

from nbest.base.errors import CapabilityError, ParameterError
from nbest.forests.oracle import forest_oracle, oracle
from nbest.forests.oracle.errors import is_lattice, oracle_errors
from nbest.metrics import WER
from nbest.testing.forests import derivation_sums, enumerate_derivations, toy_forests


def lattices(seed, nodes=8):
    """Lattices with tails' words first, edges without words, words of two tokens and of none, several references."""
    forests = toy_forests(seed, lattices=True, nodes=nodes, limit=400)
    symbols = forests.symbols.copy()
    for low, high in zip(forests.symbol_offsets[:-1], forests.symbol_offsets[1:], strict=True):
        symbols[low:high] = sorted(symbols[low:high], key=lambda s: s >= 0)
    rng = np.random.default_rng(seed)
    vocabulary = ("ant", "bee", "cat", "dog bee", "", "Fox")
    words = ["ant", "bee", "cat", "dog", "fox"]
    references = [
        tuple(" ".join(rng.choice(words, rng.integers(0, 6))) for _ in range(rng.integers(1, 4))) for _ in forests.ids
    ]
    return replace(forests, symbols=symbols, vocabulary=vocabulary).with_references(references)


def edges_of(derivations, i):
    """The edges of the only derivation of forest i, or None."""
    low, high = derivations.offsets[i : i + 2]
    assert high - low <= 1
    bounds = derivations.edge_offsets
    return tuple(derivations.edges[bounds[low] : bounds[high]].tolist()) if high > low else None


def check_errors(find, seeds, lowercase):
    """Whether `find(forests)` gives a derivation of the fewest errors, and their number."""
    for seed in seeds:
        forests = lattices(seed)
        assert is_lattice(forests)
        found, errors = find(forests)
        for i, references in enumerate(forests.references):
            fewest = {}
            for derivation in enumerate_derivations(forests, i):
                text = " ".join(derivation.words)
                words = (text.lower() if lowercase else text).split()
                fewest[derivation.edges] = min(Levenshtein.distance(words, ref.split()) for ref in references)
            assert errors[i] == min(fewest.values(), default=-1)
            assert fewest.get(edges_of(found, i), -1) == errors[i]


@pytest.mark.parametrize("lowercase", [False, True])
def test_errors_are_the_fewest(lowercase):
    check_errors(lambda forests: oracle_errors(forests, lowercase=lowercase), range(100), lowercase)


def test_the_check_of_errors_fails_for_another_derivation():
    def by_first_reference(forests):
        return oracle_errors(forests.with_references([refs[:1] for refs in forests.references]))

    def other_derivation(forests):
        return oracle(forests, np.zeros(forests.edges)), oracle_errors(forests)[1]

    for find in (by_first_reference, other_derivation):
        with pytest.raises(AssertionError):
            check_errors(find, range(20), False)


def test_errors_as_jiwer_counts_them():
    for seed in range(20):
        forests = lattices(seed).with_references([("ant bee cat",)] * 5)
        found, errors = oracle_errors(forests)
        texts = list(found.texts())
        measured = jiwer.process_words(["ant bee cat"] * len(texts), [" ".join(text.split()) for text in texts])
        assert measured.substitutions + measured.deletions + measured.insertions == errors[errors >= 0].sum()
        assert np.array_equal(oracle_errors(forests, threads=1)[0].edges, oracle_errors(forests, threads=3)[0].edges)


def test_only_lattices_have_exact_errors():
    tree = toy_forests(1)
    assert not is_lattice(tree)
    with pytest.raises(CapabilityError, match="exact word errors need lattices"):
        oracle_errors(tree)
    with pytest.raises(CapabilityError, match="needs references"):
        oracle_errors(replace(lattices(1), references=None))
    backwards = lattices(3)
    symbols = backwards.symbols.copy()
    for low, high in zip(backwards.symbol_offsets[:-1], backwards.symbol_offsets[1:], strict=True):
        symbols[low:high] = symbols[low:high][::-1]
    assert not is_lattice(replace(backwards, symbols=symbols))


def test_additive_losses():
    for seed in range(60):
        forests = toy_forests(seed, ties=seed % 2 == 0, limit=300)
        losses = forests.features[:, 0] ** 2
        losses[np.random.default_rng(seed).random(len(losses)) < 0.1] = np.inf
        found = oracle(forests, losses)
        sums = found.sums(losses)
        for i in range(len(forests)):
            best = min(derivation_sums(enumerate_derivations(forests, i), losses), default=np.inf)
            got = sums[found.offsets[i]] if edges_of(found, i) else np.inf
            assert got == pytest.approx(best) if np.isfinite(best) else got == best
    with pytest.raises(ParameterError, match="'losses' of oracle"):
        oracle(forests, losses[1:])


def test_forest_oracle_is_exact_for_wer_of_lattices():
    for seed in range(20):
        forests = lattices(seed).with_metric(WER())
        found, (expected, errors) = forest_oracle(forests, beam=1), oracle_errors(forests)
        assert np.array_equal(found.edges, expected.edges)
        lists = found.lists()
        assert np.array_equal(lists.metric.losses(lists.stats), errors[errors >= 0])
