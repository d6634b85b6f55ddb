"""Pairs of a piece of the input text and the label at its place: one sparse column for each pair."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from nbest.base.errors import CapabilityError, ParameterError
from nbest.base.limits import LONGEST, check_count
from nbest.base.types import Ints
from nbest.compute import segments
from nbest.compute.compilation import kernel
from nbest.corpus import NBest, Texts, Words, intern
from nbest.features.ngrams.columns import count_columns, known_ngrams
from nbest.features.ngrams.counts import Shape, Survey, survey
from nbest.features.recipes import record

LENGTHS = {"suffix": (2, 4), "character": (1, 2), "word": (1, 2)}
"""Pieces of the input text, and their lengths where none are given."""

_ONE = Shape(1, 1, -1, -1)  # a pair is counted as an n-gram of one token


def pairs(
    corpus: NBest,
    pieces: str = "suffix",
    low: int | None = None,
    high: int | None = None,
    bigrams: bool = True,
    minimum: int = 1,
    differing: bool = True,
    columns: npt.NDArray[np.uint8] | None = None,
) -> NBest:
    """Adds a sparse column for each pair of a piece of a word and the label at its place: how often it occurs.

    Hypotheses are labels between white space, one for each word of the input text (`sources`). Pieces are the "suffix"
    of `low` to `high` (2 to 4) characters of a word, its "character" n-grams of `low` to `high` (1 to 2), or runs of
    `low` to `high` (1 to 2) of the text's words that end with it ("word": `word:the dog/NN`). Columns are named
    `suffix:ing/VBG`; with `bigrams` also `suffix:ing/DT_VBG`, with the label before it. Without `columns` they are all
    pairs that occur in at least `minimum` lists and, if `differing`, not equally often in all hypotheses of every list.
    `columns` are pairs found before (`pairs_recipe`), one a line of UTF-8. Pairs spelt alike are one.
    Jagarlamudi & Daume III (2012), section 4.1: the features of their boosting baselines.
    Cost: a number for each piece of each word of each hypothesis, sorted once; 8 bytes for each pair of a hypothesis.
    """
    low, high = check_pair_options(pieces, low, high, minimum)
    if columns is None:
        columns = pairs_recipe(corpus, pieces, low, high, bigrams, minimum=minimum, differing=differing)["columns"]
    given = _lines(columns)
    tokens, vocabulary = _tokens(corpus, pieces, low, high, bigrams)
    number = {name: at for at, name in enumerate(vocabulary)}
    ids = np.array([number.setdefault(line, len(number)) for line in given], np.int32)
    trie, column, twice = known_ngrams(np.arange(len(given) + 1), ids)
    if twice >= 0:
        raise ParameterError(f"the columns of the feature 'pairs' must differ, got {given[int(twice)]!r} twice")
    from scipy.sparse import csr_array

    data, indices, rows = count_columns(
        np.array(corpus.offsets), text_offsets=tokens.offsets, ids=tokens.ids, shape=_ONE, trie=trie, columns=column
    )
    if rows[-1] < 2**31:
        rows = rows.astype(np.int32)
    matrix = csr_array((data, indices, rows), shape=(corpus.hypotheses, len(given)))
    matrix.has_sorted_indices = matrix.has_canonical_format = True
    return record(
        corpus, corpus.with_sparse(tuple(f"{pieces}:{line}" for line in given), matrix), "pairs", pieces=pieces,
        low=low, high=high, bigrams=bigrams, minimum=minimum, differing=differing, columns=columns,
    )  # fmt: skip


def pairs_recipe(
    corpus: NBest,
    pieces: str = "suffix",
    low: int | None = None,
    high: int | None = None,
    bigrams: bool = True,
    minimum: int = 1,
    differing: bool = True,
) -> dict[str, Any]:
    """The recipe of `pairs` with the pairs of these lists as its `columns`, in order of first appearance."""
    low, high = check_pair_options(pieces, low, high, minimum)
    tokens, vocabulary = _tokens(corpus, pieces, low, high, bigrams)
    found = Survey(*survey(np.array(corpus.offsets), tokens.offsets, tokens.ids, _ONE))
    kept = found.lists >= minimum
    if differing:
        kept &= found.differs
    if not kept.any():
        most = int(found.lists.max(initial=0))
        why = f"occurs in {minimum} lists" + (" and differs between the hypotheses of one" if differing else "")
        raise ParameterError(f"the feature 'pairs' keeps nothing: no pair {why}; the most common is in {most} lists")
    lines = [vocabulary[token] for token in found.tokens[kept].tolist()]
    settings = {"pieces": pieces, "low": low, "high": high, "bigrams": bool(bigrams), "minimum": int(minimum)}
    return {"kind": "pairs", **settings, "differing": bool(differing), "columns": _bytes(lines)}


def only_pairs(recipe: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """The recipe with only the columns of these names; other names are left alone."""
    start = f"{recipe.get('pieces', 'suffix')}:"
    return {**recipe, "columns": _bytes([name[len(start) :] for name in names if name.startswith(start)])}


def check_pair_options(pieces: Any, low: Any, high: Any, minimum: Any) -> tuple[int, int]:
    """The lengths of pieces, or a complaint about options that break a rule."""
    if not isinstance(pieces, str) or pieces not in LENGTHS:
        raise ParameterError(f"'pieces' of the feature 'pairs' must be 'suffix', 'character' or 'word', got {pieces!r}")
    low, high = (LENGTHS[pieces][at] if value is None else value for at, value in enumerate((low, high)))
    for option, value in (("low", low), ("high", high), ("minimum", minimum)):
        if isinstance(value, bool) or not isinstance(value, int | np.integer):
            raise ParameterError(f"{option!r} of the feature 'pairs' must be a whole number, got {value!r}")
    check_count("'high' of the feature 'pairs'", high, -LONGEST, LONGEST)
    if not 1 <= low <= high:
        raise ParameterError(f"the feature 'pairs' needs 1 <= low <= high, got low {low} and high {high}")
    if minimum < 1:
        raise ParameterError(f"'minimum' of the feature 'pairs' must be >= 1, got {minimum}")
    return int(low), int(high)


def _bytes(lines: list[str]) -> npt.NDArray[np.uint8]:
    odd = next((line for line in lines if "\n" in line), None)
    if odd is not None:
        raise ParameterError(f"a pair cannot hold the end of a line, got {odd!r}")
    return np.frombuffer("".join(f"{line}\n" for line in lines).encode("utf-8", "replace"), np.uint8)


def _lines(columns: npt.NDArray[np.uint8]) -> list[str]:
    try:
        text = np.asarray(columns, np.uint8).tobytes().decode("utf-8")
    except (UnicodeDecodeError, ValueError, TypeError, OverflowError):
        text = "damaged"
    if text and not text.endswith("\n"):
        raise ParameterError("'columns' of the feature 'pairs' must be lines of UTF-8 in an array of bytes")
    return text.split("\n")[:-1]


# pairs as numbers -------------------------------------------------------------------------------------------------


def _tokens(corpus: NBest, pieces: str, low: int, high: int, bigrams: bool) -> tuple[Words, list[str]]:
    """The pairs of each hypothesis as numbers, and what they are called."""
    words, vocabulary, labels, tags = _aligned(corpus)
    if pieces == "word":
        words, cut = _word_runs(words, vocabulary, low, high)
    else:
        cut = [_pieces(word, pieces, low, high) for word in vocabulary]
    sizes = segments.offsets_of(np.array([len(each) for each in cut], np.int64))
    names: dict[str, int] = {}
    flat = np.array([names.setdefault(piece, len(names)) for each in cut for piece in each], np.int64)
    owners = segments.owners(corpus.offsets)
    texts, tagged = (words.offsets, words.ids), (labels.offsets, labels.ids)
    offsets, keys = _keys(texts, owners, tagged, (sizes, flat), len(tags), bigrams=bigrams)
    distinct, ids = np.unique(keys, return_inverse=True)
    spelt = _spelt(distinct, list(names), tags)
    number: dict[str, int] = {}
    merged = np.array([number.setdefault(name, len(number)) for name in spelt], np.int32)
    return Words(offsets, merged[ids] if len(merged) else ids.astype(np.int32)), list(number)


def _aligned(corpus: NBest) -> tuple[Words, list[str], Words, list[str]]:
    """Words of the N inputs and labels of the H hypotheses, as many in both."""
    if corpus.sources is None or corpus.texts is None:
        what = "the input text of each segment" if corpus.sources is None else "the texts of the hypotheses"
        raise CapabilityError(f"the feature 'pairs' needs {what} and these lists carry none ('source' of a JSON line)")
    (words,), vocabulary = intern(Texts.of(corpus.sources))
    (labels,), tags = intern(corpus.texts)
    owners = segments.owners(corpus.offsets)
    odd = np.flatnonzero(labels.lengths() != words.lengths()[owners])
    if len(odd):
        h, i = int(odd[0]), int(owners[odd[0]])
        place = f"hypothesis {h - int(corpus.offsets[i]) + 1} of segment {corpus.ids[i]!r}"
        got = f"has {int(labels.lengths()[h])} labels and its input text {int(words.lengths()[i])} words"
        raise CapabilityError(f"the feature 'pairs' needs a label for each word; {place} {got}")
    return words, vocabulary, labels, tags


def _pieces(word: str, pieces: str, low: int, high: int) -> list[str]:
    if pieces == "suffix":
        return [word[-n:] for n in range(low, min(high, len(word)) + 1)]
    return [word[at : at + n] for n in range(low, high + 1) for at in range(len(word) - n + 1)]


def _word_runs(words: Words, vocabulary: list[str], low: int, high: int) -> tuple[Words, list[list[str]]]:
    """The words before each place and at it, equal ones under one number, and the runs that end there."""
    number: dict[tuple[int, ...], int] = {}
    ids = np.empty(len(words.ids), np.int32)
    for begin, end in itertools.pairwise(words.offsets.tolist()):
        row = words.ids[begin:end].tolist()
        for at in range(len(row)):
            ids[begin + at] = number.setdefault(tuple(row[max(at + 1 - high, 0) : at + 1]), len(number))
    spelt = [[vocabulary[word] for word in run] for run in number]
    return Words(words.offsets, ids), [[" ".join(run[-n:]) for n in range(low, len(run) + 1)] for run in spelt]


def _spelt(keys: Ints, pieces: list[str], tags: list[str]) -> list[str]:
    """piece/label, or piece/label_label: key = (piece * (T + 1) + label before or T) * T + label."""
    size, before = len(tags), [*(f"{tag}_" for tag in tags), ""]
    return [
        f"{pieces[key // size // (size + 1)]}/{before[key // size % (size + 1)]}{tags[key % size]}"
        for key in keys.tolist()
    ]


@kernel
def _keys(texts, owners, tagged, cut, size, bigrams):
    """Offsets [H+1] and keys of the pairs of each hypothesis, from words, labels and pieces of words."""
    word_offsets, words = texts
    label_offsets, labels = tagged
    piece_offsets, pieces = cut
    offsets = np.zeros(len(owners) + 1, np.int64)
    for h in range(len(owners)):
        i, total = owners[h], 0
        for at in range(word_offsets[i], word_offsets[i + 1]):
            each = 2 if bigrams and at > word_offsets[i] else 1
            total += each * (piece_offsets[words[at] + 1] - piece_offsets[words[at]])
        offsets[h + 1] = offsets[h] + total
    keys = np.empty(offsets[-1], np.int64)
    for h in range(len(owners)):
        low, start, goal = word_offsets[owners[h]], label_offsets[h], offsets[h]
        for at in range(label_offsets[h + 1] - start):
            word, label = words[low + at], labels[start + at]
            for e in range(piece_offsets[word], piece_offsets[word + 1]):
                keys[goal] = (pieces[e] * (size + 1) + size) * size + label
                goal += 1
                if bigrams and at > 0:
                    keys[goal] = (pieces[e] * (size + 1) + labels[start + at - 1]) * size + label
                    goal += 1
    return offsets, keys
