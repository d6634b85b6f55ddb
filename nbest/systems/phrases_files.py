"""A phrase table on disk: a directory of raw .npy arrays, two word lists and a manifest.

`manifest.json` holds `{"format": "nbest-phrases", "version": 1, "features": [...], "files": {name: {"bytes": n,
"sha256": h}}}`. Arrays are memory-mapped, so loading takes the time of reading the word lists. The directory is
written beside its place and renamed. Sizes are checked at every load, which finds files cut short; the sums with
`verify`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from nbest.errors import FormatError
from nbest.files import read_lines
from nbest.systems.directory import (
    MANIFEST,
    check_file,
    mapped,
    read_manifest,
    replacing_directory,
    sizes_and_sums,
    write_manifest,
)
from nbest.systems.phrases import FEATURES, PhraseTable

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
    for name, (kind, _) in _ARRAYS.items():
        np.save(folder / f"{name}.npy", np.ascontiguousarray(getattr(table, name), kind))
    for name in _WORDS:
        text = "".join(f"{word}\n" for word in getattr(table, name))
        (folder / f"{name}.txt").write_bytes(text.encode("utf-8"))
    files = sizes_and_sums(folder)
    write_manifest(folder, {"format": FORMAT, "version": VERSION, "features": list(FEATURES), "files": files})


def load(path: str | Path, *, verify: bool = False) -> PhraseTable:
    """The table of a directory, memory-mapped; what is missing, cut short or of another version is a FormatError."""
    folder = Path(path)
    manifest = read_manifest(folder, FORMAT, "phrase table", "make one with PhraseTable.save")
    if manifest.get("version") != VERSION or manifest.get("features") != list(FEATURES):
        wanted, got = f"expected version {VERSION} with features {FEATURES}", manifest.get("version")
        raise FormatError(folder / MANIFEST, None, f"{wanted}, got {got}; train it again")
    files = manifest.get("files")
    places = {n: check_file(folder, f"{n}.npy", files, verify=verify) for n in _ARRAYS}
    texts = {n: check_file(folder, f"{n}.txt", files, verify=verify) for n in _WORDS}
    arrays: dict[str, Any] = {n: mapped(place, *_ARRAYS[n]) for n, place in places.items()}
    words: dict[str, Any] = {n: read_lines(place) for n, place in texts.items()}
    table = PhraseTable(**arrays, **words)
    _check_sizes(folder, table)
    return table


def _check_sizes(folder: Path, table: PhraseTable) -> None:
    pairs = len(table.targets)
    fits = (
        table.features.shape == (pairs, len(FEATURES))
        and len(table.source_offsets) == len(table.option_offsets) >= 1
        and len(table.target_offsets) >= 1
        and table.option_offsets[-1] == pairs
        and table.source_offsets[-1] == len(table.source_ids)
        and table.target_offsets[-1] == len(table.target_ids)
    )
    if not fits:
        raise FormatError(folder, None, "its arrays do not fit together; train the table again")
