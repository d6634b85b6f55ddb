"""Writing a store block by block: arrays grow at their ends, a shard is closed where it is full."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any, Self

import numpy as np

from nbest.base.errors import CapabilityError
from nbest.base.folders import sizes_and_sums, write_manifest
from nbest.base.types import Ints
from nbest.base.version import VERSION
from nbest.compute import segments
from nbest.corpus import NBest
from nbest.corpus.blocks import BLOCK
from nbest.corpus.recipes import same_recipe
from nbest.formats.lists.recipe_text import write_recipes
from nbest.formats.lists.store_files import RECIPES
from nbest.formats.lists.store_layout import ARRAYS, BEGIN, FORM, NAMES, arrays_of, packed

SHARD = 1 << 26
"""Bytes of a shard, about: it ends after `BLOCK` segments, or before the list that would make it larger."""
_DEFAULTS = {"positions": "<i8", "sparse_bounds": "<i8", "sparse_columns": "<i4", "sparse_values": "<f8"}
"""Arrays that some lists may be without: they stand in the order of the file, and have no sparse features."""
_SAID = {
    "features": "features",
    "text_bounds": "texts",
    "gains": "scores",
    "answer_bounds": "answers",
    "system_bounds": "systems",
    "source_bounds": "a source",
    "group_bounds": "a group",
    "reference_offsets": "references",
}


class Writer:
    """A store that grows in a folder that nobody reads yet."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder, self.stack = folder, stack
        self.files: dict[str, _Growing] = {}
        self.sizes = dict.fromkeys(("segments", *(array.into for array in ARRAYS.values() if array.into)), 0)
        self.shards: list[dict[str, Any]] = []
        self.begun = 0, 0  # segments and rows before the shard that is open
        self.bytes = 0  # of the shard that is open
        self.first: NBest | None = None  # block with hypotheses
        self.ids: dict[str, None] = {}
        self.columns: dict[str, int] = {}  # sparse ones, by name
        self.known: tuple[Any, Ints | None] = (None, None)  # names of the last block and their numbers

    # lists -----------------------------------------------------------------------------------------------------

    def add(self, block: NBest) -> None:
        """Append the lists of a block."""
        block = self._alike(block)
        for name in block.ids:
            if name in self.ids:
                raise CapabilityError(f"segment {name!r} comes twice, with others between; a store holds it once")
            self.ids[name] = None
        columns = self._numbers(block)
        for low, high in self._pieces(block):
            self._append(block.between(low, high), columns)

    def _alike(self, block: NBest) -> NBest:
        """The block with its dense columns in the order of the first one."""
        if not block.hypotheses:
            return block
        if self.first is None:
            self.first = block.between(0, 0)
        if not same_recipe(block.recipes, self.first.recipes):
            raise CapabilityError(f"from segment {block.ids[0]!r} on features were added by other recipes")
        odd = sorted({*block.feature_names} ^ {*self.first.feature_names})
        if odd:
            raise CapabilityError(f"from segment {block.ids[0]!r} on the lists have other features: {odd[0]!r}")
        same = block.feature_names == self.first.feature_names
        return block if same else block.only_features(self.first.feature_names)

    def _numbers(self, block: NBest) -> Ints | None:
        """The numbers of a block's sparse columns: in order of first appearance."""
        if block.sparse is None:
            return None
        if self.known[0] is not block.sparse_names:
            numbers = [self.columns.setdefault(name, len(self.columns)) for name in block.sparse_names]
            self.known = block.sparse_names, np.array(numbers, block.sparse.indices.dtype)
        return self.known[1]

    def _pieces(self, block: NBest) -> Iterator[tuple[int, int]]:
        """Ranges of segments that fit into what is left of a shard; closes shards that are full."""
        costs, low = _costs(block), 0
        while low < len(block):
            most = BLOCK - self.sizes["segments"] % BLOCK
            fit = int(np.searchsorted(np.cumsum(costs[low : low + most]), SHARD - self.bytes, side="right"))
            if fit == 0 and self.bytes:
                self.close_shard()
                continue
            high = low + max(fit, 1)
            yield low, high
            self.bytes += int(costs[low:high].sum())
            low = high
            if self.sizes["segments"] % BLOCK == 0:
                self.close_shard()

    # arrays ----------------------------------------------------------------------------------------------------

    def _append(self, part: NBest, columns: Ints | None) -> None:
        arrays = arrays_of(part, columns)
        rows = self.sizes["rows"], self.sizes["rows"] + part.hypotheses
        arrays |= {name: _default(name, *rows) for name in _DEFAULTS if name in self.files and name not in arrays}
        for name, array in ARRAYS.items():
            if name in arrays:
                self._grow(name, arrays[name], part)
            elif name in self.files and (len(part) if array.of == "segments" else part.hypotheses):
                raise CapabilityError(f"segment {part.ids[0]!r} has no {_SAID[name]}, and segments before have")
        for name, array in ARRAYS.items():
            if array.into and name in arrays:
                self.sizes[array.into] += int(arrays[name][-1])
        self.sizes["segments"] += len(part)

    def _grow(self, name: str, values: Any, part: NBest) -> None:
        array = ARRAYS[name]
        if name not in self.files:
            if self.sizes[array.of] and name not in _DEFAULTS:
                raise CapabilityError(f"segment {part.ids[0]!r} has {_SAID[name]}, and segments before have not")
            self._begin(name, values)
        self.files[name].append(values[1:] + self.sizes[array.into] if array.into else values)

    def _begin(self, name: str, values: Any) -> None:
        """A new file, with what the hypotheses before have of it."""
        array = ARRAYS[name]
        kind = values.dtype if len(array.kinds) > 1 else array.kinds[0]
        file = self.files[name] = self.stack.enter_context(_Growing(self.folder / f"{name}.npy", kind, values.shape))
        if array.into:
            file.append(np.zeros(1, np.int64))
        for shard in [*self.shards, None]:
            rows = (self.begun[1], self.sizes["rows"]) if shard is None else shard["rows"]
            if name in _DEFAULTS:
                file.append(_default(name, *rows)[bool(array.into) :])
            if shard is not None:
                shard["sha256"][name] = file.sum(overlap=bool(array.into))

    def close_shard(self) -> None:
        """Note the sums of the shard that is open, and open another."""
        ends = self.sizes["segments"], self.sizes["rows"]
        if ends[0] > self.begun[0]:
            sums = {name: file.sum(overlap=bool(ARRAYS[name].into)) for name, file in self.files.items()}
            ranges = [[low, high] for low, high in zip(self.begun, ends, strict=True)]
            self.shards.append({"segments": ranges[0], "rows": ranges[1], "sha256": sums})
            self.begun, self.bytes = ends, 0

    # the end ---------------------------------------------------------------------------------------------------

    def finish(self) -> None:
        """Headers, names and the manifest."""
        self.close_shard()
        for file in self.files.values():
            file.finish()
        first = self.first
        if "sparse_bounds" in self.files:
            for name, values in packed("sparse_name", self.columns).items():
                with _Growing(self.folder / f"{name}.npy", NAMES[name].kinds[0], values.shape) as file:
                    file.append(values)
                    file.finish()
        if first is not None and first.recipes:
            write_recipes(first.recipes, self.folder / RECIPES)
        origins = {} if first is None else {k: [o.sign, o.log_base, o.normalised] for k, o in first.origins.items()}
        files = {f"{name}.npy": {"bytes": (self.folder / f"{name}.npy").stat().st_size} for name in self.files}
        beside = [path.name for path in self.folder.iterdir() if path.name not in files]
        shards = [{**shard, "sha256": dict(sorted(shard["sha256"].items()))} for shard in self.shards]
        content = {
            "format": FORM,
            "id": hashlib.sha256(json.dumps(shards).encode()).hexdigest()[:32],
            "segments": self.sizes["segments"],
            "hypotheses": self.sizes["rows"],
            "feature_names": [] if first is None else list(first.feature_names),
            "origins": origins,
            "nbest": VERSION,
            "files": dict(sorted({**files, **sizes_and_sums(self.folder, sorted(beside))}.items())),
            "shards": shards,
        }
        write_manifest(self.folder, content)


class _Growing:
    """An .npy file that grows at its end, with the sum of what was appended since the last shard."""

    def __init__(self, path: Path, kind: Any, shape: tuple[int, ...]) -> None:
        self.path, self.kind, self.shape, self.count = path, np.dtype(kind).newbyteorder("<"), shape, 0
        self.hash, self.last = hashlib.sha256(), b""
        self.file: IO[bytes] = open(path, "wb")  # noqa: SIM115
        self.file.write(bytes(BEGIN))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.file.close()

    def append(self, values: Any) -> None:
        """Write further entries."""
        if not np.can_cast(values.dtype, self.kind, "same_kind" if self.kind.kind == "i" else "safe"):
            raise CapabilityError(f"some lists have numbers of type {self.kind} and others of {values.dtype}")
        data = np.ascontiguousarray(values, self.kind).reshape(-1).view(np.uint8)
        if len(data):
            self.file.write(data.data)
            self.hash.update(data.data)
            self.last = data[-self.kind.itemsize :].tobytes()
            self.count += len(values)

    def sum(self, *, overlap: bool) -> str:
        """The sum of what was appended since the last call; with `overlap` the last entry counts in the next, too."""
        found = self.hash.hexdigest()
        self.hash = hashlib.sha256(self.last if overlap else b"")
        return found

    def finish(self) -> None:
        """The header, now that the size is known."""
        header = io.BytesIO()
        about = {"descr": self.kind.str, "fortran_order": False, "shape": (self.count, *self.shape[1:])}
        np.lib.format.write_array_header_1_0(header, about)
        assert len(header.getvalue()) == BEGIN
        self.file.seek(0)
        self.file.write(header.getvalue())
        self.file.flush()


def _default(name: str, low: int, high: int) -> Any:
    """What hypotheses have of an array that their lists are without, bounds from 0."""
    if name == "positions":
        return np.arange(low, high)
    return np.zeros(high - low + 1, np.int64) if name == "sparse_bounds" else np.zeros(0, _DEFAULTS[name])


def _costs(block: NBest) -> Ints:
    """[N] about how many bytes each list takes."""
    cost = block.lengths * (8 * len(block.feature_names) + 16)
    if block.texts is not None:
        sizes = (block.texts.ends - block.texts.starts).astype(np.float64)
        cost = cost + segments.sums(sizes, block.offsets).astype(np.int64)
    if block.sparse is not None:
        cost = cost + 12 * np.diff(block.sparse.indptr[block.offsets])
    return cost + 16
