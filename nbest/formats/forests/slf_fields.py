"""Fields of lattices in HTK's format: how they are written and what they mean."""

from __future__ import annotations

import math
import re
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from nbest.base.errors import FormatError
from nbest.formats.forests.parts import Draft
from nbest.formats.lists.base import number, shown

FIELDS = {
    "a": "acoustic",
    "acoustic": "acoustic",
    "l": "lm",
    "language": "lm",
    "n": "ngram",
    "ngram": "ngram",
    "r": "pronunciation",
    "ds": "duration",
    **{f"x{k}": f"x{k}" for k in range(1, 100)},
}
"""The feature of each field that is a score of a link."""

SCALES = {
    "acscale": "acoustic",
    "lmscale": "lm",
    "ngscale": "ngram",
    "prscale": "pronunciation",
    "duscale": "duration",
    "wdpenalty": "words",
    **{f"x{k}scale": f"x{k}" for k in range(1, 100)},
}
"""The feature that each field of the header weighs."""

_NO_WORDS = {"!NULL", "!SENT_START", "!SENT_END", "!ENTER", "!EXIT", "<s>", "</s>", "<eps>", ""}
_FILLER = re.compile(r"<sil>|-pau-|\[[^\]]*\]|\+\+.*\+\+").fullmatch
_VARIANT = re.compile(r"(.+)\([0-9]+\)").fullmatch
_SPECIAL = re.compile(r"[\\\"']").search
_ESCAPE = re.compile(rb"\\([0-7]{3}|.)", re.S)
_IMPOSSIBLE = {"-inf", "-infinity"}


def fields(path: str | Path, line: int, text: str) -> dict[str, str]:
    """The `name=value` pairs of a line."""
    tokens = text.split()
    if not _SPECIAL(text):
        try:
            quick = dict([token.split("=", 1) for token in tokens])
        except ValueError:  # one without "="
            quick = {}
        if len(quick) == len(tokens) and "" not in quick:
            return quick
    pairs = {}
    for token in tokens:
        name, equals, value = token.partition("=")
        if not equals or not name:
            raise FormatError(path, line, f"expected name=value, got {shown(token)}")
        if name in pairs:
            raise FormatError(path, line, f"{name}= comes twice in one line")
        pairs[name] = unquoted(path, line, value)
    return pairs


def unquoted(path: str | Path, line: int | None, value: str) -> str:
    """A value without quotes around it and without escapes."""
    return _unquote(path, line, value) if _quoted(value) else value


def _quoted(value: str) -> bool:
    return "\\" in value or (len(value) > 1 and value[0] in "\"'" and value[-1] == value[0])


def _unquote(path: str | Path, line: int | None, value: str) -> str:
    """A value without quotes around it (only where both are there: 'cause is a word) and without escapes."""
    if len(value) > 1 and value[0] in "\"'" and value[-1] == value[0]:
        value = value[1:-1]

    def plain(found: re.Match[bytes]) -> bytes:
        return bytes([int(found[1], 8) & 255]) if len(found[1]) == 3 else found[1]

    try:
        return _ESCAPE.sub(plain, value.encode()).decode()
    except UnicodeDecodeError:
        raise FormatError(path, line, f"the escapes of {shown(value)} are not valid UTF-8") from None


def integer(path: str | Path, line: int, field: str, text: str) -> int:
    """A whole number that numbers or counts something."""
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise FormatError(path, line, f"{field}= must be a whole number, got {shown(text)}")
    return int(text)


@lru_cache(maxsize=2**16)
def spoken(word: str, fillers: bool) -> str:
    """The word that is said: empty for marks and, unless wanted, for pauses and noises; without `(2)` of variants."""
    if word in _NO_WORDS:
        return ""
    if _FILLER(word):
        return word if fillers else ""
    variant = _VARIANT(word)
    return variant[1] if variant else word


class Header:
    """The fields before nodes and links; those that are not known are left alone."""

    def __init__(self, path: str | Path) -> None:
        self.path = path
        self.terminals: dict[str, int] = {}  # "start" and "end"
        self.base: float | None = None  # of the logarithms, where it is not e; 0: probabilities
        self.line = 0
        self._scales: dict[str, float] = {}
        self._sizes: dict[str, int] = {}

    def read(self, line: int, text: str) -> None:
        """Take the fields of a line of the header."""
        self.line = line
        for token in text.split():
            name, equals, value = token.partition("=")
            if not equals:
                continue
            if name in ("SUBLAT", "S"):
                raise FormatError(self.path, line, f"sub-lattices are not supported, got {shown(token)}")
            if name in ("N", "NODES", "L", "LINKS"):
                if name[0] in self._sizes:
                    raise FormatError(self.path, line, f"{name}= comes twice")
                self._sizes[name[0]] = integer(self.path, line, name, value)
            elif name in ("start", "end"):
                self.terminals[name] = integer(self.path, line, name, value)
            elif name == "base":
                self._read_base(line, value)
            elif name in SCALES:
                self._scales[SCALES[name]] = number(self.path, line, name, value)
            elif name == "dir" and value.startswith("b"):
                raise FormatError(self.path, line, "lattices that run backwards (dir=b) are not supported")

    def _read_base(self, line: int, value: str) -> None:
        base = number(self.path, line, "base", value)
        if base < 0 or base == 1:
            raise FormatError(self.path, line, f"base= must be 0 or the base of a logarithm, got {value}")
        same = base > 0 and abs(math.log(base) - 1) < 1e-9  # e, to the digits that tools write
        self.base = None if same else base

    def size(self, which: str) -> int:
        """The number of nodes ("N") or of links ("L")."""
        if which not in self._sizes:
            what = "N= (the number of nodes)" if which == "N" else "L= (the number of links)"
            raise FormatError(self.path, None, f"{what} is missing; expected it before nodes and links")
        return self._sizes[which]

    def weights(self, names: list[str]) -> dict[str, float] | None:
        """The weights of the recogniser, if the header has any: 1 for a score without one; the penalty is a score."""
        if not self._scales:
            return None
        penalty = self._scales.get("words", 0.0) * (self.factor or 1.0)
        return {name: self._scales.get(name, 1.0) for name in names} | {"words": penalty}

    @property
    def factor(self) -> float:
        """What turns a score into a natural logarithm by multiplication; 0: it is a probability."""
        return 1.0 if self.base is None else math.log(self.base) if self.base else 0.0


class Scores:
    """The scores of links; all links have the same, apart from those without any score and word, which count 0."""

    def __init__(self, path: str | Path, floor: float | None) -> None:
        self.path, self.floor = path, floor
        self.names: list[str] = []
        self._columns: dict[str, int] = {}  # of each field
        self._rows: list[list[float | None]] = []

    def read(self, line: int, pairs: dict[str, str], factor: float) -> None:
        """Take the scores among the fields of the next link."""
        row: list[float | None] = [None] * len(self.names)
        for field, text in pairs.items():
            if field not in FIELDS:
                continue
            column = self._columns.get(field, -1)
            if column < 0:
                column = self._new(field)
                row += [None] * (len(self.names) - len(row))
            if row[column] is not None:
                raise FormatError(self.path, line, f"feature {self.names[column]!r} is named twice")
            row[column] = self._value(line, self.names[column], text, factor)
        self._rows.append(row)

    def _new(self, field: str) -> int:
        """The column of a field that was not seen before."""
        if FIELDS[field] not in self.names:
            self.names.append(FIELDS[field])
        return self._columns.setdefault(field, self.names.index(FIELDS[field]))

    def _value(self, line: int, name: str, text: str, factor: float) -> float:
        if text.lower() in _IMPOSSIBLE and factor:
            return self._floor(line, name, text)
        value = number(self.path, line, f"feature {name!r}", text)
        if factor:
            return value * factor if factor != 1.0 else value
        if value < 0:
            raise FormatError(self.path, line, f"feature {name!r} must be a probability (base=0), got {text}")
        return math.log(value) if value else self._floor(line, name, text)

    def _floor(self, line: int, name: str, text: str) -> float:
        if self.floor is None:
            what = f"feature {name!r} must be a finite number, got {text}"
            raise FormatError(self.path, line, f"{what}; say floor=VALUE to put another in its place")
        return self.floor

    def table(self, words: list[bool], lines: list[int]) -> list[list[float]]:
        """The scores of each link, 0 for a link that has none and no word; another that lacks one is an error."""
        width = len(self.names)
        zeros = [0.0] * width
        return [
            row if len(row) == width and None not in row else self._complete(row, word, line, zeros)  # type: ignore[misc]
            for row, word, line in zip(self._rows, words, lines, strict=True)
        ]

    def _complete(self, row: list[float | None], word: bool, line: int, zeros: list[float]) -> list[float]:
        if not word and all(value is None for value in row):
            return zeros
        has = [name for name, value in zip(self.names, row, strict=False) if value is not None]
        missing = next(name for name in self.names if name not in has)
        raise FormatError(self.path, line, f"feature {missing!r} is missing; every link needs {', '.join(self.names)}")


class Lattice(NamedTuple):
    """One lattice as it was read."""

    header: Header
    names: list[str]  # of its scores
    draft: Draft
    root: int | None
