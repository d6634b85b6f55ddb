"""The words of forests cut into the tokens of a metric, so that n-grams of a forest are the metric's n-grams."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from nbest.base.errors import CapabilityError
from nbest.base.types import Ints
from nbest.compute import segments
from nbest.corpus import Forests, Texts, Words, intern
from nbest.metrics.tokenise import by_line, by_word, check_tokeniser, expand, tokeniser, tokens_in_context

_FREE = ("none", "13a", "char")  # tokenisers for which it does not matter where in the line a word stands
_PLACED = ("intl", "zh")  # those for which a word at the very start or end of a line may have tokens of its own
_CONTEXTS = range(4)  # white space before the word, after it, both, neither


def retokenised(forests: Forests, tokenize: str = "none", lowercase: bool = False) -> Forests:
    """The same forests with tokens of sacrebleu's tokeniser `tokenize` for words; words of no token vanish.

    Tokens of a derivation are then those of its text. References stay as they are (`reference_tokens` cuts them).
    Returns the very forests where nothing changes. Cost: one call of the tokeniser a word of the vocabulary.
    """
    offsets, symbols = forests.need_words("n-grams")
    rows = _rows(forests.vocabulary, tokenize, lowercase)
    numbers: dict[str, int] = {}
    flat = [numbers.setdefault(token, len(numbers)) for row in rows for token in row]
    if list(numbers) == list(forests.vocabulary) and all(len(row) == 1 for row in rows):
        return forests
    starts = segments.offsets_of(np.array([len(row) for row in rows], np.int64))
    # tails are symbols too: numbered after the words, each stands for itself
    deepest = int(-symbols.min(initial=0))
    flat += [-1 - tail for tail in range(deepest)]
    starts = np.concatenate([starts, starts[-1] + 1 + np.arange(deepest)])
    shown = np.where(symbols < 0, len(forests.vocabulary) - 1 - symbols, symbols).astype(np.int32)
    new_offsets, new = expand(offsets, shown, starts, np.array(flat, np.int32))
    return replace(forests, symbol_offsets=new_offsets, symbols=new, vocabulary=tuple(numbers))


def text_tokens(texts: Texts, vocabulary: tuple[str, ...], tokenize: str = "none", lowercase: bool = False) -> Words:
    """Tokens of whole texts as numbers into `vocabulary`, which has tokens; -1 for tokens that are not in it."""
    check_tokeniser(tokenize)
    if tokenize in _FREE + _PLACED:
        (words,), distinct = intern(texts)
        pieces, rows = by_word(tokenize, texts, words, distinct, lowercase)
    else:
        pieces, rows = by_line(tokenize, texts, lowercase)
    numbers = {token: number for number, token in enumerate(vocabulary)}
    flat = np.array([numbers.get(token, -1) for row in rows for token in row], np.int32)
    starts = segments.offsets_of(np.array([len(row) for row in rows], np.int64))
    return Words(*expand(pieces.offsets, pieces.ids, starts, flat))


def reference_tokens(forests: Forests, tokenize: str = "none", lowercase: bool = False) -> tuple[Words, Ints]:
    """Tokens of the references of retokenised forests (see `text_tokens`), and [N+1] where those of each begin."""
    if forests.references is None:
        raise CapabilityError("these forests carry no references; give them (--refs on the command line)")
    sizes = np.array([len(group) for group in forests.references], np.int64)
    texts = Texts.of(text for group in forests.references for text in group)
    return text_tokens(texts, forests.vocabulary, tokenize, lowercase), segments.offsets_of(sizes)


def _rows(vocabulary: tuple[str, ...], tokenize: str, lowercase: bool) -> list[list[str]]:
    """The tokens of each word wherever it stands."""
    check_tokeniser(tokenize)
    if tokenize not in _FREE + _PLACED:
        raise CapabilityError(
            f"the tokenizer {tokenize!r} looks at whole lines, so the words of a forest cannot be cut into its tokens; "
            f"use one of {', '.join(_FREE + _PLACED)}"
        )
    words = [word.lower() for word in vocabulary] if lowercase else list(vocabulary)
    tokenise = tokeniser(tokenize)
    if tokenize in _FREE:
        return [tokenise(word) for word in words]
    rows = []
    for word in words:
        found = [tokens_in_context(tokenise, word, context) for context in _CONTEXTS]
        if any(row != found[0] for row in found):
            raise CapabilityError(
                f"the tokenizer {tokenize!r} cuts the word {word!r} differently at the start or end of a line, which "
                f"forests do not allow; use one of {', '.join(_FREE)}"
            )
        rows.append(found[0])
    return rows
