"""A system in its directory as a decoder."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from nbest.base.folders import MANIFEST
from nbest.compute.executors import current
from nbest.corpus import Forests, NBest
from nbest.systems.base import System
from nbest.systems.parts import PartWork, kind_of, load_system, manifest_of


def is_system(path: str | Path) -> bool:
    """Whether this is the directory of a system of `nbest train`."""
    return (Path(path) / MANIFEST).is_file()


@dataclass
class SystemDecoder:
    """A system of `SYSTEMS` in its directory, with how it is to decode.

    k         candidates of each segment, where lists are wanted
    forests   give forests
    options   limits of the system's own search: beam, ...
    """

    path: str | Path
    k: int = 200
    forests: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)
    threads: int | None = field(default=None, repr=False)
    progress: Callable[[int, int], None] | None = field(default=None, repr=False)

    @cached_property
    def kind(self) -> str:
        """What system it is, by its manifest."""
        return kind_of(self._manifest)

    @cached_property
    def _manifest(self) -> dict[str, Any]:
        return manifest_of(self.path)

    @cached_property
    def system(self) -> System:
        """The loaded system; arrays are mapped."""
        return load_system(self.path, self._manifest)

    @property
    def start(self) -> dict[str, float]:
        """The weights that the system has."""
        return self.system.start

    def describe(self) -> dict[str, Any]:
        """What a run's record says; the system itself by its manifest, with its sums, and the sizes of its files."""
        kept = ("format", "settings", "source", "target", "files")
        own = {key: value for key, value in self._manifest.items() if key in kept}
        return {
            "kind": self.kind,
            "system": {**own, "bytes": self._bytes()},
            "k": self.k,
            "options": dict(self.options),
        }

    def _bytes(self) -> int:
        """Of all files of the system, without what training left for itself."""
        files = [path for path in Path(self.path).rglob("*") if path.is_file()]
        return sum(path.stat().st_size for path in files if "work" not in path.relative_to(self.path).parts)

    def read(self, path: str | Path) -> list[Any]:
        """Inputs of a file: lines, or sentences of a treebank."""
        return self.system.read(path)

    def references(self, texts: Sequence[str]) -> list[str]:
        """Reference texts as the system would write them (tokens of a translator)."""
        return self.system.references(texts)

    def decode(self, weights: Mapping[str, float], inputs: Sequence[Any]) -> NBest | Forests:
        """Lists of the k best, or forests; ids count the inputs from 0.

        Where the executor has workers of its own they decode, some inputs at a time, each with the system loaded once.
        """
        if current().apart and len(inputs):
            self.system.check_asked(weights, inputs)
            return self._work(weights).all_of(inputs, self.system, self.progress)
        return self.system.decode(
            weights,
            inputs,
            k=self.k,
            forests=self.forests,
            threads=self.threads,
            progress=self.progress,
            **self.options,
        )

    def _work(self, weights: Mapping[str, float]) -> PartWork:
        path = str(Path(self.path).absolute())
        return PartWork(path, self._manifest, dict(weights), k=self.k, forests=self.forests, options=dict(self.options))
