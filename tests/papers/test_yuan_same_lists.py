"""Interpolation over a fixed vocabulary, lists with readings, and the parts of the experiments that isolate."""

from __future__ import annotations

import numpy as np
import pytest

from nbest.compute import segments
from nbest.corpus import Texts
from nbest.lm.estimate import KneserNey
from nbest.papers.yuan.interpolation import (
    OTHER,
    FixedMixture,
    both_logprobs,
    fit_fixed,
    surface_of,
    token_lists,
    with_readings,
)
from nbest.papers.yuan.isolate import confirmed
from nbest.systems.converter.converter import Converter
from nbest.systems.converter.system import ConverterTraining
from nbest.systems.converter.text import ReadSentence

NEWS = [
    ReadSentence(("柿", "を", "見る"), ("かき", "を", "みる")),
    ReadSentence(("花", "を", "見る"), ("はな", "を", "みる")),
    ReadSentence(("柿", "と", "花"), ("かき", "と", "はな")),
]
NOVELS = [
    ReadSentence(("牡蠣", "を", "診る"), ("かき", "を", "みる")),
    ReadSentence(("鼻", "を", "見る"), ("はな", "を", "みる")),
    ReadSentence(("花", "を", "空"), ("はな", "を", "そら")),
] * 4
MORE = [("牡蠣", "かき"), ("鼻", "はな"), ("診る", "みる")]
KANA = ["かきをみる", "はなとかき", "ぱんをみる"]


def converter() -> Converter:
    return ConverterTraining(order=3).fit(NEWS, MORE)


def test_lists_with_readings_are_the_same_lists() -> None:
    own = converter()
    plain = own.best(own.forests(KANA), 20)
    spelt = token_lists(own, KANA, 20)
    assert [" ".join(map(surface_of, each.split())) for each in spelt.texts or ()] == list(plain.texts or ())
    np.testing.assert_array_equal(spelt.features, plain.features)
    assert "柿|かき を|を 見る|みる" in list(spelt.texts or ())
    assert len(with_readings(own).dictionary) == len(own.dictionary)


def test_the_first_model_scores_as_the_converter_does() -> None:
    """What is added for another model replaces exactly the feature `lm`."""
    own = converter()
    spelt = token_lists(own, KANA, 20)
    assert spelt.texts is not None
    mixture = fit_fixed(own, NOVELS)
    _, first = mixture.scores(spelt.texts)
    np.testing.assert_allclose(first, spelt.column("lm"), atol=1e-4)
    alone, same = FixedMixture(mixture.first, mixture.second, 1.0).scores(spelt.texts)
    np.testing.assert_allclose(alone, same)


@pytest.mark.parametrize("context", [[], ["a"], ["b", "a"], ["new", "a"], ["a", "new"]])
def test_sums_over_the_vocabulary(context: list[str]) -> None:
    """Words of the first model, one that it does not know, and the end: one, less what the second has for others."""
    first = KneserNey(3).fit(Texts.of(["a b a", "b c", "a c d"]))
    second = KneserNey(3).fit(Texts.of([f"a {OTHER} b", "a a b", f"{OTHER} a"]))
    words = [word for word in first.vocabulary if not word.startswith("<")]
    texts = Texts.of([" ".join([*context, word]) for word in (*words, "new")])
    offsets, columns = both_logprobs(first, second, texts)
    last = columns[offsets[1:] - 2]  # of the word, before its end
    _, whole = both_logprobs(first, second, Texts.of([" ".join(context)]))
    total = np.exp(last).sum(axis=0) + np.exp(whole[-1])
    seen = [word if word in words else OTHER for word in context]
    other = np.exp(second.logprob(["<s>", *seen], OTHER))
    np.testing.assert_allclose(total[0], 1.0, atol=1e-6)
    np.testing.assert_allclose(total[1] - np.exp(last[-1, 0]), 1.0 - other, atol=1e-6)
    assert last[-1, 1] == last[-1, 0]


def test_weights_make_the_text_likely_and_choose_its_words() -> None:
    own = converter()
    mixture = fit_fixed(own, NOVELS)
    assert 0 <= mixture.weight < 0.5
    spelt = token_lists(own, ["はなをみる"], 20)
    assert spelt.texts is not None
    mixed, first = mixture.scores(spelt.texts)
    scores = spelt.features @ np.array([own.weights[name] for name in spelt.feature_names]) + mixed - first
    chosen = spelt.texts[int(segments.argmax(scores, spelt.offsets)[0])]
    assert chosen == "花|はな を|を 見る|みる"  # 鼻 is outside of the vocabulary of the news


def test_readings_that_the_dictionary_has() -> None:
    sentences = [
        ReadSentence(("柿", "を", "2"), ("かき", "を", "2")),
        ReadSentence(("柿", "を"), ("し", "を")),
        ReadSentence(("パン",), ("ぱん",)),
    ]
    assert confirmed(sentences, {("柿", "かき")}).tolist() == [0, 2]
