"""What model directories share: written beside their place and renamed, a manifest, memory-mapped arrays."""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from nbest.errors import FormatError
from nbest.files import decode, read_bytes

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
    """The manifest of a folder that nobody reads yet."""
    (folder / MANIFEST).write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def read_manifest(folder: Path, form: str, what: str, make: str) -> dict[str, Any]:
    """The manifest of a directory whose "format" is `form`; `what` it is and how to `make` one are for errors."""
    path = folder / MANIFEST
    if not path.is_file():
        raise FormatError(folder, None, f"is no {what}: it has no {MANIFEST}; {make}")
    try:
        manifest = json.loads(decode(path, read_bytes(path)))
    except (ValueError, RecursionError) as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(path, None, f"is damaged or cut short: {error}") from None
    if not isinstance(manifest, dict) or manifest.get("format") != form:
        got = manifest.get("format") if isinstance(manifest, dict) else manifest
        raise FormatError(path, None, f"expected the format {form!r}, got {got!r}; train the {what} again")
    return manifest


def sizes_and_sums(folder: Path) -> dict[str, dict[str, Any]]:
    """For a manifest: bytes and sha256 of each file."""
    return {file.name: {"bytes": file.stat().st_size, "sha256": _sum(file)} for file in sorted(folder.iterdir())}


def check_file(folder: Path, name: str, files: Any, *, verify: bool = False) -> Path:
    """The path of a file that has the size that the manifest says (and the sum, with `verify`)."""
    entry = files.get(name) if isinstance(files, dict) else None
    if not isinstance(entry, dict):
        raise FormatError(folder / MANIFEST, None, f"does not list {name}; train it again")
    path = folder / name
    size = path.stat().st_size if path.is_file() else -1
    if size != entry.get("bytes"):
        got = "no file" if size < 0 else size
        wanted = f"expected {entry.get('bytes')} bytes, got {got}"
        raise FormatError(path, None, f"is missing, cut short or changed: {wanted}; train it again")
    if verify and _sum(path) != entry.get("sha256"):
        raise FormatError(path, None, "is damaged: its sha256 is not that of the manifest; train it again")
    return path


def mapped(path: Path, kind: type, axes: int) -> Any:
    """A memory-mapped array of this kind and number of axes."""
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise FormatError(path, None, f"is not an array file: {error}") from None
    if array.dtype != kind or array.ndim != axes:
        raise FormatError(path, None, f"expected {np.dtype(kind)} with {axes} axes, got {array.dtype}, {array.ndim}")
    return array


def _sum(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
