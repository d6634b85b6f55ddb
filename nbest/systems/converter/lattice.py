"""The words that may stand over each stretch of a kana text.

Beside the words of the dictionary: every character may pass through as itself, a run of kana
may be a katakana word, and a run of letters or digits a word, so that no text is without a path.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nbest.base.types import Floats, Ints
from nbest.compute.compilation import kernel
from nbest.lm.query import UNKNOWN, sentence_logprob
from nbest.systems.converter.dictionary import narrowed
from nbest.systems.converter.text import LONG, is_kana

OTHER, KANA, LETTER, DIGIT = range(4)  # kinds of characters
WORDS, SPELLING, DICTIONARY, KANA_PASSED, KATAKANA, STATIC = range(
    6
)  # columns of the features of an option, and how many
_LONG = ord(LONG)


class WordOptions(NamedTuple):
    """P words over a text of n characters; those that begin at i are offsets[i]:offsets[i + 1]."""

    offsets: Ints  # [n+1]
    ends: Ints  # [P]
    symbols: Ints  # [P] number of a dictionary word, or after those what `run_symbol` says
    numbers: Ints  # [P, 2] in the language models
    features: Floats  # [P, STATIC]


def kinds_of(text: str) -> Ints:
    """[n] the kind of each character."""
    return np.array([_kind(character) for character in text], np.int64)


def _kind(character: str) -> int:
    if is_kana(character):
        return KANA
    return DIGIT if character.isdigit() else LETTER if character.isalpha() and not _is_ideograph(character) else OTHER


def _is_ideograph(character: str) -> bool:
    return "\u3400" <= character <= "\u9fff" or "\uf900" <= character <= "\ufaff" or character >= "\U00020000"


def run_of(symbol: int, words: int, size: int) -> tuple[int, int, bool]:
    """Start, end and whether in katakana, of the symbol of a run in a text of `size` characters."""
    place, in_katakana = divmod(symbol - words, 2)
    return place // (size + 1), place % (size + 1), bool(in_katakana)


@kernel
def run_symbol(words, size, start, end, in_katakana):
    """The number of the characters start:end as a word, after those of the `words` of the dictionary."""
    return words + 2 * (start * (size + 1) + end) + in_katakana


@kernel
def word_options(codes, kinds, spelled, dictionary, words, spelling, longest_run):
    """The `WordOptions` of a text.

    `spelled` [2, n]: numbers of the characters, as they are and in katakana, in the model of spellings; `words`: how
    many the dictionary has; `longest_run`: of kana in katakana.
    """
    size = len(codes)
    text = words, size, spelled, spelling
    offsets = np.zeros(size + 1, np.int64)
    integers = np.empty((64, 4), np.int64)
    features = np.empty((64, STATIC))
    total = 0
    for start in range(size):
        total, integers, features = _from_dictionary(codes, start, dictionary, total, integers, features=features)
        total, integers, features = _add(total, integers, features)
        _run((integers[total - 1], features[total - 1]), text, start, start + 1, False)
        features[total - 1, KANA_PASSED] = kinds[start] == KANA
        end = start + 1
        if kinds[start] == KANA and codes[start] != _LONG:
            while end < min(size, start + longest_run) and kinds[end] == KANA:
                end += 1
                total, integers, features = _add(total, integers, features)
                _run((integers[total - 1], features[total - 1]), text, start, end, True)
                features[total - 1, KATAKANA] = 1.0
        elif kinds[start] >= LETTER and (start == 0 or kinds[start - 1] != kinds[start]):
            while end < size and kinds[end] == kinds[start]:
                end += 1
            if end > start + 1:
                total, integers, features = _add(total, integers, features)
                _run((integers[total - 1], features[total - 1]), text, start, end, False)
        offsets[start + 1] = total
    return WordOptions(
        offsets, integers[:total, 0].copy(), integers[:total, 1].copy(), integers[:total, 2:].copy(), features[:total]
    )


@kernel
def _add(total, integers, features):
    """Room for one more option."""
    if total == len(integers):
        more = np.empty((2 * total, integers.shape[1]), np.int64)
        more[:total] = integers
        integers = more
        wider = np.empty((2 * total, STATIC))
        wider[:total] = features
        features = wider
    integers[total] = 0
    features[total] = 0.0
    features[total, WORDS] = 1.0
    return total + 1, integers, features


@kernel
def _run(option, text, start, end, in_katakana):
    """Fill an option of characters as they are, or in katakana."""
    integers, features = option
    words, size, spelled, spelling = text
    integers[0] = end
    integers[1] = run_symbol(words, size, start, end, in_katakana)
    integers[2] = integers[3] = UNKNOWN
    features[SPELLING] = sentence_logprob(spelling, spelled[1 if in_katakana else 0, start:end], end - start)


@kernel
def _from_dictionary(codes, start, dictionary, total, integers, features):
    """Append the words of the dictionary that begin here."""
    reading_offsets, reading_codes, entry_offsets, surfaces, numbers, spellings = dictionary
    low, high = np.int64(0), np.int64(len(reading_offsets) - 1)
    for end in range(start + 1, len(codes) + 1):
        low, high = narrowed(
            reading_offsets, codes=reading_codes, low=low, high=high, depth=end - start - 1, code=codes[end - 1]
        )
        if low == high:
            break
        if reading_offsets[low + 1] - reading_offsets[low] != end - start:
            continue
        for entry in range(entry_offsets[low], entry_offsets[low + 1]):
            total, integers, features = _add(total, integers, features)
            row = integers[total - 1]
            row[0], row[1] = end, surfaces[entry]
            row[2], row[3] = numbers[entry, 0], numbers[entry, 1]
            features[total - 1, SPELLING] = spellings[entry]
            features[total - 1, DICTIONARY] = row[2] == UNKNOWN and row[3] == UNKNOWN
    return total, integers, features
