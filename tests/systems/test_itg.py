"""The ITG decoder without a beam, against all derivations by recursion over the grammar."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbest.corpus import Forests
from nbest.forests.kbest import kbest
from nbest.forests.ngrams.annotation import annotate
from nbest.lm.model import LanguageModel
from nbest.lm.query import START, lm_arrays, word_logprob
from nbest.systems.translator.itg import state
from nbest.systems.translator.itg.decoder import FEATURES, ItgDecoder
from nbest.systems.translator.itg.options import SentenceOptions
from nbest.systems.translator.itg.state import FLOOR, decoder_lm, follow
from tests.systems.itg_brute import (
    Tree,
    features_of,
    phrases_of,
    random_options,
    read_out,
    small_lm,
    text_logprob,
    trees,
    yield_of,
)

VOCABULARY = ("w0", "w1", "w2", "unseen")


def check_forest(forests: Forests, expected: list[Tree], sentence: SentenceOptions, lm: LanguageModel) -> None:
    """The forest has these derivations, each as often, with the features recomputed from derivation and string."""
    rng = np.random.default_rng(1)
    direction = rng.normal(size=len(FEATURES))  # to put derivations of the same words in order

    def in_order(rows: list[tuple[list[int], np.ndarray]]) -> tuple[list[list[int]], np.ndarray]:
        rows = sorted(rows, key=lambda row: (row[0], round(float(row[1] @ direction), 4)))
        return [row[0] for row in rows], np.array([row[1] for row in rows])

    found = in_order(list(read_out(forests)))
    wanted = in_order([(yield_of(tree, sentence), features_of(tree, sentence, lm, VOCABULARY)) for tree in expected])
    same = found[0] == wanted[0]  # by itself: pytest would take minutes to show where thousands of lists differ
    assert same, "other derivations"
    assert np.allclose(found[1], wanted[1], atol=1e-4), "other features"


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.integers(1, 5), st.integers(1, 4), st.booleans())
def test_derivations_are_those_of_the_grammar(seed: int, words: int, limit: int, order: int, normal: bool) -> None:
    rng = np.random.default_rng(seed)
    lm = small_lm(3, int(rng.integers(1, order + 1)), rng)
    sentence = random_options(rng, words, len(VOCABULARY))
    decoder = ItgDecoder(lm, beam=None, span_limit=limit, order=order, normal_form=normal)
    weights = rng.normal(size=len(FEATURES))
    forests = decoder.forests([sentence], weights, vocabulary=VOCABULARY, threads=1)
    expected = trees(sentence, limit, normal=normal)
    check_forest(forests, expected, sentence, lm)
    assert annotate(forests, order) is forests
    best = max(float(features_of(tree, sentence, lm, VOCABULARY) @ weights) for tree in expected)
    scores = forests.features @ weights
    assert kbest(forests, scores, 1).sums(scores)[0] == pytest.approx(best, abs=1e-4)


@pytest.fixture(scope="module")
def case() -> tuple[SentenceOptions, LanguageModel]:
    rng = np.random.default_rng(3)
    return random_options(rng, 5, len(VOCABULARY), longest=1), small_lm(3, 3, rng)


def _forest(case: tuple[SentenceOptions, LanguageModel], **settings: object) -> Forests:
    decoder = ItgDecoder(case[1], **({"beam": None} | settings))  # type: ignore[arg-type]
    return decoder.forests([case[0]], np.ones(len(FEATURES)), vocabulary=VOCABULARY)


def test_five_words(case: tuple[SentenceOptions, LanguageModel]) -> None:
    for limit in (2, 3):
        check_forest(_forest(case, span_limit=limit), trees(case[0], limit, normal=True), *case)


@pytest.mark.parametrize("change", ["lm", "symbols", "edge"])
def test_the_check_sees_what_is_wrong(case: tuple[SentenceOptions, LanguageModel], change: str) -> None:
    forests, expected = _forest(case, span_limit=3), trees(case[0], 3, normal=True)
    assert forests.symbols is not None
    if change == "lm":
        features = forests.features.copy()
        features[0, FEATURES.index("lm")] += 0.01
        forests = replace(forests, features=features)
    elif change == "symbols":
        at = int(np.flatnonzero(forests.column("inverted"))[0])
        symbols = forests.symbols.copy()
        symbols[forests.symbol_offsets[at] : forests.symbol_offsets[at + 1]] = [-1, -2]  # type: ignore[index]
        forests = replace(forests, symbols=symbols)
    else:
        expected = expected[1:]
    with pytest.raises(AssertionError, match="other"):
        check_forest(forests, expected, *case)


@pytest.mark.parametrize("words", range(1, 6))
def test_normal_form_has_each_order_once(words: int) -> None:
    rng = np.random.default_rng(words)
    sentence = SentenceOptions.of(words, [(i, i + 1, [i % 3], rng.normal(size=5)) for i in range(words)])
    lm = small_lm(3, 2, rng)
    orders = [tuple(phrases_of(tree)) for tree in trees(sentence, words, normal=False)]
    assert len(set(orders)) == [1, 2, 6, 22, 90][words - 1]  # large Schroeder numbers: orders that an ITG can make
    for normal, count in ((True, len(set(orders))), (False, len(orders))):
        forests = _forest((sentence, lm), normal_form=normal)
        assert len(list(read_out(forests))) == count


def test_no_words_are_the_empty_string() -> None:
    lm = small_lm(3, 3, np.random.default_rng(1))
    forests = _forest((SentenceOptions.of(0, []), lm))
    ((words, features),) = read_out(forests)
    assert words == []
    assert features[FEATURES.index("lm")] == pytest.approx(lm.logprob(["<s>"], "</s>"), abs=1e-6)
    assert np.count_nonzero(features) == 1


def test_unknown_words_cost_the_floor_where_the_model_has_no_probability_for_them() -> None:
    lm = small_lm(3, 1, np.random.default_rng(1))
    logprobs = lm.logprobs.copy()
    logprobs[0] = -np.inf
    lm = replace(lm, logprobs=logprobs)
    sentence = SentenceOptions.of(1, [(0, 1, [3], [0.0] * 5)])
    ((_, features),) = read_out(_forest((sentence, lm)))
    assert features[FEATURES.index("lm")] == pytest.approx(FLOOR + text_logprob(lm, []), abs=1e-4)


def test_what_the_language_model_said_is_remembered_and_nothing_else_is_said(
    case: tuple[SentenceOptions, LanguageModel], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every word after every context of up to three, in a drawn order and with few places, which are shared."""
    lm = case[1]
    monkeypatch.setattr(state, "_REMEMBERED", 8)
    numbers = np.arange(len(lm.vocabulary))
    remembering = decoder_lm(lm_arrays(lm), numbers, 3)
    words = [START, *numbers[-3:].tolist()]
    asked = [(*before, word) for size in range(4) for before in product(words, repeat=size) for word in words[1:]]
    order = np.random.default_rng(1).permutation(np.repeat(np.arange(len(asked)), 2))
    for at in order.tolist():
        *before, word = asked[at]
        context = np.array([*words[-1:] * (len(before) == 3), *before], np.int32)  # what is further back does not count
        found = follow(remembering, context, len(context), 3, word)
        exact = word_logprob(lm_arrays(lm), np.array(before, np.int32), len(before), word)
        assert found == max(exact, FLOOR)
    assert (remembering.keys[:, 0] >= 0).all()
