"""Whisper's normaliser of English, with the tables of the package `whisper-normalizer` (those of openai-whisper).

The same texts as `EnglishTextNormalizer` of the package, in a third of the time or less: a contraction is looked for
only where its letters are in the text, numbers only where a word of a number is, and characters are looked up once.
Differs: the package stops at some odd rows of number words; here these stay as they are.
"""

from __future__ import annotations

import re
import unicodedata
import warnings
from contextlib import suppress
from functools import cache
from typing import Any

from nbest.base.errors import CapabilityError

_BRACKETS = re.compile(r"[<\[][^>\]]*[>\]]")
_PARENTHESES = re.compile(r"\(([^)]+?)\)")
_BEFORE_APOSTROPHE = re.compile(r"\s+'")
_COMMA = re.compile(r"(\d),(\d)")
_PERIOD = re.compile(r"\.([^0-9]|$)")
_CURRENCY = re.compile(r"[.$¢€£]([^0-9])")
_PERCENT = re.compile(r"([^0-9])%")
_SPACE = re.compile(r"\s+")
_SYMBOLS = ".%$¢€£"
_DIGIT = re.compile(r"\d")
_BOUNDARY = r"\b"


class _Characters(dict[int, str]):
    """For `str.translate`: what the package makes of each character of a decomposed text."""

    def __init__(self, clean: Any) -> None:
        self.clean = clean

    def __missing__(self, point: int) -> str:
        self[point] = found = self.clean(chr(point), keep=_SYMBOLS)
        return found


class English:
    """A function from a text to its normal form."""

    def __init__(self) -> None:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of its source when it is first compiled: nothing a user could mend
                from whisper_normalizer.basic import remove_symbols_and_diacritics
                from whisper_normalizer.english import EnglishTextNormalizer
        except ImportError as error:
            raise CapabilityError(
                "the normaliser 'whisper' needs a package that is not installed: pip install 'nbest[asr]'; 'basic' "
                "needs none"
            ) from error
        whole: Any = EnglishTextNormalizer()
        self.fillers = re.compile(whole.ignore_patterns)
        self.replacers = [(p.replace(_BOUNDARY, ""), re.compile(p), by) for p, by in whole.replacers.items()]
        self.numbers, self.spellings = whole.standardize_numbers, whole.standardize_spellings.mapping
        self.numeric = frozenset(self.numbers.words) - {"and"} | {"half"}  # alone "and" is no number
        self.characters = _Characters(remove_symbols_and_diacritics)

    def __call__(self, text: str) -> str:
        text = _BEFORE_APOSTROPHE.sub("'", self.fillers.sub("", _PARENTHESES.sub("", _BRACKETS.sub("", text.lower()))))
        for letters, pattern, by in self.replacers:
            if letters in text:
                text = pattern.sub(by, text)
        text = _PERIOD.sub(r" \1", _COMMA.sub(r"\1\2", text))
        text = unicodedata.normalize("NFKD", text).translate(self.characters)
        words = text.split()
        if _DIGIT.search(text) or not self.numeric.isdisjoint(words):
            with suppress(AssertionError, ArithmeticError, LookupError, TypeError, ValueError):
                words = self.numbers(text).split()
        text = " ".join([self.spellings.get(word, word) for word in words])
        return _SPACE.sub(" ", _PERCENT.sub(r"\1 ", _CURRENCY.sub(r" \1", text)))


@cache
def _english() -> English:
    return English()


def whisper(text: str) -> str:
    """Whisper's normaliser of English: numbers, contractions, titles, fillers, American spelling."""
    return _english()(text)
