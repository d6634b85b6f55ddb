"""Parts of the inputs of a system, decoded by workers of an executor; each worker loads the system once."""

from __future__ import annotations

import platform
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from nbest.base.errors import FormatError, ParameterError, _known
from nbest.base.folders import MANIFEST
from nbest.base.sealed import read_object
from nbest.compute.executors import current
from nbest.corpus import Forests, NBest
from nbest.corpus.operations import join
from nbest.systems import SYSTEMS
from nbest.systems.base import Progress, System

R = TypeVar("R")

PART = 50
"""Segments of a part, whatever the number of workers."""

_kept: dict[str, tuple[Mapping[str, Any], System]] = {}  # the last one that this process decoded with, by its path
_loading = threading.Lock()


def manifest_of(path: str | Path) -> dict[str, Any]:
    """What the manifest of a system's directory says."""
    place = Path(path) / MANIFEST
    manifest = read_object(place, "train the system again")
    if not isinstance(manifest.get("format"), str):
        raise FormatError(place, None, "is damaged: it has no 'format'; train the system again")
    return manifest


def kind_of(manifest: Mapping[str, Any]) -> str:
    """What system it is."""
    return str(manifest.get("format")).partition("/")[0]


def load_system(path: str | Path, manifest: Mapping[str, Any]) -> System:
    """The system of a directory; arrays are mapped."""
    decodes = {each.form.partition("/")[0]: each for each in SYSTEMS.values() if each.decoding is not None}
    kind = kind_of(manifest)
    if kind not in decodes:
        raise ParameterError(f"unknown system {kind!r}; {_known(decodes, kind)}")
    found: System = decodes[kind].load(path)
    return found


@dataclass(frozen=True)
class PartWork:
    """How parts are decoded: a function of a part, that is of the number of its first input and its inputs."""

    path: str
    manifest: Mapping[str, Any]
    weights: Mapping[str, float]
    k: int
    forests: bool
    options: Mapping[str, Any]

    def __call__(self, part: tuple[int, Sequence[Any]]) -> NBest | Forests:
        """Its lists or forests; ids count all inputs."""
        low, inputs = part
        system = kept_system(self.path, self.manifest)
        ids = [str(low + i) for i in range(len(inputs))]
        if self.forests:
            return system.candidates(inputs, self.weights, ids=ids, **self.options)
        return system.lists(inputs, self.k, weights=self.weights, ids=ids, **self.options)

    def all_of(self, inputs: Sequence[Any], system: System, progress: Progress | None) -> Any:
        """Those of all inputs, by the workers of the current executor: what `System.decode` gives."""
        found: list[Any] = on_workers(self, inputs, progress)
        return system.joined(found) if self.forests else join(found)


def on_workers(
    function: Callable[[tuple[int, Sequence[Any]]], R], inputs: Sequence[Any], progress: Progress | None
) -> list[R]:
    """What a function makes of the parts of inputs, by the workers of the current executor."""
    done = 0

    def told(more: int) -> None:
        nonlocal done
        done += more
        if progress is not None:
            progress(min(done * PART, len(inputs)), len(inputs))

    parts = [(low, inputs[low : low + PART]) for low in range(0, len(inputs), PART)]
    return current().map(function, parts, told)


def kept_system(path: str, manifest: Mapping[str, Any]) -> System:
    """The system of a directory with this manifest, loaded unless this process has it from an earlier part."""
    with _loading:
        if path not in _kept or _kept[path][0] != manifest:
            _check_same(path, manifest)
            _kept.clear()
            _kept[path] = manifest, load_system(path, manifest)
        return _kept[path][1]


def _check_same(path: str, manifest: Mapping[str, Any]) -> None:
    """A directory that is not there, or another one, is an error that says what workers need."""
    need = "workers need the files of the system at the same path, as on a shared file system"
    if not (Path(path) / MANIFEST).is_file():
        raise FormatError(path, None, f"is no system on the machine of a worker, {platform.node()}; {need}")
    if manifest_of(path) != manifest:
        raise FormatError(path, None, f"is another system on the machine of a worker, {platform.node()}; {need}")
