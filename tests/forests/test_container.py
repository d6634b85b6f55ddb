"""The container of forests: what it refuses, its parts, its layout, and derivations read from it."""

from dataclasses import replace

import numpy as np
import pytest

from nbest.base.errors import CapabilityError, ParameterError
from nbest.compute import segments
from nbest.corpus import split
from nbest.corpus.layout import forest_of
from nbest.forests.derivations import Derivations, forests_of
from nbest.metrics import WER
from nbest.testing import toy_lists
from nbest.testing.forests import derivation_sums, enumerate_derivations, toy_forests


def all_derivations(forests):
    """Every derivation of every forest."""
    found = [enumerate_derivations(forests, i) for i in range(len(forests))]
    flat = [d for some in found for d in some]
    rows = Derivations(
        forests,
        segments.offsets_of(np.array([len(some) for some in found], np.int64)),
        segments.offsets_of(np.array([len(d.edges) for d in flat], np.int64)),
        np.array([e for d in flat for e in d.edges], np.int64),
    )
    return rows, flat


@pytest.mark.parametrize("seed", range(20))
def test_derivations_are_read_out(seed):
    forests = toy_forests(seed, tails=4 if seed % 2 else 2, lattices=seed % 5 == 0)
    rows, flat = all_derivations(forests)
    assert list(rows.texts()) == [" ".join(d.words) for d in flat]
    lists = rows.lists()
    np.testing.assert_allclose(lists.features, derivation_sums(flat, forests.features), atol=1e-12)
    assert lists.ids == forests.ids
    assert lists.references == forests.references
    assert lists.stats is None
    measured = all_derivations(forests.with_metric(WER()))[0].lists()
    assert measured.metric == WER()
    assert measured.stats is not None


@pytest.mark.parametrize("seed", range(10))
def test_select_keeps_forests(seed):
    forests = toy_forests(seed, forests=6)
    forests = forests.with_stats(WER(), np.random.default_rng(seed).normal(size=(forests.edges, 2)))
    order = np.random.default_rng(seed).permutation(6)[:4]
    chosen = forests.select(order)
    assert chosen.ids == tuple(forests.ids[i] for i in order)
    for new, old in enumerate(order):
        ours, theirs = enumerate_derivations(chosen, new), enumerate_derivations(forests, old)
        assert [d.words for d in ours] == [d.words for d in theirs]
        for values, others in ((chosen.features, forests.features), (chosen.stats, forests.stats)):
            np.testing.assert_array_equal(derivation_sums(ours, values), derivation_sums(theirs, others))
    assert len(forests.select([])) == 0


@pytest.mark.parametrize("seed", range(10))
def test_layout_has_two_tails_and_the_same_derivations(seed):
    forests = toy_forests(seed, tails=5)
    layout = forests.layout
    assert layout.edge_offsets[-1] == forests.edges + np.maximum(forests.arities - 2, 0).sum()
    values = np.arange(forests.edges, dtype=np.float64)
    assert np.array_equal(layout.gather(layout.spread(values)), values)
    for i in range(len(forests)):
        (starts, first, second), (a, b), (c, d) = forest_of(layout.graph, i)
        heads = np.repeat(np.arange(b - a), np.diff(starts))
        assert (first < heads).all()
        assert (second < heads).all()
        assert starts[0] == starts[1] == 0, "node 0 has no edges"
        assert starts[-1] == d - c


def test_a_layout_without_long_edges_copies_nothing():
    assert toy_forests(1, tails=2).layout.edges is None
    assert toy_forests(1, tails=2).layout.nodes is None


def test_split_takes_forests():
    first, second = split(toy_forests(1, forests=8), 0.5)
    assert len(first) == len(second) == 4
    assert {*first.ids, *second.ids} == set(toy_forests(1, forests=8).ids)


def test_lists_and_back():
    corpus = toy_lists(4)
    forests = forests_of(corpus)
    assert forests.metric == corpus.metric
    assert forests.edges == corpus.hypotheses
    rows = Derivations(forests, forests.forest_edges, np.arange(forests.edges + 1), np.arange(forests.edges)).lists()
    assert np.array_equal(rows.offsets, corpus.offsets)
    assert list(rows.texts) == list(corpus.texts)
    assert np.array_equal(rows.features, corpus.features)
    assert np.array_equal(rows.stats, corpus.stats)


BROKEN = {
    "node_offsets": (lambda f: {"node_offsets": f.node_offsets[1:]}, "'node_offsets'"),
    "edge_offsets": (lambda f: {"edge_offsets": f.edge_offsets[:-1]}, "'edge_offsets'"),
    "tail_offsets": (lambda f: {"tail_offsets": f.tail_offsets[::-1]}, "'tail_offsets'"),
    "tails": (lambda f: {"tails": f.tails[:-1]}, "'tails'"),
    "cycle": (lambda f: {"tails": np.full_like(f.tails, f.nodes)}, "children first"),
    "dangling": (lambda f: {"tails": np.full_like(f.tails, -1)}, "children first"),
    "features": (lambda f: {"features": f.features[:-1]}, "'features'"),
    "nan": (lambda f: {"features": f.features * np.nan}, "finite"),
    "whole numbers": (lambda f: {"features": f.features.astype(int)}, "float32 or float64"),
    "names": (lambda f: {"feature_names": ("f0", "f0", "f1")}, "differ"),
    "ids": (lambda f: {"ids": ("x",) * len(f)}, "'ids'"),
    "fewer ids": (lambda f: {"ids": f.ids[:-1]}, "'ids'"),
    "references": (lambda f: {"references": f.references[:-1]}, "'references'"),
    "symbols": (lambda f: {"symbols": f.symbols[:-1]}, "'symbols'"),
    "unknown word": (lambda f: {"vocabulary": f.vocabulary[:1]}, "no word"),
    "unknown tail": (lambda f: {"symbols": np.full_like(f.symbols, -9)}, "no tail"),
    "stats": (lambda f: {"stats": np.zeros((2, 2))}, "'stats'"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_broken_is_refused(name):
    change, message = BROKEN[name]
    forests = toy_forests(3)
    with pytest.raises(ParameterError, match=message):
        replace(forests, **change(forests))


def test_arrays_cannot_be_written_to():
    forests = toy_forests(1)
    for array in (forests.tails, forests.features, forests.edge_offsets, forests.symbols):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_columns():
    forests = replace(toy_forests(1), own_weights={"f0": 1.0, "f1": 2.0})
    assert forests.only_features(["f2", "f0"]).feature_names == ("f2", "f0")
    assert forests.only_features(["f2", "f0"]).own_weights == {"f0": 1.0}
    assert forests.without_features(["f1"]).feature_names == ("f0", "f2")
    more = forests.with_features(["x"], np.arange(forests.edges))
    assert np.array_equal(more.column("x"), np.arange(forests.edges))
    with pytest.raises(ParameterError, match="no feature 'f7'"):
        forests.column("f7")


def test_what_is_missing_is_said():
    forests = toy_forests(1)
    with pytest.raises(CapabilityError, match="no metric yet"):
        forests.need_metric()
    with pytest.raises(CapabilityError, match="--refs"):
        replace(forests, references=None).with_metric(WER())
    with pytest.raises(CapabilityError, match="words of the edges"):
        replace(forests, symbols=None, symbol_offsets=None).with_metric(WER())
