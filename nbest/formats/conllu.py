"""CoNLL-U: sentences with their words, tags and dependency trees. https://universaldependencies.org/format.html

    # text = Du vin.
    1-2  Du   _   _    _    _  _  _     _  _     a range of words written as one: kept, not a word
    1    de   de  ADP  P    _  3  case  _  _     ID FORM LEMMA UPOS XPOS FEATS HEAD DEPREL DEPS MISC, between tabs
    3.1  vin  _   _    _    _  _  _     _  _     an empty node: kept, not a word

A blank line ends a sentence; `_` is a field that is not given. What is not changed is written as it was read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from nbest.base.errors import FormatError, ParameterError, look_up
from nbest.base.files import decode, read_bytes, split_lines, write_text
from nbest.formats.lists.base import shown

CONLLU = (".conllu", ".conllu.gz", ".conllu.xz")
"""Suffixes of treebanks."""
COLUMNS = {"form": 1, "lemma": 2, "upos": 3, "xpos": 4, "feats": 5, "head": 6, "deprel": 7, "deps": 8, "misc": 9}
"""Columns by name; the first, 0, is the number of the word."""
_FIELDS = 10
_NUMBER = "[1-9][0-9]{0,8}"  # no sentence has more words, and Python reads no number of 4,300 digits
_WORD = re.compile(_NUMBER).fullmatch
_RANGE = re.compile(f"({_NUMBER})-({_NUMBER})").fullmatch
_EMPTY = re.compile(rf"(0|{_NUMBER})\.{_NUMBER}").fullmatch
_HEAD = re.compile(f"0|{_NUMBER}").fullmatch
_BARE = ("upos", "xpos", "deprel")  # fields that white space may not be part of
NO_HEAD = -1
"""The head of a word whose head is not given (`_`)."""


@dataclass(frozen=True)
class Sentence:
    """One sentence of n words; ranges, empty nodes and comments are only in `rows`."""

    forms: tuple[str, ...]  # n
    upos: tuple[str, ...]  # n, `_` where not given
    xpos: tuple[str, ...]  # n
    heads: tuple[int, ...]  # n: word 1 to n, 0 the root, NO_HEAD where not given
    deprels: tuple[str, ...]  # n
    rows: tuple[str, ...] = ()  # all lines as read
    places: tuple[int, ...] = ()  # n: the row of each word
    line: int = 1  # of the file, of the first row

    def __len__(self) -> int:
        return len(self.forms)

    def line_of(self, word: int) -> int:
        """Line of the file of a word, counted from 0."""
        return self.line + self.places[word]

    def column(self, name: str) -> tuple[str, ...]:
        """One field of every word, by its name in `COLUMNS`."""
        at = look_up(COLUMNS, name, "column of CoNLL-U")
        return tuple(self.rows[place].split("\t")[at] for place in self.places)

    def with_column(self, name: str, values: Sequence[str | int]) -> Sentence:
        """The same sentence with another field of every word."""
        at = look_up(COLUMNS, name, "column of CoNLL-U")
        if len(values) != len(self):
            raise ParameterError(f"'values' of with_column must have {len(self)} entries, got {len(values)}")
        rows = list(self.rows)
        for place, value in zip(self.places, values, strict=True):
            fields = rows[place].split("\t")
            fields[at] = str(value)
            rows[place] = "\t".join(fields)
        return replace(self, rows=tuple(rows), **_parts(name, values))


def _parts(name: str, values: Sequence[str | int]) -> dict[str, Any]:
    own = {"form": "forms", "upos": "upos", "xpos": "xpos", "head": "heads", "deprel": "deprels"}
    return {own[name]: tuple(values)} if name in own else {}


def sentence_of(words: Sequence[str]) -> Sentence:
    """A sentence of which only the words are known."""
    blank = ("_",) * len(words)
    rows = tuple("\t".join([str(i), word, *"_" * (_FIELDS - 2)]) for i, word in enumerate(words, 1))
    return Sentence(
        forms=tuple(words),
        upos=blank,
        xpos=blank,
        heads=(NO_HEAD,) * len(words),
        deprels=blank,
        rows=rows,
        places=tuple(range(len(words))),
    )


def looks_like_conllu(head: str) -> bool:
    """Whether the first line that is neither blank nor a comment has ten fields, the first the number of a word."""
    for line in head.split("\n"):
        if line.strip() and not line.startswith("#"):
            fields = line.rstrip("\r").split("\t")
            return len(fields) == _FIELDS and _kind(fields[0]) is not None
    return False


def read_conllu(path: str | Path) -> list[Sentence]:
    """All sentences of a file (.gz, .xz too; - is stdin); what is malformed is a `FormatError` with its line."""
    return conllu_of(path, decode(path, read_bytes(path)))


def conllu_of(path: str | Path, text: str) -> list[Sentence]:
    """The sentences of the text of a file."""
    out, begin = [], 0
    lines = split_lines(text)
    for at, line in enumerate([*lines, ""]):
        if not line.strip():
            if at > begin:
                out.append(_sentence(path, begin + 1, lines[begin:at]))
            begin = at + 1
    if not out:
        raise FormatError(path, None, "the file has no sentences; expected CoNLL-U")
    return out


def write_conllu(sentences: Iterable[Sentence], path: str | Path) -> None:
    """Write sentences as they were read, with the columns that were changed; a file of its own, renamed."""
    write_text(path, "".join("\n".join([*sentence.rows, "", ""]) for sentence in sentences))


def _kind(number: str) -> str | None:
    if _WORD(number):
        return "word"
    if _RANGE(number):
        return "range"
    return "empty" if _EMPTY(number) else None


def _sentence(path: str | Path, line: int, rows: list[str]) -> Sentence:
    words: list[list[str]] = []
    places: list[int] = []
    ends: list[tuple[int, str]] = []
    for at, row in enumerate(rows):
        if row.startswith("#"):
            continue
        fields = row.split("\t")
        if len(fields) != _FIELDS:
            raise FormatError(path, line + at, f"expected {_FIELDS} fields separated by tabs, got {len(fields)}")
        if _kind(fields[0]) == "range":
            ends.append((at, fields[0]))
        if _numbered(path, line + at, fields[0], len(words)):
            words.append(_checked(path, line + at, fields))
            places.append(at)
    beyond = next(((at, number) for at, number in ends if int(number.split("-")[1]) > len(words)), None)
    if beyond is not None:
        raise FormatError(path, line + beyond[0], f"the range {beyond[1]} goes beyond the last word, {len(words)}")
    heads = tuple(_head(path, line + at, f[6], len(words)) for at, f in zip(places, words, strict=True))
    forms, upos, xpos, deprels = (tuple(fields[column] for fields in words) for column in (1, 3, 4, 7))
    return Sentence(
        forms=forms,
        upos=upos,
        xpos=xpos,
        heads=heads,
        deprels=deprels,
        rows=tuple(rows),
        places=tuple(places),
        line=line,
    )


def _numbered(path: str | Path, line: int, number: str, before: int) -> bool:
    """Whether this row is a word; its number must fit the `before` words before it."""
    kind = _kind(number)
    if kind is None:
        raise FormatError(path, line, f"expected the number of a word, such as 3, 3-4 or 3.1, got {shown(number)}")
    if kind == "word" and int(number) != before + 1:
        raise FormatError(path, line, f"expected word {before + 1}, got {number}; words count up from 1")
    if kind == "range":
        first, last = (int(part) for part in number.split("-"))
        if first != before + 1 or last < first:
            raise FormatError(path, line, f"the range {number} must begin with the next word, {before + 1}")
    if kind == "empty" and int(number.split(".")[0]) != before:
        raise FormatError(path, line, f"the empty node {number} must follow word {number.split('.')[0]}")
    return kind == "word"


def _checked(path: str | Path, line: int, fields: list[str]) -> list[str]:
    if not fields[1].strip():
        raise FormatError(path, line, "the word has no form")
    for name in _BARE:
        value = fields[COLUMNS[name]]
        if not value or len(value.split()) != 1 or value != value.strip():
            raise FormatError(path, line, f"{name.upper()} must be one word or _, got {shown(value)}")
    return fields


def _head(path: str | Path, line: int, text: str, words: int) -> int:
    if text == "_":
        return NO_HEAD
    if not _HEAD(text) or int(text) > words:
        raise FormatError(path, line, f"HEAD must be a word of the sentence, 0 to {words}, or _, got {shown(text)}")
    return int(text)
