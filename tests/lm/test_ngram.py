"""Estimates against a textbook, sums over the vocabulary, pruning, perplexity, and the kernels against each other."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbest.base.errors import ParameterError
from nbest.corpus import Texts
from nbest.lm.count import count_ngrams
from nbest.lm.estimate import KneserNey, adjusted_counts, discounts
from nbest.lm.model import LanguageModel
from nbest.lm.prune import entropy_prune
from nbest.lm.query import lm_arrays, sentence_logprob, word_logprob
from nbest.lm.scoring import score_sentences
from nbest.lm.trie import node_words, prefix_nodes
from tests.lm.ngram_textbook import Textbook

sentences = st.lists(st.lists(st.sampled_from("abcd"), min_size=1, max_size=7), min_size=1, max_size=25)
cutoffs = st.sampled_from([(1,), (1, 1, 2), (1, 2), (1, 2, 3)])


def model_of(
    corpus: list[list[str]], order: int, cuts: tuple[int, ...] = (1,), threshold: float = 0.0
) -> LanguageModel:
    return KneserNey(order, cuts[:order], threshold).fit(Texts.of([" ".join(s) for s in corpus]))


def random_corpus(seed: int, sentences: int = 60, words: int = 5) -> list[list[str]]:
    """Sentences of a Markov chain, so that orders differ; all counts of counts that discounts need occur."""
    rng = np.random.default_rng(seed)
    names = [chr(97 + k) for k in range(words)]
    moves = rng.dirichlet(np.full(words, 0.4), size=words)
    out = []
    for _ in range(sentences):
        at, sentence = int(rng.integers(words)), []
        for _ in range(int(rng.integers(1, 8))):
            sentence.append(names[at])
            at = int(rng.choice(words, p=moves[at]))
        out.append(sentence)
    return out


def total(model: LanguageModel, history: tuple[str, ...]) -> float:
    """The sum of p(w | history) over all words."""
    return sum(math.exp(model.logprob(history, w)) for w in model.vocabulary)


@settings(deadline=None, max_examples=60)
@given(sentences, st.integers(1, 4), cutoffs)
def test_every_probability_is_that_of_the_textbook(corpus, order, cuts):
    model, book = model_of(corpus, order, cuts), Textbook(corpus, order, cuts[:order])
    assert set(model.vocabulary) == {*book.words, "<s>"}
    for history in book.histories()[:: 1 if order < 4 else 7]:
        for word in book.words:
            assert math.exp(model.logprob(history, word)) == pytest.approx(book.p(word, history), rel=2e-5, abs=1e-9)


def test_discounts_of_chen_and_goodman_are_used_where_counts_give_them():
    corpus = random_corpus(1, 400, 12)
    model, book = model_of(corpus, 3), Textbook(corpus, 3)
    assert any(d != [0.0, 0.5, 1.0, 1.5] for d in book.discounts[1:])
    for history in [(), ("a",), ("<s>",), ("<s>", "b"), ("c", "a"), ("zz", "a")]:
        for word in book.words:
            known = tuple("<unk>" if w == "zz" else w for w in history)
            assert math.exp(model.logprob(history, word)) == pytest.approx(book.p(word, known), rel=2e-5)


def test_discounts_by_hand():
    a = np.array([1] * 8 + [2] * 4 + [3] * 2 + [4] * 1 + [9] * 3)
    y = 8 / 16
    expected = [0, 1 - 2 * y * 4 / 8, 2 - 3 * y * 2 / 4, 3 - 4 * y * 1 / 2]
    np.testing.assert_allclose(discounts(a), expected)
    assert discounts(np.array([1, 2, 3])).tolist() == [0, 0.5, 1, 1.5]
    assert discounts(np.array([1] + [2] + [3] * 9 + [4] * 9)).tolist() == [0, 0.5, 1, 1.5]  # D_2 would be negative


def test_counts_and_continuation_counts_by_hand():
    counts = count_ngrams(Texts.of(["a b a b", "b b", "", " "]), 2)
    assert counts.vocabulary == ("<unk>", "<s>", "</s>", "a", "b")
    assert (counts.sentences, counts.empty, counts.tokens) == (2, 2, 8)
    assert counts.levels[0].counts.tolist() == [0, 2, 2, 2, 4]
    words, bigrams = adjusted_counts(counts)
    assert words.tolist() == [0, 0, 1, 2, 3]  # b </s>;  <s> a, b a;  a b, <s> b, b b
    pairs = [(counts.vocabulary[w], counts.vocabulary[s]) for w, s in zip(*_pairs(counts.levels[1]), strict=True)]
    assert dict(zip(pairs, bigrams.tolist(), strict=True)) == {
        ("b", "</s>"): 2,
        ("<s>", "a"): 1,
        ("b", "a"): 1,
        ("<s>", "b"): 1,
        ("a", "b"): 2,
        ("b", "b"): 1,
    }


def _pairs(level):
    return level.words, level.suffixes


@settings(deadline=None, max_examples=40)
@given(sentences, st.integers(1, 4), cutoffs, st.sampled_from([0.0, 1e-4, 1e-2, 0.1, 10.0]), st.booleans())
def test_probabilities_sum_to_one_after_every_history(corpus, order, cuts, threshold, own):
    model = model_of(corpus, order, cuts, 0.0 if own else threshold)
    model = entropy_prune(model, threshold) if own else model
    for history in Textbook(corpus, order).histories()[:: 1 if order < 4 else 11]:
        assert total(model, history) == pytest.approx(1.0, abs=1e-5)


def test_a_wrong_backoff_does_not_sum_to_one():
    """The check above is able to fail."""
    model = model_of(random_corpus(2), 3)
    backoffs = np.array(model.backoffs)
    backoffs[4] += 0.01
    broken = LanguageModel(model.vocabulary, model.levels, model.words, model.children, model.logprobs, backoffs)
    assert total(broken, (model.vocabulary[4],)) != pytest.approx(1.0, abs=1e-4)
    assert total(model, (model.vocabulary[4],)) == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize("seed", range(3))
def test_pruning_leaves_out_what_matters_least(seed):
    """D of each n-gram is the relative entropy of the two models, by brute force over all words."""
    corpus = random_corpus(seed)
    model = model_of(corpus, 3)
    prefixes = prefix_nodes(model)
    rows, low = node_words(model, 3), int(model.levels[2])
    history = np.full(int(model.levels[-1]), np.log(0.25))
    words = [w for w in model.vocabulary if w != "<s>"]
    divergences = []
    for k, row in enumerate(rows):
        h, h1, w = tuple(model.vocabulary[i] for i in row[:2]), model.vocabulary[row[1]], model.vocabulary[row[2]]
        before = {v: model.logprob(h, v) for v in words}
        explicit = {model.vocabulary[r[2]] for r in rows if tuple(r[:2]) == tuple(row[:2])} - {w}
        left = 1 - sum(math.exp(before[v]) for v in explicit)
        below = 1 - sum(math.exp(model.logprob((h1,), v)) for v in explicit)
        after = {v: before[v] if v in explicit else math.log(left / below) + model.logprob((h1,), v) for v in words}
        divergences.append(0.25 * sum(math.exp(before[v]) * (before[v] - after[v]) for v in words))
        assert prefixes[low + k] >= 0
    changes = np.expm1(divergences)
    threshold = float(np.sort(changes)[len(changes) // 2 : len(changes) // 2 + 2].mean())
    pruned = entropy_prune(model, threshold, history)
    kept = {tuple(row) for row in node_words(pruned, 3)}
    clear = np.abs(changes - threshold) > 1e-6
    assert clear.sum() > len(rows) / 2
    for row, change, sure in zip(rows, changes, clear, strict=True):
        assert not sure or (tuple(row) in kept) == (change >= threshold)


def test_pruning_more_leaves_less_and_nothing_leaves_all():
    model = model_of(random_corpus(4, 200, 8), 4)
    sizes = [sum(entropy_prune(model, threshold).sizes) for threshold in (0.0, 1e-5, 1e-3, 0.1, 1e9)]
    assert all(a >= b for a, b in pairwise(sizes))
    assert sizes[-1] == len(model.vocabulary)
    assert entropy_prune(model, 1e9).sizes[1:] == (0, 0, 0)
    with pytest.raises(ParameterError, match="'threshold'"):
        entropy_prune(model, -1.0)


@settings(deadline=None, max_examples=40)
@given(sentences, st.integers(1, 4), cutoffs, st.lists(st.sampled_from(["a", "b", "c", "zz", "<s>"]), max_size=9))
def test_scores_of_texts_are_sums_of_words(corpus, order, cuts, text):
    model = model_of(corpus, order, cuts, 1e-3)
    plain = ["<unk>" if w == "<s>" else w for w in text]
    stream = ["<s>", *plain, "</s>"]
    expected = sum(model.logprob(stream[:at], stream[at]) for at in range(1, len(stream)))
    ids = model.ids(text)
    assert sentence_logprob(lm_arrays(model), ids, len(ids)) == pytest.approx(expected, abs=1e-9)
    scores = model.score(Texts.of([" ".join(text), "a"]), threads=2)
    assert scores.logprobs[0] == pytest.approx(expected, abs=1e-9)
    assert scores.unknown[0] == sum(model.numbers.get(w, 0) in (0, 1) for w in text)


def test_long_contexts_are_cut():
    model = model_of(random_corpus(5), 3)
    long, short = model.ids(["a", "b", "c", "d", "e", "a", "b"]), model.ids(["a", "b"])
    for word in range(len(model.vocabulary)):
        assert word_logprob(lm_arrays(model), long, 7, word) == word_logprob(lm_arrays(model), short, 2, word)


def test_perplexity_with_and_without_unknown_words():
    model = model_of(random_corpus(6), 2)
    scores = model.score(Texts.of(["a zz b", "c"]))
    known = [("<s>", "a"), ("<unk>", "b"), ("b", "</s>"), ("<s>", "c"), ("c", "</s>")]
    logs = [model.logprob((h,), w) for h, w in known]
    assert scores.perplexity(unknown=False) == pytest.approx(math.exp(-sum(logs) / 5))
    everything = [*logs, model.logprob(("a",), "zz")]
    assert scores.perplexity() == pytest.approx(math.exp(-sum(everything) / 6))
    assert math.isnan(model.score(Texts.of([])).perplexity())


def test_rare_words_become_unknown():
    corpus = [["a", "b"], ["a", "c"], ["a", "<unk>"]]
    model = KneserNey(2, (2,)).fit(Texts.of([" ".join(s) for s in corpus]))
    assert model.vocabulary == ("<unk>", "<s>", "</s>", "a")
    book = Textbook([["a", "<unk>"]] * 3, 2, (1, 2))
    for history in book.histories():
        for word in book.words:
            assert math.exp(model.logprob(history, word)) == pytest.approx(book.p(word, history), rel=2e-5)


def test_parameters_are_checked():
    for options, message in (
        ({"order": 0}, "'order' of KneserNey must be >= 1, got 0"),
        ({"cutoffs": (2, 1)}, "never fall, got \\[2, 1\\]"),
        ({"order": 2, "cutoffs": (1, 1, 1)}, "1 to 2"),
        ({"threshold": math.nan}, "'threshold' of KneserNey"),
    ):
        with pytest.raises(ParameterError, match=message):
            KneserNey(**options)
    for texts in ([], ["", "  "]):
        with pytest.raises(ParameterError, match="no words"):
            KneserNey().fit(Texts.of(texts))


def test_long_sentences_and_strange_words():
    model = KneserNey(3).fit(Texts.of(["w " * 500, "日本 é \U0001f600", "x"]))
    assert {"日本", "\U0001f600"} < set(model.vocabulary)
    for history in ((), ("w", "w"), ("<s>",), ("日本", "é")):
        assert total(model, history) == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize("order", [1, 2, 3, 5])
@pytest.mark.parametrize("words", [3, 26])
def test_many_sentences_are_the_sums_of_one_at_a_time(order, words):
    """To the last bit, whether or not there are so many that they are sorted (`scoring._WORTH`)."""
    model = model_of(random_corpus(order, 300, words), order)
    rng = np.random.default_rng(order)
    some = [rng.integers(0, len(model.vocabulary), rng.integers(0, 9)) for _ in range(120)]
    some = [np.where((ids == 1) | (ids == 2), 0, ids).astype(np.int32) for ids in some]
    arrays = lm_arrays(model)
    for sentences in (some, some[:2], [some[0][:0]], [np.array([5], np.int32)]):
        out = np.full((len(sentences), 4), 7.0)
        offsets = np.cumsum([0, *map(len, sentences)])
        score_sentences(arrays, offsets, np.concatenate(sentences), out)
        for row, ids in zip(out, sentences, strict=True):
            assert row[2:].tolist() == [(ids == 0).sum(), 0]
            expected = sentence_logprob(arrays, ids, len(ids))
            assert row[0] + row[1] == (pytest.approx(expected, rel=1e-12) if row[2] else expected)


def test_marks_and_words_with_strange_bytes_in_texts():
    model = model_of([["a", "größer", "日本"], ["a", "b"]], 2)
    texts = ["a größer 日本", "<s> a </s> <unk>", "\u3000a\u00a0b\x1c日本\n", "", " ", "größe größerr ä"]
    scores = model.score(Texts.of(texts))
    assert np.array_equal(scores.words.ids, model.ids(word for text in texts for word in text.split()))
    assert scores.unknown.tolist() == [0, 3, 0, 0, 0, 3]
