"""A phrase table on disk: a directory of raw .npy arrays, two word lists and a manifest.

`manifest.json` holds `{"format": "nbest-phrases", "version": 1, "features": [...], "files": {name: {"bytes": n,
"sha256": h}}}`. Arrays are memory-mapped, so loading takes the time of reading the word lists. The directory is
written beside its place and renamed. Sizes are checked at every load, which finds files cut short; the sums with
`verify`.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from nbest.errors import FormatError
from nbest.files import read_lines
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
    goal = Path(path).resolve()
    if goal.exists() and not (goal / "manifest.json").is_file() and (not goal.is_dir() or any(goal.iterdir())):
        raise FormatError(path, None, "is not a phrase table and will not be replaced; give another place")
    try:
        beside = Path(tempfile.mkdtemp(prefix=f".{goal.name}.", suffix=".part", dir=goal.parent))
    except OSError as error:
        raise FormatError(path, None, f"cannot be written: {error.strerror}") from None
    old = beside.with_suffix(".old")
    try:
        _write(table, beside)
        beside.chmod(0o755)
        if goal.exists():
            goal.rename(old)
        beside.rename(goal)
    finally:
        shutil.rmtree(beside, ignore_errors=True)
        shutil.rmtree(old, ignore_errors=True)


def _write(table: PhraseTable, folder: Path) -> None:
    for name, (kind, _) in _ARRAYS.items():
        np.save(folder / f"{name}.npy", np.ascontiguousarray(getattr(table, name), kind))
    for name in _WORDS:
        text = "".join(f"{word}\n" for word in getattr(table, name))
        (folder / f"{name}.txt").write_bytes(text.encode("utf-8"))
    files = {f.name: {"bytes": f.stat().st_size, "sha256": _sum(f)} for f in sorted(folder.iterdir())}
    manifest = {"format": FORMAT, "version": VERSION, "features": list(FEATURES), "files": files}
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")


def _sum(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def load(path: str | Path, *, verify: bool = False) -> PhraseTable:
    """The table of a directory, memory-mapped; what is missing, cut short or of another version is a FormatError."""
    folder = Path(path)
    _check_files(folder, _manifest(folder), verify)
    arrays: dict[str, Any] = {name: _array(folder / f"{name}.npy", *shape) for name, shape in _ARRAYS.items()}
    words: dict[str, Any] = {name: read_lines(folder / f"{name}.txt") for name in _WORDS}
    table = PhraseTable(**arrays, **words)
    _check_sizes(folder, table)
    return table


def _manifest(folder: Path) -> dict[str, Any]:
    path = folder / "manifest.json"
    if not path.is_file():
        raise FormatError(
            folder, None, "is not a phrase table: it has no manifest.json; make one with PhraseTable.save"
        )
    try:
        manifest = json.loads(path.read_bytes())
    except ValueError as error:
        raise FormatError(path, None, f"is damaged or cut short: {error}") from None
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise FormatError(path, None, f"expected the format {FORMAT!r}; this is no phrase table")
    if manifest.get("version") != VERSION or manifest.get("features") != list(FEATURES):
        got = manifest.get("version")
        raise FormatError(path, None, f"expected version {VERSION} with features {FEATURES}, got {got}; train it again")
    return manifest


def _check_files(folder: Path, manifest: dict[str, Any], verify: bool) -> None:
    wanted = [f"{name}.npy" for name in _ARRAYS] + [f"{name}.txt" for name in _WORDS]
    files = manifest.get("files")
    for name in wanted:
        entry = files.get(name) if isinstance(files, dict) else None
        if not isinstance(entry, dict):
            raise FormatError(folder / "manifest.json", None, f"does not list {name}; train the table again")
        path = folder / name
        size = path.stat().st_size if path.is_file() else 0
        if size != entry.get("bytes"):
            raise FormatError(path, None, f"is cut short or changed: expected {entry.get('bytes')} bytes, got {size}")
        if verify and _sum(path) != entry.get("sha256"):
            raise FormatError(path, None, "is damaged: its sha256 is not that of the manifest; train the table again")


def _array(path: Path, kind: type, axes: int) -> Any:
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise FormatError(path, None, f"is not an array file: {error}") from None
    if array.dtype != kind or array.ndim != axes:
        raise FormatError(path, None, f"expected {np.dtype(kind)} with {axes} axes, got {array.dtype}, {array.ndim}")
    return array


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
