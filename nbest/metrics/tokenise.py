"""sacrebleu's tokenisers, called once per distinct word instead of once per line.

A tokeniser that never looks across white space gives the tokens of a line as those of its words, one after the other:

- none, char: no context at all;
- 13a: looks at the neighbours of a character, but pads the line with spaces, so every word stands between white space.
  It joins words only at a line feed within the text; such lines are tokenised whole;
- intl, zh: look at neighbours and do not pad, so a word at the very start or end of the line has its own tokens.
  zh strips the line; for intl a line that begins with white space has no word at its very start.

All others (ja-mecab, spm, flores200, ...) get whole lines, each distinct line once.
Lower-casing looks at neighbours too (final sigma), but not across white space.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from nbest.base.errors import CapabilityError, look_up
from nbest.base.types import Bools, Ints
from nbest.compute import segments
from nbest.compute.compilation import kernel
from nbest.compute.intrinsics import new
from nbest.corpus.texts import Texts, concatenate
from nbest.corpus.words import Words, intern

BY_WORD = ("none", "13a", "char", "intl", "zh")
"""Tokenisers that are called once per distinct word."""

_PRECEDED, _FOLLOWED = 1, 2  # context of a word: white space before it, white space after it
_SPACES = tuple(chr(point).encode() for point in range(0x3001) if chr(point).isspace())


def check_tokeniser(name: str) -> None:
    """Raise a `ParameterError` that lists the known names unless sacrebleu has this tokeniser."""
    from sacrebleu.metrics import bleu

    look_up(bleu._TOKENIZERS, name, "tokenizer")


def tokens(name: str, *parts: Texts, lowercase: bool = False) -> tuple[list[Words], int]:
    """Tokens of each part as numbers, and how many distinct tokens there are.

    The tokens are those of sacrebleu's tokeniser `name` on the line without white space at its end.
    """
    check_tokeniser(name)
    texts = concatenate(list(parts))
    if name in BY_WORD:
        (words,), vocabulary = intern(texts)
        if name == "none" and not lowercase:
            return _cut(words, parts), len(vocabulary)
        pieces, found = by_word(name, texts, words, vocabulary, lowercase)
    else:
        pieces, found = by_line(name, texts, lowercase)
    expanded, count = _expanded(pieces, found)
    return _cut(expanded, parts), count


def split_words(split: Callable[[str], list[str]], *parts: Texts) -> tuple[list[Words], int]:
    """Like `tokens`, for a function that splits one word without context."""
    (words,), vocabulary = intern(concatenate(list(parts)))
    expanded, count = _expanded(words, [split(word) for word in vocabulary])
    return _cut(expanded, parts), count


def split_lines(split: Callable[[str], list[str]], *parts: Texts) -> tuple[list[Words], int]:
    """Like `tokens`, for a function that splits a whole line."""
    expanded, count = _expanded(*_by_line(split, concatenate(list(parts))))
    return _cut(expanded, parts), count


def _expanded(pieces: Words, found: list[list[str]]) -> tuple[Words, int]:
    """Tokens as numbers where `found` has the tokens of each distinct piece, and how many distinct tokens there are."""
    numbers: dict[str, int] = {}
    flat = [numbers.setdefault(token, len(numbers)) for piece in found for token in piece]
    starts = segments.offsets_of(np.array([len(piece) for piece in found], np.int64))
    offsets, ids = expand(pieces.offsets, pieces.ids, starts, np.array(flat, np.int32))
    return Words(offsets, ids), len(numbers)


def tokeniser_signature(name: str) -> str:
    """What sacrebleu's signature says of this tokeniser (some tell the version of their dictionary)."""
    return name if name in BY_WORD else _load(name).signature()


def _load(name: str) -> Any:
    from sacrebleu.metrics import bleu

    try:
        return bleu._get_tokenizer(name)()
    except (ImportError, RuntimeError) as error:
        raise CapabilityError(f"tokenizer {name!r} is not installed: {' '.join(str(error).split())}") from error


def tokeniser(name: str) -> Callable[[str], list[str]]:
    """The function from a line to its tokens."""
    tokenise = _load(name)
    return lambda line: tokenise(line).split()


def by_line(name: str, texts: Texts, lowercase: bool) -> tuple[Words, list[list[str]]]:
    """Every text as one piece, and the tokens of each distinct piece."""
    tokenise = tokeniser(name)
    return _by_line(lambda text: tokenise(_line(text, lowercase)), texts)


def _by_line(split: Callable[[str], list[str]], texts: Texts) -> tuple[Words, list[list[str]]]:
    numbers = texts.numbers()
    _, first = np.unique(numbers, return_index=True)
    return Words(np.arange(len(texts) + 1), numbers.astype(np.int32)), [split(texts[index]) for index in first]


def _line(text: str, lowercase: bool) -> str:
    return (text.lower() if lowercase else text).rstrip()


def by_word(
    name: str, texts: Texts, words: Words, vocabulary: list[str], lowercase: bool
) -> tuple[Words, list[list[str]]]:
    """Words in their contexts as pieces (and a few whole lines), and the tokens of each piece."""
    tokenise = tokeniser(name)
    if lowercase:
        vocabulary = [word.lower() for word in vocabulary]
    if name in ("intl", "zh"):
        words, pairs = _in_contexts(words, _spaced(texts) if name == "intl" else np.zeros(len(texts), bool))
        found = [tokens_in_context(tokenise, vocabulary[pair >> 2], pair & 3) for pair in pairs]
    else:
        found = [tokenise(word) for word in vocabulary]
    if name == "13a":
        broken = _broken(texts)
        if broken.any():
            lines = [tokenise(_line(texts[int(index)], lowercase)) for index in np.flatnonzero(broken)]
            return _with_lines(words, broken, len(found)), found + lines
    return words, found


def _in_contexts(words: Words, spaced: Bools) -> tuple[Words, list[int]]:
    """Words numbered by (word, context), and each such pair as word * 4 + context."""
    filled = words.lengths() > 0
    pairs = words.ids.astype(np.int64) * 4 + (_PRECEDED | _FOLLOWED)
    pairs[words.offsets[:-1][filled & ~spaced]] -= _PRECEDED
    pairs[words.offsets[1:][filled] - 1] -= _FOLLOWED
    seen = np.zeros(int(pairs.max(initial=-1)) + 1, bool)
    seen[pairs] = True
    number = (np.cumsum(seen) - 1).astype(np.int32)
    return Words(words.offsets, number[pairs]), np.flatnonzero(seen).tolist()


def tokens_in_context(tokenise: Callable[[str], list[str]], word: str, context: int) -> list[str]:
    """Tokens of a word with other words before or after it, as `context` says."""
    before, after = bool(context & _PRECEDED), bool(context & _FOLLOWED)
    found = tokenise("a " * before + word + " a" * after)
    return found[before : len(found) - after]


def _spaced(texts: Texts) -> Bools:
    """[H] whether the text begins with white space."""
    out = np.zeros(len(texts), bool)
    filled = texts.starts < texts.ends
    heads = np.zeros(len(texts), np.uint8)
    heads[filled] = texts.buffer[texts.starts[filled]]
    for index in np.flatnonzero(filled & np.isin(heads, [space[0] for space in _SPACES])):
        out[index] = texts.buffer[texts.starts[index] : texts.ends[index]][:3].tobytes().startswith(_SPACES)
    return out


def _broken(texts: Texts) -> Bools:
    """[H] whether the text has a line feed."""
    feeds = np.flatnonzero(texts.buffer == ord("\n"))
    return np.searchsorted(feeds, texts.starts) < np.searchsorted(feeds, texts.ends)


def _with_lines(words: Words, whole: Bools, number: int) -> Words:
    """The same words, but each text marked `whole` is a single piece, numbered from `number`."""
    sizes = words.lengths()
    offsets = segments.offsets_of(np.where(whole, 1, sizes))
    ids = np.empty(offsets[-1], np.int32)
    ids[np.repeat(~whole, np.diff(offsets))] = words.ids[np.repeat(~whole, sizes)]
    ids[offsets[:-1][whole]] = number + np.arange(int(whole.sum()))
    return Words(offsets, ids)


def _cut(words: Words, parts: tuple[Texts, ...]) -> list[Words]:
    """The words of each part."""
    ends: Ints = np.cumsum([len(part) for part in parts], dtype=np.int64)
    out = []
    for part, end in zip(parts, ends, strict=True):
        offsets = words.offsets[end - len(part) : end + 1]
        out.append(Words(offsets - offsets[0], words.ids[offsets[0] : offsets[-1]]))
    return out


@kernel
def expand(offsets, ids, starts, flat):
    """Put `flat[starts[i]:starts[i + 1]]` in the place of each number i."""
    out_offsets = new(len(offsets), np.int64)
    out_offsets[:] = 0
    total = 0
    for h in range(len(offsets) - 1):
        for at in range(offsets[h], offsets[h + 1]):
            total += starts[ids[at] + 1] - starts[ids[at]]
        out_offsets[h + 1] = total
    out = new(total, np.int32)
    total = 0
    for at in range(len(ids)):
        for k in range(starts[ids[at]], starts[ids[at] + 1]):
            out[total] = flat[k]
            total += 1
    return out_offsets, out
