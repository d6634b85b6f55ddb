"""The two files of a model with arrays, replaced in one step: arrays under a name of their own, then the JSON.

The name of the arrays carries their checksum, so that a new file never takes the place of one that the JSON there
names; renaming the JSON is what changes the model. Only then are arrays that it does not name removed. Savers of the
same folder take turns by a lock on it, which the system gives back when one of them is killed; where it cannot be
had, nothing is removed.
"""

from __future__ import annotations

import json
import os
import re
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from nbest.base.errors import CapabilityError, FormatError
from nbest.base.files import goal_of, replacing, write_text

_DIGITS = 16  # of the checksum, in a name
_OURS = re.compile(r"\d+\..+\.npy").fullmatch  # names of arrays: number of the recipe, then its keys
_PATIENCE = 60.0  # seconds that a saver waits for others
_LITTER = 3600.0  # seconds after which an unfinished file was left by a saver that was killed
_TRIES = 20  # of a reader


def side_name(name: str, sha256: str) -> str:
    """The file for the arrays of a model file of this name."""
    return f"{name}.{sha256[:_DIGITS]}.npz"


def save_model(path: str | Path, content: dict[str, Any], packed: bytes | None, sha256: str = "") -> None:
    """Write a model: `content` as JSON, and its arrays, an .npz in bytes, beside it. Old arrays of it are removed."""
    real, device = (Path("-"), True) if str(path) == "-" else goal_of(path)
    if device:
        if packed is not None:
            raise CapabilityError("a model with arrays cannot go to standard output; name a file with -o")
        write_text(path, _text(content))
        return
    if packed is None:
        text = _text(content)
    else:
        side = real.with_name(side_name(real.name, sha256))
        text = _text({**content, "arrays": {"file": side.name, "sha256": sha256}})
    with _turn(real.parent) as alone:
        if packed is not None:
            with replacing(side) as file:
                file.write(packed)
        write_text(path, text)
        if alone:
            _clean(real, None if packed is None else side.name)


def _text(content: dict[str, Any]) -> str:
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


@contextmanager
def _turn(folder: Path) -> Iterator[bool]:
    """Waits for the turn to change models of a folder; whether no other saver can be at it meanwhile."""
    try:
        import fcntl

        handle = os.open(folder, os.O_RDONLY)
    except (ImportError, OSError):
        yield False
        return
    try:
        yield _locked(lambda: fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB))
    finally:
        os.close(handle)  # gives the lock back


def _locked(lock: Callable[[], None]) -> bool:
    end = time.monotonic() + _PATIENCE
    while True:
        try:
            lock()
            return True
        except BlockingIOError:
            if time.monotonic() > end:
                return False
            time.sleep(0.002)
        except OSError:  # a file system without locks
            return False


def _clean(path: Path, keep: str | None) -> None:
    """Remove arrays of this model that it does not name, and what killed savers of it left unfinished."""
    name = re.escape(path.name)
    arrays = re.compile(rf"{name}(\.[0-9a-f]{{{_DIGITS}}})?\.npz").fullmatch
    unfinished = re.compile(rf"\.{name}(\.[0-9a-f]{{{_DIGITS}}}\.npz)?\.\w+\.part").fullmatch
    try:
        for entry in os.scandir(path.parent):
            old = bool(unfinished(entry.name)) and time.time() - entry.stat().st_mtime > _LITTER
            spare = entry.name != keep and arrays(entry.name) and _is_ours(entry.path)
            if old or (spare and not _is_named(entry.name, path)):
                os.unlink(entry.path)
    except OSError:
        return  # what is left does no harm


def _is_named(arrays: str, path: Path) -> bool:
    """Whether another model of the folder, a renamed or copied one, has these arrays."""
    others = (each for each in path.parent.iterdir() if each.name != path.name and each.is_file())
    return any(begins_as_model(each) and arrays.encode() in each.read_bytes() for each in others)


def begins_as_model(path: Path) -> bool:
    """Whether a file is a model, by its first bytes."""
    with open(path, "rb") as file:
        return b'"format": "nbest-model/' in file.read(200)


def _is_ours(path: str) -> bool:
    """Whether a file is one of arrays of a model; another one of such a name is none of ours."""
    try:
        with zipfile.ZipFile(path) as packed:
            names = packed.namelist()
    except (OSError, ValueError, zipfile.BadZipFile):
        return False
    return bool(names) and all(map(_OURS, names))


def reading(path: str | Path, read: Callable[[], Any]) -> Any:
    """`read()` of a model's two files, again where a saver has changed them in between."""
    for _ in range(_TRIES):
        before = _stamp(path)
        try:
            return read()
        except FormatError:
            if before is None or _stamp(path) == before:
                raise
            time.sleep(0.001)
    return read()


def _stamp(path: str | Path) -> tuple[int, ...] | None:
    """What changes when a plain file is replaced; None for others, which cannot be read twice."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return (found.st_ino, found.st_mtime_ns, found.st_size) if Path(path).is_file() else None
