"""What a format of forests is, and what those with one forest a file share: directories, names and writing."""

from __future__ import annotations

import gc
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from nbest.base.errors import CapabilityError, FormatError
from nbest.base.files import read_bytes, write_text
from nbest.base.types import Ints
from nbest.compute import segments
from nbest.corpus import Forests
from nbest.formats.lists.base import HEAD, shown

_PACKED = (".gz", ".xz")


@dataclass(frozen=True)
class ForestFormat:
    """One format of forests. `read(path, *, data=None, **options)` takes bytes already read.

    `keeps` says what forests have still after writing and reading, besides nodes, edges and words: "ids", "tails"
    (their order, where the words name them in another one), "deletions" (tails that the words do not name), "unnamed"
    (forests without words), "hypergraphs" (edges of several tails or words), "features" (all names and values; else
    only those of `features`), "weights" (of the system), "references", "sources" (up to white space), "groups", "empty"
    (forests without nodes).
    `example` is a small valid input, contents by file name; it is read from the first. The contract tests use both.
    """

    name: str
    read: Callable[..., Forests]
    write: Callable[..., None]
    sniff: Callable[[Path, bytes], bool]  # does it look like this format? `b""` for a directory
    suffixes: tuple[str, ...]  # the first is the one to write; compression comes after it
    summary: str
    single: bool = False  # one forest a file: several are a directory of files
    keeps: frozenset[str] = frozenset()
    features: tuple[str, ...] = ()
    example: Mapping[str, str] = field(default_factory=dict, repr=False)


# one forest a file ----------------------------------------------------------------------------------------------


def single_files(
    path: str | Path, data: bytes | None, suffixes: Sequence[str], numbered: bool = False
) -> Iterator[tuple[str, str | Path, bytes]]:
    """(segment id, path, contents) of one file, or of the files of a directory that end in one of the suffixes.

    Ids are the names without suffixes, in natural order (2 before 10); `numbered` also takes files named by a number.
    """
    if data is not None or not Path(path).is_dir():
        yield _stem(Path(path).name, suffixes) or str(path), path, read_bytes(path) if data is None else data
        return
    files = listed(Path(path), suffixes, numbered)
    if not files:
        wanted = ", ".join(f"*{suffix}" for suffix in suffixes)
        raise FormatError(path, None, f"no file {wanted} in this directory; expected one forest a file")
    for file in files:
        yield _stem(file.name, suffixes), file, read_bytes(file)


def listed(folder: Path, suffixes: Sequence[str], numbered: bool = False) -> list[Path]:
    """The files of a directory that hold one forest each, in natural order."""
    try:
        files = [child for child in folder.iterdir() if _is_one(child.name, suffixes, numbered) and child.is_file()]
    except OSError as error:
        raise FormatError(folder, None, f"cannot be read: {error.strerror or error}") from None
    return sorted(files, key=lambda file: (_natural(file.name), file.name))


def sniff_single(
    path: Path, head: bytes, suffixes: Sequence[str], known: Callable[[bytes], bool], numbered: bool = False
) -> bool:
    """Whether a file, or one of the first files of a directory, begins as `known` says."""
    if head or not path.is_dir():
        return known(head)
    return any(known(read_bytes(file)[:HEAD]) for file in listed(path, suffixes, numbered)[:10])


def _unpacked(name: str) -> str:
    for packed in _PACKED:
        name = name.removesuffix(packed)
    return name


def _is_one(name: str, suffixes: Sequence[str], numbered: bool) -> bool:
    plain = _unpacked(name)
    if name.startswith("."):
        return False
    return plain.lower().endswith(tuple(suffixes)) or (numbered and plain.isascii() and plain.isdigit())


def _stem(name: str, suffixes: Sequence[str]) -> str:
    plain = _unpacked(name)
    for suffix in suffixes:
        if plain.lower().endswith(suffix) and len(plain) > len(suffix):
            return plain[: -len(suffix)]
    return Path(plain).stem


def _natural(name: str) -> list[str | int]:
    return [int(part) if at % 2 else part for at, part in enumerate(re.split(r"([0-9]+)", name))]


def write_single(
    forests: Forests, path: str | Path, name: str, suffix: str, render: Callable[[int], str], numbered: bool = False
) -> None:
    """Write one forest to a file, or each to a file of a directory (which is made): when `path` is a directory or
    ends with a separator, or when there is not exactly one forest. Each file is written beside its goal and renamed.
    """
    folder = Path(path)
    if str(path) == "-" and len(forests) == 1:
        return write_text(path, render(0))
    if len(forests) == 1 and not folder.is_dir() and not str(path).endswith((os.sep, "/")):
        return write_text(path, render(0))
    if str(path) == "-" or folder.is_file():
        raise CapabilityError(f"{name} holds one forest a file, and these are {len(forests)}; give a directory")
    names = [_file_name(each, name, suffix, numbered) for each in forests.ids]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FormatError(path, None, f"cannot be written: {error.strerror or error}") from None
    for i, file in enumerate(names):
        write_text(folder / file, render(i))
    return None


def _file_name(segment: str, name: str, suffix: str, numbered: bool) -> str:
    if not segment or segment.startswith(".") or re.search(r"[/\\\0\n\r]", segment) or len(segment.encode()) > 200:
        raise CapabilityError(f"{name} needs ids that can be names of files, and {shown(segment)} cannot")
    return segment if numbered and segment.isascii() and segment.isdigit() else segment + suffix


@contextmanager
def many_objects() -> Iterator[None]:
    """While millions of small lists are made, look for no garbage cycles: that would take most of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


# what writers share ---------------------------------------------------------------------------------------------


def need_vocabulary(forests: Forests, name: str, forbidden: Callable[[str], bool] = lambda word: False) -> None:
    """Complain of a word that a format cannot hold: an empty one, one with white space, or a forbidden one."""
    for word in forests.vocabulary:
        if word.split() != [word] or forbidden(word):
            raise CapabilityError(f"{name} cannot hold the word {shown(word)}; map it to another first")


def need_names(forests: Forests, name: str, forbidden: str = "") -> None:
    """Complain of a feature name that is empty or holds white space or a forbidden piece."""
    for feature in forests.feature_names:
        if feature.split() != [feature] or (forbidden and forbidden in feature):
            raise CapabilityError(f"{name} cannot hold the feature name {shown(feature)}")


def named_tails(forests: Forests, name: str) -> tuple[Ints, Ints]:
    """Offsets and symbols of target sides that name each tail exactly once, which `name` needs."""
    offsets, symbols = forests.need_words(name)
    owners = segments.owners(offsets)[symbols < 0]
    places = forests.tail_offsets[owners] - 1 - symbols[symbols < 0]
    times = np.bincount(places, minlength=len(forests.tails))
    if (times != 1).any():
        edge = int(np.searchsorted(forests.tail_offsets, int((times != 1).argmax()), "right")) - 1
        raise CapabilityError(f"{name} needs the words of an edge to name each tail once; edge {edge} does not")
    return offsets, symbols


def ranges(offsets: Ints, low: int, high: int) -> list[tuple[int, int]]:
    """The bounds of segments low to high, as Python numbers."""
    bounds = offsets[low : high + 1].tolist()
    return list(zip(bounds[:-1], bounds[1:], strict=True))


def edge_rows(forests: Forests, forest: int) -> Iterator[tuple[int, int, list[int]]]:
    """(edge, head, tails) of each edge of a forest; edges are numbered over all forests, nodes within the forest."""
    low, high = int(forests.node_offsets[forest]), int(forests.node_offsets[forest + 1])
    for node, (first, last) in enumerate(ranges(forests.edge_offsets, low, high)):
        for edge, (begin, end) in enumerate(ranges(forests.tail_offsets, first, last), first):
            yield edge, node, forests.tails[begin:end].tolist()


def sparse_values(forests: Forests, edge: int) -> dict[str, float]:
    """The features of an edge that are not 0; of the first edge of all, every one, so that the names are kept."""
    row = forests.features[edge]
    wanted = range(len(row)) if edge == 0 else np.flatnonzero((row != 0) | np.signbit(row)).tolist()
    return {forests.feature_names[d]: float(row[d]) for d in wanted}
