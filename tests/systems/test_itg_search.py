"""The ITG decoder with a beam: what is pruned, many and long sentences, threads, bad input."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from nbest.base.errors import CapabilityError, ParameterError
from nbest.corpus import Forests
from nbest.forests.kbest import kbest
from nbest.forests.ngrams.annotation import annotate
from nbest.lm.model import LanguageModel
from nbest.systems.translator.itg.decoder import FEATURES, ItgDecoder
from nbest.systems.translator.itg.heap import pop, push
from nbest.systems.translator.itg.options import SentenceOptions
from tests.systems.itg_brute import random_options, read_out, small_lm, text_logprob

VOCABULARY = ("w0", "w1", "w2", "w3", "w4", "unseen")
WEIGHTS = np.array([0.2, 0.2, 0.2, 0.2, 0.1, 0.5, 0.3, -0.1, -0.4])


@pytest.fixture(scope="module")
def lm() -> LanguageModel:
    return small_lm(5, 3, np.random.default_rng(2))


def _sentences(*sizes: int) -> list[SentenceOptions]:
    rng = np.random.default_rng(7)
    rows = [random_options(rng, size, len(VOCABULARY)) if size else SentenceOptions.of(0, []) for size in sizes]
    ones = [np.column_stack([row.features[:, :4], np.ones(len(row))]) for row in rows]  # phrases, as in a phrase table
    return [replace(row, features=features) for row, features in zip(rows, ones, strict=True)]


def _best(forests: Forests) -> np.ndarray:
    scores = forests.features @ WEIGHTS
    return kbest(forests, scores, 1).sums(scores)


def test_a_beam_leaves_out_and_changes_nothing(lm: LanguageModel) -> None:
    sentences = _sentences(3, 4, 4)
    whole = ItgDecoder(lm, beam=None).forests(sentences, WEIGHTS, vocabulary=VOCABULARY)
    few = ItgDecoder(lm, beam=3).forests(sentences, WEIGHTS, vocabulary=VOCABULARY)
    assert few.edges < whole.edges
    for i in range(len(sentences)):
        rows = [Counter((tuple(w), *np.round(f, 3)) for w, f in read_out(part, i)) for part in (few, whole)]
        assert not rows[0] - rows[1]
    assert (_best(few) <= _best(whole) + 1e-6).all()
    large = ItgDecoder(lm, beam=10_000, edges_a_node=10_000).forests(sentences, WEIGHTS, vocabulary=VOCABULARY)
    assert np.array_equal(large.features, whole.features)
    assert np.array_equal(large.tails, whole.tails)


def test_beam_bounds_nodes_and_edges(lm: LanguageModel) -> None:
    sentences = _sentences(12)
    spans = 12 * 4 + 8
    sizes = []
    for beam in (1, 4, 16, 64):
        forests = ItgDecoder(lm, beam=beam, span_limit=4, edges_a_node=3).forests(
            sentences, WEIGHTS, vocabulary=VOCABULARY
        )
        assert forests.nodes <= spans * beam + 1
        assert forests.edges <= spans * beam * 3 + beam
        sizes.append(forests.edges)
    assert sizes == sorted(sizes)


def test_features_of_pruned_forests_are_those_of_the_strings(lm: LanguageModel) -> None:
    forests = ItgDecoder(lm, beam=20, span_limit=5).forests(_sentences(15, 9, 0, 1), WEIGHTS, vocabulary=VOCABULARY)
    assert annotate(forests, 4) is forests
    lists = kbest(forests, forests.features @ WEIGHTS, 20).lists()
    assert lists.texts is not None
    for k, text in enumerate(lists.texts):
        words = text.split()
        row = dict(zip(FEATURES, lists.features[k], strict=True))
        assert row["lm"] == pytest.approx(text_logprob(lm, words), abs=1e-3)
        assert row["length"] == len(words)
        assert row["monotone"] + row["inverted"] == max(row["phrases"], 1) - 1


def test_wide_beams_lose_nothing_to_narrow_ones(lm: LanguageModel) -> None:
    sentences = _sentences(*[8] * 10)
    scores = [
        _best(ItgDecoder(lm, beam=beam).forests(sentences, WEIGHTS, vocabulary=VOCABULARY)).sum()
        for beam in (2, 20, 200)
    ]
    assert scores[0] < scores[2]
    assert scores[1] <= scores[2] + 1e-6


def test_threads_and_progress(lm: LanguageModel) -> None:
    sentences = _sentences(5, 0, 9, 3, 7)
    calls: list[tuple[int, int]] = []
    decoder = ItgDecoder(lm, beam=10)
    one = decoder.forests(sentences, WEIGHTS, vocabulary=VOCABULARY, threads=1)
    two = decoder.forests(
        sentences, WEIGHTS, vocabulary=VOCABULARY, threads=2, progress=lambda done, total: calls.append((done, total))
    )
    assert calls == [(k + 1, 5) for k in range(5)]
    for name in ("features", "tails", "symbols", "edge_offsets", "node_offsets"):
        assert np.array_equal(getattr(one, name), getattr(two, name))
    alone = decoder.forests(sentences[2:3], WEIGHTS, vocabulary=VOCABULARY)
    assert np.array_equal(alone.features, one.select([2]).features)


def test_long_sentences_grow_linearly(lm: LanguageModel) -> None:
    short, long = (
        ItgDecoder(lm, beam=10, span_limit=6).forests(_sentences(size), WEIGHTS, vocabulary=VOCABULARY)
        for size in (100, 500)
    )
    assert 3 < long.edges / short.edges < 8
    assert len(kbest(long, long.features @ WEIGHTS, 5)) == 5


def test_no_sentences(lm: LanguageModel) -> None:
    forests = ItgDecoder(lm).forests([], WEIGHTS, vocabulary=VOCABULARY)
    assert len(forests) == 0
    assert forests.feature_names == FEATURES


def test_weights_of_zero_keep_the_beam_and_the_order_of_options(lm: LanguageModel) -> None:
    forests = [ItgDecoder(lm, beam=5).forests(_sentences(6), np.zeros(9), vocabulary=VOCABULARY) for _ in range(2)]
    assert np.array_equal(forests[0].features, forests[1].features)
    assert forests[0].edges


def test_words_without_options_are_an_error(lm: LanguageModel) -> None:
    sentence = SentenceOptions.of(2, [(0, 1, [1], [0.0] * 5)])
    with pytest.raises(CapabilityError, match="sentence 'x' do not cover its 2 words"):
        ItgDecoder(lm).forests([sentence], WEIGHTS, vocabulary=VOCABULARY, ids=["x"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"words": -1}, "'words' .* >= 0"),
        ({"starts": [1]}, "covers words 1 to 1"),
        ({"ends": [3]}, "covers words 0 to 3"),
        ({"features": [[0.0] * 4]}, r"\[1, 5\], got \(1, 4\)"),
        ({"features": [[np.nan] * 5]}, "must be finite; option 0"),
        ({"target_offsets": [0, 2]}, "'targets' .* 2 entries"),
        ({"target_offsets": [1, 1]}, "start at 0"),
        ({"ends": [1, 1]}, "1 and 2 entries"),
    ],
)
def test_bad_options(change: dict, message: str) -> None:
    sentence = SentenceOptions.of(2, [(0, 1, [1], [0.0] * 5)])
    with pytest.raises(ParameterError, match=message):
        replace(sentence, **{name: np.array(value) if name != "words" else value for name, value in change.items()})


def test_bad_parameters(lm: LanguageModel) -> None:
    for name in ("beam", "span_limit", "order", "edges_a_node"):
        with pytest.raises(ParameterError, match=f"'{name}' of Decoder must be >= 1, got 0"):
            ItgDecoder(lm, **{name: 0})
    with pytest.raises(ParameterError, match="at least that of its language model, 3, got 2"):
        ItgDecoder(lm, order=2)
    for weights in (np.zeros(8), np.full(9, np.nan)):
        with pytest.raises(ParameterError, match="must be 9 finite numbers"):
            ItgDecoder(lm).forests([], weights, vocabulary=VOCABULARY)
    with pytest.raises(ParameterError, match="no numbers into the vocabulary of 6 words"):
        ItgDecoder(lm).forests([SentenceOptions.of(1, [(0, 1, [6], [0.0] * 5)])], WEIGHTS, vocabulary=VOCABULARY)
    with pytest.raises(ParameterError, match=r"'ids' of Decoder\.forests must have 1 entries, got 2"):
        ItgDecoder(lm).forests([SentenceOptions.of(0, [])], WEIGHTS, vocabulary=VOCABULARY, ids=["a", "b"])


def test_heap_takes_the_best_then_the_lowest() -> None:
    ranks = np.random.default_rng(1).integers(0, 20, 200).astype(np.float64)
    heap = np.empty(200, np.int32)
    for size, k in enumerate(np.random.default_rng(2).permutation(200)):
        push(heap, size, ranks, int(k))
    taken = [int(pop(heap, 200 - k, ranks)) for k in range(200)]
    assert taken == sorted(range(200), key=lambda k: (-ranks[k], k))
