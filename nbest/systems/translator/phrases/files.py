"""A phrase table on disk: a directory of raw .npy arrays, two word lists and a manifest.

`manifest.json` holds `{"format": "nbest-phrases", "version": 1, "features": [...], "files": {name: {"bytes": n,
"sha256": h}}, "sha256": of all this}`. Arrays are memory-mapped. The directory is written beside its place and
renamed. Loading compares sizes and sums and checks that no number leads out of its array.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from nbest.base.errors import FormatError
from nbest.base.files import read_lines
from nbest.base.folders import MANIFEST, check_files, read_manifest, replacing_directory, sizes_and_sums, write_manifest
from nbest.compute.bounds import Bounds
from nbest.formats.lists.base import shown
from nbest.systems.folders import map_arrays, save_arrays, write_lines
from nbest.systems.translator.phrases.table import FEATURES, PhraseTable

FORMAT, VERSION = "nbest-phrases", 1
_ARRAYS = {
    "source_offsets": (np.int64, 1),
    "source_ids": (np.int32, 1),
    "option_offsets": (np.int64, 1),
    "targets": (np.int32, 1),
    "features": (np.float32, 2),
    "target_offsets": (np.int64, 1),
    "target_ids": (np.int32, 1),
}
_WORDS = ("source_words", "target_words")


def save(table: PhraseTable, path: str | Path) -> None:
    """Write the directory beside `path`, then rename it into place; a table that was there is replaced."""
    goal = Path(path)
    if goal.exists() and not (goal / MANIFEST).is_file() and (not goal.is_dir() or any(goal.iterdir())):
        raise FormatError(path, None, "is not a phrase table and will not be replaced; give another place")
    with replacing_directory(path) as folder:
        _write(table, folder)


def _write(table: PhraseTable, folder: Path) -> None:
    save_arrays(folder, table, _ARRAYS)
    for name in _WORDS:
        write_lines(folder / f"{name}.txt", getattr(table, name))
    files = sizes_and_sums(folder)
    write_manifest(folder, {"format": FORMAT, "version": VERSION, "features": list(FEATURES), "files": files})


def load(path: str | Path, *, verify: bool = True) -> PhraseTable:
    """The table of a directory, memory-mapped; what is missing, damaged or of another version is a FormatError.

    Without `verify` the sums are left out, and a changed number may go unseen; none leads out of its array.
    """
    folder = Path(path)
    manifest = read_manifest(folder, FORMAT, "phrase table", "make one with PhraseTable.save")
    if manifest.get("version") != VERSION or manifest.get("features") != list(FEATURES):
        wanted, got = f"expected version {VERSION} with features {FEATURES}", shown(manifest.get("version"))
        raise FormatError(folder / MANIFEST, None, f"{wanted}, got {got}; train it again")
    names = [*(f"{name}.npy" for name in _ARRAYS), *(f"{name}.txt" for name in _WORDS)]
    places = check_files(folder, names, manifest.get("files"), sums=verify)
    arrays = map_arrays(places, _ARRAYS)
    words: dict[str, Any] = {name: read_lines(places[f"{name}.txt"]) for name in _WORDS}
    table = PhraseTable(**arrays, **words)
    _check(folder, table)
    return table


def _check(folder: Path, table: PhraseTable) -> None:
    """Nothing in the table leads out of it."""
    bounds = Bounds(folder, "train the table again")
    sources, targets, pairs = len(table.source_offsets) - 1, len(table.target_offsets) - 1, len(table.targets)
    bounds.offsets("source_offsets", table.source_offsets, sources, len(table.source_ids), empty=False)
    bounds.offsets("option_offsets", table.option_offsets, sources, pairs)
    bounds.offsets("target_offsets", table.target_offsets, targets, len(table.target_ids), empty=False)
    bounds.numbers("source_ids", table.source_ids, len(table.source_words))
    bounds.numbers("target_ids", table.target_ids, len(table.target_words))
    bounds.numbers("targets", table.targets, targets)
    bounds.sizes("features", table.features, pairs, len(FEATURES))
    bounds.finite("features", table.features)
