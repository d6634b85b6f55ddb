"""Counts of n-grams of the texts: one sparse column for each n-gram."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from nbest.base.errors import CapabilityError, ParameterError
from nbest.base.limits import LONGEST, check_count
from nbest.base.types import Bools, Ints
from nbest.corpus import NBest, Texts, Words, characters, intern
from nbest.features.ngrams.columns import count_columns, known_ngrams, spell
from nbest.features.ngrams.counts import Shape, Survey, survey
from nbest.features.recipes import record

FIRST, LAST = "<s>", "</s>"
_NAMES = {"words": "ngram", "characters": "character"}
_POINTS = 0x110000  # code points; the boundaries of characters come after them


def ngrams(
    corpus: NBest,
    order: int = 2,
    lowest: int = 1,
    tokens: str = "words",
    boundaries: bool = False,
    minimum: int = 1,
    differing: bool = True,
    name: str = "",
    columns: npt.NDArray[np.uint8] | None = None,
) -> NBest:
    """Adds a sparse column for each n-gram of `lowest` to `order` tokens: how often a hypothesis has it.

    Tokens are "words" (between white space) or "characters" (without white space). With `boundaries` n-grams of two
    tokens and more also reach over <s> before the text and </s> after it. Columns are named `ngram:the cat`, of
    characters `character:日 本`; `name` replaces the part before the colon. Without `columns` they are all n-grams that
    occur in at least `minimum` lists and, if `differing`, not equally often in all hypotheses of every list (such a
    column changes no choice). `columns` are n-grams found before (`ngrams_recipe`), one a line of UTF-8.
    Cost: `order` look-ups a token; float32 counts and int32 indices, 8 bytes for each n-gram of each hypothesis.
    """
    check_ngram_options(order, lowest, tokens, minimum, name)
    if columns is None:
        columns = ngrams_recipe(
            corpus, order, lowest, tokens, boundaries, minimum=minimum, differing=differing, name=name
        )["columns"]
    texts = _need_texts(corpus)
    given = _lines(columns)
    (words, known), shape, _ = _tokenise(texts, given, tokens, boundaries, lowest, order=order)
    odd = np.flatnonzero((known.lengths() < lowest) | (known.lengths() > order))
    if len(odd):
        raise ParameterError(
            f"the feature 'ngrams' has n-grams of {lowest} to {order} tokens here, got {given[int(odd[0])]!r}"
        )
    trie, column, twice = known_ngrams(known.offsets, known.ids)
    if twice >= 0:
        raise ParameterError(f"the columns of the feature 'ngrams' must differ, got {given[int(twice)]!r} twice")
    from scipy.sparse import csr_array

    data, indices, rows = count_columns(
        _writable(corpus.offsets), text_offsets=words.offsets, ids=words.ids, shape=shape, trie=trie, columns=column
    )
    if rows[-1] < 2**31:
        rows = rows.astype(np.int32)
    matrix = csr_array((data, indices, rows), shape=(corpus.hypotheses, len(given)))
    matrix.has_sorted_indices = matrix.has_canonical_format = True
    return record(
        corpus, corpus.with_sparse(column_names(columns, tokens, name), matrix), "ngrams", order=order, lowest=lowest,
        tokens=tokens, boundaries=boundaries, minimum=minimum, differing=differing, name=name, columns=columns,
    )  # fmt: skip


def ngrams_recipe(
    corpus: NBest,
    order: int = 2,
    lowest: int = 1,
    tokens: str = "words",
    boundaries: bool = False,
    minimum: int = 1,
    differing: bool = True,
    name: str = "",
) -> dict[str, Any]:
    """The recipe of `ngrams` with the n-grams of these lists as its `columns`, in order of first appearance."""
    check_ngram_options(order, lowest, tokens, minimum, name)
    start = _prefix(tokens, name)
    taken = next((each for each in corpus.sparse_names if each.startswith(start)), None)
    if taken is not None:
        raise ParameterError(f"these lists already have a feature {taken!r}; give the new ones another name: name=...")
    (words,), shape, vocabulary = _tokenise(
        texts=_need_texts(corpus), given=None, tokens=tokens, boundaries=boundaries, lowest=lowest, order=order
    )
    found = Survey(*survey(_writable(corpus.offsets), words.offsets, words.ids, shape))
    kept = found.lists >= max(minimum, 1)
    if differing:
        kept &= found.differs
    if not kept.any():
        raise ParameterError(_nothing_left(found, minimum, differing))
    return {
        "kind": "ngrams",
        "order": int(order),
        "lowest": int(lowest),
        "tokens": tokens,
        "boundaries": bool(boundaries),
        "minimum": int(minimum),
        "differing": bool(differing),
        "name": str(name),
        "columns": _spelt(found, kept, order, vocabulary),
    }


def only_ngrams(recipe: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """The recipe with only the columns of these names; other names are left alone."""
    tokens, name = recipe.get("tokens", "words"), recipe.get("name", "")
    check_ngram_options(recipe.get("order", 2), recipe.get("lowest", 1), tokens, recipe.get("minimum", 1), name)
    start = _prefix(tokens, name)
    lines = [each[len(start) :] for each in names if each.startswith(start)]
    text = "\n".join([*lines, ""])
    if text.count("\n") > len(lines):
        odd = next(line for line in lines if "\n" in line)
        raise ParameterError(f"an n-gram cannot hold the end of a line, got {start + odd!r}")
    return {**recipe, "columns": np.frombuffer(text.encode("utf-8", "replace"), np.uint8)}


def column_names(columns: npt.NDArray[np.uint8], tokens: str = "words", name: str = "") -> list[str]:
    """Names of the columns of a recipe."""
    start = _prefix(tokens, name)
    return [start + line for line in columns.tobytes().decode("utf-8").split("\n")[:-1]]


def check_ngram_options(order: int, lowest: int, tokens: str, minimum: int, name: str) -> None:
    """Options of the feature, before any work."""
    for option, value in (("order", order), ("lowest", lowest), ("minimum", minimum)):
        if isinstance(value, bool) or not isinstance(value, int | np.integer):
            raise ParameterError(f"{option!r} of the feature 'ngrams' must be a whole number, got {value!r}")
    check_count("'order' of the feature 'ngrams'", order, -LONGEST, LONGEST)
    if not 1 <= lowest <= order:
        raise ParameterError(f"the feature 'ngrams' needs 1 <= lowest <= order, got lowest {lowest} and order {order}")
    if minimum < 1:
        raise ParameterError(f"'minimum' of the feature 'ngrams' must be >= 1, got {minimum}")
    if not isinstance(tokens, str) or tokens not in _NAMES:
        raise ParameterError(f"'tokens' of the feature 'ngrams' must be 'words' or 'characters', got {tokens!r}")
    if not isinstance(name, str):
        raise ParameterError(f"'name' of the feature 'ngrams' must be text, got {name!r}")


def _need_texts(corpus: NBest) -> Texts:
    if corpus.texts is None:
        raise CapabilityError("the feature 'ngrams' needs the texts of the hypotheses and these lists carry none")
    return corpus.texts


def _prefix(tokens: str, name: str) -> str:
    return f"{name or _NAMES[tokens]}:"


def _writable(offsets: Ints) -> Ints:
    """A copy: kernels would be compiled again for read-only arrays."""
    return np.array(offsets, np.int64)


def _lines(columns: npt.NDArray[np.uint8]) -> Texts:
    """The lines of a text, each of which must have its end."""
    buffer = np.asarray(columns)
    if buffer.dtype != np.uint8 or buffer.ndim != 1 or (len(buffer) and buffer[-1] != 10):
        raise ParameterError("'columns' of the feature 'ngrams' must be lines of UTF-8 in an array of bytes")
    try:
        buffer.tobytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise ParameterError(f"'columns' of the feature 'ngrams' must be UTF-8: {error}") from None
    ends = np.flatnonzero(buffer == 10)
    return Texts(buffer, np.concatenate([np.zeros(1, np.int64), ends + 1])[: len(ends)], ends)


# tokens ---------------------------------------------------------------------------------------------------------


def _tokenise(
    texts: Texts, given: Texts | None, tokens: str, boundaries: bool, lowest: int, order: int
) -> tuple[list[Words], Shape, list[str]]:
    """Numbers of the tokens of the texts and of given n-grams, what to count, and the vocabulary (of words)."""
    parts = [texts] if given is None else [texts, given]
    vocabulary: list[str] = []
    if tokens == "words":
        found, vocabulary = intern(*parts)
        vocabulary += [mark for mark in (FIRST, LAST) if mark not in vocabulary]  # a word like a mark counts as it
        marks = (vocabulary.index(FIRST), vocabulary.index(LAST))
    else:
        found = [*characters(texts), *([] if given is None else [_as_characters(given, boundaries)])]
        marks = (_POINTS, _POINTS + 1)
    return found, Shape(lowest, order, *(marks if boundaries else (-1, -1))), vocabulary


def _as_characters(given: Texts, boundaries: bool) -> Words:
    """N-grams of characters with spaces between, boundaries as marks."""
    (words,), vocabulary = intern(given)
    numbers = np.zeros(len(vocabulary), np.int32)
    for at, token in enumerate(vocabulary):
        if boundaries and token in (FIRST, LAST):
            numbers[at] = _POINTS + (token == LAST)
        elif len(token) == 1:
            numbers[at] = ord(token)
        else:
            raise ParameterError(f"n-grams of characters have single characters with spaces between, got {token!r}")
    return Words(words.offsets, numbers[words.ids])


def _spelt(found: Survey, kept: Bools, order: int, vocabulary: list[str]) -> npt.NDArray[np.uint8]:
    """The n-grams that are kept, one a line."""
    used = np.zeros(int(found.tokens.max(initial=0)) + 1, bool)
    used[found.tokens] = True
    renumbered = np.cumsum(used, dtype=np.int32) - np.int32(1)
    if vocabulary:
        spelling = [vocabulary[token] for token in np.flatnonzero(used)]
    else:
        spelling = [_character(int(token)) for token in np.flatnonzero(used)]
    texts = Texts.of(spelling)
    chosen = np.flatnonzero(kept)
    return spell(
        found.parents, renumbered[found.tokens], chosen, order, _own(texts.buffer), starts=texts.starts, ends=texts.ends
    )


def _own(buffer: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """A copy that can be written to, as kernels are compiled for."""
    return np.array(buffer)


def _character(token: int) -> str:
    return chr(token) if token < _POINTS else (FIRST, LAST)[token - _POINTS]


def _nothing_left(found: Survey, minimum: int, differing: bool) -> str:
    most = int(found.lists.max(initial=0))
    if most == 0:
        return "the feature 'ngrams' finds no n-gram in these lists: their texts are too short for 'lowest', or empty"
    if most < minimum:
        return (
            f"the feature 'ngrams' keeps nothing: no n-gram occurs in {minimum} lists, the most common one in {most}; "
            "lower 'minimum'"
        )
    rest = " and occurs in as many lists as 'minimum' asks for; lower it" if minimum > 1 and differing else ""
    return f"the feature 'ngrams' keeps nothing: no n-gram differs between the hypotheses of any list{rest}"
