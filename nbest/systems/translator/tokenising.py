"""Tokens of sentences and back, by the rules of Moses as sacremoses has them; Japanese and Chinese by characters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from nbest.base.errors import CapabilityError, ParameterError

_BY_CHARACTER = ("ja", "zh")


class Tokeniser:
    """Cuts sentences of one language (a code such as `en`) into tokens and joins tokens into sentences.

    Tokens are not escaped (`&` stays `&`). Needs sacremoses: pip install 'nbest[mt]'.
    """

    def __init__(self, language: str) -> None:
        self.language = language
        self._moses, self._detokeniser = _moses(language)

    def tokens(self, text: str) -> list[str]:
        """Tokens of one sentence; empty for a sentence of white space. Cost: some 80 microseconds."""
        return list(self._moses.tokenize(self._spaced(text), escape=False))

    def tokenise(self, texts: Sequence[str], progress: Callable[[int, int], None] | None = None) -> list[list[str]]:
        """Tokens of many sentences."""
        out = []
        for at, text in enumerate(texts):
            out.append(self.tokens(text))
            if progress is not None and (at + 1) % 10_000 == 0:
                progress(at + 1, len(texts))
        return out

    def detokenise(self, tokens: Iterable[str]) -> str:
        """The sentence of these tokens, with the spaces that the language wants."""
        return str(self._detokeniser.detokenize(list(tokens), unescape=False))

    def _spaced(self, text: str) -> str:
        if self.language not in _BY_CHARACTER:
            return text
        return "".join(f" {letter} " if _by_character(letter) else letter for letter in text)


def _by_character(letter: str) -> bool:
    """Kana, Han characters and their marks."""
    return any(low <= letter <= high for low, high in (("\u3001", "\u30ff"), ("\u3400", "\u9fff"), ("\uf900", "\ufaff"),
                                                       ("\U00020000", "\U0003ffff")))  # fmt: skip


def _moses(language: str) -> tuple[Any, Any]:
    if not (2 <= len(language) <= 3 and language.isascii() and language.isalpha() and language.islower()):
        raise ParameterError(f"'language' of Tokeniser must be a code such as 'en', got {language!r}")
    try:
        import sacremoses  # type: ignore[import-untyped,unused-ignore]
    except ImportError:
        raise CapabilityError("tokenising needs sacremoses: pip install 'nbest[mt]'") from None
    rules = (
        "en" if language in _BY_CHARACTER else language
    )  # for words between characters; its own take seconds to make
    return sacremoses.MosesTokenizer(lang=rules), sacremoses.MosesDetokenizer(lang=language)
