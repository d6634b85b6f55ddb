"""Kana, and the texts that a converter learns from and reads.

Training text, one sentence a line, words between spaces, perhaps an id and a tab before them:

    ID TAB surface|reading surface|reading ...      no `|` where the surface is its own reading

A dictionary has `surface TAB reading` and perhaps further columns, which are left out. Readings are hiragana; katakana
in them is folded to hiragana.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from nbest.base.errors import FormatError
from nbest.base.files import read_lines

LONG = "ー"
"""The mark of a long vowel, which hiragana and katakana share."""
_SMALL = "ァ", "ヶ"  # from a small A to a small KE each katakana has a hiragana, 0x60 before it
_FOLD = {code: code - 0x60 for code in (*range(ord(_SMALL[0]), ord(_SMALL[1]) + 1), ord("ヽ"), ord("ヾ"))}
_UNFOLD = {hiragana: katakana for katakana, hiragana in _FOLD.items()}


def fold(text: str) -> str:
    """Katakana as hiragana; everything else, also the long-vowel mark, as it is."""
    return text.translate(_FOLD)


def katakana(text: str) -> str:
    """Hiragana as katakana; everything else as it is."""
    return text.translate(_UNFOLD)


def is_kana(character: str) -> bool:
    """Whether this is hiragana, katakana or the long-vowel mark."""
    code = ord(character)
    return character == LONG or code in _UNFOLD or code in _FOLD


@dataclass(frozen=True)
class ReadSentence:
    """Words and their readings, as many of the one as of the other."""

    surfaces: tuple[str, ...]
    readings: tuple[str, ...]

    @property
    def kana(self) -> str:
        """What is typed."""
        return "".join(self.readings)

    @property
    def text(self) -> str:
        """The words between spaces."""
        return " ".join(self.surfaces)


def read_sentences(path: str | Path) -> list[ReadSentence]:
    """The sentences of a training text; lines without words give empty ones."""
    return [_sentence(path, number, line) for number, line in enumerate(read_lines(path), 1)]


def _sentence(path: str | Path, number: int, line: str) -> ReadSentence:
    columns = line.split("\t")
    if len(columns) > 2:
        raise FormatError(path, number, f"expected words, or an id, a tab and words, got {len(columns)} columns")
    pairs = [_word(path, number, word) for word in columns[-1].split()]
    return ReadSentence(tuple(surface for surface, _ in pairs), tuple(reading for _, reading in pairs))


def _word(path: str | Path, number: int, word: str) -> tuple[str, str]:
    surface, bar, reading = word.rpartition("|")
    if not bar or not word.strip("|"):
        return word, fold(word)
    if not surface or not reading:
        raise FormatError(path, number, f"expected surface|reading, got {word!r}: its {_lacking(surface)} is missing")
    return surface, fold(reading)


def _lacking(surface: str) -> str:
    return "reading" if surface else "surface"


def read_dictionary(path: str | Path) -> list[tuple[str, str]]:
    """(surface, reading) of each line of a dictionary; a first line without kana in its second column is a header.

    White space within a surface or a reading is left out, and so is a word of white space: words of lists stand
    between spaces.
    """
    out = []
    for number, line in enumerate(read_lines(path), 1):
        raw = line.split("\t")
        surface, reading = ("".join(column.split()) for column in [*raw, ""][:2])
        header = number == 1 and surface != reading and bool(reading) and not any(map(is_kana, reading))
        if header or not line.strip(" \r") or _is_space(raw):
            continue
        if not surface or not reading:
            raise FormatError(path, number, f"expected surface TAB reading, got {line[:60]!r}")
        out.append((surface, fold(reading)))
    return out


def _is_space(columns: list[str]) -> bool:
    """Whether this is the entry of a white-space character."""
    return len(columns) > 1 and all(columns[:2]) and not "".join(columns[:2]).strip()


def every_tenth(sentences: Sequence[ReadSentence]) -> tuple[list[ReadSentence], list[ReadSentence]]:
    """(nine tenths, one tenth), each in the old order; the tenth has at least one sentence where there are two."""
    step = min(10, len(sentences))
    rest = [sentence for at, sentence in enumerate(sentences) if at % step != step - 1]
    return rest, [sentence for at, sentence in enumerate(sentences) if at % step == step - 1]


def not_empty(sentences: Iterable[ReadSentence]) -> list[ReadSentence]:
    """The sentences that have words."""
    return [sentence for sentence in sentences if sentence.surfaces]
