"""Kaldi's `nbest-to-linear`: text archives `words`, `lmwt`, `acwt` with keys `utt-1`, `utt-2`, ...

The path is a directory with these files, one with `archives.K` directories of them, or a prefix (`dir/dev` for
`dir/dev.words`, `dir/dev.lmwt`, ...).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from nbest.base.errors import FormatError
from nbest.base.files import read_lines
from nbest.corpus import NBest, Origin
from nbest.formats.archives import check_same_keys, read_archive
from nbest.formats.lists.base import Format, number, shown
from nbest.formats.lists.builder import Builder

_KEY = re.compile(r"(.+)-([0-9]+)").fullmatch
_ARCHIVES = re.compile(r"archives\.([0-9]+)").fullmatch
_INTEGERS = re.compile(r"[0-9 \t]*").fullmatch
_SCORES = ("acwt", "lmwt")

Name = Callable[[str], Path]  # where the file of this name is


def read_kaldi(path: str | Path, *, symbols: str | Path | None = None, scores: Sequence[str] | None = None) -> NBest:
    """Read linear n-best archives. Costs are negated, so that larger is better.

    The features are those of `acwt` and `lmwt` that are there, or the files named by `scores` (such as
    ("acwt", "lmwt.nolm", "lmwt.rnn")). The texts are `words_text` where it is, else `words`: integers are turned into
    words by the table `symbols` (`words.txt` of the directory when it is there and none is given).
    """
    root = Path(path)
    places = _places(root)
    builder = Builder(path)
    names = list(scores) if scores is not None else [s for s in _SCORES if all(place(s).is_file() for place in places)]
    if not names:
        raise FormatError(path, None, "no acwt and no lmwt beside words; expected at least one of them")
    table = _table(Path(symbols) if symbols is not None else root / "words.txt", symbols is not None)
    for place in places:
        _read_archives(builder, place, names, table)
    builder.path = path
    return builder.build({name: Origin(sign=-1) for name in names})


def _places(root: Path) -> list[Name]:
    """Where the archives are: one place, or several directories in the order of their numbers."""
    if root.is_dir():
        found = sorted((int(m[1]), child) for child in root.iterdir() if (m := _ARCHIVES(child.name)))
        directories = [root] if _has_words(root.joinpath) else [child for _, child in found]
        places: list[Name] = [directory.joinpath for directory in directories]
    else:
        places = [lambda name: root.with_name(f"{root.name}.{name}")]
    if not places or not all(map(_has_words, places)):
        raise FormatError(root, None, "no archive 'words' found; expected a directory or a prefix of words, lmwt, acwt")
    return places


def _has_words(place: Name) -> bool:
    return place("words").is_file() or place("words_text").is_file()


def _read_archives(builder: Builder, place: Name, names: list[str], table: dict[str, str] | None) -> None:
    spelt = place("words_text").is_file()
    path = place("words_text" if spelt else "words")
    words = read_archive(path)
    columns = {name: read_archive(place(name)) for name in names}
    for name, column in columns.items():
        check_same_keys(path, words, place(name), column)
    integers = not spelt and all(_INTEGERS(text) for _, text in words.values())
    for key, (line, text) in words.items():
        found = _KEY(key)
        if not found:
            raise FormatError(path, line, f"expected a key such as 'utt-1', got {shown(key)}")
        if table is not None and integers:
            text = _spelt(path, line, text, table)
        costs = {name: column[key] for name, column in columns.items()}
        features = {name: 0.0 - number(place(name), at, f"the cost {name}", cost) for name, (at, cost) in costs.items()}
        builder.path = path
        builder.hypothesis(found[1], text, features, line)


def _spelt(path: Path, line: int, text: str, table: dict[str, str]) -> str:
    numbers = text.split()
    for number_ in numbers:
        if number_ not in table:
            raise FormatError(path, line, f"word {number_} is not in the symbol table")
    return " ".join(table[number_] for number_ in numbers)


def _table(path: Path, wanted: bool) -> dict[str, str] | None:
    """Words by their number, of a file of `word number` lines."""
    if not wanted and not path.is_file():
        return None
    table: dict[str, str] = {}
    for at, line in enumerate(read_lines(path), 1):
        pieces = line.replace("\t", " ").split(" ")
        pieces = [piece for piece in pieces if piece]
        if not pieces:
            continue
        if len(pieces) != 2 or not _INTEGERS(pieces[1]):
            raise FormatError(path, at, f"expected 'word number', got {shown(line)}")
        table[pieces[1]] = pieces[0]
    return table


def _sniff(path: Path, head: bytes) -> bool:
    if path.is_dir():
        return _has_words(path.joinpath) or any(_ARCHIVES(child.name) for child in path.iterdir())
    return not path.is_file() and bool(path.name) and _has_words(lambda name: path.with_name(f"{path.name}.{name}"))


FORMAT = Format(
    name="kaldi",
    read=read_kaldi,
    write=None,
    sniff=_sniff,
    suffixes=(),
    summary="Kaldi nbest-to-linear archives: words, lmwt, acwt in a directory or with a prefix",
    directory=True,
    example={
        "words": "u-1-1 1 2\nu-1-2 1 3\nu2-1 \n",
        "acwt": "u-1-1 12.5\nu-1-2 11.25\nu2-1 0\n",
        "lmwt": "u-1-1 3\nu-1-2 4.5\nu2-1 1e-3\n",
        "words.txt": "<eps> 0\na 1\nhouse 2\nmöuse 3\n",
    },
)
