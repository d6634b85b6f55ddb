"""Tokens by distinct word equal those of sacrebleu 2.6.0 on the whole line."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics.bleu import _get_tokenizer

from nbest.base.errors import CapabilityError, ParameterError
from nbest.corpus.texts import Texts
from nbest.metrics.tokenise import BY_WORD, split_words, tokeniser, tokens

from .corpora import nasty_texts

any_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
digits_and_marks = st.text("1a.,-& '\n\t。中٣", max_size=10)


def same_partition(words, lines):
    """Numbers are equal exactly where the token strings are."""
    numbers = [number for part in words for number in part.ids.tolist()]
    strings = [token for line in lines for token in line]
    assert [len(line) for line in lines] == [size for part in words for size in part.lengths().tolist()]
    assert len(set(zip(numbers, strings, strict=True))) == len(set(numbers)) == len(set(strings))


@pytest.mark.parametrize("lowercase", [False, True])
@pytest.mark.parametrize("name", BY_WORD)
@settings(deadline=None, max_examples=150)
@given(lines=st.lists(st.one_of(nasty_texts, any_text, digits_and_marks), max_size=5), cut=st.integers(0, 5))
def test_tokens_are_sacrebleus(name, lowercase, lines, cut):
    words, count = tokens(name, Texts.of(lines[:cut]), Texts.of(lines[cut:]), lowercase=lowercase)
    tokenise = _get_tokenizer(name)()
    expected = [tokenise((line.lower() if lowercase else line).rstrip()).split() for line in lines]
    same_partition(words, expected)
    assert count >= len({token for line in expected for token in line})


def test_whole_lines_for_the_others(monkeypatch):
    calls = []

    def tokenise(line):
        calls.append(line)
        return line.split("x")

    monkeypatch.setattr("nbest.metrics.tokenise.tokeniser", lambda name: tokenise)
    lines = ["axb c", "Axb", "axb c", ""]
    words, _ = tokens("ja-mecab", Texts.of(lines), lowercase=True)
    same_partition(words, [["a", "b c"], ["a", "b"], ["a", "b c"], [""]])
    assert calls == ["axb c", "axb", ""]


def test_whole_lines_equal_by_word_on_sacrebleus_own():
    lines = ["1. a-\nb", " .. x", "中文 . "]
    for name in BY_WORD:
        tokenise = tokeniser(name)
        words, _ = tokens(name, Texts.of(lines))
        same_partition(words, [tokenise(line.rstrip()) for line in lines])


def test_unknown_tokeniser_lists_the_known():
    with pytest.raises(ParameterError, match=r"unknown tokenizer '13b'; known: 13a, .*did you mean '13a'"):
        tokens("13b", Texts.of(["a"]))


def test_missing_tokeniser_says_how_to_get_it(monkeypatch):
    def missing(name):
        raise RuntimeError("Please install\n\n  pip install sacrebleu[ja]")

    monkeypatch.setattr("sacrebleu.metrics.bleu._get_tokenizer", missing)
    with pytest.raises(CapabilityError, match=r"'ja-mecab' is not installed: Please install pip install"):
        tokens("ja-mecab", Texts.of(["a"]))


def test_split_words():
    (first, second), count = split_words(lambda word: word.split("-"), Texts.of(["a-b c"]), Texts.of(["b", ""]))
    assert (first.ids.tolist(), second.ids.tolist(), count) == ([0, 1, 2], [1], 3)
    assert second.offsets.tolist() == [0, 1, 1]
