"""Reading language models in ARPA format, as SRILM, lmplz and others write it.

    \\data\\                    anything before this line is left out
    ngram 1=COUNT             one line an order
    \\1-grams:
    LOG10PROB WORD [BACKOFF]  tabs or spaces between fields, words of an n-gram in a row
    \\end\\

Logarithms are of base 10, -99 and below is probability 0. <unk> (or <UNK>), <s> and </s> that are not in the file get
probability 0; <s> always has it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np

from nbest.base.errors import FormatError
from nbest.base.files import decode, read_bytes
from nbest.base.types import Floats, Ints
from nbest.corpus import Texts
from nbest.lm.arpa_scan import FIELDS, NUMBER, SHORT, WORD, lookup_table, scan_section
from nbest.lm.model import SPECIAL, LanguageModel
from nbest.lm.query import START
from nbest.lm.tables import NgramTable, RepeatedError, build_table

_COUNT = re.compile(rb"[ \t]*ngram[ \t]+(\d{1,9})[ \t]*=[ \t]*(\d{1,30})[ \t\r]*$")
_LOG10 = np.log(10.0)
_ZERO = -98.99
_LARGEST = 99.0  # of the logarithm of a backoff: what is more is no backoff, and would overflow


def read_arpa(
    path: str | Path,
    progress: Callable[[int, int], None] = lambda done, total: None,
    *,
    data: bytes | None = None,
) -> LanguageModel:
    """A model from an ARPA file (gzip and xz are unpacked); `data` is its unpacked contents, if at hand."""
    file = _File(path, read_bytes(path) if data is None else data)
    sizes = file.sizes()
    progress(0, len(sizes) + 1)
    vocabulary, words, table = file.vocabulary(sizes[0])
    tables, places = [table], [words.places]
    for n, size in enumerate(sizes[1:], 2):
        progress(n - 1, len(sizes) + 1)
        section = file.section(n, size, words)
        tables.append(NgramTable(section.rows, section.logprobs, section.backoffs))
        places.append(section.places)
    file.end()
    progress(len(sizes), len(sizes) + 1)
    try:
        return build_table(vocabulary, tables)
    except RepeatedError as error:
        place = places[error.order - 1][error.row]
        raise FormatError(path, file.line(place), f"this {error.order}-gram stands in the file twice") from None


class _Section:
    """The lines of one order."""

    def __init__(self, rows: Ints, logprobs: Floats, backoffs: Floats, places: Ints) -> None:
        self.rows, self.logprobs, self.backoffs, self.places = rows, logprobs, backoffs, places


class _Words:
    """How words of the file are found: where each first stands, its number, and a hash table of them."""

    def __init__(self, buffer: Ints, starts: Ints, ends: Ints, numbers: Ints, places: Ints) -> None:
        self.starts, self.ends, self.numbers, self.places = starts, ends, numbers, places
        self.table, self.hashes = lookup_table(buffer, starts, ends)


class _File:
    """The contents of an ARPA file, read from top to bottom."""

    def __init__(self, path: str | Path, data: bytes) -> None:
        decode(path, data)
        self.path, self.data, self.at = path, data, 0
        self.buffer = np.frombuffer(data, np.uint8)

    def line(self, place: int) -> int:
        """Number of the line that holds this byte."""
        return self.data.count(b"\n", 0, int(place)) + 1

    def fail(self, place: int, message: str) -> FormatError:
        return FormatError(self.path, self.line(place), message)

    def next_line(self) -> bytes | None:
        """The next line that is not blank; None at the end of the file."""
        while self.at < len(self.data):
            end = self.data.find(b"\n", self.at)
            end = len(self.data) if end < 0 else end
            line, self.begin, self.at = self.data[self.at : end], self.at, end + 1
            if line.strip():
                return line
        return None

    def sizes(self) -> list[int]:
        """How many n-grams of each order the head of the file announces."""
        line = self.next_line()
        while line is not None and line.strip() != b"\\data\\":
            line = self.next_line()
        if line is None:
            raise FormatError(self.path, None, "not an ARPA language model: it has no line \\data\\")
        sizes: list[int] = []
        while (line := self.next_line()) is not None and (found := _COUNT.match(line)):
            if int(found[1]) != len(sizes) + 1:
                raise self.fail(self.begin, f"expected 'ngram {len(sizes) + 1}=COUNT', got {_shown(line)}")
            sizes.append(int(found[2]))
        if not sizes:
            raise self.fail(self.at, "expected 'ngram 1=COUNT' after \\data\\")
        self.at = self.begin if line is not None else self.at
        return sizes

    def head(self, n: int) -> None:
        """Pass the line that begins the n-grams of order n."""
        line = self.next_line()
        if line is None:
            raise FormatError(self.path, None, f"the file is cut short: it ends before \\{n}-grams:")
        if line.strip() != f"\\{n}-grams:".encode():
            raise self.fail(self.begin, f"expected \\{n}-grams:, got {_shown(line)}")

    def end(self) -> None:
        """Pass the last line."""
        line = self.next_line()
        if line is None or line.strip() != b"\\end\\":
            got = "the end of the file; it is cut short" if line is None else _shown(line)
            raise self.fail(self.begin, f"expected \\end\\, got {got}")

    def section(self, n: int, size: int, words: _Words | None) -> _Section:
        """The n-grams of order n; without `words`, rows hold the place and the end of each word."""
        self.head(n)
        if size * 2 * (n + 1) > len(self.data) + 1:  # a field has a character and a blank after it
            raise self.fail(self.begin, f"the head of the file announces {size} {n}-grams, more than it can hold")
        rows = np.empty((size, 2 if words is None else n), np.int64 if words is None else np.int32)
        logprobs, backoffs, places = np.empty(size), np.zeros(size), np.empty(size, np.int64)
        none = np.zeros(0, np.int64)
        known = (words.starts, words.ends, words.numbers, words.table, words.hashes) if words else (none,) * 5
        done, self.at, wrong = scan_section(
            self.buffer, self.at, n, known, rows, logprobs=logprobs, backoffs=backoffs, places=places
        )
        if wrong:
            raise self.fail(self.at, _reason(wrong, n, size, done))
        self._check(logprobs, backoffs, places)
        return _Section(rows, _natural(np.minimum(logprobs, 0.0)), _natural(backoffs), places)

    def _check(self, logprobs: Floats, backoffs: Floats, places: Ints) -> None:
        for what, values, most in (("probability", logprobs, 1e-4), ("backoff", backoffs, _LARGEST)):
            odd = np.flatnonzero(values > most)
            if len(odd):
                rule = f"a log10 {what} must be <= {most:.0f}"
                raise self.fail(places[odd[0]], f"{rule}, got {values[odd[0]]:g}")

    def vocabulary(self, size: int) -> tuple[tuple[str, ...], _Words, NgramTable]:
        """The words of the file after `SPECIAL`, how they are found, and their table."""
        section = self.section(1, size, None)
        starts, ends = section.rows[:, 0].copy(), section.rows[:, 1].copy()
        texts = [text if text != "<UNK>" else "<unk>" for text in Texts(self.buffer, starts, ends)]
        seen = {word: at for at, word in enumerate(SPECIAL)}
        numbers = np.array([seen.setdefault(text, len(seen)) for text in texts], np.int32)
        twice = np.flatnonzero(np.bincount(numbers, minlength=len(seen))[numbers] > 1)
        if len(twice):
            raise self.fail(section.places[twice[1]], f"the word {texts[twice[1]]!r} stands in the file twice")
        logprobs, backoffs = np.full(len(seen), -np.inf), np.zeros(len(seen))
        logprobs[numbers], backoffs[numbers] = section.logprobs, section.backoffs
        logprobs[START] = -np.inf
        rows = np.arange(len(seen), dtype=np.int32)[:, None]
        words = _Words(self.buffer, starts, ends, numbers, section.places)
        return tuple(seen), words, NgramTable(rows, logprobs, backoffs)


def _natural(log10: Floats) -> Floats:
    return np.where(log10 <= _ZERO, -np.inf, log10 * _LOG10)


def _shown(line: bytes) -> str:
    text = line.decode(errors="replace").strip()
    return repr(text if len(text) <= 60 else text[:57] + "...")


def _reason(wrong: int, n: int, size: int, done: int) -> str:
    return {
        SHORT: f"expected {size} {n}-grams, got {done}; the file is cut short or its head is wrong",
        FIELDS: f"expected a log10 probability, {n} words and perhaps a backoff, separated by tabs or spaces",
        NUMBER: "expected a base-10 logarithm in the first field and, after the words, perhaps a backoff",
        WORD: f"a word of this {n}-gram is not among the 1-grams",
    }[wrong]
