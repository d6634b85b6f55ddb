"""Opening a store: sizes and rules first, sums shard by shard, arrays mapped or read."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from nbest.base.errors import FormatError, NbestError, shown
from nbest.base.folders import MANIFEST, check_files, read_manifest, strings
from nbest.base.inputs import Progress
from nbest.base.mapped import chunks, root_of
from nbest.base.types import Ints
from nbest.compute import parallel
from nbest.compute.bounds import Bounds, rises
from nbest.corpus import NBest
from nbest.corpus.nbest import Origin
from nbest.formats.lists.recipe_text import recipes_in
from nbest.formats.lists.store_array import REMEDY, StoredArray
from nbest.formats.lists.store_layout import ARRAYS, FORM, NAMES, Arrays, lists_in, part, texts_in

RECIPES = "recipes.json"
_AT_ONCE = 4  # shards in memory while sums are compared; more are not read faster from disk


class Store:
    """A store whose files have the right sizes. Its arrays are mapped; shards can be read into memory, with their sums.

    What kernels follow is checked, whatever the sums say: bounds rise to the size of what they are bounds in, and
    sparse columns are there; of all lists that are mapped, of a shard that is read. Sums, finite features and UTF-8 are
    a shard's affair.
    """

    def __init__(self, path: str | Path) -> None:
        self.folder = Path(path)
        self.manifest = read_manifest(self.folder, FORM, "store of lists", "nbest convert LISTS DIR.store makes one")
        self.rule = Bounds(self.folder, REMEDY)
        self.sizes = {"segments": self._count("segments")}
        self.files = self._opened()
        self.shards = self._shards()
        self.about, self.sparse_names = self._head()

    # opening ---------------------------------------------------------------------------------------------------

    def _opened(self) -> dict[str, StoredArray]:
        """The arrays, whose sizes fit each other."""
        files = self.manifest.get("files")
        known = ARRAYS | NAMES
        present = [name for name in known if isinstance(files, dict) and f"{name}.npy" in files]
        paths = check_files(self.folder, [f"{name}.npy" for name in present], files, remedy=REMEDY, sums=False)
        found: dict[str, StoredArray] = {}
        for name in present:
            found[name] = StoredArray(paths[f"{name}.npy"], known[name])
            self._check(name, found[name])
        for name in known:
            if name not in found and _needed(name, found):
                raise FormatError(self.folder / MANIFEST, None, f"does not list {name}.npy; {REMEDY}")
        return found

    @cached_property
    def arrays(self) -> Arrays:
        """The arrays, mapped."""
        return {name: file.mapped() for name, file in self.files.items()}

    def _count(self, key: str) -> int:
        value = self.manifest.get(key)
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise FormatError(self.folder / MANIFEST, None, f"{key!r} must be a number, got {shown(value)}; {REMEDY}")
        return value

    def _check(self, name: str, file: StoredArray) -> None:
        """Sizes that fit each other; bounds begin with 0 and end with the size of what they are bounds in."""
        array, sizes = file.array, self.sizes
        if array.of == "columns":
            sizes.setdefault("columns", len(file) - 1)
        if array.of not in sizes or len(file) != sizes[array.of] + bool(array.into) or sizes[array.of] < 0:
            raise self.rule.fail(name, f"have an entry for each of the {array.of}")
        if array.into:
            first, last = int(file.read(0, 1)[0]), int(file.read(len(file) - 1, len(file))[0])
            if first != 0 or last < 0:
                raise self.rule.fail(name, "rise from 0")
            sizes[array.into] = last

    def _shards(self) -> list[dict[str, Any]]:
        """The ranges of segments and rows with their sums; one after the other, all of them."""
        shards, offsets, at = self.manifest.get("shards"), self._whole("offsets"), 0
        if not isinstance(shards, list):
            shards = [None]
        for shard in shards:
            high = _end_of(shard, at, offsets)
            if high is None or sorted(shard["sha256"]) != sorted(name for name in ARRAYS if name in self.files):
                raise FormatError(
                    self.folder / MANIFEST, None, f"is damaged: no shard follows on segment {at}; {REMEDY}"
                )
            at = high
        if at != self.manifest["segments"]:
            raise FormatError(self.folder / MANIFEST, None, f"is damaged: its shards hold {at} segments; {REMEDY}")
        return shards

    def _head(self) -> tuple[dict[str, Any], tuple[str, ...]]:
        """The fields of lists that are no arrays, and the names of sparse columns."""
        path, files = self.folder / MANIFEST, self.manifest["files"]
        beside = [name for name in (RECIPES, *(f"{name}.npy" for name in NAMES)) if name in files]
        paths = check_files(self.folder, beside, files, remedy=REMEDY)
        names = strings(path, self.manifest.get("feature_names"), "feature_names", some=False)
        if len(names) != (self.files["features"].header.shape[1] if "features" in self.files else 0):
            raise FormatError(path, None, f"has {len(names)} names of features, features.npy others; {REMEDY}")
        origins = {name: _origin(path, value) for name, value in _object(path, self.manifest.get("origins")).items()}
        recipes = recipes_in(paths[RECIPES], REMEDY) if RECIPES in files else ()
        return {"feature_names": names, "origins": origins, "recipes": recipes}, self._names()

    def _names(self) -> tuple[str, ...]:
        if not self.files.keys() >= NAMES.keys():
            return ()
        try:
            arrays = {name: self._whole(name) for name in NAMES}
            self._follow("sparse_name_bounds", arrays["sparse_name_bounds"])
            return tuple(texts_in(arrays, "sparse_name"))
        except UnicodeDecodeError:
            raise self.rule.fail("sparse_name", "be UTF-8") from None

    # lists -----------------------------------------------------------------------------------------------------

    def lists(self) -> NBest:
        """All lists, mapped."""
        for name, array in self.arrays.items():
            before = 0
            for some in chunks(array) if (ARRAYS | NAMES)[name].into or name == "sparse_columns" else ():
                self._follow(name, some, before)
                before = int(some[-1])
        root = root_of(self.arrays.get("features"))
        if root is not None:
            root.finite = True  # as each shard is
        return self._made({name: array for name, array in self.arrays.items() if name in ARRAYS})

    def blocks(self, *, sums: bool = True, progress: Progress | None = None) -> Iterator[NBest]:
        """The lists of every shard, in memory; `progress` is told how many bytes are read."""
        whole = sum(file.nbytes for file in self.files.values())
        done = 0
        for number in range(len(self.shards)):
            arrays = self.load(number, sums=sums)
            done += sum(array.nbytes for array in arrays.values())
            yield self._made(arrays)
            if progress is not None:
                progress(min(done, whole), whole)

    def _made(self, arrays: Arrays) -> NBest:
        try:
            return lists_in(arrays, self.about, self.sparse_names)
        except FormatError:
            raise
        except UnicodeDecodeError:
            raise self.rule.fail("id, source or reference", "be UTF-8") from None
        except (NbestError, ValueError) as error:  # ids that are there twice, say
            raise FormatError(self.folder, None, f"is damaged: {error}; {REMEDY}") from None

    def load(self, number: int, *, sums: bool = True) -> Arrays:
        """The arrays of a shard, in memory, if its sums are right and so are its numbers."""
        shard = self.shards[number]

        def read(name: str, begin: int, end: int) -> Any:
            values = self.files[name].read(begin, end)
            if sums and hashlib.sha256(values.reshape(-1).view(np.uint8)).hexdigest() != shard["sha256"][name]:
                raise FormatError(
                    self.files[name].path, None, f"is damaged: {_where(shard)} have another sha256; {REMEDY}"
                )
            self._follow(name, values)
            return values

        found = part(read, self.files, *shard["segments"])
        self._check_values(found, shard)
        return found

    def _follow(self, name: str, values: Any, least: int = 0) -> None:
        """Complain of numbers that kernels must not follow."""
        array = (ARRAYS | NAMES)[name]
        if name == "sparse_columns":
            self.rule.numbers(name, values, self.sizes.get("columns", 0))
        elif array.into and not (least <= values[0] and values[-1] <= self.sizes[array.into] and rises(values)):
            raise self.rule.fail(name, f"rise from 0 to {self.sizes[array.into]}")

    def _check_values(self, found: Arrays, shard: dict[str, Any]) -> None:
        for name in ("features", "sparse_values"):
            if name in found and not np.isfinite(found[name]).all():
                raise self.rule.fail(name, f"be finite numbers, in {_where(shard)}")
        for name in ("text", "id", "source", "reference"):
            if name in found and not _is_text(found[name], found[f"{name}_bounds"]):
                raise self.rule.fail(name, f"be UTF-8, in {_where(shard)}")

    def _whole(self, name: str) -> Any:
        return self.files[name].read(0, len(self.files[name]))

    def compare(self) -> None:
        """Compare the sums of all shards, of which none is kept."""

        def one(number: int) -> None:
            self.load(number)

        parallel.each(one, range(len(self.shards)), min(_AT_ONCE, parallel.thread_count(None)))


def _needed(name: str, found: Mapping[str, StoredArray]) -> bool:
    """Whether a store with these arrays must have this one, too: what others hold bounds in, ids, and names of sparse
    columns."""
    level = (ARRAYS | NAMES)[name].of
    bounded = level != "rows" and any(file.array.into == level for file in found.values())
    return bounded or name in ("offsets", "id") or (name in NAMES and "sparse_bounds" in found)


def _end_of(shard: Any, low: int, offsets: Ints) -> int | None:
    """Where a shard ends that begins with this segment; None where it is no such shard."""
    ends = shard.get("segments") if isinstance(shard, dict) and isinstance(shard.get("sha256"), dict) else None
    if not isinstance(ends, list) or len(ends) != 2 or not all(type(end) is int for end in ends):
        return None
    if ends[0] != low or not low < ends[1] < len(offsets) or shard.get("rows") != offsets[ends].tolist():
        return None
    return int(ends[1])


def _is_text(data: Any, bounds: Any) -> bool:
    """Whether bytes are UTF-8, and bounds (of the whole store) between characters."""
    inner = bounds[(bounds > bounds[0]) & (bounds < bounds[-1])] - bounds[0]
    try:
        data.tobytes().decode("utf-8")
    except UnicodeDecodeError:
        return False
    return not ((data[inner] & 0xC0) == 0x80).any()


def _where(shard: dict[str, Any]) -> str:
    low, high = shard["segments"]
    return f"segments {low} to {high - 1}"


def _object(path: Path, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise FormatError(path, None, f"expected an object, got {shown(value)}; {REMEDY}")
    return value


def _origin(path: Path, value: Any) -> Origin:
    try:
        sign, base, normalised = value
        right = sign in (1, -1) and (base is None or float(base) > 0) and isinstance(normalised, str)
    except (TypeError, ValueError, OverflowError):
        right = False
    if not right:
        raise FormatError(path, None, f"'origins' has {shown(value)}; {REMEDY}")
    return Origin(int(sign), None if base is None else float(base), normalised)
