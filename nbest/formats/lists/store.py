"""Stores: a directory of arrays that are mapped into memory, for lists that are larger than it (docs/stores.md).

manifest.json        sizes, names, and for every shard its segments, its rows and the sums of its part of each array
offsets.npy, features.npy, text.npy, text_bounds.npy, ...      (nbest/formats/lists/store_layout.py)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from nbest.base.errors import FormatError
from nbest.base.files import naming
from nbest.base.folders import MANIFEST, replacing_directory
from nbest.base.inputs import Progress
from nbest.base.sealed import read_object
from nbest.base.types import Ints
from nbest.corpus import NBest
from nbest.corpus.blocks import blocks
from nbest.corpus.order import in_order
from nbest.formats.lists.base import EVERYTHING, Format
from nbest.formats.lists.store_files import RECIPES, Store
from nbest.formats.lists.store_layout import ARRAYS, FORM, NAMES
from nbest.formats.lists.store_writer import Writer


def read_store(path: str | Path, *, data: bytes | None = None, check: bool | None = None) -> NBest:
    """The lists of a store, mapped: arrays are read from disk where they are looked at.

    Sizes, bounds and the manifest are checked, and so are the sums of all shards, before anything is
    done with the lists; only the sums are not where `check` is False.
    """
    store = Store(path)
    if check is not False:
        store.compare()
    return store.lists()


def stream_store(path: str | Path, *, check: bool | None = None, progress: Progress | None = None) -> Iterator[NBest]:
    """The lists of each shard, read into memory one after the other; sums are compared unless `check` is False."""
    store = Store(path)
    return store.blocks(sums=check is not False, progress=progress)


def write_store(corpus: NBest, path: str | Path) -> None:
    """Write all lists; numbered segments in the order of their numbers."""
    write_store_blocks((corpus.between(*ends) for ends in blocks(len(corpus))), path)


def write_store_blocks(parts: Iterable[NBest], path: str | Path) -> None:
    """Write lists as they come; memory for one block, and for ids and names of sparse features."""
    _check_place(Path(path))
    with replacing_directory(path) as folder, naming(path):
        ids = _write(parts, folder)
        order = _order(ids)
        if order is not None:
            with replacing_directory(folder) as sorted_folder:
                lists = read_store(folder, check=False)
                _write((lists.select(order[low:high]) for low, high in blocks(len(order))), sorted_folder)


def _write(parts: Iterable[NBest], folder: Path) -> list[str]:
    """Write a store into an empty folder; the ids of its segments."""
    with ExitStack() as stack:
        writer = Writer(folder, stack)
        for lists in parts:
            writer.add(lists)
        writer.finish()
    return list(writer.ids)


def _order(ids: list[str]) -> Ints | None:
    """The numbers of segments in their order; None where they are in it."""
    ordered = in_order(ids)
    if ordered == ids:
        return None
    place = {name: i for i, name in enumerate(ids)}
    return np.array([place[name] for name in ordered], np.int64)


def _check_place(goal: Path) -> None:
    """Refuse what cannot be a store, and to replace what is none."""
    if str(goal) == "-" or goal.suffix in (".gz", ".xz"):
        raise FormatError(goal, None, "cannot be written: a store is a directory, which is neither piped nor packed")
    if goal.exists() and not goal.is_dir():
        raise FormatError(goal, None, "is a file; a store is a directory")
    known = {MANIFEST, RECIPES, *(f"{name}.npy" for name in (*ARRAYS, *NAMES))}
    there = {file.name for file in goal.iterdir()} if goal.is_dir() else set()
    if there and not {MANIFEST} <= there <= known:
        raise FormatError(goal, None, "is there and is no store; name another directory")


def _sniff(path: Path, head: bytes) -> bool:
    """By its manifest, or by its suffix where that is damaged."""
    if head or not path.is_dir() or not (path / MANIFEST).is_file():
        return False
    try:
        return path.suffix == FORMAT.suffixes[0] or read_object(path / MANIFEST, "").get("format") == FORM
    except FormatError:
        return False


FORMAT = Format(
    name="store",
    read=read_store,
    write=write_store,
    sniff=_sniff,
    suffixes=(".store",),
    summary="a directory of arrays, mapped into memory",
    directory=True,
    binary=True,
    stream=stream_store,
    write_blocks=write_store_blocks,
    keeps=EVERYTHING,
)
