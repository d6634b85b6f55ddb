"""What model directories share: written beside their place and renamed, a manifest with sums, memory-mapped arrays.

Loading compares the sums of all files with the manifest, and the manifest with its own; who loads then
checks what kernels follow, so that not even a file whose sum was made anew can lead them out of its arrays.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from nbest.base.arrays_file import map_array
from nbest.base.ending import cleaning_up
from nbest.base.errors import FormatError, shown
from nbest.base.files import write_text
from nbest.base.sealed import read_object, sealed

MANIFEST = "manifest.json"


@contextmanager
def replacing_directory(path: str | Path) -> Iterator[Path]:
    """A new folder beside `path`, renamed into its place at the end; what was there stays until then."""
    goal = Path(path).resolve()
    try:
        beside = Path(tempfile.mkdtemp(prefix=f".{goal.name}.", suffix=".part", dir=goal.parent))
    except OSError as error:
        raise FormatError(path, None, f"cannot be written: {error.strerror}") from None
    old = beside.with_suffix(".old")
    with cleaning_up():
        try:
            yield beside
            beside.chmod(0o755)
            if goal.exists():
                goal.rename(old)
            try:
                beside.rename(goal)
            except BaseException:
                if old.exists():
                    old.rename(goal)
                raise
            shutil.rmtree(old, ignore_errors=True)
        finally:
            shutil.rmtree(beside, ignore_errors=True)


def write_manifest(folder: Path, content: dict[str, Any]) -> None:
    """The manifest of a folder that nobody reads yet, with a sum of its own."""
    write_text(folder / MANIFEST, json.dumps(sealed(content), indent=1) + "\n")


def read_manifest(folder: Path, form: str, what: str, make: str) -> dict[str, Any]:
    """The manifest of a directory whose "format" is `form`; `what` it is and how to `make` one are for errors."""
    path = folder / MANIFEST
    if not path.is_file():
        raise FormatError(folder, None, f"is no {what}: it has no {MANIFEST}; {make}")
    manifest = read_object(path, f"train the {what} again")
    if manifest.get("format") != form:
        got = shown(manifest.get("format"))
        raise FormatError(path, None, f"expected the format {form!r}, got {got}; train the {what} again")
    return manifest


def sizes_and_sums(folder: Path, names: Sequence[str] | None = None) -> dict[str, dict[str, Any]]:
    """For a manifest: bytes and sha256 of these files, or of all in the folder and below."""
    if names is None:
        names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    sums = _sums([folder / name for name in names])
    return {
        name: {"bytes": (folder / name).stat().st_size, "sha256": found}
        for name, found in zip(names, sums, strict=True)
    }


def check_files(
    folder: Path, names: Sequence[str], files: Any, *, remedy: str = "train it again", sums: bool = True
) -> dict[str, Path]:
    """The paths of files, by name, that have the size and the sum that a manifest says in its `files`.

    Names are plain and the files are in the folder: nothing that a manifest says leads out of it, nor does a link.
    Without `sums` only sizes are compared, for who compares them already.
    """
    paths = {name: _sized(folder, name, files, remedy) for name in names}
    found = _sums(list(paths.values())) if sums else []
    for name, got in zip(names, found, strict=False):
        if got != files[name].get("sha256"):
            raise FormatError(paths[name], None, f"is damaged: its sha256 is not that of the manifest; {remedy}")
    return paths


def _sized(folder: Path, name: str, files: Any, remedy: str) -> Path:
    entry = files.get(name) if isinstance(files, dict) else None
    if not isinstance(entry, dict):
        raise FormatError(folder / MANIFEST, None, f"does not list {name}; {remedy}")
    path = inside(folder, name)
    size = path.stat().st_size if path.is_file() else -1
    if size != entry.get("bytes"):
        got = "no file" if size < 0 else size
        wanted = f"expected {shown(entry.get('bytes'))} bytes, got {got}"
        raise FormatError(path, None, f"is missing, cut short or changed: {wanted}; {remedy}")
    return path


def inside(folder: Path, name: str) -> Path:
    """The path of a file that a folder names, if it is in the folder."""
    parts = PurePosixPath(name).parts
    if not parts or PurePosixPath(name).is_absolute() or ".." in parts or "\\" in name or "\0" in name:
        raise FormatError(folder, None, f"names the file {shown(name)}, which is not in it")
    path = folder / name
    try:
        leads_out = not path.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError):  # links in a circle
        leads_out = True
    if leads_out:
        raise FormatError(path, None, "is a link that leads out of the folder; put the file itself there")
    return path


def mapped(path: Path, kind: type, axes: int) -> Any:
    """A memory-mapped array of this kind and number of axes."""
    array = map_array(path)
    if array.dtype != kind or array.ndim != axes:
        raise FormatError(path, None, f"expected {np.dtype(kind)} with {axes} axes, got {array.dtype}, {array.ndim}")
    if not (array.flags.c_contiguous and array.flags.aligned):
        raise FormatError(path, None, "is damaged: its numbers are laid out otherwise than they were written")
    return array


def strings(path: Path, value: Any, what: str, *, some: bool = True) -> tuple[str, ...]:
    """A list of texts out of a manifest."""
    if not isinstance(value, list) or (some and not value) or not all(isinstance(item, str) for item in value):
        raise FormatError(path, None, f"expected a list of texts as {what!r}, got {shown(value)}; train it again")
    return tuple(value)


def numbers_by_name(path: Path, value: Any, names: Sequence[str]) -> dict[str, float]:
    """The weights of a manifest."""
    if not isinstance(value, dict) or not all(name in names and is_number(value[name]) for name in value):
        raise FormatError(path, None, f"'weights' must be finite numbers of {', '.join(names)}; train it again")
    return {name: float(weight) for name, weight in value.items()}


def is_number(value: Any) -> bool:
    """Whether this is a finite number, and no truth value."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) < 1e300


def _sums(paths: Sequence[Path]) -> list[str]:
    """The sums of files, several at a time: hashing releases the interpreter lock."""
    with ThreadPoolExecutor(max(1, min(len(paths), os.cpu_count() or 1))) as pool:
        return list(pool.map(_sum, paths))


def _sum(path: Path) -> str:
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise FormatError(path, None, f"cannot be read: {error.strerror or error}") from None
