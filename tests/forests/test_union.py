"""The union of forests against the enumerated derivations of its parts."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from nbest.base.errors import NbestError, ParameterError
from nbest.corpus import Forests
from nbest.forests.kbest import kbest
from nbest.forests.union import union
from nbest.testing.forests import derivation_sums, enumerate_derivations, toy_forests


def drawn(seed):
    """Two to four forests of overlapping segments; vocabularies, order of features and empty forests differ."""
    rng = np.random.default_rng(seed)
    parts = []
    for number in range(rng.integers(2, 5)):
        part = toy_forests(seed * 10 + number, ties=seed % 2 == 0, lattices=seed % 3 == 0, limit=60)
        words = rng.permutation([*part.vocabulary, f"only{number}"]).tolist()
        place = {word: words.index(word) for word in part.vocabulary}
        moved = [place[part.vocabulary[symbol]] if symbol >= 0 else symbol for symbol in part.symbols]
        part = replace(part, vocabulary=tuple(words), symbols=np.array(moved, np.int32))
        part = part.only_features(rng.permutation(part.feature_names).tolist())
        part = replace(part, ids=tuple(f"s{i}" for i in rng.permutation(8)[: len(part)]))
        parts.append(part.select(rng.permutation(len(part))))
    return parts


def table(forests):
    """For each id, how often each (words, features) is derived."""
    names = sorted(forests.feature_names)
    values = np.stack([forests.column(name) for name in names], axis=1)
    found = {}
    for i, name in enumerate(forests.ids):
        derivations = enumerate_derivations(forests, i)
        sums = derivation_sums(derivations, values).round(9) + 0.0
        found[name] = Counter((one.words, tuple(row)) for one, row in zip(derivations, sums.tolist(), strict=True))
    return found


def check_union(unite, seeds):
    """Whether `unite(parts)` derives what its parts derive, as often as they do together."""
    for seed in seeds:
        parts = drawn(seed)
        found = unite(parts)
        expected = {}
        for part in parts:
            for name, counts in table(part).items():
                expected[name] = expected.get(name, Counter()) + counts
        assert table(found) == expected
        assert found.ids == tuple(dict.fromkeys(name for part in parts for name in part.ids))
        first = {name: refs for part in parts[::-1] for name, refs in zip(part.ids, part.references, strict=True)}
        assert found.references == tuple(first[name] for name in found.ids)


def test_derivations_are_those_of_all_parts():
    check_union(union, range(40))


def test_the_check_fails_for_broken_unions():
    def without_last(parts):
        return union(parts[:-1])

    def words_as_numbered(parts):
        return union([replace(part, vocabulary=parts[0].vocabulary) for part in parts])

    def features_as_they_stand(parts):
        return union([replace(part, feature_names=parts[0].feature_names) for part in parts])

    for broken in (without_last, words_as_numbered, features_as_they_stand):
        with pytest.raises(AssertionError):
            check_union(broken, range(10))


def best(forests):
    """For each id the best score of a derivation under some weights."""
    weights = {name: 1.0 + d for d, name in enumerate(sorted(forests.feature_names))}
    scores = sum(weight * forests.column(name) for name, weight in weights.items())
    found = kbest(forests, scores, 1)
    values = found.sums(scores)
    return {name: values[found.offsets[i] : found.offsets[i + 1]].tolist() for i, name in enumerate(forests.ids)}


@pytest.mark.parametrize("seed", range(5))
def test_a_forest_united_with_itself_has_the_same_best_derivation(seed):
    forests = toy_forests(seed)
    twice = best(union([forests, forests, forests]))
    for name, values in best(forests).items():
        assert twice[name] == pytest.approx(values)


def test_the_best_of_a_union_is_the_best_of_its_parts():
    for seed in range(10):
        parts = drawn(seed)
        found = best(union(parts))
        each = [best(part) for part in parts]
        for name, values in found.items():
            known = [value for part in each for value in part.get(name, [])]
            assert values == pytest.approx([max(known)] if known else [])


def test_one_part_is_itself_and_no_nodes_are_no_nodes():
    forests = toy_forests(1)
    assert union([forests]) is forests
    empty = forests.select([1])
    assert empty.nodes == 0
    both = union([empty, empty])
    assert (len(both), both.nodes, both.edges) == (1, 0, 0)


def test_words_are_left_out_where_a_part_has_none():
    forests = toy_forests(2)
    bare = replace(forests, symbols=None, symbol_offsets=None, vocabulary=())
    for parts in ([forests, bare], [bare, forests]):
        found = union(parts)
        assert found.symbols is None
        for i in range(len(forests)):
            assert len(enumerate_derivations(found, i)) == 2 * len(enumerate_derivations(forests, i))


def test_other_features_are_refused_by_name():
    forests = toy_forests(1)
    other = replace(forests, feature_names=("f0", "f1", "odd"))
    with pytest.raises(ParameterError, match="'f2' is not in both 1 and 2"):
        union([forests, other])
    with pytest.raises(NbestError):
        union([])


def test_segments_of_one_part_only():
    forests = toy_forests(3)
    other = replace(forests, ids=tuple(f"t{i}" for i in range(len(forests))), sources=("x",) * len(forests))
    found = union([forests, other])
    assert len(found) == 2 * len(forests)
    assert found.sources is None
    assert isinstance(found, Forests)
