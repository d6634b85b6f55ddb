"""What the folders of systems share: how they are written, arrays and lists of words in them, weights beside them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from nbest.base.errors import FormatError, listed
from nbest.base.folders import MANIFEST, mapped, replacing_directory, sizes_and_sums, write_manifest
from nbest.base.version import VERSION
from nbest.model.loglinear import load
from nbest.systems.base import Training

WEIGHTS = "weights.json"
"""A model of `nbest tune`, put into a folder to replace the weights of the system; may be missing."""
Kinds = Mapping[str, tuple[type, int]]
"""Type and number of axes of arrays by name; each is a file NAME.npy."""


def save_folder(path: str | Path, kind: type[Training[Any]], write: Callable[[Path], Mapping[str, Any]]) -> None:
    """Write a folder beside `path`, then rename it into place; a system of the same kind that was there is replaced.

    `write` makes its files and tells what its manifest says besides its format, version and sums.
    """
    kind.check_place(path)
    with replacing_directory(path) as folder:
        own = write(folder)
        write_manifest(folder, {"format": kind.form, **own, "nbest": VERSION, "files": sizes_and_sums(folder)})


def check_place(path: str | Path, what: str, files: Sequence[str]) -> None:
    """Refuse to replace what is not a folder of such a system: one with other files, or without a manifest."""
    goal = Path(path)
    if goal.exists() and not goal.is_dir():
        raise FormatError(path, None, f"is a file; a {what} is a directory")
    there = {file.name for file in goal.iterdir()} if goal.is_dir() else set()
    if there and not {MANIFEST} <= there <= {MANIFEST, WEIGHTS, *files}:
        raise FormatError(path, None, f"is there and is no {what}; name another directory")
    if not goal.resolve().parent.is_dir():
        raise FormatError(path, None, f"cannot be written: there is no folder {goal.parent}; make it first")


def write_lines(path: Path, rows: Iterable[str]) -> None:
    """Words, one a line."""
    path.write_bytes("".join(f"{row}\n" for row in rows).encode("utf-8"))


def save_arrays(folder: Path, owner: Any, kinds: Kinds) -> None:
    """The arrays that are attributes of an object."""
    for name, (kind, _) in kinds.items():
        np.save(folder / f"{name}.npy", np.ascontiguousarray(getattr(owner, name), kind), allow_pickle=False)


def map_arrays(places: Mapping[str, Path], kinds: Kinds) -> dict[str, Any]:
    """The arrays by name, memory-mapped, from the paths of their files."""
    return {name: mapped(places[f"{name}.npy"], *kind) for name, kind in kinds.items()}


def weights_of(folder: Path, own: Mapping[str, float], names: Sequence[str], what: str) -> dict[str, float]:
    """Those that were put into the folder, or else the system's own; `what` a weight is of, for errors."""
    path = folder / WEIGHTS
    if not path.is_file():
        return dict(own)
    model = load(path)
    strange = next((name for name in model.weights if name not in names), None)
    if strange is not None:
        raise FormatError(path, None, f"has a weight for {strange!r}, which is no {what}; there are {listed(names)}")
    if model.features:
        raise FormatError(path, None, f"adds features to lists; weights are for {listed(names)} only")
    return dict(model.weights)
